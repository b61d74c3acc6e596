"""What moves the links of an arm: torques at rigid joints, or motors and torque loop behind flexible ones."""

from __future__ import annotations

import math
from typing import NamedTuple

from impact_control.compiled import compiled_in_place
from impact_control.dense import solve_lower, solve_upper
from impact_control.simulation.chain_dynamics import ChainTerms
from impact_control.simulation.joint_kernel import (
    FILTER_RATE,
    MOTOR_INERTIA,
    joint_friction,
    time_to_backlash_edge,
    torque_loop,
    transmission,
)
from impact_control.types import Matrix, Vector

COMMAND, ACTUATION = 5, 6
"""Rows of an arm's array (7, n), after its state: link position [rad], link velocity, motor position, motor velocity,
filtered torque [Nm]. The commanded torque [Nm] without gravity, and that of the motors, or without flexible joints of
the links, held between the ticks of the torque loop [Nm]."""


class Joints(NamedTuple):
    """What drives the links.

    flexible: whether motors and transmissions stand between torque and links. gravity_compensation: whether the arm
    adds the torque that holds it. ticks: periods of the torque loop a sample. rows (1, 13, n): of `joint_kernel`.
    added_inertia (n,) [kg m^2]: what moves with the links, B_theta of Rey Arias 2024 (8) without flexible joints.
    """

    flexible: bool
    gravity_compensation: bool
    ticks: int
    rows: Matrix
    added_inertia: Vector


@compiled_in_place
def drive_links(joints: Joints, terms: ChainTerms, arm: Matrix, slope: Matrix) -> None:
    """Write the slope (5, n) without contact."""
    acceleration = slope[1]
    for j in range(acceleration.size):
        velocity, torque = arm[1, j], arm[ACTUATION, j]
        slope[0, j] = velocity
        if joints.flexible:
            spring, transmitted = transmission(joints.rows, 0, j, arm[2, j] - arm[0, j], arm[3, j] - velocity)
            slope[2, j] = arm[3, j]
            slope[3, j] = (torque - transmitted) / joints.rows[0, MOTOR_INERTIA, j]
            slope[4, j] = joints.rows[0, FILTER_RATE, j] * (spring - arm[4, j])
            torque = transmitted
        elif joints.gravity_compensation:
            torque += terms.gravity[j]
        acceleration[j] = torque - terms.nonlinear[j] - joint_friction(joints.rows, 0, j, velocity)
    solve_lower(terms.mass_matrix, acceleration)
    solve_upper(terms.mass_matrix, acceleration)


@compiled_in_place
def actuate(joints: Joints, terms: ChainTerms, arm: Matrix) -> None:
    """Write the actuation of one period of the torque loop, or without flexible joints the command."""
    for j in range(arm.shape[1]):
        arm[ACTUATION, j] = arm[COMMAND, j]
        if joints.flexible:
            wanted = arm[COMMAND, j] + (terms.gravity[j] if joints.gravity_compensation else 0.0)
            twist, twist_rate = arm[2, j] - arm[0, j], arm[3, j] - arm[1, j]
            arm[ACTUATION, j] = torque_loop(joints.rows, 0, j, wanted, twist, twist_rate, arm[4, j])


@compiled_in_place
def time_to_any_edge(joints: Joints, arm: Matrix) -> float:
    """Return the time [s] until a joint enters or leaves its backlash at its rate; infinity when none does."""
    time = math.inf
    if joints.flexible:
        for j in range(arm.shape[1]):
            twist, twist_rate = arm[2, j] - arm[0, j], arm[3, j] - arm[1, j]
            time = min(time, time_to_backlash_edge(joints.rows, 0, j, twist, twist_rate))
    return time
