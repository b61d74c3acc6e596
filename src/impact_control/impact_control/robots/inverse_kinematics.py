"""Find the joint positions that put the contact frame at a pose; a redundancy is taken up by joint 1."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin

from impact_control.robots.description import RobotDescription
from impact_control.util.errors import ImpactControlError, InvalidInputError
from impact_control.util.types import Matrix, Vector

_TOLERANCE = 1e-9
_LARGEST_DAMPING = 1e10


class UnreachablePoseError(ImpactControlError):
    """No joint position inside the limits was found for a pose.

    Attributes:
        position_error: distance [m] that is left of the position.
        rotation_error: angle [rad] that is left of the orientation.
        posture_error: error of joint 1 [rad]; 0 when joint 1 was not prescribed.
        configuration: where the search ended (n,) [rad].
    """

    def __init__(self, residual: Vector, configuration: Vector) -> None:
        self.position_error = float(np.linalg.norm(residual[:3]))
        self.rotation_error = float(np.linalg.norm(residual[3:6]))
        self.posture_error = abs(float(residual[6])) if residual.size > 6 else 0.0
        self.configuration = configuration
        super().__init__(
            f"pose not reached inside the joint limits: {self.position_error:.3g} m, "
            f"{self.rotation_error:.3g} rad and {self.posture_error:.3g} rad of joint 1 are left at "
            f"q = {configuration.tolist()}; "
            "allowed: a pose in the workspace, and an initial guess in its neighbourhood"
        )


def solve(
    robot: RobotDescription,
    position: Vector,
    rotation: Matrix,
    posture: float | None,
    initial_guess: Vector,
    iterations: int = 200,
) -> Vector:
    """Return q (n,) [rad] with the contact frame E at a pose and joint 1 at `posture`, inside the limits.

    position (3,) [m] of the origin of E and rotation (3, 3), axes of E as columns, in the world frame A;
    posture [rad], None for an arm without redundancy; initial_guess (n,) [rad] selects the branch, and is
    moved into the limits first. Damped Gauss-Newton on the 7 (6) equations, to 1e-9 m and rad. An arm of fewer
    joints finds the poses it can reach: the planar arm those with E in its plane. A search from one guess that gives
    up after so many iterations: that it finds nothing does not prove that there is nothing. Raises InvalidInputError,
    UnreachablePoseError.
    """
    goal, start = _validated(robot, position, rotation, posture, initial_guess)
    model, frame = robot.pinocchio_model, robot.contact_frame_id
    lower, upper = robot.limits.position_lower, robot.limits.position_upper
    data = model.createData()

    def residual_at(configuration: Vector) -> Vector:
        pin.framesForwardKinematics(model, data, configuration)
        placement = data.oMf[frame]
        turn = pin.log3(goal.rotation @ placement.rotation.T)
        left_of_joint_1 = [] if posture is None else [posture - configuration[0]]
        return np.concatenate((goal.translation - placement.translation, turn, left_of_joint_1))

    jacobian = np.zeros((6 if posture is None else 7, model.nv))
    jacobian[6:, 0] = 1.0
    q = start
    residual = residual_at(q)
    damping = 1e-3
    for _ in range(iterations):
        if np.max(np.abs(residual)) < _TOLERANCE:
            return q
        jacobian[:6] = pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL_WORLD_ALIGNED)
        slope = jacobian.T @ residual
        # A joint at its limit that would be pushed beyond it takes no part in the step.
        free = ~(((q <= lower) & (slope < 0.0)) | ((q >= upper) & (slope > 0.0)))
        normal = jacobian[:, free].T @ jacobian[:, free]
        improved = False
        while not improved and damping < _LARGEST_DAMPING:
            step = np.zeros_like(q)
            step[free] = np.linalg.solve(normal + damping * np.eye(normal.shape[0]), slope[free])
            candidate = np.clip(q + step, lower, upper)
            candidate_residual = residual_at(candidate)
            improved = bool(candidate_residual @ candidate_residual < residual @ residual)
            damping = max(0.1 * damping, 1e-12) if improved else 10.0 * damping
        if not improved:
            break
        q, residual = candidate, candidate_residual
    raise UnreachablePoseError(residual, q)


def _validated(
    robot: RobotDescription, position: Vector, rotation: Matrix, posture: float | None, initial_guess: Vector
) -> tuple[pin.SE3, Vector]:
    """Return the goal as SE3 and the initial guess inside the limits."""
    origin, axes = np.array(position, dtype=float), np.array(rotation, dtype=float)
    guess = np.array(initial_guess, dtype=float)
    if origin.shape != (3,) or not np.all(np.isfinite(origin)):
        raise InvalidInputError("position", position, "three finite numbers in m")
    orthonormal = axes.shape == (3, 3) and np.allclose(axes.T @ axes, np.eye(3), atol=1e-6)
    if not orthonormal or np.linalg.det(axes) < 0.0:
        raise InvalidInputError("rotation", rotation, "a right-handed orthonormal (3, 3) matrix")
    lower, upper = robot.limits.position_lower, robot.limits.position_upper
    if guess.shape != lower.shape or not np.all(np.isfinite(guess)):
        raise InvalidInputError("initial_guess", initial_guess, f"{lower.size} finite joint positions in rad")
    if posture is not None and not (math.isfinite(posture) and lower[0] <= posture <= upper[0]):
        raise InvalidInputError("posture", posture, f"in the limits of joint 1, {lower[0]} to {upper[0]} rad")
    return pin.SE3(axes, origin), np.clip(guess, lower, upper)
