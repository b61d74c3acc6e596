"""Conversions between messages and the core's numbers."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Vector3
from impact_msgs.msg import ImpactEvent

from impact_control.recording.messages import decode, message_definition, parse_definition, short_name
from impact_control.util.types import Vector

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Taken = TypeVar("Taken", bound="DataclassInstance")

_NANOSECONDS = 1_000_000_000
_STAMP_AT = 4
_STAMP_SIZE = 8
_EARLIEST, _LATEST = -(2**31) * _NANOSECONDS, 2**31 * _NANOSECONDS - 1
"""[ns] Range of a stamp."""


def nanoseconds(stamp: Time) -> int:
    """Stamp as integer nanoseconds, exact."""
    return int(stamp.sec) * _NANOSECONDS + int(stamp.nanosec)


def serialised_stamp(data: bytes) -> int | None:
    """Stamp [ns] of a serialised message that begins with a header; None of bytes that are too few for one."""
    if len(data) < _STAMP_AT + _STAMP_SIZE:
        return None
    order = "<" if data[1] else ">"
    seconds, rest = struct.unpack_from(f"{order}iI", data, _STAMP_AT)
    return int(seconds) * _NANOSECONDS + int(rest)


def to_stamp(value: int, stamp: Time) -> Time:
    """Write integer nanoseconds into `stamp`, clipped to its range, and return it."""
    stamp.sec, stamp.nanosec = divmod(min(max(value, _EARLIEST), _LATEST), _NANOSECONDS)
    return stamp


class FirstOfEvent:
    """Distinguishes the first ImpactEvent of an impact from the one that follows with the settled link."""

    def __init__(self) -> None:
        self._last = (0, 0)

    def __call__(self, event: ImpactEvent) -> bool:
        """Return whether it is the first of its impact: another index or stamp than the last one."""
        last, self._last = self._last, (event.index, nanoseconds(event.header.stamp))
        return self._last != last


def set_xyz(target: Point | Vector3, values: Vector) -> None:
    """Write (3,) into a Point or Vector3."""
    target.x = float(values[0])
    target.y = float(values[1])
    target.z = float(values[2])


def xyz(source: Point | Vector3) -> Vector:
    """(3,) of a Point or Vector3."""
    return np.array([source.x, source.y, source.z])


def taken(kind: type[Taken], message: Any, **given: Any) -> Taken:
    """Return a dataclass whose fields are those of a message with the same names, but for those that are given."""
    names = (field.name for field in fields(kind) if field.name not in given)
    return kind(**{name: getattr(message, name) for name in names}, **given)


def answered(response: Any, success: bool, message: str) -> Any:
    """Fill and return the response of a Trigger or SetBool service."""
    response.success = success
    response.message = message
    return response


def type_name(kind: type) -> str:
    """Return the name of a message type, as `sensor_msgs/msg/JointState`."""
    return f"{kind.__module__.split('.')[0]}/msg/{kind.__name__}"


def decoder(kind: type) -> Callable[[Sequence[bytes]], dict[str, Any]]:
    """Return what decodes serialised messages of one type together, without making messages: see `decode`."""
    name = type_name(kind)
    return partial(decode, types=parse_definition(name, message_definition(name)), root=short_name(name))
