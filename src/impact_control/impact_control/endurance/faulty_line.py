"""A line that carries messages and can be told to do so badly, as networks, drivers and clocks do."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from impact_control.checks import checked_count
from impact_control.errors import InvalidInputError

Message = TypeVar("Message")


class Disturbance(Enum):
    """What happens to messages on their way."""

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
