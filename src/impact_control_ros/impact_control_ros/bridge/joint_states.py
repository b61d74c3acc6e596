"""From a serialised sensor_msgs/JointState to arrays in the order of the robot model, with every defect named."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from impact_control.control import Fault
from impact_control.pipeline.samples import MOTION
from impact_control.util.types import Vector
from impact_control_ros.bridge.messages import nanoseconds

LARGEST_TORQUE = 1e4
"""[Nm] No joint gives more."""

_LITTLE_ENDIAN = b"\x00\x01"
"""Encapsulation of plain CDR in the byte order that the layout below is for."""
_STAMP = struct.Struct("<iI")
_STAMP_AT = 4
_FRAME_AT = 12
_COUNT_WIDTH = 8
"""Bytes between two arrays: a length word, filled up to the alignment of the doubles that follow."""


def impossible_torque(data: bytes) -> float:
    """Return a torque [Nm] in a serialised joint state that no joint of any arm gives; 0 without one.

    One that is not a number is none of these: that of a gripper may be unknown.
    """
    try:
        effort = deserialize_message(data, JointState).effort
    except RuntimeError:  # of rclpy: no message
        return 0.0
    return next((value for value in effort if abs(value) > LARGEST_TORQUE), 0.0)


@dataclass(frozen=True)
class _Layout:
    """Offsets of the numbers in messages with the names and sizes of an earlier one."""

    length: int
    count: int
    names: bytes
    position_at: int
    velocity_at: int
    effort_at: int

    def fits(self, data: bytes) -> bool:
        """Return True for a message that differs from the earlier one in stamp and numbers only."""
        count = self.count.to_bytes(4, "little")
        return (
            len(data) == self.length
            and data.startswith(_LITTLE_ENDIAN)
            and data.startswith(self.names, _FRAME_AT)
            and data.startswith(count, self.velocity_at - _COUNT_WIDTH)
            and data.startswith(count, self.effort_at - _COUNT_WIDTH)
        )


def is_copy(data: bytes, before: bytes) -> bool:
    """Return whether a serialised joint state has all but the stamp of the one before, although a joint moves.

    The rule is that of `impact_control.pipeline.samples.copied`, for joints that need not be known.
    """
    if data[_FRAME_AT:] != before[_FRAME_AT:]:
        return False
    try:
        velocity = deserialize_message(data, JointState).velocity
    except RuntimeError:  # of rclpy: no message, and so no sign of life
        return True
    return any(abs(value) > MOTION for value in velocity)


class JointStateReader:
    """Copies position, velocity and effort of the model's joints out of serialised messages.

    Joints may come in any order and among others. Decoding a message by rclpy takes as long as a control step,
    so only the first one is decoded, and the next one after names or sizes change; the numbers of all others are read
    at the offsets of the first.

    Attributes: position, velocity, effort (n,) [rad, rad/s, Nm]; `stamp` [ns] and the same as `time`; `fault` and
    `reason` of the last message.
    """

    def __init__(self, joint_names: tuple[str, ...]) -> None:
        self._names = list(joint_names)
        self._order: list[int] | None = None
        self._layout: _Layout | None = None
        n = len(joint_names)
        self.position: Vector = np.zeros(n)
        self.velocity: Vector = np.zeros(n)
        self.effort: Vector = np.zeros(n)
        self.stamp = 0
        self.time = Time()
        self.fault = Fault.NONE
        self.reason = ""

    def read(self, data: bytes) -> bool:
        """Take a serialised message; return False for an unusable one, with `fault` and `reason` set."""
        layout = self._layout
        if layout is None or not layout.fits(data):
            return self._decode(data)
        time = self.time
        time.sec, time.nanosec = _STAMP.unpack_from(data, _STAMP_AT)
        self.stamp = nanoseconds(time)
        # One view over all three arrays, with a length word of eight bytes between two of them.
        count = layout.count
        numbers = np.frombuffer(data, "<f8", 3 * count + 2, layout.position_at)
        self._take(numbers[:count], numbers[count + 1 : 2 * count + 1], numbers[2 * count + 2 :])
        return True

    def _decode(self, data: bytes) -> bool:
        self._layout = None
        try:
            message = deserialize_message(data, JointState)
        except RuntimeError:  # of rclpy: a broken message must not end the loop; the stamp stays the last one
            self.fault = Fault.STATE_WRONG_SIZE
            self.reason = f"{len(data)} bytes that are no sensor_msgs/JointState"
            self.velocity[:] = math.nan
            return False
        self.time.sec, self.time.nanosec = message.header.stamp.sec, message.header.stamp.nanosec
        self.stamp = nanoseconds(message.header.stamp)
        count = len(message.name)
        sizes = (len(message.position), len(message.velocity), len(message.effort))
        self._match(message.name)
        if self._order is not None and sizes != (count, count, count):
            self.fault = Fault.STATE_WRONG_SIZE
            self.reason = f"{count} joint names but {sizes} positions, velocities, efforts"
        if self.fault is not Fault.NONE:
            self.velocity[:] = math.nan
            return False
        numbers = [np.asarray(values) for values in (message.position, message.velocity, message.effort)]
        self._take(*numbers)
        self._layout = _layout_of(data, numbers)
        return True

    def _take(self, position: Vector, velocity: Vector, effort: Vector) -> None:
        order = self._order
        self.position[:] = position[order] if order else position
        self.velocity[:] = velocity[order] if order else velocity
        self.effort[:] = effort[order] if order else effort

    def _match(self, names: list[str]) -> None:
        """Find the model's joints among the names; an empty order is the model's own."""
        self.fault = Fault.NONE
        missing = [name for name in self._names if name not in names]
        if missing or len(set(names)) != len(names):
            self._order = None
            self.fault = Fault.STATE_JOINT_NAMES
            self.reason = f"joints {', '.join(missing) or 'named twice'} are missing among {', '.join(names)}"
        elif names == self._names:
            self._order = []
        else:
            self._order = [names.index(name) for name in self._names]


def _layout_of(data: bytes, numbers: list[Vector]) -> _Layout | None:
    """Return the offsets of three equally long arrays at the end of a message; None for an unexpected layout."""
    count = len(numbers[0])
    starts = [len(data) - 8 * count - left * (8 * count + _COUNT_WIDTH) for left in (2, 1, 0)]
    for start, values in zip(starts, numbers, strict=True):
        # Bytes, not numbers: a NaN has to be found as well.
        if data[start : start + 8 * count] != values.astype("<f8").tobytes():
            return None
    word = count.to_bytes(4, "little")
    if not data.startswith(_LITTLE_ENDIAN) or any(
        data[later - _COUNT_WIDTH : later - 4] != word for _, later in pairwise(starts)
    ):
        return None
    return _Layout(len(data), count, data[_FRAME_AT : starts[0]], *starts)
