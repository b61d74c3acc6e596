"""The simulator behind lines that can be told to fail: for tests of what the stack makes of it."""

from __future__ import annotations

import copy
import itertools
import math
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from impact_control.endurance import COMMANDS, STATES, Disturbance, FaultyLine, Order
from impact_control.nodes import simulator, topics
from impact_control.nodes.inbox import Inbox, Slot
from impact_control.nodes.messages import nanoseconds, to_stamp
from impact_control.nodes.simulator import SimulatorNode


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
        super().__init__(slot._subscription)
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
    """What happens to the next messages of a line: an order, or what is done to each message."""

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


if __name__ == "__main__":
    sys.exit(simulator.main(FaultySimulatorNode))
