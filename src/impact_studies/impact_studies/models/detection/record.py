"""The rule of the detectors over a whole record at once: for recordings, and to try many bounds."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from impact_control.detection.impact_detector import a_joint_rises
from impact_control.util.checks import checked_vector, require_not_negative
from impact_control.util.compiled import compiled
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector


@compiled
def _scan(time: Vector, score: Matrix, threshold: Vector, rise: Vector, refractory_time: float) -> NDArray[np.int_]:
    previous, valley = np.full(threshold.size, math.inf), np.zeros(threshold.size)
    events = np.zeros(time.size, dtype=np.int_)
    count, last = 0, -math.inf
    for k in range(time.size):
        if a_joint_rises(score[k], threshold, rise, previous, valley) and time[k] - last >= refractory_time:
            events[count] = k
            count += 1
            last = time[k]
    return events[:count]


def event_samples(
    time: Vector, score: Matrix, threshold: Vector, refractory_time: float, rise_ratio: float = 1.0
) -> NDArray[np.int_]:
    """Return the numbers of the samples that are events, as a `ScoreDetector` would report them one by one.

    time (m,) [s], increasing; score (m, c) of c channels; threshold (c,), refractory_time [s] and rise_ratio as
    `ImpactDetector`. Raises InvalidInputError.
    """
    t, values = np.ascontiguousarray(time, dtype=np.float64), np.ascontiguousarray(score, dtype=np.float64)
    bound = checked_vector("threshold", threshold, zero_allowed=False)
    if t.ndim != 1 or not np.all(np.diff(t) > 0.0):
        raise InvalidInputError("time", time, "increasing stamps")
    if values.shape != (t.size, bound.size):
        raise InvalidInputError("shape of score", values.shape, f"({t.size}, {bound.size})")
    rise = bound * require_not_negative("rise_ratio", rise_ratio)
    found: NDArray[np.int_] = _scan(t, values, bound, rise, require_not_negative("refractory_time", refractory_time))
    return found
