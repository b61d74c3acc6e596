"""The reader of serialised joint states agrees with rclpy's own decoding, whatever changes between messages."""

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from impact_control.control import Fault
from impact_control_ros.bridge import joint_states
from impact_control_ros.bridge.joint_states import JointStateReader, is_copy
from impact_control_ros.bridge.messages import nanoseconds, serialised_stamp, to_stamp

NAMES = ("a", "joint_2", "c")
number = st.floats(allow_nan=True, allow_infinity=True)


def message(names=NAMES, *, frame="", stamp=(5, 7), values=None):
    count = len(names)
    values = values or [
        [0.1 * k for k in range(count)],
        [1.0 + k for k in range(count)],
        [-2.0 * k for k in range(count)],
    ]
    state = JointState(name=list(names), position=values[0], velocity=values[1], effort=values[2])
    state.header.frame_id = frame
    state.header.stamp.sec, state.header.stamp.nanosec = stamp
    return state


def read(reader, state):
    return reader.read(serialize_message(state))


messages = st.builds(
    message,
    names=st.permutations(("a", "joint_2", "c", "finger")),
    frame=st.text("abc", max_size=5),
    stamp=st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**32 - 1)),
    values=st.lists(st.lists(number, min_size=4, max_size=4), min_size=3, max_size=3),
)


@given(st.lists(messages, min_size=1, max_size=6), st.lists(st.integers(0, 5), max_size=12))
def test_agrees_with_rclpy(pool, sequence):
    reader = JointStateReader(NAMES)
    for index in sequence:
        state = pool[index % len(pool)]
        assert read(reader, state)
        order = [state.name.index(name) for name in NAMES]
        for taken, sent in zip(
            (reader.position, reader.velocity, reader.effort),
            (state.position, state.velocity, state.effort),
            strict=True,
        ):
            np.testing.assert_array_equal(taken, np.asarray(sent)[order])
        assert reader.time == state.header.stamp
        assert reader.stamp == state.header.stamp.sec * 10**9 + state.header.stamp.nanosec


@pytest.mark.parametrize("frame", ["", "a", "base", "world"])
def test_decodes_a_layout_only_once(monkeypatch, frame):
    decoded = []
    decode = joint_states.deserialize_message
    monkeypatch.setattr(joint_states, "deserialize_message", lambda *args: decoded.append(1) or decode(*args))
    reader = JointStateReader(NAMES)
    for k in range(5):
        assert read(reader, message(frame=frame, stamp=(k, k)))
    assert len(decoded) == 1
    read(reader, message(("c", "a", "joint_2"), frame=frame))
    assert len(decoded) == 2


def test_names_every_defect_and_recovers():
    reader = JointStateReader(NAMES)
    assert read(reader, message())
    short = message()
    short.velocity = [0.0, 1.0]
    assert not read(reader, short)
    assert reader.fault is Fault.STATE_WRONG_SIZE
    assert "(3, 2, 3)" in reader.reason
    assert np.isnan(reader.velocity).all()
    assert not read(reader, message(("a", "joint_2", "d")))
    assert reader.fault is Fault.STATE_JOINT_NAMES
    assert "joints c are missing" in reader.reason
    assert not read(reader, message(("a", "joint_2", "c", "c")))
    assert reader.fault is Fault.STATE_JOINT_NAMES
    assert read(reader, message())
    assert reader.fault is Fault.NONE


@pytest.mark.parametrize(
    "data",
    [b"", b"\x00\x01\x00\x00", serialize_message(message())[:40], b"\x00\x01\x00\x00" + 60 * b"\xff", b"\x07" * 80],
    # Not by the bytes, of which some are whatever was in the memory.
    ids=["none", "a header", "cut off", "endless texts", "no encapsulation"],
)
def test_bytes_that_are_no_message_are_a_defect_and_no_exception(data):
    reader = JointStateReader(NAMES)
    assert read(reader, message(stamp=(3, 4)))
    assert not reader.read(data)
    assert reader.fault is Fault.STATE_WRONG_SIZE
    assert f"{len(data)} bytes" in reader.reason
    assert np.isnan(reader.velocity).all()
    assert reader.stamp == 3_000_000_004
    assert read(reader, message())
    assert reader.fault is Fault.NONE


@pytest.mark.parametrize("value", [0, -1, 2**31 * 10**9 - 1, -(2**31) * 10**9])
def test_stamps_are_written_as_they_are(value):
    assert nanoseconds(to_stamp(value, Time())) == value


@pytest.mark.parametrize("value", [2**31 * 10**9, 2**40 * 10**9, -(2**31) * 10**9 - 1])
def test_a_time_that_no_stamp_can_say_is_written_as_the_nearest(value):
    assert abs(nanoseconds(to_stamp(value, Time())) - value) <= abs(abs(value) - 2**31 * 10**9) + 1


@pytest.mark.parametrize("length", [0, 1, 2, 11, 12])
def test_the_stamp_of_too_few_bytes_is_none(length):
    data = serialize_message(message(stamp=(5, 7)))[:length]
    assert serialised_stamp(data) == (5_000_000_007 if length == 12 else None)


@pytest.mark.parametrize("speed", [0.0, 1e-6])
def test_a_state_that_differs_in_its_stamp_alone_is_a_copy_if_a_joint_moves(speed):
    values = [[0.1, 0.2, 0.3], [0.0, speed, 0.0], [1.0, 2.0, 3.0]]
    before = serialize_message(message(values=values))
    assert is_copy(serialize_message(message(stamp=(5, 1007), values=values)), before) is (speed > 0.0)
    values[2][1] = 2.1
    assert not is_copy(serialize_message(message(stamp=(5, 1007), values=values)), before)
