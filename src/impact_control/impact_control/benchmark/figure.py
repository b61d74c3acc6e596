"""One measured figure of the benchmark."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Figure:
    """One measured figure: median, 99 % and 99.9 % [us], target in words and whether it was met (None: no target)."""

    name: str
    median: float
    high: float
    highest: float
    target: str = ""
    met: bool | None = None


def figure_of(
    name: str, durations: list[float], target: float | None = None, tail_target: float | None = None
) -> Figure:
    """Summarise durations [s]; target, tail_target [s]: what median and 99.9 % must not exceed."""
    median, high, highest = (float(value) for value in np.percentile(durations, [50, 99, 99.9]) * 1e6)
    limits = [
        (value, 1e6 * limit, share)
        for value, limit, share in ((median, target, "median"), (highest, tail_target, "99.9 %"))
        if limit is not None
    ]
    words = ", ".join(f"{limit:g} {share}" for _, limit, share in limits)
    met = all(value <= limit for value, limit, _ in limits) if limits else None
    return Figure(name, median, high, highest, f"at most {words}" if words else "", met)


def timed(act: Callable[[], object], count: int, prepare: Callable[[], object] | None = None) -> list[float]:
    """Return how long each of `count` calls of `act` took [s]; `prepare` runs before each, untimed.

    One call goes ahead, so that nothing is compiled in the others.
    """
    durations = []
    for _ in range(count + 1):
        if prepare is not None:
            prepare()
        start = time.perf_counter()
        act()
        durations.append(time.perf_counter() - start)
    return durations[1:]
