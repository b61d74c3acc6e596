"""Back into a task: the way, the clock, the slowed-down reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.control.resumption import RUN_UP, Resumption, resumption_time, slow_down
from impact_control.references import PiecewiseQuintic, ReferenceColumns, ViaPoint

PERIOD = 1e-3
SPEED, ACCELERATION = np.array([0.5, 0.5]), np.array([5.0, 2.0])


def planned(start, target, task_time=0.4, ramp=0.5):
    resumption = Resumption(2, PERIOD)
    resumption.begin(3.0, np.array(start), np.array(target), SPEED, ACCELERATION, task_time, ramp)
    return resumption


def way(resumption):
    """Return positions, velocities, accelerations (k, 2) of the way back on a fine grid."""
    states = []
    for time in np.linspace(3.0, resumption.back_time, 1001):
        resumption.back_at(time)
        states.append((resumption.position.copy(), resumption.velocity.copy(), resumption.acceleration.copy()))
    return [np.array(column) for column in zip(*states, strict=True)]


@settings(deadline=None)
@given(
    start=st.tuples(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0)),
    target=st.tuples(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0)),
)
def test_the_way_back_is_the_quintic_between_rests_as_fast_as_the_limits_allow(start, target):
    resumption = planned(start, target)
    position, velocity, acceleration = way(resumption)
    curve = PiecewiseQuintic.through([ViaPoint.at_rest(3.0, start), ViaPoint.at_rest(resumption.back_time, target)])
    grid = np.linspace(3.0, resumption.back_time, 1001)
    for ours, theirs in zip((position, velocity, acceleration), curve.sample(grid), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9 * (1.0 + np.abs(theirs).max()))
    used = max((np.abs(velocity) / SPEED).max(), (np.abs(acceleration) / ACCELERATION).max())
    assert used <= 1.0 + 1e-9
    if resumption.back_time - 3.0 > 1.001 * PERIOD:
        assert used == pytest.approx(1.0, abs=1e-3)


def test_no_way_takes_one_period():
    assert planned((0.3, 0.1), (0.3, 0.1)).back_time == pytest.approx(3.0 + PERIOD)


def test_the_clock_starts_smoothly_and_then_runs_at_full_speed():
    resumption = planned((0.0, 0.0), (0.1, 0.0), task_time=0.4, ramp=0.5)
    begin = resumption.back_time
    assert resumption.clock(begin) == (0.4, 0.0, 0.0)
    task_time, rate, rate_change = resumption.clock(begin + 0.5)
    assert (task_time, rate, rate_change) == (pytest.approx(0.4 + 0.25), pytest.approx(1.0), pytest.approx(0.0))
    assert resumption.clock(begin + 0.8)[0] == pytest.approx(0.4 + 0.25 + 0.3)
    times = np.linspace(begin, begin + 0.8, 4001)
    clock, rates, changes = np.array([resumption.clock(time) for time in times]).T
    np.testing.assert_allclose(np.gradient(clock, times)[1:-1], rates[1:-1], atol=1e-6)
    np.testing.assert_allclose(np.gradient(rates, times)[1:-1], changes[1:-1], atol=1e-3)
    assert (np.diff(rates) >= -1e-12).all()


@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_a_slowed_down_sample_is_the_derivative_of_the_slowed_down_motion(rate):
    """x(s(t)) of polynomials x(s) and s(t) = s0 + rate t + change t^2 / 2, by differences."""
    change, start, step = 0.7, 0.4, 1e-4
    columns = ReferenceColumns.one_sample(7)
    random = np.random.default_rng(3)
    coefficients = random.normal(size=(4, 17))
    basis = np.array([[1, start, start**2, start**3], [0, 1, 2 * start, 3 * start**2], [0, 0, 2, 6 * start]])
    value, slope, curvature = basis @ coefficients
    parts = {
        "position": slice(0, 3),
        "orientation": slice(3, 6),
        "posture": slice(6, 7),
        "joint_position": slice(7, 14),
    }
    columns.position[:], columns.velocity[:], columns.acceleration[:] = (x[0:3] for x in (value, slope, curvature))
    columns.orientation[:], columns.angular_velocity[:], columns.angular_acceleration[:] = (
        x[3:6] for x in (value, slope, curvature)
    )
    columns.posture[:] = value[6], slope[6], curvature[6]
    columns.joint_position[:], columns.joint_velocity[:], columns.joint_acceleration[:] = (
        x[7:14] for x in (value, slope, curvature)
    )
    slow_down(columns, rate, change)
    times = step * np.array([-1.0, 0.0, 1.0])
    s = start + rate * times + 0.5 * change * times**2
    motion = np.stack([s**0, s, s**2, s**3], axis=1) @ coefficients
    velocity = (motion[2] - motion[0]) / (2 * step)
    acceleration = (motion[2] - 2 * motion[1] + motion[0]) / step**2
    np.testing.assert_allclose(columns.position, value[parts["position"]])
    np.testing.assert_allclose(columns.velocity, velocity[parts["position"]], atol=1e-6)
    np.testing.assert_allclose(columns.acceleration, acceleration[parts["position"]], atol=1e-5)
    np.testing.assert_allclose(columns.angular_velocity, velocity[parts["orientation"]], atol=1e-6)
    np.testing.assert_allclose(columns.angular_acceleration, acceleration[parts["orientation"]], atol=1e-5)
    np.testing.assert_allclose(columns.posture, [value[6], velocity[6], acceleration[6]], atol=1e-5)
    np.testing.assert_allclose(columns.joint_velocity, velocity[parts["joint_position"]], atol=1e-6)
    np.testing.assert_allclose(columns.joint_acceleration, acceleration[parts["joint_position"]], atol=1e-5)


def test_an_approach_is_taken_up_early_enough_to_run_at_full_speed_before_the_impact():
    assert resumption_time(0.3, 1.0, 0.5) == 0.3
    late = resumption_time(0.95, 1.0, 0.5)
    assert late + 0.5 * 0.5 + RUN_UP == pytest.approx(1.0)
    assert resumption_time(0.95, 0.2, 0.5) == 0.0
