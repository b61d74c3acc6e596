"""Drive of the links of an arm: torques at rigid joints, or motors and torque loop behind flexible ones."""

from __future__ import annotations

import math
from typing import NamedTuple

from impact_control.simulation.chain_dynamics import ChainTerms
from impact_control.simulation.joint_kernel import (
    column_rates,
    joint_friction,
    steepest_damping,
    time_to_backlash_edge,
    torque_loop,
    transmission,
)
from impact_control.util.compiled import compiled_in_place
from impact_control.util.dense import solve_lower, solve_upper
from impact_control.util.types import Matrix, Records, Vector

POSITION, VELOCITY, MOTOR_POSITION, MOTOR_VELOCITY, FILTERED, COMMAND, ACTUATION = range(7)
"""Rows of an arm's array (7, n): its state, of links [rad, rad/s], motors and the filter of the torque [Nm]. Then the
commanded torque [Nm] without gravity, and that of the motors, or without flexible joints of the links, held between the
ticks of the torque loop [Nm]."""

STATE, LINK_STATE = COMMAND, MOTOR_POSITION
"""Number of rows of the state, whose slopes stand in the same order, and of those that are of the links."""


class Joints(NamedTuple):
    """Constants of the drive.

    flexible: motors and transmissions stand between torque and links. gravity_compensation: the arm adds the torque
    that holds it. ticks: periods of the torque loop a sample. rows (n,): JOINT records of `scene_arrays`.
    added_inertia (n,) [kg m^2]: moves with the links, B_theta of Rey Arias 2024 (8) without flexible joints.
    """

    flexible: bool
    gravity_compensation: bool
    ticks: int
    rows: Records
    added_inertia: Vector


@compiled_in_place
def drive_links(joints: Joints, terms: ChainTerms, arm: Matrix, slope: Matrix) -> None:
    """Write the slope (5, n) without contact."""
    acceleration = slope[VELOCITY]
    for j in range(acceleration.size):
        velocity, torque = arm[VELOCITY, j], arm[ACTUATION, j]
        joint = joints.rows[j]
        on_motor = joint.friction_on_motor
        friction = joint_friction(joint, arm[MOTOR_VELOCITY, j] if on_motor and joints.flexible else velocity)
        slope[POSITION, j] = velocity
        if joints.flexible:
            spring, transmitted = transmission(
                joint, arm[MOTOR_POSITION, j] - arm[POSITION, j], arm[MOTOR_VELOCITY, j] - velocity
            )
            slope[MOTOR_POSITION, j] = arm[MOTOR_VELOCITY, j]
            driving = torque - transmitted
            if on_motor:
                driving -= friction
                friction = 0.0
            slope[MOTOR_VELOCITY, j] = driving / joint.motor_inertia
            slope[FILTERED, j] = joint.filter_rate * (spring - arm[FILTERED, j])
            torque = transmitted
        else:
            if joints.gravity_compensation:
                torque += terms.gravity[j]
            if on_motor:
                friction /= 1.0 + joint.torque_gain  # B_theta / B_rho, van Steen 2024 (8)
        acceleration[j] = torque - terms.nonlinear[j] - friction
    solve_lower(terms.mass_matrix, acceleration)
    solve_upper(terms.mass_matrix, acceleration)


@compiled_in_place
def actuate(joints: Joints, terms: ChainTerms, arm: Matrix) -> None:
    """Write the actuation of one period of the torque loop, or without flexible joints the command."""
    for j in range(arm.shape[1]):
        arm[ACTUATION, j] = arm[COMMAND, j]
        if joints.flexible:
            desired = arm[COMMAND, j] + (terms.gravity[j] if joints.gravity_compensation else 0.0)
            deflection, rate = arm[MOTOR_POSITION, j] - arm[POSITION, j], arm[MOTOR_VELOCITY, j] - arm[VELOCITY, j]
            arm[ACTUATION, j] = torque_loop(joints.rows[j], desired, deflection, rate, arm[FILTERED, j])


@compiled_in_place
def time_to_any_edge(joints: Joints, arm: Matrix) -> float:
    """Return the time [s] until a joint enters or leaves its backlash at its rate; infinity when none does."""
    time = math.inf
    if joints.flexible:
        for j in range(arm.shape[1]):
            deflection, rate = arm[MOTOR_POSITION, j] - arm[POSITION, j], arm[MOTOR_VELOCITY, j] - arm[VELOCITY, j]
            time = min(time, time_to_backlash_edge(joints.rows[j], deflection, rate))
    return time


@compiled_in_place
def fastest_mode(joints: Joints, terms: ChainTerms, column: Vector) -> float:
    """Return a bound [1/s] on the fastest mode of the joints, see `step_control`.

    terms: with the mass matrix as factor. column (n,): scratch. Closed contacts only take from it. Without flexible
    joints it is their friction, over what moves with the links at least.
    """
    damping = 0.0
    stiffness = 0.0
    friction = 0.0
    for j in range(column.size):
        if not joints.flexible:
            friction = max(friction, steepest_damping(joints.rows[j])[1] / joints.added_inertia[j])
            continue
        column[:] = 0.0
        column[j] = 1.0
        solve_lower(terms.mass_matrix, column)
        solve_upper(terms.mass_matrix, column)
        squares = column_rates(joints.rows, j, column)
        damping += squares[0]
        stiffness += squares[1]
        friction += squares[2]
    if not joints.flexible:
        return friction
    return max(math.sqrt(damping) + math.sqrt(friction), math.sqrt(math.sqrt(stiffness)))
