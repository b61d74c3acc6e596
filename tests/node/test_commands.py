"""Commands written as bytes are what rclpy would have written."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Float64MultiArray

from impact_control.nodes.commands import CommandWriter


def without_padding(message):
    """Header, layout and length (16 bytes), then the numbers, aligned to 8: what lies between them is left open."""
    return message[:16], message[20:]


@given(arrays(float, st.integers(1, 14)))
def test_writes_what_rclpy_writes(values):
    data = CommandWriter(len(values)).write(values)
    assert without_padding(data) == without_padding(serialize_message(Float64MultiArray(data=values.tolist())))
    np.testing.assert_array_equal(deserialize_message(data, Float64MultiArray).data, values)
