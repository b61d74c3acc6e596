"""Detection scores: non-negative channels that rise at an impact, in which the detection methods differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from impact_control.detection.signals import DetectionSignals
from impact_control.util.checks import checked_count
from impact_control.util.compiled import compiled
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector


class Score(Protocol):
    """One number a channel that is near 0 without impacts."""

    isolates: bool
    """True where the joints beyond the link in contact stay near 0: then the channels are the joints."""

    @property
    def channels(self) -> int:
        """Number of channels."""

    @property
    def joints(self) -> NDArray[np.int_]:
        """Index of the joint that each channel is of, 0 the first; -1 for a channel of several joints."""

    def reset(self) -> None:
        """Forget all samples."""

    def evaluate(self, signals: DetectionSignals, time: float) -> Vector:
        """Return the magnitudes (channels,) at the next sample; overwritten by the next call. Does not allocate."""


class _ScoreOfJoints:
    """A score with a channel a joint, which looks at one sample only."""

    isolates = True

    def __init__(self, size: int) -> None:
        """Look at `size` joints."""
        self.channels = checked_count("size", size, 1)
        self.joints = np.arange(size)
        self._values: Vector = np.zeros(size)

    def reset(self) -> None:
        """Nothing is remembered."""


class ResidualRateScore(_ScoreOfJoints):
    """Magnitude of the rate of the residual (n,) [Nm/s], Proper 2021 (3.4), (3.6)."""

    def evaluate(self, signals: DetectionSignals, time: float) -> Vector:
        """Return |dr/dt|."""
        return np.abs(signals.residual_rate, out=self._values)


class ResidualScore(_ScoreOfJoints):
    """Magnitude of the residual (n,) [Nm], Proper 2021 (2.91)."""

    def evaluate(self, signals: DetectionSignals, time: float) -> Vector:
        """Return |r|."""
        return np.abs(signals.residual, out=self._values)


@compiled
def _torque_error(measured: Vector, commanded: Vector, chosen: NDArray[np.int_]) -> float:
    total = 0.0
    for i in chosen:
        total += abs(measured[i] - commanded[i])
    return total


class TorqueErrorScore:
    """Sum of the torque errors of chosen joints [Nm], one channel: sum |tau_i - tau_i*|, Wang 2022, section VI.

    Wang takes joints 5 and 6 of a Panda, and pulls the arm back where the sum exceeds 1.8 or 1.5 Nm.
    """

    isolates = False

    def __init__(self, size: int, joints: Sequence[int]) -> None:
        """Look at `joints`, the first is 1, of `size`. Raises InvalidInputError for others, none, or one twice."""
        checked_count("size", size, 1)
        numbers = tuple(joints)
        valid = all(isinstance(j, (int, np.integer)) and 1 <= j <= size for j in numbers)
        if not numbers or not valid or len(set(numbers)) < len(numbers):
            raise InvalidInputError("joints", joints, f"different numbers from 1 to {size}, at least one")
        self.channels = 1
        self.joints = np.array([numbers[0] - 1 if len(numbers) == 1 else -1])
        self._chosen = np.array(numbers) - 1
        self._values: Vector = np.zeros(1)
        _torque_error(np.zeros(size), np.zeros(size), self._chosen)  # compiles the kernel here and not in the loop

    def reset(self) -> None:
        """Nothing is remembered."""

    def evaluate(self, signals: DetectionSignals, time: float) -> Vector:
        """Return the sum, (1,)."""
        self._values[0] = _torque_error(signals.joint_torque, signals.commanded_torque, self._chosen)
        return self._values


@compiled
def _deviations(window: int, gaps: NDArray[np.int_], past: Matrix, stamps: Vector, count: int, out: Vector) -> None:
    """Write |dq - prediction| for sample number `count`, the newest in the rings, to out (gaps * n,).

    The prediction for gap h is a straight line through the `window` samples that end h samples before the newest,
    least squares over their stamps; 0 while there are not enough.
    """
    capacity, n = past.shape
    now = count % capacity
    for g in range(gaps.size):
        first = count - gaps[g] - window + 1
        if first < 0:
            out[g * n : (g + 1) * n] = 0.0
            continue
        mean_time = 0.0
        for k in range(window):
            mean_time += stamps[(first + k) % capacity] - stamps[now]
        mean_time /= window
        spread = 0.0
        for k in range(window):
            spread += (stamps[(first + k) % capacity] - stamps[now] - mean_time) ** 2
        for i in range(n):
            predicted = 0.0
            for k in range(window):
                row = (first + k) % capacity
                offset = stamps[row] - stamps[now] - mean_time
                predicted += (1.0 / window - mean_time * offset / spread) * past[row, i]
            out[g * n + i] = abs(past[now, i] - predicted)


class VelocityJumpScore:
    """Deviation of the joint velocity from the extrapolation of its last samples [rad/s].

    After the jump-aware detection of Proper 2021, 1.1, which looks at the position, and predicts it with the velocity.

    The prediction is a straight line, constant acceleration, through `window` samples that end `gap` samples before
    the newest. A gap of 1 sees what changes within a sample, as at a hard contact; longer gaps see what a soft
    contact does over several samples, which a line up to now would follow. Channels: n for each gap, in their order.

    An impulse P at the contact moves the links by M^-1 J^T P, whatever the motors do: joints near the tool, with
    little inertia, jump most, while the noise is the same in all. A contact inside the arm moves the joints beyond
    it too, so that the jump does not say which link was hit.

    For `window` samples after a jump the line leads through both sides of it: leave as much between two events.
    """

    isolates = False

    def __init__(self, size: int, window: int = 8, gaps: Sequence[int] = (1,)) -> None:
        """Look at `size` joints; window at least 2 samples, gaps at least 1. Raises InvalidInputError."""
        checked_count("size", size, 1)
        self._window = checked_count("window", window, 2)
        if not len(gaps):
            raise InvalidInputError("gaps", gaps, "at least one")
        self._gaps = np.array([checked_count("gap", gap, 1) for gap in gaps])
        self.channels = size * self._gaps.size
        self.joints = np.tile(np.arange(size), self._gaps.size)
        capacity = window + int(self._gaps.max())
        self._past: Matrix = np.zeros((capacity, size))
        self._stamps: Vector = np.arange(capacity, dtype=np.float64)
        self._values: Vector = np.zeros(self.channels)
        self._count = 0
        _deviations(self._window, self._gaps, self._past, self._stamps, 0, self._values)  # compiles the kernel here
        self.reset()

    def reset(self) -> None:
        """Forget all samples: no jump is seen before window + gap of them have come again."""
        self._count = -1

    def evaluate(self, signals: DetectionSignals, time: float) -> Vector:
        """Return |dq - prediction| for each gap and joint."""
        self._count += 1
        row = self._count % self._stamps.size
        self._past[row] = signals.velocity
        self._stamps[row] = time
        _deviations(self._window, self._gaps, self._past, self._stamps, self._count, self._values)
        return self._values
