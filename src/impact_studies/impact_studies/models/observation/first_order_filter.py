"""First-order filter K/(s + K) by the Tustin rule of Flacco 2016 (13), for any period."""

from __future__ import annotations

import numpy as np

from impact_control.util.compiled import compiled
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector


def low_pass_series(time: Vector, means: Matrix, gain: float) -> Matrix:
    """Return signals (m, n) passed through K/(s + K), starting from 0 as a residual does.

    means: (m - 1, n) of the signals, over the periods between the stamps; the mean of both samples for signals that do
        not jump. time: (m,) [s], increasing; gain: K [1/s], above 0. Raises InvalidInputError for anything else.
    """
    t, values = np.asarray(time, dtype=float), np.asarray(means, dtype=float)
    if t.ndim != 1 or not t.size or not np.all(np.diff(t) > 0.0):
        raise InvalidInputError("time", time, "increasing stamps")
    if values.ndim != 2 or values.shape[0] != t.size - 1 or not np.all(np.isfinite(values)):
        raise InvalidInputError("means", means, f"finite numbers of shape ({t.size - 1}, n)")
    if not (np.isfinite(gain) and gain > 0.0):
        raise InvalidInputError("gain", gain, "a finite number above 0")
    filtered = np.zeros((t.size, values.shape[1]))
    _filter_means(t, values, float(gain), filtered)
    return filtered


@compiled
def _filter_means(time: Vector, means: Matrix, gain: float, filtered: Matrix) -> None:
    """Write K/(s + K) of signals given by their means between the stamps, from the first row on."""
    for k in range(1, time.size):
        decay = 0.5 * gain * (time[k] - time[k - 1])
        for j in range(means.shape[1]):
            filtered[k, j] = ((1.0 - decay) * filtered[k - 1, j] + 2.0 * decay * means[k - 1, j]) / (1.0 + decay)
