"""Ctrl-C and SIGTERM as a flag."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopFlag:
    """Becomes true with Ctrl-C or SIGTERM while installed by `stoppable`."""

    def __init__(self) -> None:
        self.requested = False

    def __call__(self) -> bool:
        """Return whether a stop was requested."""
        return self.requested


@contextmanager
def stoppable() -> Iterator[StopFlag]:
    """Turn Ctrl-C and SIGTERM into a flag that a session asks, so that everything is stopped in order."""
    flag = StopFlag()

    def request(number: int, frame: FrameType | None) -> None:
        flag.requested = True

    previous = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield flag
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
