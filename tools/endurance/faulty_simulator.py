"""Simulator whose lines disturb their messages on request, as networks, drivers and clocks do."""

from __future__ import annotations

import copy
import itertools
import math
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from endurance.faults import COMMANDS, STATES
from impact_control.util.checks import checked_count
from impact_control.util.errors import InvalidInputError
from impact_control_ros.bridge import topics
from impact_control_ros.bridge.messages import nanoseconds, to_stamp
from impact_control_ros.bridge.rclpy_internals import Inbox, Slot
from impact_control_ros.nodes import simulator
from impact_control_ros.nodes.simulator import SimulatorNode

Message = TypeVar("Message")


class Disturbance(Enum):
    """Disturbance of messages on their way."""

    DROP = "drop"
    DELAY = "delay"
    DUPLICATE = "duplicate"
    REORDER = "reorder"
    ALTER = "alter"


@dataclass(frozen=True)
class Order:
    """Disturb the next `count` messages.

    depth: by how many messages they are delayed, how many of them change their order, how often each comes.
    """

    disturbance: Disturbance
    count: int
    depth: int = 1

    def __post_init__(self) -> None:
        checked_count("count", self.count, 1)
        checked_count("depth", self.depth, 1)


class FaultyLine(Generic[Message]):
    """Hands messages on, in order and at once, except those that an order says to disturb."""

    def __init__(self, deliver: Callable[[Message], None], copy: Callable[[Message], Message]) -> None:
        """Hand on by `deliver`; what waits is kept as a `copy`, because senders use their messages again."""
        self._deliver = deliver
        self._copy = copy
        self._held: deque[Message] = deque()
        self._order: Order | None = None
        self._alter: Callable[[Message], None] | None = None
        self._left = 0

    def disturb(self, order: Order, alter: Callable[[Message], None] | None = None) -> None:
        """Disturb the next messages; what still waits of an earlier order is delivered before them.

        alter: changes a message in place, for `Disturbance.ALTER`. Raises InvalidInputError when it is missing there.
        """
        if (order.disturbance is Disturbance.ALTER) != (alter is not None):
            raise InvalidInputError("alter", alter, "a function where messages are altered, and only there")
        self._release()
        self._order, self._alter, self._left = order, alter, order.count

    def mend(self) -> None:
        """Hand on in order and at once again; what still waits is lost."""
        self._held.clear()
        self._order = None

    def carry(self, message: Message) -> None:
        """Take a message at this end."""
        if self._order is None:
            self._deliver(message)
            return
        self._carry_badly(self._copy(message), self._order)
        self._left -= 1
        if self._left == 0:
            self._order = None
            self._release()

    def _carry_badly(self, message: Message, order: Order) -> None:
        match order.disturbance:
            case Disturbance.DROP:
                return
            case Disturbance.DUPLICATE:
                for _ in range(1 + order.depth):
                    self._deliver(message)
            case Disturbance.ALTER:
                assert self._alter is not None
                self._alter(message)
                self._deliver(message)
            case Disturbance.DELAY:
                self._held.append(message)
                if len(self._held) > order.depth:
                    self._deliver(self._held.popleft())
            case Disturbance.REORDER:
                # The latest first, in groups of depth + 1.
                self._held.appendleft(message)
                if len(self._held) > order.depth:
                    self._release()

    def _release(self) -> None:
        while self._held:
            self._deliver(self._held.popleft())


class FaultyPublisher:
    """A publisher whose messages go over a line that can fail."""

    def __init__(self, publisher: Publisher) -> None:
        self.publisher = publisher
        self.line: FaultyLine[Any] = FaultyLine(publisher.publish, copy.deepcopy)

    def publish(self, message: Any) -> None:
        """Publish a message, as well as the line does."""
        self.line.carry(message)


class FaultySlot(Slot):
    """A subscription whose messages come over a line that can fail."""

    def __init__(self, slot: Slot) -> None:
        super().__init__(slot._node, slot._subscription)
        self._come: deque[tuple[Any, int]] = deque(maxlen=1)
        self.line: FaultyLine[tuple[Any, int]] = FaultyLine(self._come.append, copy.deepcopy)

    def take(self) -> Any | None:
        """Return the newest message that has come since the last look, or None."""
        while (message := super().take()) is not None:
            self.line.carry((message, self.sent))
        if not self._come:
            return None
        message, self.sent = self._come.pop()
        return message


