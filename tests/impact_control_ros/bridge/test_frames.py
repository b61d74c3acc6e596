"""Which joint states give frames: one in 20 ms by their stamps, and none that is no state of the arm."""

from __future__ import annotations

import math

import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from impact_control.robots import load_robot
from impact_control.robots.urdf import urdf_text
from impact_control_ros.bridge.frames import PERIOD, Frames
from impact_control_ros.bridge.messages import serialised_stamp, to_stamp

ROBOT = load_robot()
MILLISECOND = 1_000_000


@pytest.fixture
def frames():
    return Frames(ROBOT.joint_names, urdf_text(ROBOT))


def state(stamp, first=0.0):
    zeros = [0.0] * 7
    message = JointState(name=list(ROBOT.joint_names), position=[first, *zeros[1:]], velocity=zeros, effort=zeros)
    to_stamp(stamp, message.header.stamp)
    return serialize_message(message)


def test_one_state_in_twenty_gives_frames(frames):
    made = [stamp for stamp in range(0, 100 * MILLISECOND, MILLISECOND) if frames.of_state(state(stamp))]
    assert made == list(range(0, 100 * MILLISECOND, PERIOD))


def test_a_clock_that_is_set_back_goes_on(frames):
    assert frames.of_state(state(7_000 * MILLISECOND))
    assert frames.of_state(state(0))
    assert not frames.of_state(state(MILLISECOND))


def test_what_is_no_state_gives_no_frames_and_the_next_one_does(frames):
    for k, data in enumerate((b"", state(0)[:40], state(PERIOD, math.nan), state(2 * PERIOD, math.inf))):
        assert frames.of_state(data) is None, k
    assert frames.of_state(state(3 * PERIOD, 0.5))


def test_the_largest_stamp_that_a_message_can_carry_ends_nothing(frames):
    data = bytearray(state(0))
    data[4:12] = b"\xff\xff\xff\x7f\xff\xff\xff\xff"
    assert frames.of_state(bytes(data))


def test_ros_finds_the_stamp(frames):
    tf2_msgs = pytest.importorskip("tf2_msgs.msg", reason="not on PyPI")
    message = deserialize_message(frames.of_state(state(5 * MILLISECOND)), tf2_msgs.TFMessage)
    assert {serialised_stamp(serialize_message(one)) for one in message.transforms} == {5 * MILLISECOND}
