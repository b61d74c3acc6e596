"""First-order filters K/(s + K) and K s/(s + K) by the Tustin rule of Flacco 2016 (13), for any period."""

from __future__ import annotations

import numpy as np

from impact_control.compiled import compiled
from impact_control.errors import InvalidInputError
from impact_control.types import Matrix, Vector


@compiled
def low_pass(
    signal: Vector, previous: Vector, gain: Vector, output: Vector, output_rate: Vector, period: float
) -> None:
    """Advance `output` by one sample of K/(s + K) over `period` [s]; with period 0 only take the sample.

    All arrays (n,): gain K [1/s]; output_rate becomes the difference quotient of output, in units of it per second;
    previous becomes signal.
    """
    for i in range(signal.size):
        if period > 0.0:
            decay = 0.5 * period * gain[i]
            new = ((1.0 - decay) * output[i] + decay * (signal[i] + previous[i])) / (1.0 + decay)
            output_rate[i] = (new - output[i]) / period
            output[i] = new
        else:
            output_rate[i] = 0.0
        previous[i] = signal[i]


@compiled
def filtered_rate(signal: Vector, previous: Vector, gain: Vector, output: Vector, period: float) -> None:
    """Advance `output` by one sample of K s/(s + K), the derivative of a low-passed signal; with period 0 it is 0.

    All arrays (n,): gain K [1/s]; output in units of signal per second; previous becomes signal.
    """
    for i in range(signal.size):
        if period > 0.0:
            decay = 0.5 * period * gain[i]
            output[i] = ((1.0 - decay) * output[i] + gain[i] * (signal[i] - previous[i])) / (1.0 + decay)
        else:
            output[i] = 0.0
        previous[i] = signal[i]


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
