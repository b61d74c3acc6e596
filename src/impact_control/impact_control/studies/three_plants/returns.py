"""When a point of the end-effector that came off the surface is back on it: the second impact of an edge."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from impact_control.types import Vector

BOUNCE_HEIGHT = 1e-6
"""[m] A point that comes no higher than this stayed on the surface."""


class ReturnWatch:
    """Follows the contact points of an end-effector sample by sample.

    Attributes:
        first: when the first of them was back on the surface [s], infinite until then. The first touch of a point is
            no return.
    """

    def __init__(self, points: int) -> None:
        """Begin before any of the points has touched."""
        self.first = math.inf
        self._touched = np.zeros(points, dtype=bool)
        self._height = np.zeros(points)

    def update(self, time: float, gaps: Vector, closed: NDArray[np.bool_]) -> None:
        """Take a sample at `time` [s]: gaps (n_c,) [m], and which points touch (n_c,)."""
        if np.any(closed & (self._height > BOUNCE_HEIGHT)):
            self.first = min(self.first, time)
        off = self._touched & ~closed
        self._height = np.where(off, np.maximum(self._height, gaps), 0.0)
        self._touched |= closed
