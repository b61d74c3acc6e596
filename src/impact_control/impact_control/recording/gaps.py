"""Samples that a recording lacks, and the statements on a run that it cannot support without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_control.recording.defects import GAP_FACTOR
from impact_control.util.types import Vector
from impact_control.util.words import counted

BRIDGED = 0.01
"""[s] Longest gap over which a mean, or a fit to a tenth of a second, still says the same."""


def with_gaps(time: Vector, *columns: NDArray[Any]) -> tuple[NDArray[np.float64], ...]:
    """Return rising stamps (m,) [s] and columns (m, ...) with a row of NaN in each gap, over which no line is drawn.

    A gap is longer than `BRIDGED`, and than 2.5 usual steps where these are as long.
    """
    step = np.diff(time)
    wide = np.flatnonzero(step > max(BRIDGED, 2.5 * float(np.median(step)))) if step.size else np.empty(0, dtype=int)
    middle = time[wide] + 0.5 * step[wide]
    broken = (np.insert(column.astype(np.float64), wide + 1, np.nan, axis=0) for column in columns)
    return np.insert(time, wide + 1, middle), *broken


@dataclass(frozen=True, eq=False)
class Gaps:
    """Stretches of a recorded topic in which samples are missing by their stamps.

    start, end (k,) [s]: stamps of the samples around each. missing: number of samples in all of them.
    """

    start: Vector
    end: Vector
    missing: int

    @classmethod
    def between(cls, time: Vector, period: float) -> Gaps:
        """Return the gaps between stamps (m,) [s], in any order, of samples that come every `period` [s]."""
        stamps = np.unique(time)
        length = np.diff(stamps)
        wide = length > GAP_FACTOR * period
        missing = int(np.sum(np.rint(length[wide] / period) - 1.0))
        return cls(stamps[:-1][wide], stamps[1:][wide], missing)

    @property
    def longest(self) -> float:
        """Longest stretch without a sample [s], 0 without a gap."""
        return float(np.max(self.end - self.start, initial=0.0))

    def covers(self, start: float, end: float) -> bool:
        """Return whether no gap beyond `BRIDGED` overlaps the interval [s]."""
        wide = self.end - self.start > BRIDGED
        return not np.any(wide & (self.start < end) & (self.end > start))

    def in_words(self) -> str:
        """Return number, longest gap and its place in words."""
        at = float(self.start[np.argmax(self.end - self.start)])
        lost = counted(self.missing, "sample")
        return f"{lost} missing, the longest gap {1e3 * self.longest:.0f} ms after {at:.3f} s"
