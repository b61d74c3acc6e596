"""An arm whose base does not stand at the origin of the world."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin

from impact_control.robots.description import RobotDescription
from impact_control.util.checks import finite_array
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector


def mounted_at(robot: RobotDescription, position: Vector, rotation: Matrix | None = None) -> RobotDescription:
    """Return the robot with its base at position (3,) [m], rotation (3, 3): axes of the base as columns, frame A.

    Gravity keeps its direction in A. The model given stays as it is. Raises InvalidInputError.
    """
    turn = finite_array("rotation", np.eye(3) if rotation is None else rotation, (3, 3))
    if not np.allclose(turn @ turn.T, np.eye(3), atol=1e-9) or np.linalg.det(turn) < 0.0:
        raise InvalidInputError("rotation", turn, "a rotation matrix")
    base = pin.SE3(turn, finite_array("position", position, (3,)))
    model = robot.pinocchio_model.copy()
    for joint, parent in enumerate(model.parents):
        if joint > 0 and parent == 0:
            model.jointPlacements[joint] = base * model.jointPlacements[joint]
    for frame in model.frames:
        if frame.parentJoint == 0:
            frame.placement = base * frame.placement
    return replace(robot, pinocchio_model=model)


def stand_alike(robot: RobotDescription, other: RobotDescription) -> bool:
    """Return whether the first joints of two arms are at the same place of frame A, to 1e-9."""
    first, second = (one.pinocchio_model.jointPlacements[1] for one in (robot, other))
    return bool(first.isApprox(second, 1e-9))


def rotation_from_roll_pitch_yaw(angles: Vector) -> Matrix:
    """Return R_z(yaw) R_y(pitch) R_x(roll) (3, 3) of the angles (3,) [rad]."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(angles), np.sin(angles)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )
