"""Works measured in turns of a millisecond, so that all of them meet a machine of the same speed.

What counts is the time that the processor spent on them, without what it gave to others meanwhile.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from impact_control.types import Matrix

Work = Callable[[], object]
"""A piece of work, the same each time."""

TURN = 1e-3
"""[s] of one turn, about: well below the time in which the speed of a shared machine changes."""


def durations_in_turns(works: Sequence[Work], rounds: int, turn: float = TURN) -> Matrix:
    """Return the processor time of a call [s] of each of the works in each round (rounds, works).

    Each is called once before, so that nothing is compiled in its turns, of about `turn` [s].
    """
    with _still_heap():
        counts = [_calls_per_turn(work, turn) for work in works]
        return np.array(
            [[_turn(work, count) for work, count in zip(works, counts, strict=True)] for _ in range(rounds)]
        )


@contextmanager
def _still_heap() -> Iterator[None]:
    """Keep the garbage collector from adding its time to any turn, as the loop does."""
    collects = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _calls_per_turn(work: Work, turn: float) -> int:
    work()
    return max(1, round(turn / min(_turn(work, 1) for _ in range(3))))


def _turn(work: Work, count: int) -> float:
    """Return the processor time of a call [s], of `count` in a row."""
    start = time.thread_time()
    for _ in range(count):
        work()
    return (time.thread_time() - start) / count
