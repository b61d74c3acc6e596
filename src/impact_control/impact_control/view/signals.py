"""Signals over time, recorded or still growing, and their extraction from messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from impact_control.recording.series import Topics
from impact_control.util.types import Matrix, Vector


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


EMPTY = Signal(np.empty(0), np.empty((0, 1)))
"""Signal of an unknown quantity."""


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
        """The samples kept; valid until the next `extend`."""
        return Signal(self._time[self._start : self._end], self._value[self._start : self._end])


class Signals(Protocol):
    """Signals of an arm, by name of the quantity, see `LAYOUTS`."""

    def __getitem__(self, name: str) -> Signal:
        """Return the course of a quantity, EMPTY for one that is not known."""


class RecordedSignals(dict[str, Signal]):
    """Signals that are complete."""

    def __missing__(self, name: str) -> Signal:
        """Return EMPTY for an unknown quantity."""
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
        """Add samples by name of their quantity; one whose size has changed restarts."""
        for name, part in parts.items():
            growing = self._signals.get(name)
            if growing is None or growing.signal.value.shape[1] != part.value.shape[1]:
                growing = self._signals[name] = GrowingSignal(part, self._span)
            growing.extend(part)

    def clear(self) -> None:
        """Forget everything."""
        self._signals.clear()


POSE = "pose"
"""Quantity of an object: position (3,) [m] and quaternion x, y, z, w, frame A."""


@dataclass(frozen=True)
class _Layout:
    """Fields of a topic by name of the quantity; names: field with the joints of those in `of_joints`."""

    names: str = ""
    of_joints: tuple[tuple[str, str], ...] = ()
    others: tuple[tuple[str, str], ...] = ()


LAYOUTS: Mapping[str, _Layout] = {
    Topics.joint_states: _Layout("name", (("position", "position"), ("velocity", "velocity"))),
    Topics.external_torque: _Layout(
        "joint_names",
        (
            ("residual", "external_torque"),
            ("residual_rate", "external_torque_rate"),
            ("rate_threshold", "rate_threshold"),
        ),
    ),
    Topics.reference: _Layout(
        "joint_names",
        (("ante_velocity", "ante_joint_velocity"), ("post_velocity", "post_joint_velocity")),
        (("mode", "mode"), ("task_time", "task_time"), ("target", "position"), ("desired_force", "force")),
    ),
    Topics.status: _Layout(
        others=(("fault", "fault"), ("position_error", "position_error"), ("missed_samples", "missed_samples"))
    ),
    Topics.truth: _Layout(
        others=(
            ("contact_force", "contact_force"),
            ("peak_force", "peak_normal_force"),
            ("point_forces", "contact_normal_forces"),
        )
    ),
    Topics.events: _Layout(others=(("impact_index", "index"), ("isolated_link", "isolated_link"))),
    Topics.classification: _Layout(
        others=(("impact_verdict", "impact"), ("post_impact_verdict", "post_impact"), ("reason", "reason"))
    ),
}
"""Quantities of each topic of an arm, by the end of its name, in the units of the messages."""


def signals_of(topic: str, columns: Mapping[str, Any], time: Vector, joints: Sequence[str]) -> dict[str, Signal]:
    """Return the signals in messages of one topic, by name of the quantity.

    topic: a key of LAYOUTS. columns: of all messages, by dotted field name, see `decode`. time (k,) [s] of each.
    joints: order of the returned values of joints; messages with other joints are ignored.
    """
    layout = LAYOUTS[topic]
    found = {quantity: _column(columns.get(field), time) for quantity, field in layout.others}
    names = columns.get(layout.names)
    if names is not None and len(names) and set(joints) <= set(names[0]):
        order = [names[0].index(joint) for joint in joints]
        for quantity, field in layout.of_joints:
            signal = _column(columns.get(field), time)
            if signal is not None and signal.value.shape[1] == len(names[0]):
                found[quantity] = Signal(signal.time, signal.value[:, order])
    return {quantity: signal for quantity, signal in found.items() if signal is not None}


def pose_signal(columns: Mapping[str, Any], time: Vector) -> Signal:
    """Return the signal of the poses of an object, from geometry_msgs/PoseStamped; time (k,) [s] of each."""
    return Signal(time, np.hstack([columns["pose.position"], columns["pose.orientation"]]))


def _column(column: Any, time: Vector) -> Signal | None:
    """Return a signal of numbers or texts; None where the messages have no such field, or one of changing length."""
    if isinstance(column, list) and all(isinstance(entry, str) for entry in column):
        return Signal(time, np.array(column, dtype=object).reshape(-1, 1))
    if not isinstance(column, np.ndarray):
        return None
    values = column.astype(np.float64)
    return Signal(time, values.reshape(len(time), -1))
