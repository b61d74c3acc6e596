"""Samples that a recording lacks, and the statements on a run that it cannot support without them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_control.recording.defects import GAP_FACTOR
from impact_control.util.types import Matrix, Vector

BRIDGED = 0.01
"""[s] Longest gap over which a mean, or a fit to a tenth of a second, still says the same."""


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
        return f"{self.missing} samples missing, the longest gap {1e3 * self.longest:.0f} ms after {at:.3f} s"


def unseen_torque(
    time: Vector, torque: Matrix, period: float, peak_rate: float, lost: int | None = None
) -> Vector | None:
    """Return the largest torque (n,) [Nm] that the commands can have had in the gaps of a recording; None without one.

    A torque that leaves one value and arrives at another no faster than its rate allows stays below their mean plus
    half of rate times time. time (m,) [s] and torque (m, n) [Nm] of the recorded commands; peak_rate: [Nm/s] largest
    rate of a joint, as the controller counted it itself; infinity where it did not.
    lost: number of commands that the recording lacks, None where it is not known: the stamps alone make a gap, too,
    where only the joint states are missing, whose stamps the commands get.
    """
    length = np.diff(time)
    wide = length > GAP_FACTOR * period
    if lost == 0 or not wide.any():
        return None
    if lost is not None:
        length = np.minimum(length, (lost + 1) * period)
    ends = np.abs(torque[:-1][wide]) + np.abs(torque[1:][wide])
    bound: Vector = np.max(0.5 * (ends + peak_rate * length[wide][:, None]), axis=0)
    return bound
