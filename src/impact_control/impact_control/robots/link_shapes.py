"""The surface of the links as capsules, and how the links lie and move at a configuration.

The shapes stand in `data/link_shapes/<name>.yaml`, with their source; the contact points of the end-effector are
added to the last link.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from impact_control.robots.data_file import DATA_DIRECTORY, read_data_file
from impact_control.robots.description import RobotDescription
from impact_control.util.checks import freeze, positive_fields
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

_COLUMNS = 8
"""Columns of a capsule in a data file: link, start (3), end (3), radius."""


@dataclass(frozen=True, eq=False)
class Capsules:
    """Capsules that make up the surface of the links: k of them, convex each. Raises InvalidInputError.

    link (k,): 1..n, on which it is. start, end (k, 3) [m]: of its segment, equal for a sphere; in axes of the link
    from its origin, or, of `LinkFrames.placed`, in the world frame A. radius (k,) [m], above 0.
    """

    link: NDArray[np.int64]
    start: Matrix
    end: Matrix
    radius: Vector

    def __post_init__(self) -> None:
        count = self.link.size
        freeze(self, (count, 3), "start", "end")
        freeze(self, (count,), "radius")
        positive_fields(self, "radius", each="capsule")
        if not np.all(self.link >= 1):
            raise InvalidInputError("link", self.link, "links from 1, the first that moves")


def load_link_shapes(robot: RobotDescription, path: str | Path | None = None) -> Capsules:
    """Return the capsules of the links of `robot`, with the contact spheres of its end-effector, axes of the links.

    path: a data file of one's own; without it that of the robot's name. Raises ScenarioError naming file, key, value
    and what is allowed, also for a robot without such a file.
    """
    data = read_data_file(Path(path) if path is not None else DATA_DIRECTORY / "link_shapes" / f"{robot.name}.yaml")
    data.text("source")
    rows = data.matrix("capsules", None, _COLUMNS)
    data.finish()
    last = len(robot.joint_names)
    if not np.all(np.isin(rows[:, 0], np.arange(1, last + 1))):
        raise data.error("capsules", rows[:, 0].tolist(), f"a link from 1 to {last} in the first column")
    tool = robot.end_effector
    contact = robot.pinocchio_model.frames[robot.contact_frame_id].placement
    points = np.array([contact.act(point) for point in tool.contact_points])
    if tool.radius == 0.0:
        points = points[:0]  # a point has no surface that a line could meet
    balls = np.column_stack([np.full(len(points), last), points, points, np.full(len(points), tool.radius)])
    rows = np.vstack([rows, balls])
    return data.build(
        Capsules, link=rows[:, 0].astype(np.int64), start=rows[:, 1:4], end=rows[:, 4:7], radius=rows[:, 7]
    )


class LinkFrames:
    """Poses and Jacobians of the links: a workspace that `compute` overwrites.

    Link i, 1..n, is the body behind joint i; its frame is that of the joint. Mixed frames: origin of the link, axes of
    the world frame A, linear part first.

    Attributes:
        jacobian: (n, 6, n), rad/s -> m/s, rad/s; J of link i in row i - 1, whose columns beyond i are 0.
        position: (n, 3) [m] origins, frame A.
        rotation: (n, 3, 3) axes of the links as columns, frame A.
    """

    def __init__(self, robot: RobotDescription) -> None:
        """Make the workspace of `robot`, at q = 0."""
        self._model = robot.pinocchio_model
        self._data = self._model.createData()
        n = len(robot.joint_names)
        self.jacobian: NDArray[np.float64] = np.zeros((n, 6, n))
        self.position: Matrix = np.zeros((n, 3))
        self.rotation: NDArray[np.float64] = np.zeros((n, 3, 3))
        self.compute(np.zeros(n))

    def compute(self, q: Vector) -> None:
        """Compute all attributes at q (n,) [rad]."""
        pin.computeJointJacobians(self._model, self._data, q)
        for i in range(len(self.position)):
            self.jacobian[i] = pin.getJointJacobian(self._model, self._data, i + 1, pin.LOCAL_WORLD_ALIGNED)
            self.position[i] = self._data.oMi[i + 1].translation
            self.rotation[i] = self._data.oMi[i + 1].rotation

    def placed(self, capsules: Capsules) -> Capsules:
        """Return capsules given in axes of their links where they are now, in the world frame A."""
        rotation, origin = self.rotation[capsules.link - 1], self.position[capsules.link - 1]
        start = origin + np.einsum("kij,kj->ki", rotation, capsules.start)
        end = origin + np.einsum("kij,kj->ki", rotation, capsules.end)
        return replace(capsules, start=start, end=end)
