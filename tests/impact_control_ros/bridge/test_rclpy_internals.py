"""Private parts of rclpy are used in one module only, which refuses an rclpy without them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import rclpy
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.service import Service
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from harness import until
from impact_control.util.errors import MissingDependencyError
from impact_control_ros.bridge import qos, rclpy_internals
from impact_control_ros.bridge.rclpy_internals import Inbox, NodeExecutor
from impact_control_ros.bridge.real_time import RECEIVE_BUFFER

PACKAGE = Path(rclpy_internals.__file__).parents[1]
PATIENCE = 10.0
"""[s] until a request is there, on a busy machine."""

MESSAGES = 500
"""Of 0.5 s of a stream at 1 kHz."""

LISTENER = """
import sys, rclpy
from sensor_msgs.msg import JointState
from impact_control_ros.bridge import qos
from impact_control_ros.bridge.rclpy_internals import Inbox
rclpy.init()
node = rclpy.create_node("listener")
slot = Inbox(node).subscribe(JointState, "stream", qos.RECORD)
for _ in sys.stdin:
    print(len(list(slot.drain())), flush=True)
"""

TOOLS = Path(__file__).parents[3] / "tools"
PRIVATE = re.compile(
    r"rclpy\.(impl|experimental)\b|\.handle\b|\b(node|self)\._(services|state_machine|parameters)\b"
    r"|\._(goal_handles|result_futures|update_state)\b"
)


def test_no_other_module_reaches_into_rclpy():
    files = (*PACKAGE.rglob("*.py"), *TOOLS.rglob("*.py"))
    modules = [path for path in files if path.name != "rclpy_internals.py"]
    assert len(modules) > 60
    assert {path.name: found[0] for path in modules if (found := PRIVATE.search(path.read_text()))} == {}


def test_a_part_that_is_gone_is_named_with_the_rclpy_that_is_needed():
    rclpy_internals._require(Service, "send_response")
    with pytest.raises(MissingDependencyError, match=r"has no Service\.sent; allowed: rclpy 7\.1"):
        rclpy_internals._require(Service, "sent")


@pytest.mark.parametrize("installed", ["9.1.2", "7.10.0", "3.3.16"])
def test_another_series_of_rclpy_is_refused(installed):
    rclpy_internals._require_series("7.1.6")
    with pytest.raises(MissingDependencyError, match=f"rclpy {installed} was not tried; allowed: rclpy 7.1, of"):
        rclpy_internals._require_series(installed)


@pytest.fixture
def node():
    rclpy.init()
    node = rclpy.create_node("of_the_executor")
    yield node
    node.destroy_node()
    rclpy.shutdown()


@pytest.mark.skipif(
    int(Path("/proc/sys/net/core/rmem_max").read_text()) < RECEIVE_BUFFER, reason="net.core.rmem_max is too small"
)
def test_messages_of_half_a_second_are_kept_while_their_process_stands_still(node):
    publisher = node.create_publisher(JointState, "stream", qos.STREAM)
    names = [f"panda_joint{number}" for number in range(1, 8)]
    message = JointState(name=names, position=7 * [0.0], velocity=7 * [0.0], effort=7 * [0.0])
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    with subprocess.Popen([sys.executable, "-c", LISTENER], **pipes) as listener:

        def arrived():
            print("", file=listener.stdin)
            return int(listener.stdout.readline())

        # A subscription that the publisher knows need not know the publisher yet.
        until(arrived, "a message", step=lambda: publisher.publish(message) or time.sleep(0.01))
        time.sleep(0.1)
        arrived()
        os.kill(listener.pid, signal.SIGSTOP)
        for _ in range(MESSAGES):
            publisher.publish(message)
        os.kill(listener.pid, signal.SIGCONT)
        kept, end = 0, time.monotonic() + PATIENCE
        while kept < MESSAGES and time.monotonic() < end:
            kept += arrived()
        listener.stdin.close()
    assert kept == MESSAGES


def test_a_look_at_a_stream_that_arrives_faster_than_it_is_taken_ends(node):
    publisher = node.create_publisher(JointState, "stream", qos.STREAM)
    slot = Inbox(node).subscribe(JointState, "stream", qos.RECORD)
    end, taken = time.monotonic() + PATIENCE, 0
    while not taken:
        assert time.monotonic() < end
        publisher.publish(JointState())
        for _ in slot.drain():
            taken += 1
            publisher.publish(JointState())
            time.sleep(0.01)
            assert taken < MESSAGES


def serve(node, callback, condition):
    """Serve one request to a service of this callback with the executor of the nodes; return the service's client."""
    executor = NodeExecutor()
    executor.add_node(node)
    services = [node.create_service(Trigger, "serve", lambda *request: callback(services[0], *request))]
    future = node.create_client(Trigger, "serve").call_async(Trigger.Request())
    try:
        until(lambda: condition(future), "the request", PATIENCE, lambda: executor.spin_once(timeout_sec=0.01))
    finally:
        executor.remove_node(node)
    return future


def test_the_executor_survives_a_service_that_is_withdrawn_between_a_request_and_its_response(node, capfd):
    withdrawn = []

    def withdraw(service, _, response):
        withdrawn.append(node.destroy_service(service))
        return response

    future = serve(node, withdraw, condition=lambda _: withdrawn)
    assert withdrawn == [True]
    assert not future.done()
    assert "a request gets no response: its service was withdrawn" in capfd.readouterr().err
    assert serve(node, lambda *request: request[-1], condition=lambda future: future.done()).result() is not None


def test_the_executor_hides_no_other_invalid_handle(node):
    def use_what_is_destroyed(*_):
        publisher = node.create_publisher(Trigger.Response, "gone", 1)
        node.destroy_publisher(publisher)
        publisher.publish(Trigger.Response())

    with pytest.raises(rclpy_implementation.InvalidHandle):
        serve(node, use_what_is_destroyed, condition=lambda _: False)
