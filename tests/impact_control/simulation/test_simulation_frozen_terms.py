"""The terms that a scene holds over an interval against those of Pinocchio."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from impact_control.robots import Dynamics, load_robot, mounted_at
from impact_control.simulation import Arm, PlantOptions, ScenePlant
from impact_control.simulation.plant_kernel import freeze_arm

INTERVAL = 5e-4


@pytest.fixture(scope="module")
def scene():
    """A small arm beside a large one that stands askew: the rows of the small one are not filled."""
    askew = mounted_at(load_robot(), np.array([0.4, -0.3, 0.8]), pin.rpy.rpyToMatrix(0.3, -0.5, 1.1))
    arms = [Arm(load_robot("planar_rrr"), np.zeros(3)), Arm(askew, np.zeros(7))]
    return ScenePlant(arms, options=PlantOptions(gravity_compensation=False))


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("seed", range(5))
def test_terms_are_those_of_pinocchio_at_the_middle(scene, index, seed):
    random = np.random.default_rng(seed)
    a, arm = scene.arrays, scene.arms[index]
    n = arm.link_position.size
    q, dq, ddq, outside = random.uniform(-2.0, 2.0, (4, n))
    arm.link_position[:], arm.link_velocity[:], arm.external_torque[:] = q, dq, outside
    arm.external_wrench[:] = random.uniform(-5.0, 5.0, 6)
    joints, body = a.joints[index, :n], a.bodies[index]
    joints["acceleration"] = ddq
    freeze_arm(a, index, INTERVAL, 0.5)

    middle, rate = q + 0.5 * INTERVAL * dq, dq + 0.5 * INTERVAL * ddq
    at = Dynamics(arm.robot)
    at.compute(middle, rate)

    def same(found, expected):
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12 * max(1.0, np.abs(expected).max()))

    same(joints["middle"], middle)
    same(joints["nonlinear"], at.nonlinear - outside - at.jacobian.T @ arm.external_wrench)
    same(joints["compensation"], 0.5 * at.gravity)
    same(joints["twist"].T, at.jacobian)
    inverse = np.linalg.inv(at.mass_matrix)
    same(a.inverse_mass[index, :n, :n], inverse)
    same(body.middle_position, at.position)
    same(body.middle_rotation, at.rotation)
    same(body.mobility, at.jacobian @ inverse @ at.jacobian.T)


def test_the_rows_of_a_smaller_arm_stay_empty(scene):
    unused = scene.arrays.joints[0, 3:]
    assert np.array_equal(unused, np.zeros_like(unused))
    assert not np.any(scene.arrays.inverse_mass[0, 3:])
    assert not np.any(scene.arrays.inverse_mass[0, :, 3:])


@pytest.mark.parametrize("name", ["panda", "planar_rrr"])
def test_springs_hold_an_arm_against_gravity_without_the_compensation(name):
    robot = load_robot(name)
    q = 0.3 * np.ones(len(robot.joint_names))
    arm = ScenePlant([Arm(robot, q)], options=PlantOptions(gravity_compensation=False)).arms[0]
    at = Dynamics(robot)
    at.compute(q, np.zeros_like(q))
    np.testing.assert_allclose(arm.joint_torque, at.gravity, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(arm.filtered_torque, at.gravity, rtol=0.0, atol=1e-12 * np.abs(at.gravity).max())
