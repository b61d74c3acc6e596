"""Starts nodes as processes and talks to them as any other ROS program would."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import rclpy
from impact_msgs.msg import ControllerStatus
from lifecycle_msgs.msg import Transition
from rclpy.experimental import EventsExecutor
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from impact_control_ros.bridge import qos, topics
from impact_control_ros.bridge.calls import Caller
from impact_control_ros.bridge.messages import to_stamp
from impact_control_ros.session.processes import Processes

JOINTS = [f"panda_joint{i}" for i in range(1, 8)]


class Peer:
    """A ROS node of the test with its own executor, and child processes beside it."""

    def __init__(self, log_directory: Path, namespace: str = "", name: str = "test_peer") -> None:
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node(name, context=self.context, namespace=namespace)
        self.executor = EventsExecutor(context=self.context)
        self.executor.add_node(self.node)
        self._others = []
        self.processes = Processes(log_directory, namespace)
        self.caller = Caller(self.node, lambda seconds: self.executor.spin_once(timeout_sec=seconds))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.processes.stop_all()
        for node in (self.node, *self._others):
            self.executor.remove_node(node)
            node.destroy_node()
        self.executor.shutdown()
        self.context.try_shutdown()

    def another(self, name):
        """Return one more node of the test, served like the first.

        It stays as long as that: what is destroyed while the executor serves it can take the process with it.
        """
        node = rclpy.create_node(name, context=self.context, namespace=self.node.get_namespace())
        self.executor.add_node(node)
        self._others.append(node)
        return node

    def bring_up(self, *specs):
        """Start nodes and activate them."""
        for spec in specs:
            self.processes.start(spec)
        for spec in specs:
            self.caller.await_node(spec.name)
            for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
                assert self.change(spec.name, transition), self.log(spec.name)

    def change(self, name, transition):
        """Ask a node for a lifecycle transition; return whether it was made."""
        return self.caller.change(name, transition)

    def call(self, kind, name, request, patience=10.0):
        """Call a service and return its answer."""
        return self.caller.call(kind, name, request, patience)

    def ask(self, kind, name, request):
        """Call a service that may be asked more than once and return its answer: the first one may get lost."""
        return self.caller.call_until_answered(kind, name, request)

    def until(self, condition, patience=10.0, what="the condition"):
        """Serve callbacks until a condition holds."""
        until(condition, what, patience, lambda: self.executor.spin_once(timeout_sec=0.01))

    def spin(self, seconds):
        """Serve callbacks for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.01)

    def log(self, name):
        """Return the log of a node."""
        return self.processes.log_file(name).read_text(errors="replace")

    def listen(self, kind, topic, profile):
        """Subscribe and return the growing list of messages."""
        received = []
        self.node.create_subscription(kind, topic, received.append, profile)
        return received


def until(condition, what="the condition", patience=60.0, step=lambda: time.sleep(0.01)):
    """Take steps until a condition holds; what: that comes then, in words."""
    end = time.monotonic() + patience
    while not condition():
        step()
        assert time.monotonic() < end, f"{what} did not come within {patience:g} s"


def joint_state(stamp_ns, position, velocity=None, effort=None, names=None):
    """Return a JointState with the given stamp."""
    n = len(position)
    message = JointState(
        name=list(names or JOINTS),
        position=list(map(float, position)),
        velocity=list(map(float, np.zeros(n) if velocity is None else velocity)),
        effort=list(map(float, np.zeros(n) if effort is None else effort)),
    )
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(int(stamp_ns), 1_000_000_000)
    return message


class SignsOfLife:
    """An arm at rest and its controller, as far as a supervisor sees them. commands: whether there are any."""

    def __init__(self, node):
        self.commands = True
        self._state = node.create_publisher(JointState, topics.JOINT_STATES, qos.STREAM)
        self._command = node.create_publisher(Float64MultiArray, topics.COMMANDS, qos.COMMAND)
        self._answer = node.create_publisher(ControllerStatus, topics.STATUS, qos.STREAM)

    def send(self):
        """Publish one of each, stamped now."""
        now, answer = time.time_ns(), ControllerStatus()
        if self.commands:
            self._command.publish(Float64MultiArray(data=[0.0] * 7))
        self._state.publish(joint_state(now, np.zeros(7)))
        to_stamp(now, answer.header.stamp)
        self._answer.publish(answer)
