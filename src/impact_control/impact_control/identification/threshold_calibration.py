"""Thresholds from a recording without contact, for a chosen rate of false alarms.

Assumptions, which the recording has to bear out:

- It has no contact, and moves as the arm will: what the thresholds have to stay above is mostly the error of the model.
- The signal is stationary over many blocks, and a block is long against its correlation, so that maxima of different
  blocks are independent.
- The maxima of blocks follow Gumbel's law, to which those of any signal with a tail like that of a Gaussian or an
  exponential tend; a signal with bounds has a lighter tail and gets a threshold on the safe side. A heavier tail is
  what a contact in the recording would look like: it is tested for, and named.
- The channels may alarm at the same time or not: each gets an equal share of the rate, which is safe for both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from scipy.optimize import brentq

from impact_control.checks import finite_rows, increasing_stamps, require_positive
from impact_control.errors import InvalidInputError
from impact_control.types import Matrix, Vector

EULER_GAMMA = 0.5772156649015329
SMALLEST_COUNT = 30
"""Blocks, below which the law of their maxima is not worth an extrapolation."""

HEAVY_TAIL = 3.1
"""Standard deviations of the shape from Gumbel's, beyond which a tail counts as heavy: one in 1000 by chance."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Thresholds and what they rest on; each array (n,) by channel, in the unit of the signal.

    threshold: for the chosen rate. location, scale: of Gumbel's law of the maxima of blocks. tail: standard deviations
    by which the shape of their law differs from Gumbel's, above 0 for a heavier tail. largest: of the recording.
    false_alarm_rate [1/s]: chosen, of all channels together. confidence: with which the threshold is high enough, as
    far as the number of blocks goes. block [s]: its length. blocks: their number. samples, duration [s]: of the
    recording, without gaps.
    """

    threshold: Vector
    location: Vector
    scale: Vector
    tail: Vector
    largest: Vector
    false_alarm_rate: float
    confidence: float
    block: float
    blocks: int
    samples: int
    duration: float

    @property
    def objections(self) -> tuple[str, ...]:
        """What speaks against the assumptions, in words; empty when nothing does."""
        words = [
            f"channel {i + 1}: a tail heavier than Gumbel's by {self.tail[i]:.1f} standard deviations; "
            "is there a contact in the recording?"
            for i in np.flatnonzero(self.tail > HEAVY_TAIL)
        ]
        above = np.flatnonzero(self.largest >= self.threshold) if self.extrapolation > 1.0 else ()
        words += [f"channel {i + 1}: the recording itself exceeds the threshold for a longer time" for i in above]
        return tuple(words)

    @property
    def extrapolation(self) -> float:
        """How many times the recording's length lies between two alarms of one channel: what the law has to bear."""
        return self.threshold.size / (self.false_alarm_rate * self.duration)


