"""Touches of links: profiles, the way from a force to joint torques, and what the plant makes of them."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import trapezoid

from impact_control.robots import load_robot
from impact_control.scenario import Touch, TouchProfile
from impact_control.simulation import FlexibleJointPlant, PlantOptions
from impact_control.simulation.touch import DEPARTURE, Touches, force_at
from impact_control.util.errors import InvalidInputError
from simulated_arms import HOMES

PANDA = load_robot()
HOME = HOMES["panda"]
PERIOD = PlantOptions().sample_period


def elbow(**changes):
    given = {"link": "panda_link4", "point": [0.02, -0.05, 0.03], "force": [10.0, 40.0, -5.0], "start": 0.01}
    return Touch(**{**given, "duration": 0.05, **changes})


def point_at(link, point, q):
    """Place of a point of a link (3,) [m] in A, by forward kinematics alone."""
    model = PANDA.pinocchio_model
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    return data.oMf[model.getFrameId(link)].act(np.asarray(point))


def torque_by_virtual_work(touch, force, q, step=1e-6):
    """dW = F . dx: the torque of a joint is the work of the force over its rotation, by central differences."""
    ends = [
        [point_at(touch.link, touch.point, q + sign * step * axis) for sign in (1.0, -1.0)] for axis in np.eye(q.size)
    ]
    return np.array([force @ (forth - back) / (2.0 * step) for forth, back in ends])


@pytest.mark.parametrize(
    ("profile", "mean"), [(TouchProfile.HALF_SINE, 2.0 / math.pi), (TouchProfile.RAISED_COSINE, 0.5)]
)
def test_a_profile_is_smooth_has_its_peak_in_the_middle_and_its_mean(profile, mean):
    parts = np.linspace(-0.5, 1.5, 20001)
    touch = elbow(force=[1.0, 0.0, 0.0], start=0.0, duration=1.0, profile=profile)
    shares = np.array([force_at(touch, part)[0] for part in parts])
    assert shares.max() == force_at(touch, 0.5)[0] == pytest.approx(1.0)
    assert not shares[(parts <= 0.0) | (parts >= 1.0)].any()
    assert np.abs(np.diff(shares)).max() <= math.pi * (parts[1] - parts[0]) * (1.0 + 1e-6)
    np.testing.assert_allclose(shares, shares[::-1], atol=1e-12)
    assert trapezoid(shares, parts) == pytest.approx(mean, rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_torque_is_the_virtual_work_of_the_force(seed):
    random = np.random.default_rng(seed)
    q = random.uniform(0.9 * PANDA.limits.position_lower, 0.9 * PANDA.limits.position_upper)
    links = random.choice([f"panda_link{i}" for i in range(1, 8)] + ["contact"], 2)
    touches = [
        elbow(link=str(link), point=random.uniform(-0.1, 0.1, 3), force=random.uniform(-50, 50, 3)) for link in links
    ]
    acting = Touches(PANDA, touches, q + 1.0)
    assert not acting.torque(1.0, PERIOD, q).any()  # the arm has just moved: the touches are yet to come
    expected = sum(torque_by_virtual_work(touch, force_at(touch, 0.03), q) for touch in touches)
    np.testing.assert_allclose(acting.torque(1.03 - 0.5 * PERIOD, PERIOD, q), expected, atol=1e-6)


def test_joints_beyond_the_touched_link_feel_nothing():
    acting = Touches(PANDA, [elbow()], HOME + 1.0)
    acting.torque(0.0, PERIOD, HOME)
    torque = acting.torque(0.03, PERIOD, HOME)
    assert (torque[4:] == 0.0).all()
    assert (np.abs(torque[:4]) > 0.1).all()


def test_the_plant_feels_what_was_touched_and_nothing_before_it_moves():
    touch = elbow(force=[-60.0, 20.0, 0.0], profile=TouchProfile.RAISED_COSINE)
    touched = FlexibleJointPlant(PANDA, HOME, touches=[touch])
    twin = FlexibleJointPlant(PANDA, HOME)
    waiting = FlexibleJointPlant(PANDA, HOME, touches=[touch])
    command = np.array([0.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    departure = math.inf
    felt = 0.0
    for _ in range(100):
        if np.abs(twin.link_position - HOME).max() > DEPARTURE:
            departure = min(departure, twin.time)
        force = force_at(touch, twin.time + 0.5 * PERIOD - departure)
        twin.external_torque[:] = torque_by_virtual_work(touch, force, twin.link_position.copy())
        felt = max(felt, np.abs(twin.external_torque).max())
        twin.step(command)
        touched.step(command)
        waiting.step(np.zeros(7))
        assert not waiting.external_torque.any()
    assert 0.0 < departure < 0.04
    assert felt > 5.0
    np.testing.assert_allclose(touched.link_position, twin.link_position, atol=1e-9)
    np.testing.assert_allclose(touched.link_velocity, twin.link_velocity, atol=1e-7)
    assert not touched.external_torque.any()  # over
    untouched = FlexibleJointPlant(PANDA, HOME)
    for _ in range(100):
        untouched.step(command)
    assert np.abs(touched.link_velocity - untouched.link_velocity).max() > 0.01


def test_a_reset_waits_for_the_arm_again():
    plant = FlexibleJointPlant(PANDA, HOME, touches=[elbow(start=0.0)])
    plant.link_velocity[0] = plant.motor_velocity[0] = 0.5
    for _ in range(20):
        plant.step(np.zeros(7))
    assert plant.external_torque.any()
    plant.reset(HOME, None)
    for _ in range(20):
        plant.step(np.zeros(7))
    assert not plant.external_torque.any()


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"force": [1.0, math.nan, 0.0]}, "force"),
        ({"point": [0.0, 0.0]}, "point"),
        ({"start": -0.1}, "start"),
        ({"duration": 0.0}, "duration"),
        ({"duration": math.inf}, "duration"),
    ],
)
def test_wrong_touches_are_refused(changes, name):
    with pytest.raises(InvalidInputError) as caught:
        elbow(**changes)
    assert caught.value.name == name


def test_unknown_links_are_refused_with_the_known_ones():
    with pytest.raises(InvalidInputError) as caught:
        FlexibleJointPlant(PANDA, HOME, touches=[elbow(link="elbow")])
    assert "panda_link4" in caught.value.allowed