class FaultyInbox(Inbox):
    """An inbox with a line that can fail for commands."""

    def __init__(self, owner: SimulatorNode, lines: list[FaultyLine[Any]]) -> None:
        """Note the lines of commands in `lines`."""
        super().__init__(owner)
        self._lines = lines

    def subscribe(self, kind: type, topic: str, profile: QoSProfile, *, raw: bool = False) -> Slot:
        """Subscribe; commands come over the line."""
        slot = super().subscribe(kind, topic, profile, raw=raw)
        if not topic.endswith(topics.COMMANDS):
            return slot
        faulty = FaultySlot(slot)
        self._lines.append(faulty.line)
        return faulty


class FaultySimulatorNode(SimulatorNode):
    """The simulator; setting the parameter `disturb` disturbs the next joint states or commands.

    Its text is that of a `LineFault`: line, what happens, how many messages, and the size of it. An empty one mends all
    lines. The robot side takes the newest command that has come, so that one that comes twice changes nothing.
    """

    def __init__(self) -> None:
        self._lines: dict[str, list[FaultyLine[Any]]] = {STATES: [], COMMANDS: []}
        super().__init__()
        self.declare_parameter("disturb", "", ParameterDescriptor(description="line, disturbance, count, size"))
        self.add_post_set_parameters_callback(self._disturb)

    def open_inbox(self) -> Inbox:
        """Return an inbox with a line that can fail for commands."""
        return FaultyInbox(self, self._lines[COMMANDS])

    def create_publisher(self, kind: type, topic: str, *given: Any, **named: Any) -> Any:
        """Create a publisher; joint states go over a line that can fail."""
        publisher = super().create_publisher(kind, topic, *given, **named)
        if not topic.endswith(topics.JOINT_STATES):
            return publisher
        faulty = FaultyPublisher(publisher)
        self._lines[STATES].append(faulty.line)
        return faulty

    def destroy_publisher(self, publisher: Publisher | FaultyPublisher) -> bool:
        """Destroy a publisher."""
        return super().destroy_publisher(publisher.publisher if isinstance(publisher, FaultyPublisher) else publisher)

    def _disturb(self, changed: list[Parameter]) -> None:
        for parameter in changed:
            if parameter.name != "disturb":
                continue
            if not parameter.value:
                for line in itertools.chain.from_iterable(self._lines.values()):
                    line.mend()
            else:
                fault = LineFault.from_text(parameter.value)
                for line in self._lines[fault.line]:
                    line.disturb(fault.order, fault.alter)


@dataclass(frozen=True)
class LineFault:
    """Disturbance of the next messages of a line: an order, or an action on each message."""

    line: str
    order: Order
    alter: Callable[[Any], None] | None = None

    @classmethod
    def from_text(cls, text: str) -> LineFault:
        """Read `states delay 20 15`: line, what happens, to how many messages, and its size.

        What happens: one of `Disturbance` but `alter`, its size their depth; `nan`; `jump`, of the stamps by seconds.
        """
        line, happens, count, size = text.split()
        if happens == "nan":
            return cls(line, Order(Disturbance.ALTER, int(count)), _spoil)
        if happens == "jump":
            return cls(line, Order(Disturbance.ALTER, int(count)), _jump(float(size)))
        return cls(line, Order(Disturbance(happens), int(count), int(size)))


def _spoil(carried: JointState | tuple[Float64MultiArray, int]) -> None:
    """Make one number of a joint state none, or of a command that comes with the time at which it was sent."""
    values = carried.velocity if isinstance(carried, JointState) else carried[0].data
    values[len(values) // 2] = math.nan


def _jump(seconds: float) -> Callable[[JointState], None]:
    def alter(message: JointState) -> None:
        to_stamp(max(0, nanoseconds(message.header.stamp) + round(1e9 * seconds)), message.header.stamp)

    return alter


def main() -> int:
    """Entry point of the process."""
    return simulator.main(FaultySimulatorNode)


if __name__ == "__main__":
    sys.exit(main())
