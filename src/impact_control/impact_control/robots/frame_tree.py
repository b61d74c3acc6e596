"""Frames of the links of a URDF, each relative to the link before it, as `/tf` has them."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from impact_control.util.types import Matrix, Vector


class FrameTree:
    """Forward kinematics of a URDF, link by link.

    Attributes:
        links: names of parent and child of each of the k joints, fixed ones too: one chain from the root to every link.
        poses: (k, 7) of the child in axes of the parent: position [m], unit quaternion x, y, z, w.
    """

    def __init__(self, description: str) -> None:
        """Read a URDF; poses are those at q = 0. description: its text."""
        self._model = pin.buildModelFromXML(description)
        self._data = self._model.createData()
        frames = self._model.frames
        pairs = [
            (frames[frames[child.parentFrame].parentFrame], child)
            for child in frames
            if child.type == pin.BODY and child.parentFrame  # 0: the universe, above the root
        ]
        self.links = tuple((parent.name, child.name) for parent, child in pairs)
        self.poses: Matrix = np.zeros((len(pairs), 7))
        self._moving: list[tuple[int, int, pin.SE3, pin.SE3]] = []  # row, joint, frames of both links on theirs
        for row, (parent, child) in enumerate(pairs):
            before = parent.placement.inverse()
            if parent.parentJoint == child.parentJoint:
                self.poses[row] = pin.SE3ToXYZQUAT(before * child.placement)
            else:
                self._moving.append((row, child.parentJoint, before, child.placement))
        self.compute(pin.neutral(self._model))

    def compute(self, q: Vector) -> None:
        """Compute the poses at q (n,) [rad], in the order of the joints in the URDF."""
        pin.forwardKinematics(self._model, self._data, q)
        for row, joint, before, after in self._moving:
            self.poses[row] = pin.SE3ToXYZQUAT(before * self._data.liMi[joint] * after)
