"""Silence: time since the last external torque above its threshold. Flacco 2016 section V-D."""

from __future__ import annotations

import math

from impact_control.util.compiled import compiled
from impact_control.util.types import Vector


@compiled
def is_touched(torque: Vector, threshold: Vector) -> bool:
    """Return whether an external torque (n,) [Nm] reaches its threshold (n,) [Nm], or is not a number."""
    touched = False
    for j in range(torque.shape[0]):
        touched = touched or not abs(torque[j]) < threshold[j]
    return touched


class Silence:
    """Measures how long the external torques have been below their thresholds without a break."""

    def __init__(self) -> None:
        self._since = math.nan

    def reset(self) -> None:
        """Restart with the next sample."""
        self._since = math.nan

    def measure(self, time: float, touched: bool) -> float:
        """Take a sample at `time` [s]; return the length of the silence [s], 0 when the arm is touched."""
        if touched:
            self._since = math.nan
            return 0.0
        if math.isnan(self._since):
            self._since = time
        return time - self._since
