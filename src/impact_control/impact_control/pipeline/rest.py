"""Detection of rest after a task: it ends when the arm stands, so that the whole motion is on record."""

from __future__ import annotations

import math

from impact_control.util.compiled import compiled
from impact_control.util.types import Vector

SETTLE_TIME = 0.5
LONGEST_SETTLE_TIME = 2.0
"""[s] at least and at most from the stop to the end of the task."""

REST_SPEED = 0.02
"""[rad/s] below which a joint is at rest."""

REST_TIME = 0.2
"""[s] for which every joint has to stand."""


@compiled
def largest_magnitude(values: Vector) -> float:
    """Return the largest |value|."""
    largest = 0.0
    for value in values:
        largest = max(largest, abs(value))
    return largest


class Rest:
    """Watches an arm that is to come to rest, from the first sample after `reset` on."""

    def __init__(self) -> None:
        self._stopped_at = self._moved_at = math.nan

    def reset(self) -> None:
        """Wait for the next stop."""
        self._stopped_at = self._moved_at = math.nan

    def reached(self, time: float, velocity: Vector) -> bool:
        """Take a sample at `time` [s], velocity (n,) [rad/s]; return whether the task may end."""
        if math.isnan(self._stopped_at):
            self._stopped_at = self._moved_at = time
        if largest_magnitude(velocity) >= REST_SPEED:
            self._moved_at = time
        stopped_for = time - self._stopped_at
        stands = stopped_for >= SETTLE_TIME and time - self._moved_at >= REST_TIME
        return stands or stopped_for >= LONGEST_SETTLE_TIME