def calibrate_thresholds(
    time: Vector,
    signal: Matrix,
    false_alarm_rate: float,
    *,
    block: float = 0.5,
    confidence: float = 0.95,
    largest_period: float = 0.005,
) -> Calibration:
    """Return thresholds which the magnitude of a signal without contact passes at a chosen rate.

    With Gumbel's law F(x) = exp(-exp(-(x - a) / b)) for the maxima of blocks of length B, and the share R / n of the
    rate R for each of n channels, the threshold x has F(x) = exp(-R B / n): the blocks with an alarm are those of a
    Poisson process of that rate. a and b are those of the largest likelihood; x is raised by as many of its standard
    errors as the confidence asks for.

    Args:
        time: (m,) [s] of the samples, increasing.
        signal: (m, n), of any sign, e.g. the rates of the residual of Proper 2021 (3.4).
        false_alarm_rate: R [1/s], above 0.
        block: B [s], above 0; longer than the refractory time of the detector.
        confidence: in [0.5, 1).
        largest_period: [s]; a block with a longer gap between samples is left out.

    Raises:
        InvalidInputError: for anything else, or too short a recording.
    """
    t = increasing_stamps("time", time)
    values = finite_rows("signal", signal, t.size)
    for name, value in (("false_alarm_rate", false_alarm_rate), ("block", block), ("largest_period", largest_period)):
        require_positive(name, value)
    if not 0.5 <= confidence < 1.0:
        raise InvalidInputError("confidence", confidence, "at least 0.5 and below 1")
    maxima, used, duration = _block_maxima(t, np.abs(values), block, largest_period)
    if len(maxima) < SMALLEST_COUNT:
        allowed = f"at least {SMALLEST_COUNT} whole blocks of {block} s; there are {len(maxima)}"
        raise InvalidInputError("duration", t[-1] - t[0], allowed)
    fits = np.array([_gumbel(column) for column in maxima.T])
    location, scale = fits.T
    reduced = -math.log(false_alarm_rate * block / values.shape[1])
    # Covariance of the largest-likelihood estimates, from Fisher's information of Gumbel's law.
    curvature = 6.0 / math.pi**2
    variance = 1.0 + curvature * (1.0 - EULER_GAMMA + reduced) ** 2
    margin = NormalDist().inv_cdf(confidence) * math.sqrt(variance / len(maxima))
    return Calibration(
        threshold=location + scale * (reduced + margin),
        location=location,
        scale=scale,
        tail=np.array([_tail(column) for column in maxima.T]),
        largest=maxima.max(axis=0),
        false_alarm_rate=false_alarm_rate,
        confidence=confidence,
        block=block,
        blocks=len(maxima),
        samples=used,
        duration=duration,
    )


def _block_maxima(time: Vector, magnitude: Matrix, block: float, largest_period: float) -> tuple[Matrix, int, float]:
    """Return the maxima (b, n) of the whole blocks without a gap, the samples in them and their length [s]."""
    number = np.floor((time - time[0]) / block + 1e-9).astype(np.int64)
    first = np.flatnonzero(np.diff(number, prepend=-1))
    last = np.append(first[1:], time.size) - 1
    gap = np.flatnonzero(np.diff(time) > largest_period)
    broken = np.zeros(first.size, dtype=bool)
    broken[np.searchsorted(first, gap, side="right") - 1] = True  # before and after a gap
    broken[np.searchsorted(first, gap + 1, side="right") - 1] = True
    whole = ~broken & (time[last] - time[first] > 0.5 * block)
    maxima = np.maximum.reduceat(magnitude, first, axis=0)[whole]
    return maxima, int(np.sum((last - first + 1)[whole])), float(np.count_nonzero(whole) * block)


def _gumbel(maxima: Vector) -> tuple[float, float]:
    """Return location and scale of largest likelihood: b = mean(x) - sum(x e^{-x/b}) / sum(e^{-x/b})."""
    mean, low = float(np.mean(maxima)), float(np.min(maxima))
    spread = float(np.std(maxima))
    if spread <= 1e-12 * max(abs(mean), 1e-300):
        raise InvalidInputError("signal", mean, "maxima that differ from block to block; a channel has a constant one")
    excess = maxima - low

    def mismatch(scale: float) -> float:
        weight = np.exp(-excess / scale)
        return scale - (mean - low) + float(excess @ weight / weight.sum())

    scale = float(brentq(mismatch, 1e-3 * spread, 1e3 * spread))
    return low - scale * math.log(float(np.mean(np.exp(-excess / scale)))), scale


def _tail(maxima: Vector) -> float:
    """Return the shape of the general law of extremes in standard deviations from Gumbel's, above 0 for a heavy tail.

    Probability-weighted moments; under Gumbel's law the estimate has the variance 0.5633 / m (Hosking, Wallis, Wood,
    Technometrics 27, 1985).
    """
    x = np.sort(maxima)
    m = x.size
    rank = np.arange(m)
    b0, b1 = float(np.mean(x)), float(np.mean(rank / (m - 1.0) * x))
    b2 = float(np.mean(rank * (rank - 1.0) / ((m - 1.0) * (m - 2.0)) * x))
    c = (2.0 * b1 - b0) / (3.0 * b2 - b0) - math.log(2.0) / math.log(3.0)
    shape = 7.859 * c + 2.9554 * c**2
    return -shape * math.sqrt(m / 0.5633)
