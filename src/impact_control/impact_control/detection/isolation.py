"""Which link was hit: the outermost joint whose residual has changed since the impact."""

from __future__ import annotations

import math

import numpy as np

from impact_control.compiled import compiled
from impact_control.detection.detector import NO_LINK
from impact_control.observation.validation import checked_count, checked_vector
from impact_control.types import Matrix, Vector


@compiled
def _mean(ring: Matrix, first: int, length: int, out: Vector) -> None:
    """Write the mean of `length` rows of a ring from row `first` on to out (n,)."""
    out[:] = 0.0
    for k in range(length):
        out += ring[(first + k) % ring.shape[0]]
    out /= length


@compiled
def _all_finite(values: Vector) -> bool:
    total = 0.0
    for value in values:
        total += value
    return math.isfinite(total)


@compiled
def _outermost(after: Vector, length: int, before: Vector, threshold: Vector) -> int:
    for i in range(threshold.size - 1, -1, -1):
        if abs(after[i] / length - before[i]) >= threshold[i]:
            return i + 1
    return NO_LINK


class LinkIsolation:
    """The link in contact, from the residual r before and after an impact.

    Joints beyond the link in contact do not react (Proper 2021, 1.1 and 2.5). The mean of r over `window` samples
    from the event on is compared with the mean over as many that ended `lead` samples before it: means, because at
    the sample of detection a slow impact is still in the noise of the outer joints; `lead`, because the reaction
    begins before it is detected. It is no guarantee: without a lever about its joint a force leaves a link unseen.

    Attributes:
        link: 1..n, outermost joint whose mean has changed by its threshold; NO_LINK for none, and before the first
            event. It is decided again at each of the `window` samples from the event on, and then stays.
    """

    def __init__(self, threshold: Vector, window: int = 10, lead: int = 5) -> None:
        """Set the tuning: threshold (n,) [Nm], above 0; window, lead at least 1. Raises InvalidInputError."""
        self._threshold = checked_vector("isolation_threshold", threshold, zero_allowed=False)
        self._window = checked_count("isolation window", window, 1)
        self._lead = checked_count("isolation lead", lead, 1)
        n = self._threshold.size
        self._ring: Matrix = np.zeros((window + lead, n))
        self._before, self._after = np.zeros(n), np.zeros(n)
        self.start()
        self.update(self._before)  # compiles the kernels here and not in the loop
        self.impact()
        self.start()

    def start(self) -> None:
        """Forget everything."""
        self.link = NO_LINK
        self._count = 0
        self._taken = self._window

    def impact(self) -> None:
        """Take the newest sample as that of an event."""
        rows = self._ring.shape[0]
        held = min(self._count, rows)
        if held < 2:
            self.link = NO_LINK
            return
        length = min(self._window, max(1, held - self._lead))
        _mean(self._ring, (self._count - held) % rows, length, self._before)
        self._after[:] = 0.0
        self._taken = 0
        self._decide()

    def update(self, residual: Vector) -> None:
        """Take the residual (n,) [Nm] of a sample; one that is not finite is left out."""
        if not _all_finite(residual):
            return
        self._ring[self._count % self._ring.shape[0]] = residual
        self._count += 1
        if self._taken < self._window:
            self._decide()

    def _decide(self) -> None:
        self._after += self._ring[(self._count - 1) % self._ring.shape[0]]
        self._taken += 1
        self.link = int(_outermost(self._after, self._taken, self._before, self._threshold))
