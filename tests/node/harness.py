"""Starts nodes as processes and talks to them as any other ROS program would."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import rclpy
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.experimental import EventsExecutor
from sensor_msgs.msg import JointState

from impact_control.nodes.processes import Processes

JOINTS = [f"panda_joint{i}" for i in range(1, 8)]


class Peer:
    """A ROS node of the test with its own executor, and child processes beside it."""

    def __init__(self, log_directory: Path, namespace: str = "") -> None:
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node("test_peer", context=self.context, namespace=namespace)
        self.executor = EventsExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.processes = Processes(log_directory, namespace)
        self._clients = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.processes.stop_all()
        self.executor.remove_node(self.node)
        self.node.destroy_node()
        self.executor.shutdown()
        self.context.try_shutdown()

    def bring_up(self, *specs):
        """Start nodes and activate them."""
        for spec in specs:
            self.processes.start(spec)
        for spec in specs:
            for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
                assert self.change(spec.name, transition), self.log(spec.name)

    def change(self, name, transition):
        """Ask a node for a lifecycle transition; return whether it was made."""
        request = ChangeState.Request(transition=Transition(id=transition))
        return self.call(ChangeState, f"{name}/change_state", request, patience=30.0).success

    def call(self, kind, name, request, patience=10.0):
        """Call a service and return its answer."""
        client = self._clients.get(name)
        if client is None:
            client = self._clients[name] = self.node.create_client(kind, name)
        self.until(client.service_is_ready, patience, f"service {name}")
        future = client.call_async(request)
        self.until(future.done, patience, f"answer of {name}")
        return future.result()

    def until(self, condition, patience=10.0, what="the condition"):
        """Serve callbacks until a condition holds."""
        end = time.monotonic() + patience
        while not condition():
            self.executor.spin_once(timeout_sec=0.01)
            assert time.monotonic() < end, f"{what} did not come within {patience:g} s"

    def spin(self, seconds):
        """Serve callbacks for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.01)

    def log(self, name):
        """What a node has written so far."""
        return self.processes.log_file(name).read_text(errors="replace")

    def listen(self, kind, topic, profile):
        """Subscribe and return the growing list of messages."""
        received = []
        self.node.create_subscription(kind, topic, received.append, profile)
        return received


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
