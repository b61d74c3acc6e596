"""Verdicts on a robot side from the joint states of an arm at rest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from impact_control.robots import Dynamics, load_robot
from impact_control.util.errors import InvalidInputError
from impact_control_ros.robot_side.check import (
    REST,
    RestingArm,
    check_gravity,
    check_numbers,
    check_publishers,
    check_rate,
    check_rest,
)

JOINTS = tuple(f"joint{i}" for i in range(1, 8))
MS = 1_000_000
DYNAMICS = {name: Dynamics(load_robot(name)) for name in ("panda", "fr3")}


def arm(interval=MS, missing=(), **columns):
    """An arm that rests, its joint states at an interval [ns], some of them missing."""
    stamps = np.delete(np.arange(500, dtype=np.int64) * interval + 1_700_000_000 * 10**9, list(missing))
    values = {"position": 0.1, "velocity": 0.0, "effort": 1.0} | columns
    rows = {name: np.full((len(stamps), len(JOINTS)), value) for name, value in values.items()}
    return RestingArm(stamps, **rows)


def test_single_samples_may_be_missing():
    check_rate(arm(missing=range(0, 500, 15)), 1e-3)


@pytest.mark.parametrize("interval", [2 * MS, MS // 2, 33 * MS, 0])
def test_another_rate_is_refused(interval):
    with pytest.raises(InvalidInputError, match=f"{interval / MS:.2f} ms.* 1 ms"):
        check_rate(arm(interval), 1e-3)


@pytest.mark.parametrize("name", ["position", "velocity", "effort"])
def test_a_joint_without_an_interface_is_named(name):
    check_numbers(arm(), JOINTS)
    broken = arm()
    getattr(broken, name)[3:, 4] = np.nan
    with pytest.raises(InvalidInputError, match=f"{name} of joint5"):
        check_numbers(broken, JOINTS)


def test_a_joint_that_moves_is_named():
    resting = arm()
    # Noise as large as the limit is no motion.
    resting.velocity[:] = np.random.default_rng(0).normal(0.0, REST, resting.velocity.shape)
    check_rest(resting, JOINTS)
    resting.velocity[:, 2] -= 1.2 * REST
    with pytest.raises(InvalidInputError, match="joint3"):
        check_rest(resting, JOINTS)


@pytest.mark.parametrize("names", [[], ["joint_state_broadcaster", "joint_state_publisher"]])
def test_other_publishers_are_named(names):
    check_publishers("joint_states", ["joint_state_broadcaster"])
    with pytest.raises(InvalidInputError, match="joint_states"):
        check_publishers("joint_states", names)


@pytest.mark.parametrize("robot", DYNAMICS)
@given(seed=st.integers(0, 2**32 - 1), friction=st.floats(0.0, 0.4), scale=st.floats(0.8, 1.2))
def test_efforts_tell_who_carries_the_arm(robot, seed, friction, scale):
    """Told in spite of friction, up to a part of the weight in any direction, and of a mass 20 % off."""
    random = np.random.default_rng(seed)
    dynamics = DYNAMICS[robot]
    limits = dynamics.robot.limits
    dynamics.compute(random.uniform(limits.position_lower, limits.position_upper), np.zeros(7))
    weight = dynamics.gravity.copy()
    error = random.normal(size=7)
    error *= friction * 0.5 * np.linalg.norm(weight) / np.linalg.norm(error)
    told = np.linalg.norm(weight) >= 10.0
    assert check_gravity(scale * weight + error, weight) is bool(told)
    if told:
        for factor, words in ((0.0, "without its weight"), (-scale, "other sign")):
            with pytest.raises(InvalidInputError, match=words):
                check_gravity(factor * weight + error, weight)


def test_an_upright_arm_does_not_tell():
    weight = np.array([0.0, 6.0, 0.0, 5.0, 0.0, 0.0, 0.0])
    assert not check_gravity(np.zeros(7), weight)
    assert not check_gravity(-weight, weight)
