"""The simulator as topic_based_ros2_control finds it: commands are the effort of a JointState."""

from __future__ import annotations

import math

import numpy as np
import pytest
from impact_msgs.msg import GroundTruth
from sensor_msgs.msg import JointState

from harness import JOINTS, Peer
from impact_control_ros.bridge import qos
from impact_control_ros.session.graph import Duty, NodeSpec

pytestmark = pytest.mark.wall_clock

SPEC = NodeSpec("simulator", "simulator", Duty.ROBOT, {"scenario": "tabletop", "seed": 4, "ros2_control": True})


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    with Peer(tmp_path_factory.mktemp("log")) as peer:
        peer.truths = peer.listen(GroundTruth, "simulation/truth", qos.STREAM)
        peer.commands = peer.node.create_publisher(JointState, "effort_controller/commands", qos.COMMAND)
        peer.bring_up(SPEC)
        peer.until(lambda: len(peer.truths) > 10, what="samples")
        yield peer


def send(peer, effort, names=JOINTS):
    """Send a command for some periods; return the last truth after it."""
    for _ in range(5):
        peer.commands.publish(JointState(name=names, effort=effort))
        peer.spin(0.01)
    return peer.truths[-1]


def test_before_a_controller_commands_nothing_is_commanded(peer):
    truth = send(peer, [math.nan] * 7)
    assert truth.command_state == GroundTruth.COMMAND_LOST
    assert "command refused" not in peer.log("simulator")


def test_an_effort_moves_its_joint(peer):
    peer.truths.clear()

    def push():
        peer.commands.publish(JointState(name=JOINTS, effort=[0.0] * 6 + [1.5]))
        return any(abs(truth.joint_velocity[6]) > 0.2 for truth in peer.truths)

    peer.until(push, what="motion")
    assert np.abs(peer.truths[-1].joint_velocity[:6]).max() < 0.1


def test_efforts_of_other_joints_are_refused(peer):
    peer.until(lambda: peer.truths[-1].command_state == GroundTruth.COMMAND_LOST, what="the end of the last command")
    truth = send(peer, [1.0] * 7, JOINTS[::-1])
    assert truth.command_state == GroundTruth.COMMAND_LOST
    assert "command refused" in peer.log("simulator")
