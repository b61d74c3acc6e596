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
    """Signals that grow; forgotten is what is older than `span` [s] or comes before the newest `MOST`, not the last."""

    def __init__(self, span: float) -> None:
        self._span = span
        self._signals = RecordedSignals()

    def __getitem__(self, name: str) -> Signal:
        """Return what is kept of a quantity."""
        return self._signals[name]

    def extend(self, parts: Mapping[str, Signal]) -> None:
        """Add samples by name of their quantity, those later than its last one; a changed size begins anew."""
        for name, part in parts.items():
            time, value, kept = part.time, part.value, self._signals[name]
            if len(kept.time) and kept.value.shape[1] == value.shape[1]:
                later = time > kept.time[-1]
                time = np.concatenate([kept.time, time[later]])
                value = np.concatenate([kept.value, value[later]])
            if len(time):
                first = max(int(time.searchsorted(time[-1] - self._span)), len(time) - MOST)
                self._signals[name] = Signal(time[first:], value[first:])

    def clear(self) -> None:
        """Forget everything."""
        self._signals.clear()


MOST = 16_384
"""Samples of a quantity that are kept while it grows."""

POSE = "pose"
"""Quantity of an object: position (3,) [m] and quaternion x, y, z, w, frame A."""


LAYOUTS: Mapping[str, Mapping[str, str]] = {
    Topics.joint_states: {"position": "position", "velocity": "velocity"},
    Topics.external_torque: {
        "residual": "external_torque",
        "residual_rate": "external_torque_rate",
        "rate_threshold": "rate_threshold",
    },
    Topics.reference: {
        "ante_velocity": "ante_joint_velocity",
        "post_velocity": "post_joint_velocity",
        "mode": "mode",
        "task_time": "task_time",
        "target": "position",
        "desired_force": "force",
    },
    Topics.status: {"fault": "fault", "position_error": "position_error", "missed_samples": "missed_samples"},
    Topics.truth: {
        "contact_force": "contact_force",
        "peak_force": "peak_normal_force",
        "point_forces": "contact_normal_forces",
    },
    Topics.events: {"impact_index": "index", "isolated_link": "isolated_link"},
    Topics.classification: {"impact_verdict": "impact", "post_impact_verdict": "post_impact", "reason": "reason"},
}
"""Field by quantity of each topic of an arm, by the end of its name, in the units of the messages."""

_JOINTS = {Topics.joint_states: "name", Topics.external_torque: "joint_names", Topics.reference: "joint_names"}
"""Field with the names of the joints."""

_OF_JOINTS = ("position", "velocity", "residual", "residual_rate", "rate_threshold", "ante_velocity", "post_velocity")
"""Quantities with a value for each of them."""


def signals_of(topic: str, columns: Mapping[str, Any], time: Vector, joints: Sequence[str]) -> dict[str, Signal]:
    """Return the signals in messages of one topic, by name of the quantity.

    topic: a key of LAYOUTS. columns: of all messages, by dotted field name, see `decode`. time (k,) [s] of each.
    joints: order of the returned values of joints; messages with other joints are ignored.
    """
    found = {}
    names = columns.get(_JOINTS.get(topic, ""))
    known = names[0] if names is not None and len(names) and set(joints) <= set(names[0]) else []
    for quantity, field in LAYOUTS[topic].items():
        signal = _column(columns.get(field), time)
        if signal is not None and quantity not in _OF_JOINTS:
            found[quantity] = signal
        elif signal is not None and known and signal.value.shape[1] == len(known):
            found[quantity] = Signal(signal.time, signal.value[:, [known.index(joint) for joint in joints]])
    return found


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
