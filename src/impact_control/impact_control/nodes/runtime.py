"""How every node process runs: one events executor, spun by hand, ended by signal or by losing its context."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import rclpy
from rclpy.experimental import EventsExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from impact_control.errors import InvalidInputError
from impact_control.nodes import real_time
from impact_control.nodes.impossible_requests import refuse_impossible_requests

ROBOT_PRIORITY = 45
LOOP_PRIORITY = 40
SUPERVISOR_PRIORITY = 35
"""SCHED_FIFO priorities: the simulated robot keeps the clock, the loop answers it, the supervisor disturbs neither."""

_SENDER = "dds.asyn"
"""Name of the threads with which Fast DDS sends in the background begins so."""

_NAMING_TIME = 2.0
"""[s] these threads may take to come up and call themselves so."""


class NodeExecutor:
    """An events executor that goes on where a service was withdrawn between a request and its answer.

    A transition does that, and rclpy raises then. Who asked gets no answer.
    """

    def __init__(self) -> None:
        self._executor = EventsExecutor()

    def add_node(self, node: Node) -> None:
        """Serve a node."""
        self._executor.add_node(node)

    def remove_node(self, node: Node) -> None:
        """Serve a node no more."""
        self._executor.remove_node(node)

    def spin_once(self, timeout_sec: float) -> None:
        """Serve one callback, or wait this long [s] for one."""
        try:
            self._executor.spin_once(timeout_sec=timeout_sec)
        except rclpy_implementation.InvalidHandle as error:
            if traceback.extract_tb(error.__traceback__)[-1].name != "send_response":
                raise
            get_logger("impact_control").warning("a request is not answered: its service was withdrawn")


class StopRequest:
    """Set by SIGINT or SIGTERM; asked by the loops."""

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
    refuse_impossible_requests(node)
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


def spin_until_stopped(node: Node, executor: NodeExecutor, stop: StopRequest) -> None:
    """Serve callbacks until a stop is requested."""
    while not stop.requested:
        executor.spin_once(timeout_sec=0.1)


def give_way(niceness: int, cores: slice) -> None:
    """Let everything else run first, and keep to these of the cores; for a process that nobody waits for.

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
