"""Tasks: what is wanted of the accelerations, each as rows E ddq = target of the cost.

Every task has a gain k; its velocity gain is 2 sqrt(k), critically damped, van Steen 2024 (15)-(17). gamma [-] is the
part of the velocity feedback, (23), (24). Vectors are in frame A, twists and Jacobians in the mixed frame E[A].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from impact_control.compiled import compiled
from impact_control.references import ReferenceColumns
from impact_control.robots import Dynamics
from impact_control.robots.rotation import orientation_error
from impact_control.types import Matrix, Vector


class Task(Protocol):
    """Some rows of the cost. A task is told what is wanted by methods of its own, then asked for its rows.

    Attributes: rows, their number; weight w [-] of each of them in (18).
    """

    rows: int
    weight: float

    def write(self, dynamics: Dynamics, gamma: float, matrix: Matrix, target: Vector) -> None:
        """Write E (rows, n) and target (rows,) at the state of `dynamics`; no allocation."""


@compiled
def _position_rows(
    wanted: Vector, position: Vector, twist: Vector, jacobian: Matrix, jacobian_rate_velocity: Vector, gain: float,
    gamma: float, error: Vector, velocity_error: Vector, matrix: Matrix, target: Vector,
) -> None:  # fmt: skip
    damping = 2.0 * math.sqrt(gain) * gamma
    for i in range(3):
        error[i] = wanted[i] - position[i]
        velocity_error[i] = wanted[3 + i] - twist[i]
        target[i] = wanted[6 + i] + damping * velocity_error[i] + gain * error[i] - jacobian_rate_velocity[i]
        for j in range(matrix.shape[1]):
            matrix[i, j] = jacobian[i, j]


class PositionTask:
    """Origin of E on the position of a reference: van Steen 2024 (15), (23), (25), with dJ dq of (2) on the right.

    gain may be changed between two samples. Attributes after `write`: error [m] and velocity_error [m/s], wanted less
    actual, (3,).
    """

    rows = 3

    def __init__(self, gain: float, weight: float, wanted: ReferenceColumns) -> None:
        """Gain k_p [1/s^2], weight w_p [-]; `wanted` is followed until `follow` names another."""
        self.weight = weight
        self.gain = gain
        self._wanted = wanted.data
        self.error = np.zeros(3)
        self.velocity_error = np.zeros(3)

    def follow(self, wanted: ReferenceColumns) -> None:
        """Follow these columns, one sample that is overwritten in place."""
        self._wanted = wanted.data

    def write(self, dynamics: Dynamics, gamma: float, matrix: Matrix, target: Vector) -> None:
        """See `Task`."""
        _position_rows(
            self._wanted, dynamics.position, dynamics.twist, dynamics.jacobian, dynamics.jacobian_rate_velocity,
            self.gain, gamma, self.error, self.velocity_error, matrix, target,
        )  # fmt: skip


@compiled
def _orientation_rows(
    wanted: Vector, nominal: Matrix, rotation: Matrix, twist: Vector, jacobian: Matrix, jacobian_rate_velocity: Vector,
    gain: float, gamma: float, work: Matrix, error: Vector, matrix: Matrix, target: Vector,
) -> None:  # fmt: skip
    orientation_error(wanted[9:12], nominal, rotation, work, error)
    damping = 2.0 * math.sqrt(gain) * gamma
    for i in range(3):
        turning = damping * (wanted[12 + i] - twist[3 + i])
        target[i] = wanted[15 + i] + turning + gain * error[i] - jacobian_rate_velocity[3 + i]
        for j in range(matrix.shape[1]):
            matrix[i, j] = jacobian[3 + i, j]


class OrientationTask:
    """Axes of E on those of a reference, exp(phi) R_d: van Steen 2024 (16) with sign and frame of the Errata.

    gain may be changed between two samples. Attribute after `write`: error (3,) [rad], the turn that is left, axes of
    A.
    """

    rows = 3

    def __init__(self, gain: float, weight: float, wanted: ReferenceColumns) -> None:
        """Gain k_theta [1/s^2], weight w_theta [-]; `wanted` is followed until `follow` names another."""
        self.weight = weight
        self.gain = gain
        self._wanted = wanted.data
        self._nominal = np.eye(3)
        self._work = np.zeros((2, 3, 3))
        self.error = np.zeros(3)

    def follow(self, wanted: ReferenceColumns, nominal: Matrix) -> None:
        """Follow the rotation vector phi of these columns from the orientation R_d (3, 3)."""
        self._wanted = wanted.data
        self._nominal[:] = nominal

    def write(self, dynamics: Dynamics, gamma: float, matrix: Matrix, target: Vector) -> None:
        """See `Task`."""
        _orientation_rows(
            self._wanted, self._nominal, dynamics.rotation, dynamics.twist, dynamics.jacobian,
            dynamics.jacobian_rate_velocity, self.gain, gamma, self._work, self.error, matrix, target,
        )  # fmt: skip


class PostureTask:
    """Joint 1 on the posture of a reference, which leaves the arm no freedom: van Steen 2024 (17)."""

    rows = 1

    def __init__(self, gain: float, weight: float, wanted: ReferenceColumns) -> None:
        """Gain k_q [1/s^2], weight w_q [-]; `wanted` is followed until `follow` names another."""
        self.weight = weight
        self.gain = gain
        self._wanted = wanted.posture

    def follow(self, wanted: ReferenceColumns) -> None:
        """Follow the posture of these columns."""
        self._wanted = wanted.posture

    def write(self, dynamics: Dynamics, gamma: float, matrix: Matrix, target: Vector) -> None:
        """See `Task`."""
        value, velocity, acceleration = self._wanted.tolist()
        damping = 2.0 * math.sqrt(self.gain) * gamma
        feedback = damping * (velocity - dynamics.dq[0]) + self.gain * (value - dynamics.q[0])
        matrix[0, 0] = 1.0
        target[0] = acceleration + feedback


@compiled
def _joint_rows(
    position: Vector, velocity: Vector, wanted: Vector, wanted_velocity: Vector, wanted_acceleration: Vector,
    gain: float, gamma: float, matrix: Matrix, target: Vector,
) -> None:  # fmt: skip
    damping = 2.0 * math.sqrt(gain) * gamma
    for j in range(target.shape[0]):
        error, velocity_error = wanted[j] - position[j], wanted_velocity[j] - velocity[j]
        target[j] = wanted_acceleration[j] + damping * velocity_error + gain * error
        matrix[j, j] = 1.0


class JointTask:
    """All joints on a motion of their own: joint configuration task, Proper 2021 (2.67), (2.68)."""

    def __init__(self, gain: float, weight: float, joints: int) -> None:
        """Gain k [1/s^2], weight [-]; the motion is rest in q = 0 until `follow` names another."""
        self.rows = joints
        self.weight = weight
        self.gain = gain
        self._position = self._velocity = self._acceleration = np.zeros(joints)

    def follow(self, position: Vector, velocity: Vector, acceleration: Vector) -> None:
        """Follow this motion, (n,) each [rad, rad/s, rad/s^2]; the arrays are not copied."""
        self._position, self._velocity, self._acceleration = position, velocity, acceleration

    def write(self, dynamics: Dynamics, gamma: float, matrix: Matrix, target: Vector) -> None:
        """See `Task`."""
        _joint_rows(
            dynamics.q, dynamics.dq, self._position, self._velocity, self._acceleration, self.gain, gamma, matrix,
            target,
        )  # fmt: skip


class TaskStack:
    """Tasks that are served together, one below the other, by their weights: van Steen 2024 (18).

    Attributes after `write`: matrix E (m, n), target (m,), weights (m,).
    """

    def __init__(self, tasks: Sequence[Task], joints: int) -> None:
        rows = sum(task.rows for task in tasks)
        self.matrix = np.zeros((rows, joints))
        self.target = np.zeros(rows)
        self.weights = np.repeat([float(task.weight) for task in tasks], [task.rows for task in tasks])
        ends = np.cumsum([task.rows for task in tasks])
        self._parts = [
            (task, self.matrix[end - task.rows : end], self.target[end - task.rows : end])
            for task, end in zip(tasks, ends.tolist(), strict=True)
        ]

    def write(self, dynamics: Dynamics, gamma: float) -> None:
        """Ask every task for its rows at the state of `dynamics`."""
        for task, matrix, target in self._parts:
            task.write(dynamics, gamma, matrix, target)
