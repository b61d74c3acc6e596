"""Numeric kernels of the control law: what the tasks ask of the accelerations. No allocation."""

from __future__ import annotations

import math

import numpy as np

from impact_control.compiled import compiled
from impact_control.types import Matrix, Vector


@compiled
def task_target(
    wanted: Vector,
    position: Vector,
    twist: Vector,
    orientation_error: Vector,
    jacobian_rate_velocity: Vector,
    joint_1: float,
    joint_1_velocity: float,
    gains: Vector,
    gamma: float,
    position_error: Vector,
    velocity_error: Vector,
    target: Vector,
) -> None:
    """Write what J ddq (6,) and ddq_1 are to be into target (7,), and the errors (3,) of position and velocity.

    Van Steen 2024 (15), (23), (25) for the position, (16) with the sign of the Errata for the orientation,
    (17) for joint 1, each solved for the acceleration; dJ dq is taken to the right side, (2).
    wanted: one row of a reference, see `references.ReferenceColumns`. gains (3,): k_p, k_theta, k_q.
    """
    for i in range(3):
        position_error[i] = wanted[i] - position[i]
        velocity_error[i] = wanted[3 + i] - twist[i]
        turning_error = wanted[12 + i] - twist[3 + i]
        target[i] = (
            wanted[6 + i]
            + 2.0 * math.sqrt(gains[0]) * gamma * velocity_error[i]
            + gains[0] * position_error[i]
            - jacobian_rate_velocity[i]
        )
        target[3 + i] = (
            wanted[15 + i]
            + 2.0 * math.sqrt(gains[1]) * gamma * turning_error
            + gains[1] * orientation_error[i]
            - jacobian_rate_velocity[3 + i]
        )
    target[6] = (
        wanted[20]
        + 2.0 * math.sqrt(gains[2]) * gamma * (wanted[19] - joint_1_velocity)
        + gains[2] * (wanted[18] - joint_1)
    )


@compiled
def scale_and_add(values: Vector, factor: float, addend: Vector) -> None:
    """Replace values (n,) by factor values + addend."""
    for i in range(values.shape[0]):
        values[i] = factor * values[i] + addend[i]


@compiled
def hold_target(
    position: Vector, velocity: Vector, start: Vector, start_velocity: Vector, elapsed: float, rate: float,
    gain: float, target: Vector,
) -> None:  # fmt: skip
    """Write the joint accelerations (n,) that follow q(t) = q0 + dq0 (1 - exp(-rate t)) / rate.

    Joint configuration task, Proper 2021 (2.67), (2.68), critically damped.
    """
    decay = math.exp(-rate * max(0.0, elapsed))
    for j in range(target.shape[0]):
        wanted_velocity = start_velocity[j] * decay
        wanted = start[j] + start_velocity[j] * (1.0 - decay) / rate
        target[j] = (
            -rate * wanted_velocity
            + 2.0 * math.sqrt(gain) * (wanted_velocity - velocity[j])
            + gain * (wanted - position[j])
        )


@compiled
def add_force(jacobian: Matrix, inertia: Matrix, wrench: Vector, acceleration: Vector, target: Vector) -> None:
    """Add Lambda^-1 f = J (M + B_theta)^-1 J^T f to target[:6] and its share of joint 1 to target[6].

    Van Steen 2024 (26), (27). wrench (6,); acceleration (n,): (M + B_theta)^-1 J^T f, overwritten.
    """
    n = inertia.shape[0]
    for j in range(n):
        acceleration[j] = 0.0
        for i in range(6):
            acceleration[j] += jacobian[i, j] * wrench[i]
    acceleration[:] = np.linalg.solve(inertia, acceleration)
    for i in range(6):
        for j in range(n):
            target[i] += jacobian[i, j] * acceleration[j]
    target[6] += acceleration[0]


@compiled
def tracking_target(
    position: Vector, velocity: Vector, wanted: Vector, wanted_velocity: Vector, wanted_acceleration: Vector,
    gain: float, target: Vector,
) -> None:  # fmt: skip
    """Write the joint accelerations (n,) [rad/s^2] that follow a joint motion, all arrays (n,), gain k [1/s^2].

    Joint configuration task, Proper 2021 (2.67), (2.68), critically damped.
    """
    for j in range(target.shape[0]):
        target[j] = (
            wanted_acceleration[j]
            + 2.0 * math.sqrt(gain) * (wanted_velocity[j] - velocity[j])
            + gain * (wanted[j] - position[j])
        )
