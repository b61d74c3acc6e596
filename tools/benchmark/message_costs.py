"""Time that the loop saves on messages: each of its ways beside the one that rclpy offers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import rclpy
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from benchmark.figure import Figure, Pass, figure_beside, timed
from benchmark.latency import in_own_process, measuring_node
from impact_control.robots import load_robot
from impact_control.util.types import Vector
from impact_control_ros.bridge import qos
from impact_control_ros.bridge.joint_states import JointStateReader
from impact_control_ros.bridge.loop_output import CommandWriter, effort_command
from impact_control_ros.bridge.rclpy_internals import EventsExecutor, Inbox
from impact_control_ros.session.processes import GraphError

ROUNDS = 40
COUNT = 40
"""Messages in each of them: few, so that a machine that is busy for a while is met by all that are compared."""

ON_ITS_WAY = 1e-3
"""[s] after which a message that was sent waits to be taken."""

LOST = 0.1
"""[s] after which one that did not come is sent again: best effort may lose it."""

PATIENCE = 5.0
"""[s] within which the two sides of a topic find each other, and within which a message has to come."""


def message_figures(rounds: int = ROUNDS, count: int = COUNT) -> list[Figure]:
    """Measure in a process of its own, since rclpy is started for it: `count` messages in each of the rounds.

    Raises GraphError when the process ends too early, or messages do not come.
    """
    return in_own_process(_measure, rounds, count)


def _measure(rounds: int, count: int) -> list[Figure]:
    names = load_robot().joint_names
    numbers = np.linspace(-1.0, 1.0, len(names))
    state = JointState(name=list(names), position=numbers, velocity=numbers, effort=numbers)
    data, reader, writer = serialize_message(state), JointStateReader(names), CommandWriter(names)
    with measuring_node("message_costs") as (node, inbox):
        return [
            figure_beside(
                "joint state: numbers read in place",
                timed(lambda: reader.read(data), count),
                {"decoded by rclpy": timed(lambda: deserialize_message(data, JointState), count)},
                rounds,
            ),
            figure_beside(
                "command: numbers written in place",
                timed(lambda: writer.write(numbers), count),
                {"a message made anew": timed(partial(_command_made_anew, names, numbers), count)},
                rounds,
            ),
            figure_beside(
                "a message that waits, taken by events executor",
                _served_by(node, "events", EventsExecutor(), count),
                {
                    "inbox, no executor": _taken_from(node, inbox, count),
                    "single-threaded executor": _served_by(node, "single_threaded", SingleThreadedExecutor(), count),
                },
                rounds,
            ),
        ]


def _command_made_anew(names: Sequence[str], numbers: Vector) -> bytes:
    return bytes(serialize_message(effort_command(names, numbers.tolist())))


def _taken_from(node: Node, inbox: Inbox, count: int) -> Pass:
    """Return a pass that takes messages from an inbox."""
    slot = inbox.subscribe(JointState, "taken", qos.RECORD, raw=True)
    return _one_by_one(node, "taken", lambda: slot.take() is not None, count)


def _served_by(node: Node, name: str, executor: Executor, count: int) -> Pass:
    """Return a pass in which an executor serves messages to a callback that does nothing with them."""
    served = rclpy.create_node(f"served_by_{name}", start_parameter_services=False, enable_rosout=False)
    come: list[bytes] = []
    served.create_subscription(JointState, name, come.append, qos.RECORD, raw=True)
    executor.add_node(served)

    def serve() -> bool:
        executor.spin_once(timeout_sec=0.0)
        had, come[:] = bool(come), []
        return had

    return _one_by_one(node, name, serve, count)


def _one_by_one(node: Node, topic: str, take: Callable[[], bool], count: int, patience: float = PATIENCE) -> Pass:
    """Return a pass that sends a message, lets it arrive, and times until it is taken.

    One that is lost is sent again, and its time does not count. Raises GraphError after `patience` [s] without any, and
    without anybody who listens.
    """
    publisher: Any = node.create_publisher(JointState, topic, qos.STREAM)
    message = JointState()
    give_up = time.monotonic() + patience
    while publisher.get_subscription_count() == 0:
        if time.monotonic() > give_up:
            raise GraphError(f"no subscriber to topic {publisher.topic_name!r} within {patience:g} s")
        time.sleep(0.01)

    def one_pass() -> list[float]:
        durations: list[float] = []
        give_up = time.monotonic() + patience
        while len(durations) < count:
            publisher.publish(message)
            time.sleep(ON_ITS_WAY)
            begin = time.perf_counter()
            while not (taken := take()) and time.perf_counter() - begin < LOST:
                pass
            if taken:
                durations.append(time.perf_counter() - begin)
                give_up = time.monotonic() + patience
            elif time.monotonic() > give_up:
                raise GraphError(f"no message came on topic {publisher.topic_name!r} within {patience:g} s")
        return durations

    return one_pass
