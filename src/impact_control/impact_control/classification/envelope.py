"""Signal envelope filter: bounds that hold an oscillating signal and close around it as it decays."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from impact_control.util.checks import checked_count, require_positive
from impact_control.util.compiled import compiled
from impact_control.util.types import Vector


@compiled
def filter_sample(
    signal: Vector,
    count: int,
    weight: float,
    values: NDArray[np.float64],
    stamps: NDArray[np.int64],
    heads: NDArray[np.int64],
    sizes: NDArray[np.int64],
    bounds: NDArray[np.float64],
) -> None:
    """Proper 2021 (4.15) and (4.20) for sample number `count` of `signal` (n,), with weight = a dt.

    The upper side (1) is the lower side (0) of the negated signal. values and stamps (2, n, m + 1) are ring
    buffers that hold for each side and joint a monotonic queue: the samples of the window that can still
    become its minimum, in rising order, the minimum at the head. heads and sizes (2, n) delimit them.
    bounds (2, n) are updated. A joint whose sample is not finite is left as it was.
    """
    capacity = values.shape[2]
    for side in range(2):
        sign = 1.0 - 2.0 * side
        for i in range(signal.size):
            if not math.isfinite(signal[i]):
                continue
            sample = sign * signal[i]
            head = heads[side, i]
            size = sizes[side, i]
            while size > 0 and stamps[side, i, head] <= count - capacity:
                head = (head + 1) % capacity
                size -= 1
            while size > 0 and values[side, i, (head + size - 1) % capacity] >= sample:
                size -= 1
            tail = (head + size) % capacity
            values[side, i, tail] = sample
            stamps[side, i, tail] = count
            heads[side, i] = head
            sizes[side, i] = size + 1
            bound = values[side, i, head]
            if not math.isnan(bounds[side, i]):
                bound = min(bound, (1.0 - weight) * sign * bounds[side, i] + weight * bound)
            bounds[side, i] = sign * bound


class SignalEnvelope:
    """Lower and upper bound of a signal, Proper 2021 (4.15) to (4.20), one sample at a time.

    The extrema over the samples k-m..k, m + 1 of them, hold the bounds out; where the extremum lies inside,
    the bound closes in on it with the decay rate a (4.19):

        lower_k = min(x_min, (1 - a dt) lower_{k-1} + a dt x_min),   upper_k likewise with the maximum.

    So the envelope contains all samples of the window. With a dt above 1 the bound of (4.19) would overshoot
    the extremum; a dt is clamped to 1, where the bound is the extremum. The window counts samples, as
    printed: lost samples make it longer in time.

    The cost of a sample does not depend on m (amortised; two monotonic queues for each joint). Samples that
    are not finite are skipped joint by joint and hold the bounds of that joint.

    After `reset` the window grows again from the first sample, on which both bounds start. This is the
    adaptive window of Proper 2021, Algorithm 2.

    Attributes:
        lower, upper: (n,), unit of the signal; NaN until the first sample. Overwritten by the next call.
        count: samples since construction or `reset`.
    """

    def __init__(self, window_length: int, decay_rate: float, n: int) -> None:
        """window_length: m, at least 0 [samples]; decay_rate: a, above 0 [1/s]; n: number of joints.

        Raises InvalidInputError for anything else.
        """
        self._window_length = checked_count("window_length", window_length, 0)
        self._decay_rate = require_positive("decay_rate", decay_rate)
        n = checked_count("n", n, 1)
        self._values = np.zeros((2, n, self._window_length + 1))
        self._stamps = np.zeros((2, n, self._window_length + 1), dtype=np.int64)
        self._heads = np.zeros((2, n), dtype=np.int64)
        self._sizes = np.zeros((2, n), dtype=np.int64)
        self._bounds = np.zeros((2, n))
        self._signal = np.zeros(n)
        self.lower: Vector = self._bounds[0]
        self.upper: Vector = self._bounds[1]
        self.count = 0
        self.filter(self._signal, 0.0)  # compiles the kernel here and not in the loop
        self.reset()

    @property
    def window_is_full(self) -> bool:
        """True when the window holds its m + 1 samples."""
        return self.count > self._window_length

    def reset(self) -> None:
        """Forget all samples and bounds."""
        self.count = 0
        self._sizes[:] = 0
        self._heads[:] = 0
        self._bounds[:] = math.nan

    def filter(self, x: Vector, dt: float) -> None:
        """Take the sample `x` (n,) that came `dt` [s] after the one before it (any value for the first).

        A dt that is negative or not a number counts as 0: the bounds do not decay.
        """
        self._signal[:] = x
        weight = self._decay_rate * dt
        weight = min(weight, 1.0) if weight > 0.0 else 0.0
        self.count += 1
        filter_sample(
            self._signal,
            self.count,
            weight,
            self._values,
            self._stamps,
            self._heads,
            self._sizes,
            self._bounds,
        )
