"""Courses of values over time, recorded or still growing, and what is read off them to be drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from impact_control.types import Matrix, Vector


@dataclass(frozen=True, eq=False)
class Signal:
    """Samples of one quantity: time (k,) [s], not falling; value (k, m), in the unit of the quantity, or texts."""

    time: Vector
    value: NDArray[Any]

    def at(self, time: float) -> NDArray[Any] | None:
        """Return the value (m,) of the last sample at or before `time` [s]; None before the first."""
        row = int(np.searchsorted(self.time, time, side="right")) - 1
        return None if row < 0 else np.asarray(self.value[row])

    def within(self, start: float, end: float) -> Signal:
        """Return the samples later than start and not later than end [s]."""
        rows = slice(*np.searchsorted(self.time, (start, end), side="right"))
        return Signal(self.time[rows], self.value[rows])

    def largest(self, start: float, end: float) -> Vector | None:
        """Return the value (m,) of largest norm later than start and not later than end [s]; None without samples."""
        values = self.within(start, end).value
        return values[int(np.argmax(np.linalg.norm(values, axis=1)))] if len(values) else None


EMPTY = Signal(np.empty(0), np.empty((0, 1)))
"""Of a quantity that nobody has told of."""


def sampled(signal: Signal, grid: Vector, patience: float) -> Matrix:
    """Return the last values (g, m) at or before each time of a grid (g,) [s]; NaN where older than `patience` [s]."""
    rows = np.searchsorted(signal.time, grid, side="right") - 1
    values: Matrix = np.full((len(grid), signal.value.shape[1]), np.nan)
    known = rows >= 0
    known[known] = grid[known] - signal.time[rows[known]] <= patience
    values[known] = signal.value[rows[known]]
    return values


def peaks(signal: Signal, grid: Vector) -> Matrix:
    """Return the values (g, m) of largest magnitude between a time of the grid (g,) [s] and the one before it.

    Each column by itself, sign kept; so one sample that stands out is not lost between two times. NaN where there is
    no sample.
    """
    values: Matrix = np.full((len(grid), signal.value.shape[1]), np.nan)
    step = grid[1] - grid[0] if len(grid) > 1 else 0.0
    inside = signal.within(float(grid[0] - step), float(grid[-1]))
    if not len(inside.time):
        return values
    bucket = np.searchsorted(grid, inside.time, side="left")
    starts = np.flatnonzero(np.diff(bucket, prepend=-1))
    highest = np.maximum.reduceat(inside.value, starts)
    lowest = np.minimum.reduceat(inside.value, starts)
    values[bucket[starts]] = np.where(highest >= -lowest, highest, lowest)
    return values


class GrowingSignal:
    """A signal of which only the newest samples are kept, and always the last one."""

    def __init__(self, like: Signal, span: float, capacity: int = 16_384) -> None:
        """like: a signal whose values are of the same kind. span: [s] that is kept. capacity: most samples kept."""
        self._span = span
        self._time: Vector = np.empty(capacity)
        self._value: NDArray[Any] = np.empty((capacity, like.value.shape[1]), dtype=like.value.dtype)
        self._start = self._end = 0

    def extend(self, part: Signal) -> None:
        """Add samples. Those not later than the last one are left out."""
        time, value = part.time, part.value
        if self._end > self._start:
            later = time > self._time[self._end - 1]
            time, value = time[later], value[later]
        capacity = len(self._time)
        time, value = time[-capacity:], value[-capacity:]
        if self._end + len(time) > capacity:
            kept = min(self._end - self._start, capacity - len(time))
            self._time[:kept] = self._time[self._end - kept : self._end].copy()
            self._value[:kept] = self._value[self._end - kept : self._end].copy()
            self._start, self._end = 0, kept
        rows = slice(self._end, self._end + len(time))
        self._time[rows], self._value[rows] = time, value
        self._end = rows.stop
        if len(time):
            self._start += int(self._time[self._start : self._end].searchsorted(time[-1] - self._span))

    @property
    def signal(self) -> Signal:
        """What is kept; valid until the next `extend`."""
        return Signal(self._time[self._start : self._end], self._value[self._start : self._end])


class Signals(Protocol):
    """What is known of an arm, by name of the quantity, see `columns.QUANTITIES`."""

    def __getitem__(self, name: str) -> Signal:
        """Return the course of a quantity, EMPTY for one that is not known."""


class RecordedSignals(dict[str, Signal]):
    """Signals that are complete."""

    def __missing__(self, name: str) -> Signal:
        """Nothing is known of it."""
        return EMPTY


class GrowingSignals:
    """Signals that grow; what is older than `span` [s] is forgotten."""

    def __init__(self, span: float) -> None:
        self._span = span
        self._signals: dict[str, GrowingSignal] = {}

    def __getitem__(self, name: str) -> Signal:
        """Return what is kept of a quantity."""
        growing = self._signals.get(name)
        return EMPTY if growing is None else growing.signal

    def extend(self, parts: Mapping[str, Signal]) -> None:
        """Add samples by name of their quantity; one whose size has changed begins anew."""
        for name, part in parts.items():
            growing = self._signals.get(name)
            if growing is None or growing.signal.value.shape[1] != part.value.shape[1]:
                growing = self._signals[name] = GrowingSignal(part, self._span)
            growing.extend(part)

    def clear(self) -> None:
        """Forget everything."""
        self._signals.clear()
