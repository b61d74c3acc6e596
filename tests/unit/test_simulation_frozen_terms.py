"""The terms that a scene holds over an interval against those of Pinocchio."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from impact_control.robots import Dynamics, load_robot
from impact_control.simulation import Arm, PlantOptions, Scene, mounted_at
from impact_control.simulation.frozen_terms import freeze_arm
from impact_control.simulation.scene_arrays import (
    ACCELERATION,
    COMPENSATION,
    INVERSE_MASS,
    JACOBIAN,
    MIDDLE,
    MIDDLE_POSITION,
    MIDDLE_RATE,
    MIDDLE_ROTATION,
    MOBILITY,
    NONLINEAR,
)

INTERVAL = 5e-4


@pytest.fixture(scope="module")
def scene():
    """A small arm beside a large one that stands askew: the rows of the small one are not filled."""
    askew = mounted_at(load_robot(), np.array([0.4, -0.3, 0.8]), pin.rpy.rpyToMatrix(0.3, -0.5, 1.1))
    arms = [Arm(load_robot("planar_rrr"), np.zeros(3)), Arm(askew, np.zeros(7))]
    return Scene(arms, options=PlantOptions(gravity_compensation=False))


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("seed", range(5))
def test_terms_are_those_of_pinocchio_at_the_middle(scene, index, seed):
    random = np.random.default_rng(seed)
    a, arm = scene.arrays, scene.arms[index]
    n = arm.link_position.size
    q, dq, ddq, outside = random.uniform(-2.0, 2.0, (4, n))
    arm.link_position[:], arm.link_velocity[:], arm.external_torque[:] = q, dq, outside
    arm.external_wrench[:] = random.uniform(-5.0, 5.0, 6)
    terms, body = a.terms[index, :, :n], a.bodies[index]
    terms[ACCELERATION] = ddq
    freeze_arm(index, INTERVAL, True, 0.5, a.state, a.layout, a.links, a.ends, a.terms, a.bodies)

    middle, rate = q + 0.5 * INTERVAL * dq, dq + 0.5 * INTERVAL * ddq
    at = Dynamics(arm.robot)
    at.update(middle, rate)

    def same(found, expected):
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12 * max(1.0, np.abs(expected).max()))

    same(terms[MIDDLE], middle)
    same(terms[MIDDLE_RATE], rate)
    same(terms[NONLINEAR], at.nonlinear - outside - at.jacobian.T @ arm.external_wrench)
    same(terms[COMPENSATION], 0.5 * at.gravity)
    same(terms[JACOBIAN : JACOBIAN + 6], at.jacobian)
    inverse = np.linalg.inv(at.mass_matrix)
    same(terms[INVERSE_MASS : INVERSE_MASS + n], inverse)
    same(body[MIDDLE_POSITION : MIDDLE_POSITION + 3], at.position)
    same(body[MIDDLE_ROTATION : MIDDLE_ROTATION + 9].reshape(3, 3), at.rotation)
    same(body[MOBILITY : MOBILITY + 36].reshape(6, 6), at.jacobian @ inverse @ at.jacobian.T)


def test_the_rows_of_a_smaller_arm_stay_empty(scene):
    assert not np.any(scene.arrays.terms[0, :, 3:])


@pytest.mark.parametrize("name", ["panda", "planar_rrr"])
def test_springs_hold_an_arm_against_gravity_without_the_compensation(name):
    robot = load_robot(name)
    q = 0.3 * np.ones(len(robot.joint_names))
    arm = Scene([Arm(robot, q)], options=PlantOptions(gravity_compensation=False)).arms[0]
    at = Dynamics(robot)
    at.update(q, np.zeros_like(q))
    np.testing.assert_allclose(arm.joint_torque, at.gravity, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(arm.filtered_torque, at.gravity, rtol=0.0, atol=1e-12 * np.abs(at.gravity).max())
