"""Joint admittance, Flacco 2016 (15): dead zone, bounds, rest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.control.admittance import JointAdmittance
from impact_control.scenario import Admittance
from impact_control.util.errors import InvalidInputError

PERIOD = 1e-3
REACH = np.array([0.04, 0.02])
LOWER, UPPER = np.array([-1.0, -2.0]), np.array([1.0, 0.5])


def parameters(**changes):
    values = {"gain": 0.02, "threshold": 2.0, "speed": 0.5, "acceleration": 5.0, "excursion": 10.0}
    arrays = {name: np.full(2, value, dtype=float) for name, value in {**values, **changes}.items()}
    return Admittance(**arrays, resume_duration=0.5)


def started(position=(0.0, 0.0), velocity=(0.0, 0.0), **changes):
    admittance = JointAdmittance(LOWER, UPPER, REACH, 20.0, PERIOD)
    admittance.set_parameters(parameters(**changes))
    admittance.begin(np.array(position, dtype=float), np.array(velocity, dtype=float))
    return admittance


def test_the_speed_settles_at_the_gain_times_what_is_beyond_the_threshold():
    admittance = started()
    for _ in range(1000):
        admittance.advance(np.array([7.0, -2.0 - 5.0]))
    np.testing.assert_allclose(admittance.velocity, [0.1, -0.1], rtol=1e-6)


def test_it_follows_as_a_first_order_system():
    """dq' = rate (K r - dq): after one time constant 1 - 1/e of the speed, here far from the acceleration's bound."""
    admittance = started()
    for _ in range(50):
        admittance.advance(np.array([7.0, 0.0]))
    assert admittance.velocity[0] == pytest.approx(0.1 * (1.0 - (1.0 - 20.0 * PERIOD) ** 50), rel=1e-12)
    assert admittance.velocity[0] == pytest.approx(0.1 * (1.0 - np.exp(-1.0)), rel=0.01)


@pytest.mark.parametrize("torque", [(0.0, 0.0), (2.0, -2.0), (np.nan, np.nan)])
def test_inside_the_dead_zone_it_comes_to_rest_and_stays(torque):
    admittance = started(velocity=(0.3, -0.2))
    for _ in range(2000):
        admittance.advance(np.array(torque))
    np.testing.assert_allclose(admittance.velocity, 0.0, atol=1e-12)
    # Joint 2 decays by the factor 1 - 20 PERIOD a sample; joint 1 brakes with 5 rad/s^2 down to 0.25 rad/s first.
    assert admittance.position[1] == pytest.approx(-0.2 / 20.0 * (1.0 - 20.0 * PERIOD), rel=1e-9)
    assert admittance.position[0] == pytest.approx((0.3**2 - 0.25**2) / 10.0 + 0.25 / 20.0, abs=0.3 * PERIOD)


@settings(deadline=None)
@given(
    torques=st.lists(st.tuples(st.floats(-100.0, 100.0), st.floats(-100.0, 100.0)), min_size=1, max_size=6),
    position=st.tuples(st.floats(-1.0, 1.0), st.floats(-2.0, 0.5)),
    velocity=st.tuples(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0)),
    excursion=st.floats(0.01, 1.0),
)
def test_whatever_pushes_it_stays_inside_the_bounds(torques, position, velocity, excursion):
    admittance = started(position, velocity, excursion=excursion)
    places, speeds = [], []
    for torque in torques:
        for _ in range(100):
            admittance.advance(np.array(torque))
            places.append(admittance.position.copy())
            speeds.append(admittance.velocity.copy())
    assert (np.abs(speeds) <= np.maximum(0.5, np.abs(velocity)) + 1e-12).all()
    assert (np.abs(np.array(places) - position) <= excursion + 1e-12).all()
    assert (np.array(places) >= LOWER - 1e-12).all()
    assert (np.array(places) <= UPPER + 1e-12).all()
    # Only a start too fast to stop before a bound is cut; after that the speed changes as fast as allowed.
    assert (np.abs(np.diff(speeds, axis=0)) <= 5.0 * PERIOD * (1 + 1e-9)).all()


def test_a_bound_is_approached_without_a_jump_of_the_speed():
    admittance = started(excursion=0.1)
    before = 0.0
    for _ in range(3000):
        admittance.advance(np.array([100.0, 0.0]))
        assert abs(admittance.velocity[0] - before) <= 5.0 * PERIOD * (1 + 1e-9)
        before = admittance.velocity[0]
    assert admittance.position[0] == pytest.approx(0.1, abs=1e-6)


def test_a_joint_outside_its_limits_may_stay_and_return_but_not_go_on():
    admittance = started(position=(1.1, 0.0))
    for _ in range(500):
        admittance.advance(np.array([50.0, 0.0]))
    assert admittance.position[0] == pytest.approx(1.1)
    for _ in range(500):
        admittance.advance(np.array([-50.0, 0.0]))
    assert admittance.position[0] < 1.0


def test_a_strong_push_takes_the_reference_along():
    """It stays within reach of the arm, at most as fast as allowed; an arm within reach changes nothing."""
    admittance = started()
    admittance.anchor(np.array([0.039, -0.019]), np.array([1.0, -1.0]))
    assert not admittance.position.any()
    assert not admittance.velocity.any()
    admittance.anchor(np.array([0.3, -0.3]), np.array([1.0, -0.1]))
    np.testing.assert_allclose(admittance.position, [0.26, -0.28])
    np.testing.assert_allclose(admittance.velocity, [0.5, -0.1])


@pytest.mark.parametrize("name", ["gain", "threshold", "speed", "acceleration", "excursion"])
@pytest.mark.parametrize("value", [0.0, np.nan])
def test_senseless_parameters_are_refused(name, value):
    with pytest.raises(InvalidInputError, match=name):
        parameters(**{name: value})
