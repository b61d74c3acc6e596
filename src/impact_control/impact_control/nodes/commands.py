"""Effort commands as bytes: the numbers change from sample to sample, the message around them does not."""

from __future__ import annotations

from rclpy.serialization import serialize_message
from std_msgs.msg import Float64MultiArray

from impact_control.types import Vector


class CommandWriter:
    """Serialises a std_msgs/Float64MultiArray of `size` numbers by putting them behind a head made once."""

    def __init__(self, size: int) -> None:
        self._head: bytes = serialize_message(Float64MultiArray(data=[0.0] * size))[: -8 * size]

    def write(self, values: Vector) -> bytes:
        """Return the message with values (size,), for `Publisher.publish`, which takes bytes as they are."""
        return self._head + values.tobytes()
