"""Real nodes in this process, called by hand: over DDS each call would take a hundred times as long."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.logging import LoggingSeverity, set_logger_level
from rclpy.node import Node
from rclpy.serialization import serialize_message
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from source import Source, chance, choice, edited, number, numbers

from impact_control.util.types import Vector
from impact_control_ros.bridge import qos, topics
from impact_control_ros.bridge.messages import to_stamp
from impact_control_ros.bridge.rclpy_internals import EventsExecutor, guard_services
from impact_control_ros.nodes.loop import LoopNode
from surfaces import BrokenPromiseError

EPOCH = 1_700_000_000_000_000_000
"""[ns] stamp of the first sample."""

MILLISECOND = 1_000_000
"""[ns] of a period of the loop."""

FOUND_WITHIN = 10.0
"""[s] in which a loop has to find its robot side."""


class Graph:
    """A ROS context in which nodes have namespaces of their own, so that none hears another by chance.

    Attributes: commands, what each loop published and nobody took yet, as bytes.
    """

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self.commands: dict[LoopNode, list[bytes]] = {}
        self.context: Context = rclpy.get_default_context()
        arguments: list[str] = ["--ros-args", "--disable-rosout-logs", "--disable-external-lib-logs"]
        for name in ("impact_loop", "controller", "detector", "classifier", "simulator", "recorder", "supervisor"):
            arguments += ["-r", f"{name}:__ns:=/{name}"]
        arguments += ["-r", "predictor:__ns:=/impact_loop"]
        # rclpy keeps what is in cycles in the ROS graph: other tests of this process must not see it.
        domain = 1 + (int(os.environ["ROS_DOMAIN_ID"]) + 50) % 101
        rclpy.init(args=arguments, domain_id=domain, signal_handler_options=SignalHandlerOptions.NO)
        self.executor = EventsExecutor()

    def add(self, make: Callable[[], Any], *, served: bool = False, configured: bool = False) -> Any:
        """Make a node, which says nothing; served: by the executor."""
        node = make()
        guard_services(node)
        set_logger_level(node.get_logger().name, LoggingSeverity.FATAL)
        self._nodes.append(node)
        if served:
            self.executor.add_node(node)
        if configured:
            node.trigger_configure()
        return node

    def add_loop(self, name: str, make: Callable[[], Any] = LoopNode, *, served: bool = False) -> Any:
        """Make a node with a loop, of this name, that is configured, and somebody who could send it joint states."""
        node = self.add(make, served=served)
        self.commands[node] = heard(node, topics.COMMANDS)
        robot_side = self.add(lambda: rclpy.create_node(f"robot_side_of_{name}", namespace=f"/{name}"))
        robot_side.create_publisher(JointState, topics.JOINT_STATES, qos.STREAM)
        node.trigger_configure()
        end = time.monotonic() + FOUND_WITHIN
        while node.configured is not None and node.configured.missing():
            time.sleep(0.01)
            if time.monotonic() > end:
                raise BrokenPromiseError(f"{name} does not find its robot side")
        return node

    def close(self) -> None:
        """End all nodes, and give the garbage collector back what activations take from it."""
        for node in reversed(self._nodes):
            self.executor.remove_node(node)
            node.destroy_node()
        self.executor.shutdown()
        rclpy.try_shutdown()
        gc.unfreeze()
        gc.enable()


class GraphTarget:
    """Base of the targets whose nodes run in a graph."""

    def __init__(self) -> None:
        self._graph = Graph()

    def close(self) -> None:
        """End the nodes."""
        self._graph.close()


def heard(node: Node, topic: str) -> list[bytes]:
    """Return a list to which is added what publishers of a topic publish, of those that a node makes from now on."""
    create, published = node.create_publisher, list[bytes]()

    def create_heard(kind: Any, name: str, *arguments: Any, **options: Any) -> Any:
        publisher = create(kind, name, *arguments, **options)
        if name == topic:
            publish = publisher.publish

            def publish_heard(message: bytes) -> None:
                published.append(message)
                publish(message)

            publisher.publish = publish_heard
        return publisher

    node.create_publisher = create_heard
    return published


def renew(node: Any) -> None:
    """Let a node forget everything that came before, as an operator would."""
    node.on_deactivate(None)
    if node.on_activate(None) is not TransitionCallbackReturn.SUCCESS:
        raise BrokenPromiseError(f"{node.get_name()} cannot be activated again")


class JointStates:
    """Serialised joint states of an arm near its start, and others."""

    def __init__(self, names: tuple[str, ...], position: Vector) -> None:
        self._names = list(names)
        self._start = position.tolist()

    def good(self, stamp: int) -> bytes:
        """Return one of an arm that rests at the start, with a stamp [ns]."""
        return self._bytes(stamp, self._names, self._start, [0.0] * 7, [0.0] * 7)

    def made(self, source: Source, stamp: int) -> bytes:
        """Return one that moves, is odd, or is no message at all."""
        names, position = list(self._names), list(self._start)
        velocity, effort = [0.0] * 7, [0.0] * 7
        for _ in range(source.integer(1, 4)):
            kind, joint = source.integer(0, 8), source.integer(0, 6)
            columns = (position, velocity, effort)
            if kind < 3 and joint < len(columns[kind]):
                columns[kind][joint] = number(source)
            elif kind == 3:
                position[:] = [value + source.integer(-100, 100) * 1e-3 for value in position]
                velocity[:] = [source.integer(-2000, 2000) * 1e-3 for _ in velocity]
            elif kind == 4:
                effort[:] = [source.integer(-87_000, 87_000) * 1e-3 for _ in effort]
            elif kind == 5:
                columns[joint % 3][:] = numbers(source, 7)
            elif kind == 6 and names:
                names[joint % len(names)] = choice(source, (*self._names, "", source.text(8)))
            elif kind == 7:
                turn = joint if chance(source, 2) else -joint
                names, position, velocity, effort = (part[turn:] + part[:turn] for part in (names, *columns))
            elif kind == 8:
                del names[joint:]
        data = self._bytes(stamp, names, position, velocity, effort)
        return edited(source, data) if chance(source, 6) else data

    def _bytes(self, stamp: int, names: list[str], *columns: list[float]) -> bytes:
        message = JointState(name=names)
        message.position, message.velocity, message.effort = columns
        to_stamp(min(max(stamp, -(2**31) * 10**9), (2**31 - 1) * 10**9), message.header.stamp)
        data: bytes = serialize_message(message)
        return data


def fill(message: Any, source: Source) -> Any:
    """Give fields of a message values of their type, other ones stay; return it."""
    fields = message.get_fields_and_field_types()
    for _ in range(source.integer(0, 6)):
        name = choice(source, tuple(fields))
        kind, value = fields[name], getattr(message, name)
        if kind in ("double", "float"):
            setattr(message, name, number(source))
        elif kind == "boolean":
            setattr(message, name, chance(source, 2))
        elif kind == "string":
            setattr(message, name, source.text(16))
        elif kind.startswith(("uint", "int")) and "[" not in kind:
            bits, signed = int(kind.lstrip("uint")), kind.startswith("int")
            low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
            setattr(message, name, source.integer(0, 12) if chance(source, 2) else source.integer(low, high))
        elif kind.startswith("sequence<double"):
            setattr(message, name, numbers(source, 7))
        elif kind.startswith("sequence<boolean"):
            setattr(message, name, [chance(source, 2) for _ in range(source.integer(0, 14))])
        elif kind.startswith("sequence<string"):
            setattr(message, name, [source.text(6) for _ in range(source.integer(0, 8))])
        elif hasattr(value, "get_fields_and_field_types"):
            fill(value, source)
    return message
