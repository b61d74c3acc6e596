"""Serialised `tf2_msgs/TFMessage`, without the package, which is not on PyPI."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from impact_control.util.types import Matrix

TRANSFORMS_TYPE = "tf2_msgs/msg/TFMessage"

_LITTLE_ENDIAN = b"\x00\x01\x00\x00"
"""Encapsulation of plain CDR; alignment counts from its end."""

_POSE_SIZE = 7 * 8

_EARLIEST, _LATEST = -(2**31) * 1_000_000_000, 2**31 * 1_000_000_000 - 1
"""[ns] Range of a stamp."""


class TransformEncoder:
    """Encoder of the messages of one set of frames, which differ in stamp and poses only."""

    def __init__(self, links: Sequence[tuple[str, str]]) -> None:
        """links: names of parent and child of each of the k transforms."""
        message = bytearray(_LITTLE_ENDIAN + struct.pack("<I", len(links)))
        stamps, poses = [], []
        for names in links:
            _align(message, 4)
            stamps.append(len(message))
            message += bytes(8)
            for name in names:
                text = name.encode() + b"\0"
                _align(message, 4)
                message += struct.pack("<I", len(text)) + text
            _align(message, 8)
            poses.append(len(message))
            message += bytes(_POSE_SIZE)
        self._message = np.frombuffer(message, dtype=np.uint8)
        self._stamps_at = np.add.outer(stamps, np.arange(8))
        self._poses_at = np.add.outer(poses, np.arange(_POSE_SIZE))

    def encode(self, stamp: int, poses: Matrix) -> bytes:
        """Return a message. stamp [ns], clipped to its range; poses (k, 7): position [m], quaternion x, y, z, w."""
        time = struct.pack("<iI", *divmod(min(max(stamp, _EARLIEST), _LATEST), 1_000_000_000))
        self._message[self._stamps_at] = np.frombuffer(time, dtype=np.uint8)
        self._message[self._poses_at] = np.ascontiguousarray(poses, dtype="<f8").view(np.uint8)
        return self._message.tobytes()


def _align(message: bytearray, size: int) -> None:
    """Fill up to the next multiple of size [bytes]."""
    message += bytes(-(len(message) - len(_LITTLE_ENDIAN)) % size)
