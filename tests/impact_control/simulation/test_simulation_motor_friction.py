"""Friction on the motors as a torque-controlled arm feels it, van Steen 2024 (4), (7), (8)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from impact_control.robots import load_robot
from impact_control.simulation.options import PlantOptions
from impact_control.simulation.plant import FlexibleJointPlant

ROBOT = load_robot()
HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
PUSH = np.array([1.5, -2.0, 1.5, 2.0, 1.2, 0.8, 1.0])


def velocity(friction, torque_loop=True):
    """The velocities of the links after 0.2 s of a constant torque, without a surface."""
    options = PlantOptions(torque_loop=torque_loop, joint_friction=friction is not None)
    robot = ROBOT if friction is None else replace(ROBOT, friction=friction)
    plant = FlexibleJointPlant(robot, HOME, None, options)
    for _ in range(200):
        plant.step(PUSH)
    return plant.link_velocity.copy()


def test_the_torque_loop_reduces_friction_on_the_motors_as_their_inertia():
    """The arm moves as with B_theta / B_rho of the friction on the links; on the links all of it acts."""
    on_motor = replace(ROBOT.friction, on_motor=True)
    felt = on_motor.reduced(ROBOT.transmission)
    ratio = ROBOT.transmission.reduced_motor_inertia / ROBOT.transmission.motor_inertia
    np.testing.assert_allclose(felt.amplitude, ratio * ROBOT.friction.amplitude)
    free, reduced, whole = velocity(None), velocity(felt), velocity(ROBOT.friction)
    lost = np.linalg.norm(free - reduced)
    assert np.linalg.norm(velocity(on_motor) - reduced) < 0.03 * lost
    assert np.linalg.norm(free - whole) > 2.0 * lost


def test_without_the_torque_loop_nothing_reduces_it():
    on_motor = replace(ROBOT.friction, on_motor=True)
    free, links = velocity(None, False), velocity(ROBOT.friction, False)
    difference = np.linalg.norm(velocity(on_motor, False) - links)
    assert difference < 0.03 * np.linalg.norm(free - links)
