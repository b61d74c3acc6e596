"""Inverse kinematics: poses made by forward kinematics are found again, others refused with the residual."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.robots import Dynamics, UnreachablePoseError, load_robot
from impact_control.robots.inverse_kinematics import solve
from impact_control.util.errors import InvalidInputError

ROBOT = load_robot()
LIMITS = ROBOT.limits
READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
deviations = st.lists(st.floats(-1.0, 1.0), min_size=7, max_size=7).map(np.array)


def pose(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    dynamics = Dynamics(ROBOT)
    dynamics.compute(q, np.zeros(7))
    return dynamics.position.copy(), dynamics.rotation.copy()


@settings(deadline=None, max_examples=50)
@given(deviations)
def test_poses_around_the_ready_posture_are_found(deviation):
    q = np.clip(READY + 0.5 * deviation, LIMITS.position_lower, LIMITS.position_upper)
    position, rotation = pose(q)
    found = solve(ROBOT, position, rotation, q[0], READY)
    assert np.all(found >= LIMITS.position_lower) and np.all(found <= LIMITS.position_upper)
    assert found[0] == pytest.approx(q[0], abs=1e-8)
    reached_position, reached_rotation = pose(found)
    np.testing.assert_allclose(reached_position, position, atol=1e-8)
    np.testing.assert_allclose(reached_rotation, rotation, atol=1e-8)


def test_the_guess_selects_the_branch_and_joint_one_the_elbow():
    position, rotation = pose(READY)
    np.testing.assert_allclose(solve(ROBOT, position, rotation, 0.0, READY + 0.05), READY, atol=1e-7)
    turned = solve(ROBOT, position, rotation, 0.4, READY)
    assert turned[0] == pytest.approx(0.4, abs=1e-8)
    np.testing.assert_allclose(pose(turned)[0], position, atol=1e-8)


def test_a_guess_outside_the_limits_is_moved_inside():
    position, rotation = pose(READY)
    guess = READY.copy()
    guess[6] = 3.2
    found = solve(ROBOT, position, rotation, 0.0, guess)
    np.testing.assert_allclose(pose(found)[0], position, atol=1e-8)


def test_a_pose_out_of_reach_is_refused_with_what_is_left():
    rotation = np.diag([1.0, -1.0, -1.0])
    position = np.array([2.0, 0.0, 0.4])
    with pytest.raises(UnreachablePoseError) as caught:
        solve(ROBOT, position, rotation, 0.0, READY)
    error = caught.value
    # Shoulder to sphere is at most 0.316 + 0.384 + 0.088 + 0.107 + 0.10 and a little for the elbow offset.
    assert error.position_error > 2.0 - 1.1
    reached, _ = pose(error.configuration)
    assert np.linalg.norm(reached - position) == pytest.approx(error.position_error, abs=1e-12)
    assert np.all(error.configuration >= LIMITS.position_lower)
    assert np.all(error.configuration <= LIMITS.position_upper)


def test_a_pose_beyond_a_joint_limit_is_refused():
    # Joint 7 turned beyond its limit: from here reachable only outside.
    q = READY.copy()
    q[6] = LIMITS.position_upper[6] + 0.1
    position, rotation = pose(q)
    with pytest.raises(UnreachablePoseError) as caught:
        solve(ROBOT, position, rotation, 0.0, np.append(READY[:6], 2.8))
    assert np.all(caught.value.configuration <= LIMITS.position_upper)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"position": np.zeros(2)}, "position"),
        ({"position": np.array([0.0, np.nan, 0.0])}, "position"),
        ({"rotation": 2.0 * np.eye(3)}, "rotation"),
        ({"rotation": np.diag([1.0, 1.0, -1.0])}, "rotation"),
        ({"posture": 3.5}, "posture"),
        ({"initial_guess": np.zeros(6)}, "initial_guess"),
    ],
)
def test_inputs_without_meaning_are_refused(changed, name):
    arguments = {"position": np.zeros(3), "rotation": np.eye(3), "posture": 0.0, "initial_guess": READY}
    with pytest.raises(InvalidInputError) as caught:
        solve(ROBOT, **{**arguments, **changed})
    assert caught.value.name == name


PLANAR = load_robot("planar_rrr")
ELBOW_UP = np.radians([45.0, -90.0, -45.0])


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(-0.4, 0.4), min_size=3, max_size=3).map(np.array))
def test_the_planar_arm_finds_poses_of_its_plane(deviation):
    q = np.clip(ELBOW_UP + deviation, PLANAR.limits.position_lower, PLANAR.limits.position_upper)
    dynamics = Dynamics(PLANAR)
    dynamics.compute(q, np.zeros(3))
    found = solve(PLANAR, dynamics.position.copy(), dynamics.rotation.copy(), None, ELBOW_UP)
    np.testing.assert_allclose(found, q, atol=1e-7)


def test_a_pose_out_of_the_plane_is_refused_with_what_is_left():
    dynamics = Dynamics(PLANAR)
    dynamics.compute(ELBOW_UP, np.zeros(3))
    with pytest.raises(UnreachablePoseError) as caught:
        solve(PLANAR, dynamics.position + np.array([0.0, 0.1, 0.0]), dynamics.rotation.copy(), None, ELBOW_UP)
    assert caught.value.position_error == pytest.approx(0.1, abs=1e-6)
    assert caught.value.posture_error == 0.0
