"""Life of a node process: one events executor, spun by hand, ended by a signal."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import rclpy
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from impact_control.util.errors import ImpactControlError, InvalidInputError
from impact_control_ros.bridge import real_time
from impact_control_ros.bridge.rclpy_internals import NodeExecutor, guard_services

ROBOT_PRIORITY = 45
LOOP_PRIORITY = 40
SUPERVISOR_PRIORITY = 35
RECORDER_PRIORITY = 10
"""SCHED_FIFO priorities: the simulated robot keeps the clock, the loop answers it, the supervisor disturbs neither.

The recorder disturbs none of them. With ordinary priority it waits for a core behind planner and client, too, and the
messages, requests to stop among them, fill its socket until they are dropped.
"""

_SENDER = "dds.asyn"
"""Name of the threads with which Fast DDS sends in the background begins so."""

_NAMING_TIME = 2.0
"""[s] these threads may take to come up and call themselves so."""


class StopRequest:
    """Stop flag, set by SIGINT or SIGTERM, that the loops poll."""

    def __init__(self) -> None:
        self.requested = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Signal handler."""
        self.requested = True


def run(
    make_node: Callable[[], Node],
    spin: Callable[[Node, NodeExecutor, StopRequest], None],
    *,
    priority: int | None = None,
    cores: slice = slice(None),
) -> int:
    """Start rclpy, make the node, call `spin` until it returns, shut down. Returns the exit code.

    priority: of SCHED_FIFO, for nodes with a clock to keep; None for the others. cores: which of the cores the process
    may run on it keeps to when it has its priority.
    """
    if priority is not None:
        try:
            real_time.ask_for(priority, cores)
        except InvalidInputError as error:
            print(error, file=sys.stderr)
            return 2
    stop = StopRequest()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    node = make_node()
    guard_services(node)
    tame_senders()
    executor = NodeExecutor()
    executor.add_node(node)
    try:
        spin(node, executor, stop)
    finally:
        executor.remove_node(node)
        node.destroy_node()
        rclpy.try_shutdown()
    return 0


def run_step(name: str, parameters: Mapping[str, tuple[Any, str]], work: Callable[[Node], None]) -> int:
    """Do some work with a node of its own; return the exit code. The reason of a refusal is logged.

    parameters: default value and description of each.
    """
    rclpy.init()
    node = Node(name)
    for parameter, (default, description) in parameters.items():
        node.declare_parameter(parameter, default, ParameterDescriptor(description=description))
    try:
        work(node)
    except ImpactControlError as error:
        node.get_logger().error(str(error))
        return 1
    finally:
        await_quiet(node)
        node.destroy_node()
        rclpy.try_shutdown()
    return 0


QUIET = 0.2
"""[s] without a new publisher or subscriber in the domain, before a node may leave it."""
QUIET_PATIENCE = 2.0
"""[s] that a node waits for such a time."""


def await_quiet(node: Node) -> None:
    """Wait until discovery rests, before a node is destroyed that joined a moment ago.

    Fast DDS 2.14 may spin for minutes where a participant is deleted while it discovers a publisher: it waits for the
    end of the callback with the lock that this needs (eProsima/Fast-DDS issue 6513). On two busy cores a client that
    looked for a topic and left hung in it for ten minutes.
    """
    end = time.monotonic() + QUIET_PATIENCE
    known, since = -1, time.monotonic()
    while (now := time.monotonic()) < end and now - since < QUIET:
        names = [name for name, _ in node.get_topic_names_and_types()]
        count = sum(node.count_publishers(name) + node.count_subscribers(name) for name in names)
        if count != known:
            known, since = count, now
        time.sleep(0.02)


def spin_until_stopped(node: Node, executor: NodeExecutor, stop: StopRequest) -> None:
    """Serve callbacks until a stop is requested."""
    while not stop.requested:
        executor.spin_once(timeout_sec=0.1)


def spin_every(interval: float, work: Callable[[Any], None]) -> Callable[[Any, NodeExecutor, StopRequest], None]:
    """Return what serves callbacks, and works with the configuration of a node every interval [s], until stopped."""

    def spin(node: Any, executor: NodeExecutor, stop: StopRequest) -> None:
        due = time.monotonic()
        while not stop.requested:
            if node.configured is not None:
                work(node.configured)
            due = max(due + interval, time.monotonic())
            executor.spin_once(timeout_sec=0.0)  # a node that has no time left must still answer
            while (left := due - time.monotonic()) > 0.0 and not stop.requested:
                executor.spin_once(timeout_sec=left)

    return spin


def give_way(niceness: int, cores: slice) -> None:
    """Lower the priority of this process and pin it to `cores`; for a process that no loop waits for.

    niceness: 0 to 19, added to that of the process. Before rclpy makes its threads, which inherit both.
    """
    os.nice(niceness)
    real_time.keep_to_cores(cores)


def tame_senders() -> None:
    """Take real-time priority from the threads with which Fast DDS sends in the background.

    Commands do not go through them. When a process that listens is killed, such a thread may spin until its peer is
    given up, and with real-time priority it would keep the loop itself, and the kernel, from running.
    """
    end = time.monotonic() + _NAMING_TIME
    while not (senders := _senders()) and time.monotonic() < end:
        # A new thread of our priority on our core runs, and takes its name, only while this one sleeps.
        time.sleep(0.005)
    for sender in senders:
        with contextlib.suppress(OSError):
            real_time.prefer_ordinary(sender)


def _senders() -> list[int]:
    """Return the threads of this process that send in the background."""
    found = []
    for thread in Path("/proc/self/task").glob("*"):
        with contextlib.suppress(OSError):
            if (thread / "comm").read_text().startswith(_SENDER):
                found.append(int(thread.name))
    return found
