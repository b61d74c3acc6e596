"""Motions outside of a task: their two parts, their limits, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from impact_control.planning import InfeasibleTaskError
from impact_control.planning.joint_move import ACCELERATION, CLEARANCE, DEFAULT_SPEED, plan_move
from impact_control.references import build_reference
from impact_control.robots import Dynamics, load_robot
from impact_control.scenario import load_scenario
from impact_control.util.errors import InvalidInputError

SCENARIO = load_scenario("tabletop").arm()
ROBOT = load_robot()
REFERENCE = build_reference(SCENARIO, ROBOT)
START, ON_SURFACE = REFERENCE.initial_configuration, REFERENCE.post.columns.joint_position[-1]
HIGHER = (
    load_scenario("tabletop")
    .with_overrides(
        {"expected_environment.surface.point": "0.4, 0.0, 0.3 m", "task.impact.position": "0.5, 0.0, 0.3 m"}
    )
    .arm()
)
"""With a surface above the end of the task before."""


def positions(motion):
    """Where the end-effector is in each tenth sample, by the configuration."""
    dynamics, rows = Dynamics(ROBOT), motion.columns.joint_position[::10]
    found = np.empty((len(rows), 3))
    for place, row in zip(found, rows, strict=True):
        dynamics.compute(row, np.zeros(7))
        place[:] = dynamics.position
    return found


@pytest.mark.parametrize("speed", [DEFAULT_SPEED, 0.1])
def test_the_way_back_lifts_off_along_the_normal_first_and_keeps_its_bounds(speed):
    motion = plan_move(ROBOT, SCENARIO, ON_SURFACE, START, speed=speed)
    columns, place = motion.columns, positions(motion)
    for row, configuration in ((0, ON_SURFACE), (-1, START)):
        np.testing.assert_allclose(columns.joint_position[row], configuration, atol=1e-9)
        assert not columns.joint_velocity[row].any() and not columns.joint_acceleration[row].any()
    assert np.abs(columns.joint_velocity).max() <= speed * (1.0 + 1e-6)
    assert np.abs(columns.joint_acceleration).max() <= ACCELERATION * (1.0 + 1e-6)
    np.testing.assert_allclose(
        np.gradient(columns.joint_position, motion.period, axis=0)[1:-1], columns.joint_velocity[1:-1], atol=1e-3
    )
    np.testing.assert_allclose(columns.position[::10], place, atol=1e-9)
    lifting = place[:, 2] < place[0, 2] + CLEARANCE - 1e-4
    aside = np.linalg.norm((place - place[0])[:, :2], axis=1)
    assert aside[lifting].max() < 1e-4, "nothing is dragged over the surface"
    assert lifting[: int(lifting.sum())].all(), "and it does not come down again"


def test_a_goal_below_the_place_of_the_arm_is_moved_to_at_once():
    motion = plan_move(ROBOT, SCENARIO, START, ON_SURFACE)
    assert np.abs(np.diff(motion.columns.joint_position[:, 0])).max() > 0.0
    way = (motion.columns.joint_position - START) @ (ON_SURFACE - START)
    np.testing.assert_allclose(
        motion.columns.joint_position - START,
        np.outer(way, ON_SURFACE - START) / np.sum((ON_SURFACE - START) ** 2),
        atol=1e-9,
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"goal": np.zeros(6)}, "joint_position"),
        ({"goal": np.full(7, np.nan)}, "joint_position"),
        ({"speed": 0.0}, "speed = 0.0; allowed: above 0, at most"),
        ({"speed": np.nan}, "speed"),
        ({"speed": 9.0}, "speed"),
        ({"scenario": HIGHER}, "height over the expected surface .* at least"),
        ({"goal": START + np.array([0.0, 0.9, 0.0, 0.0, 0.0, 0.0, 0.0])}, "height over the expected surface"),
    ],
)
def test_what_is_refused_is_named(change, words):
    asked = {"scenario": SCENARIO, "start": START, "goal": ON_SURFACE, "speed": DEFAULT_SPEED, **change}
    with pytest.raises(InvalidInputError, match=words):
        plan_move(ROBOT, **asked)


def test_a_goal_outside_the_limits_of_a_joint_is_refused():
    goal = START.copy()
    goal[0] = ROBOT.limits.position_upper[0] + 0.1
    with pytest.raises(InfeasibleTaskError, match=r"move at .* panda_joint1: position .* allowed") as caught:
        plan_move(ROBOT, SCENARIO, START, goal)
    assert {violation.joint for violation in caught.value.violations} == {"panda_joint1"}
