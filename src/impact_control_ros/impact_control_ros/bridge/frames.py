"""Frames of the links of an arm as `/tf` messages, from its joint states."""

from __future__ import annotations

import numpy as np

from impact_control.recording.transforms import TransformEncoder
from impact_control.robots.frame_tree import FrameTree
from impact_control_ros.bridge.joint_states import JointStateReader
from impact_control_ros.bridge.messages import serialised_stamp

PERIOD = 20_000_000
"""[ns] between the stamps of two messages: pictures need no more."""


class Frames:
    """Forward kinematics of serialised joint states, at a lower rate."""

    def __init__(self, joint_names: tuple[str, ...], description: str) -> None:
        """joint_names: of the robot; description: its URDF, with the joints in the same order."""
        self._reader = JointStateReader(joint_names)
        self._tree = FrameTree(description)
        self._encoder = TransformEncoder(self._tree.links)
        self._last: int | None = None

    def of_state(self, data: bytes) -> bytes | None:
        """Return the frames of a joint state as `tf2_msgs/TFMessage`, stamped as it is.

        None within `PERIOD` after the last one, and of a joint state that cannot be read or has positions that are no
        numbers.
        """
        stamp = serialised_stamp(data)
        if stamp is None or (self._last is not None and 0 <= stamp - self._last < PERIOD):
            return None
        self._last = stamp
        if not self._reader.read(data) or not np.isfinite(self._reader.position).all():
            return None
        self._tree.compute(self._reader.position)
        return self._encoder.encode(stamp, self._tree.poses)
