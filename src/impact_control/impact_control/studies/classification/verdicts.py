"""What a classifier says of many trials: the share that it calls expected at each tilt, and the gray area."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from impact_control.classification import GrayArea, gray_area
from impact_control.types import Vector


@dataclass(frozen=True, eq=False)
class Verdicts:
    """tilts (k,) [deg] and unexpected (k,) of each trial; acceptable: lowest and highest tilt [deg] to be expected."""

    tilts: Vector
    unexpected: NDArray[np.bool_]
    acceptable: tuple[float, float]

    @property
    def area(self) -> GrayArea:
        """The gray area."""
        return gray_area(self.tilts, self.unexpected, self.acceptable)

    @property
    def judged_acceptable(self) -> int:
        """How many trials are acceptable."""
        return int(np.sum(self._acceptable))

    @property
    def false_alarms(self) -> int:
        """How many of these were called unexpected."""
        return int(np.sum(self.unexpected & self._acceptable))

    @property
    def shares(self) -> dict[float, float]:
        """Share of trials that were called expected, by tilt [deg]."""
        return {float(tilt): float(np.mean(~self.unexpected[self.tilts == tilt])) for tilt in np.unique(self.tilts)}

    def share(self, tilt: float) -> float:
        """Return the share at a tilt [deg]; NaN where there is no trial."""
        return self.shares.get(tilt, math.nan)

    @property
    def outside(self) -> tuple[list[float], list[float]]:
        """Tilts [deg] below and above the acceptable ones, the nearest first."""
        tilts = sorted(self.shares)
        low, high = self.acceptable
        return [tilt for tilt in tilts if tilt < low][::-1], [tilt for tilt in tilts if tilt > high]

    @property
    def always_expected(self) -> list[float]:
        """Tilts [deg] outside the acceptable ones at which every trial was called expected."""
        shares = self.shares
        return sorted(tilt for side in self.outside for tilt in side if shares[tilt] == 1.0)

    @property
    def rises(self) -> list[float]:
        """Tilts [deg] outside the acceptable ones where more is called expected than a step nearer to them."""
        shares = self.shares
        return [b for side in self.outside for a, b in pairwise(side) if shares[b] > shares[a]]

    @property
    def whole_degrees(self) -> Verdicts:
        """Those on tilts of whole degrees alone."""
        whole = self.tilts == np.round(self.tilts)
        return Verdicts(self.tilts[whole], self.unexpected[whole], self.acceptable)

    @property
    def _acceptable(self) -> NDArray[np.bool_]:
        low, high = self.acceptable
        return np.asarray((self.tilts >= low) & (self.tilts <= high))


def degrees(width: float) -> str:
    """Return a side of the gray area [deg] as it is shown."""
    return f"{width:g}" if math.isfinite(width) else "does not end"
