"""Tasks: desired accelerations, each as rows E ddq = target of the cost.

Every task has a gain k; its velocity gain is 2 sqrt(k), critically damped, van Steen 2024 (15)-(17). gamma [-] is the
part of the velocity feedback, (23), (24). Vectors are in frame A, twists and Jacobians in the mixed frame E[A].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from impact_control.references import ReferenceColumns
from impact_control.robots import Dynamics
from impact_control.robots.rotation import orientation_error
from impact_control.util.compiled import compiled_in_place
from impact_control.util.memory import Memory, named_memory
from impact_control.util.types import Matrix, Vector


class Task(Protocol):
    """Some rows of the cost. A task follows a reference by a method of its own, then writes its rows.

    Attributes: rows, their number; weight w [-] of each of them in (18).
    """

    rows: int
    weight: float

    def write(self, dynamics: Dynamics, gamma: float, matrix: Matrix, target: Vector) -> None:
        """Write E (rows, n) and target (rows,) at the state of `dynamics`; no allocation."""


PUSH_REACH = 5e-3
"""[m] Depth of a reference behind a surface that is pressed on from which on feedback pushes no harder: the force is
that of the task, and not that of a surface that was met early."""


@compiled_in_place
def _position_rows(
    task: Memory, frame: Memory, reference: Memory, position: Vector, gamma: float, matrix: Matrix, target: Vector
) -> None:
    t, f, desired = task[()], frame[()], reference[()]
    damping = 2.0 * math.sqrt(t.gain) * gamma
    depth = 0.0
    for i in range(3):
        t.error[i] = desired.position[i] - position[i]
        depth += t.inward[i] * t.error[i]
    beyond = max(depth - PUSH_REACH, 0.0)
    for i in range(3):
        t.velocity_error[i] = desired.velocity[i] - f.twist[i]
        feedback = damping * t.velocity_error[i] + t.gain * (t.error[i] - beyond * t.inward[i])
        target[i] = desired.acceleration[i] + feedback - f.jacobian_rate_velocity[i]
        for j in range(matrix.shape[1]):
            matrix[i, j] = f.jacobian[i, j]


class PositionTask:
    """Origin of E on the position of a reference: van Steen 2024 (15), (23), (25), with dJ dq of (2) on the right.

    inward (3,): unit vector into the surface that a force presses on, zero
    without; that far the feedback pushes as for `PUSH_REACH` at most. Attributes after `write`: error [m] and
    velocity_error [m/s], desired less actual, (3,).
    """

    rows = 3

    def __init__(self, gain: float, weight: float, desired: ReferenceColumns) -> None:
        """Gain k_p [1/s^2], weight w_p [-]; `desired` is followed until `follow` names another."""
        self.weight = weight
        self._memory = named_memory(gain=(), inward=(3,), error=(3,), velocity_error=(3,))
        self._desired = desired.memory
        self.inward: Vector = self._memory["inward"]
        self.error: Vector = self._memory["error"]
        self.velocity_error: Vector = self._memory["velocity_error"]
        self.change_gain(gain)

    def change_gain(self, gain: float) -> None:
        """Use another gain [1/s^2] from the next sample on."""
        self._memory["gain"] = gain

    def follow(self, desired: ReferenceColumns) -> None:
        """Follow these columns, one sample that is overwritten in place."""
        self._desired = desired.memory

    def write(self, dynamics: Dynamics, gamma: float, matrix: Matrix, target: Vector) -> None:
        """Write the rows of this task, as `Task`."""
        _position_rows(self._memory, dynamics.frame, self._desired, dynamics.position, gamma, matrix, target)


@compiled_in_place
def _orientation_rows(
    task: Memory, frame: Memory, reference: Memory, rotation: Matrix, gamma: float, matrix: Matrix, target: Vector
) -> None:
    t, f, desired = task[()], frame[()], reference[()]
    orientation_error(desired.orientation, t.nominal, rotation, t.work, t.error)
    damping = 2.0 * math.sqrt(t.gain) * gamma
    for i in range(3):
        turning = damping * (desired.angular_velocity[i] - f.twist[3 + i])
        target[i] = desired.angular_acceleration[i] + turning + t.gain * t.error[i] - f.jacobian_rate_velocity[3 + i]
        for j in range(matrix.shape[1]):
            matrix[i, j] = f.jacobian[3 + i, j]


class OrientationTask:
    """Axes of E on those of a reference, exp(phi) R_d: van Steen 2024 (16) with sign and frame of the Errata.

    Attribute after `write`: error (3,) [rad], the turn that is left, axes of
    A.
    """

    rows = 3

    def __init__(self, gain: float, weight: float, desired: ReferenceColumns) -> None:
        """Gain k_theta [1/s^2], weight w_theta [-]; `desired` is followed until `follow` names another."""
        self.weight = weight
        self._memory = named_memory(gain=(), nominal=(3, 3), work=(2, 3, 3), error=(3,))
        self._desired = desired.memory
        self._nominal = self._memory["nominal"]
        self._nominal[:] = np.eye(3)
        self.error: Vector = self._memory["error"]
        self.change_gain(gain)

    def change_gain(self, gain: float) -> None:
        """Use another gain [1/s^2] from the next sample on."""
        self._memory["gain"] = gain

    def follow(self, desired: ReferenceColumns, nominal: Matrix) -> None:
        """Follow the rotation vector phi of these columns from the orientation R_d (3, 3)."""
        self._desired = desired.memory
        self._nominal[:] = nominal

    def write(self, dynamics: Dynamics, gamma: float, matrix: Matrix, target: Vector) -> None:
        """Write the rows of this task, as `Task`."""
        _orientation_rows(self._memory, dynamics.frame, self._desired, dynamics.rotation, gamma, matrix, target)


class PostureTask:
    """Joint 1 on the posture of a reference, which leaves the arm no freedom: van Steen 2024 (17)."""

    rows = 1

    def __init__(self, gain: float, weight: float, desired: ReferenceColumns) -> None:
        """Gain k_q [1/s^2], weight w_q [-]; `desired` is followed until `follow` names another."""
        self.weight = weight
        self._gain = gain
        self._desired = desired.posture

    def change_gain(self, gain: float) -> None:
        """Use another gain [1/s^2] from the next sample on."""
        self._gain = gain

    def follow(self, desired: ReferenceColumns) -> None:
        """Follow the posture of these columns."""
        self._desired = desired.posture

    def write(self, dynamics: Dynamics, gamma: float, matrix: Matrix, target: Vector) -> None:
        """Write the rows of this task, as `Task`."""
        value, velocity, acceleration = self._desired.tolist()
        damping = 2.0 * math.sqrt(self._gain) * gamma
        feedback = damping * (velocity - dynamics.dq[0]) + self._gain * (value - dynamics.q[0])
        matrix[0, 0] = 1.0
        target[0] = acceleration + feedback


@compiled_in_place
def _joint_rows(task: Memory, frame: Memory, gamma: float, matrix: Matrix, target: Vector) -> None:
    t, f = task[()], frame[()]
    damping = 2.0 * math.sqrt(t.gain) * gamma
    for j in range(target.shape[0]):
        error, velocity_error = t.position[j] - f.q[j], t.velocity[j] - f.dq[j]
        target[j] = t.acceleration[j] + damping * velocity_error + t.gain * error
        matrix[j, j] = 1.0


class JointTask:
    """All joints on a motion of their own: joint configuration task, Proper 2021 (2.67), (2.68)."""

    def __init__(self, gain: float, weight: float, joints: int) -> None:
        """Gain k [1/s^2], weight [-]; the motion is rest in q = 0 until `follow` names another."""
        self.rows = joints
        self.weight = weight
        self._memory = named_memory(gain=(), position=(joints,), velocity=(joints,), acceleration=(joints,))
        self._memory["gain"] = gain
        self._position, self._velocity = self._memory["position"], self._memory["velocity"]
        self._acceleration = self._memory["acceleration"]

    def follow(self, position: Vector, velocity: Vector, acceleration: Vector) -> None:
        """Follow this sample of a motion, (n,) each [rad, rad/s, rad/s^2]."""
        self._position[:] = position
        self._velocity[:] = velocity
        self._acceleration[:] = acceleration

    def write(self, dynamics: Dynamics, gamma: float, matrix: Matrix, target: Vector) -> None:
        """Write the rows of this task, as `Task`."""
        _joint_rows(self._memory, dynamics.frame, gamma, matrix, target)


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
