"""Joint motion that realises a motion of the end-effector and of joint 1, Proper 2021 (3.26)-(3.28)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from impact_control.robots import Dynamics
from impact_control.util.errors import ImpactControlError
from impact_control.util.types import Matrix, Vector

_TOLERANCE = 1e-10
_LARGEST_ITERATIONS = 20


class UnreachableReferenceError(ImpactControlError):
    """A reference cannot be followed by the joints.

    Attributes:
        time: when it first fails [s].
        joint: name of the joint that breaks a limit; None when no configuration was found.
        value: what the joint would have to do; the remaining error [m, rad] without a joint.
        allowed: what it may do, in words.
    """

    def __init__(self, time: float, joint: str | None, value: float, allowed: str) -> None:
        what = "inverse kinematics leaves an error of" if joint is None else f"{joint} would have to be at"
        super().__init__(f"reference cannot be followed at {time:.3f} s: {what} {value:.6g}, allowed: {allowed}")
        self.time = time
        self.joint = joint
        self.value = value
        self.allowed = allowed


@dataclass(frozen=True, eq=False)
class TaskMotion:
    """Motion of the seven tasks at one or N times.

    position, velocity, acceleration (..., 3) of the origin of E [m], frame A; orientation (..., 3), its rate
    and its second derivative: rotation vector phi of a rotation about one fixed axis [rad], axes of A,
    R_ref = exp(phi) R_d, so that its derivatives are the angular velocity and acceleration; posture (..., 3):
    joint 1 and its derivatives.
    """

    position: Matrix
    velocity: Matrix
    acceleration: Matrix
    orientation: Matrix
    angular_velocity: Matrix
    angular_acceleration: Matrix
    posture: Matrix


@dataclass(frozen=True, eq=False)
class JointMotion:
    """position, velocity, acceleration of the joints, each (N, n), in rad and s."""

    position: Matrix
    velocity: Matrix
    acceleration: Matrix


def task_jacobian(jacobian: Matrix) -> Matrix:
    """Stack J (6, n) of the end-effector, mixed frame E[A], and the row that selects joint 1: (7, n)."""
    stacked = np.zeros((7, jacobian.shape[1]))
    stacked[:6] = jacobian
    stacked[6, 0] = 1.0
    return stacked


def joint_motion(
    dynamics: Dynamics,
    times: Vector,
    motion: Callable[[Vector], TaskMotion],
    orientation: Matrix,
    start: Vector,
    start_index: int = 0,
) -> JointMotion:
    """Follow a task motion along `times` (N,) [s] forwards and backwards from times[start_index].

    start (n,) [rad]: the configuration there; orientation: R_d (3, 3). Each sample is found by Newton's
    method from its neighbour, so that the arm stays on its branch; velocity and acceleration solve (3.27)
    and (3.28), extended by joint 1. Raises UnreachableReferenceError.
    """
    tasks = motion(times)
    twists = np.hstack([tasks.velocity, tasks.angular_velocity, tasks.posture[:, 1:2]])
    accelerations = np.hstack([tasks.acceleration, tasks.angular_acceleration, tasks.posture[:, 2:3]])
    q, dq, ddq = (np.zeros((times.size, start.size)) for _ in range(3))
    q[start_index] = start
    forwards = [(k, max(k - 1, start_index)) for k in range(start_index, times.size)]
    backwards = [(k, k + 1) for k in range(start_index - 1, -1, -1)]
    for k, neighbour in (*forwards, *backwards):
        step = times[k] - times[neighbour]
        guess = q[neighbour] + step * dq[neighbour] + 0.5 * step * step * ddq[neighbour]
        rotation = pin.exp3(tasks.orientation[k]) @ orientation
        try:
            q[k] = _solve(dynamics, tasks.position[k], rotation, tasks.posture[k, 0], guess, times[k])
            inverse = np.linalg.inv(task_jacobian(dynamics.jacobian))
        except np.linalg.LinAlgError:
            allowed = "a configuration that is not singular"
            raise UnreachableReferenceError(float(times[k]), None, np.inf, allowed) from None
        dq[k] = inverse @ twists[k]
        dynamics.compute(q[k], dq[k])
        ddq[k] = inverse @ (accelerations[k] - np.append(dynamics.jacobian_rate_velocity, 0.0))
    return JointMotion(q, dq, ddq)


def _solve(
    dynamics: Dynamics, position: Vector, rotation: Matrix, posture: float, guess: Vector, time: float
) -> Vector:
    """Return the configuration (n,) [rad] of a pose, in which it leaves `dynamics`."""
    q = guess.copy()
    still = np.zeros_like(q)
    error = np.empty(7)
    for _ in range(_LARGEST_ITERATIONS):
        dynamics.compute(q, still)
        error[:3] = position - dynamics.position
        error[3:6] = pin.log3(rotation @ dynamics.rotation.T)
        error[6] = posture - q[0]
        if np.max(np.abs(error)) < _TOLERANCE:
            return q
        q += np.linalg.solve(task_jacobian(dynamics.jacobian), error)
    remaining = float(np.max(np.abs(error)))
    allowed = f"below {_TOLERANCE:g} m or rad, a pose inside the workspace"
    raise UnreachableReferenceError(time, None, remaining, allowed)
