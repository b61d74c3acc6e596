"""Samples of a series at the times a figure shows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from impact_control.recording.style import TimeAxis
from impact_control.types import Matrix, Vector


def shown(time: TimeAxis, stamp: Vector) -> NDArray[np.bool_]:
    """Which of the stamps (m,) [s] lie within the limits of a time axis: (m,)."""
    if time.limits is None:
        return np.ones(len(stamp), dtype=bool)
    position = time(stamp)
    near: NDArray[np.bool_] = (position >= time.limits[0]) & (position <= time.limits[1])
    return near


def resample(time: Vector, known_time: Vector, values: Matrix) -> Matrix:
    """Columns (k, n) known at (k,) [s] interpolated linearly at (m,) [s], the first and last value kept: (m, n)."""
    return np.column_stack([np.interp(time, known_time, column) for column in values.T])
