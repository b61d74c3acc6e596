"""Recovery of a Franka from a reflex: its action is built here, the arm stood in for. Not tried on hardware."""

from __future__ import annotations

import sys
from importlib import import_module
from types import SimpleNamespace

import pytest
import rclpy
from rclpy.action import ActionClient, ActionServer
from sensor_msgs.msg import JointState
from typer.testing import CliRunner

from impact_control.cli.main import app
from impact_control.util.errors import ImpactControlError, MissingDependencyError
from impact_control_ros.bridge import qos
from impact_control_ros.bridge.calls import Caller
from impact_control_ros.session.client import RECOVERY, ImpactClient
from impact_control_ros.session.processes import GraphError
from message_packages import messages_of
from spun_node import SpunNode


class Arm:
    """An arm in a reflex behind a controller manager.

    asked: how often it was asked. free: whether it can leave the reflex. told: whether joint states come afterwards.
    """

    def __init__(self):
        self.reset()
        self._kind = import_module("franka_msgs.action").ErrorRecovery
        self._context = rclpy.Context()
        self._context.init()
        self._spun = SpunNode("arm", self._context)
        self._joints = self._spun.node.create_publisher(JointState, "joint_states", qos.STREAM)
        ActionServer(self._spun.node, self._kind, RECOVERY, self._recover)
        self._spun.node.create_timer(0.01, self._tell)
        self._spun.start()

    def reset(self):
        self.asked, self.free, self.told = 0, True, True

    def close(self):
        self._spun.close()
        self._context.shutdown()

    def _recover(self, goal):
        self.asked += 1
        goal.succeed() if self.free else goal.abort()
        return self._kind.Result()

    def _tell(self):
        if self.told and self.asked:
            self._joints.publish(JointState(name=["fr3_joint1"], position=[0.0], velocity=[0.0], effort=[0.0]))


@pytest.fixture(scope="module")
def running():
    with messages_of("franka_msgs"):
        arm = Arm()
        yield arm
        arm.close()


@pytest.fixture
def arm(running):
    running.reset()
    return running


def test_without_franka_ros2_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "franka_msgs", None)
    with ImpactClient(patience=2.0) as client, pytest.raises(MissingDependencyError, match="franka_msgs is missing"):
        client.recover()


def test_an_arm_that_leaves_its_reflex_and_tells_its_state_can_go_on(arm):
    with ImpactClient() as client:
        assert client.recover()
    assert arm.asked == 1
    told = CliRunner().invoke(app, ["recover"])
    assert told.exit_code == 0 and told.output.endswith("impact-control reset, impact-control home\n")


@pytest.mark.parametrize(
    ("ask", "reason"),
    [
        (ImpactClient.recover, "the arm did not recover"),
        (ImpactClient.home, "the controller does not move now: it is not active"),
        (ImpactClient.run, "the controller refused scenario '': it is not active"),
    ],
)
def test_a_goal_that_is_not_accepted_is_an_error_with_the_reason(ask, reason, arm, monkeypatch):
    monkeypatch.setattr(Caller, "send_goal", lambda *arguments: SimpleNamespace(accepted=False))
    with ImpactClient() as client, pytest.raises(ImpactControlError, match=reason):
        ask(client)
    assert not arm.asked


def test_no_goal_is_sent_before_the_server_has_found_its_client(arm, monkeypatch):
    """It has once it answers on a client that was made after that of the action."""
    call, send, order = Caller.call_until_answered, ActionClient.send_goal_async, []

    def called(self, kind, name, *arguments):
        order.append("action made" if self._actions else "no action")
        answer = call(self, kind, name, *arguments)
        order.append(f"{name} answered")
        return answer

    def sent(self, *arguments, **options):
        order.append("goal sent")
        return send(self, *arguments, **options)

    monkeypatch.setattr(Caller, "call_until_answered", called)
    monkeypatch.setattr(ActionClient, "send_goal_async", sent)
    with ImpactClient() as client:
        client.recover()
    assert order == ["action made", f"{RECOVERY}/_action/cancel_goal answered", "goal sent"]


def test_an_arm_that_is_held_refuses_and_nothing_is_asked_twice(arm):
    arm.free = False
    with ImpactClient() as client, pytest.raises(GraphError, match="did not recover: free it"):
        client.recover()
    assert arm.asked == 1


def test_hardware_that_was_given_up_is_no_recovered_arm(arm):
    arm.told = False
    with ImpactClient(patience=4.0) as client:
        assert not client.recover()
