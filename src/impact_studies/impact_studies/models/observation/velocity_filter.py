"""Joint velocity from joint positions that does not smear a velocity jump over its window."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from impact_control.observation.momentum_observer import sample_period
from impact_control.util.checks import checked_count, checked_vector, require_positive
from impact_control.util.compiled import compiled
from impact_control.util.types import Matrix, Vector

QUADRATIC_SAMPLES = 8
"""Samples from which a parabola is fitted, before that a line: the slope of a parabola through few is all noise."""

LEAST_BEYOND, MOST_BEYOND = 3, 12
"""Samples beyond a jump with which it is reported: with fewer its place is not known, and with more it is old, and
has been reported or is too small."""


class Window(NamedTuple):
    """The last m samples, the oldest first, and the polynomial through them.

    times (m,) [s], positions (m, n) [rad]; threshold (n,) [rad]; scale [s], in which the offsets of the fit are of the
    order of 1; work (4, 3): scratch; inverse (3, 3): (X^T X)^-1; fit (3, n): coefficients in offsets
    (t - t_last) / scale.
    """

    times: Vector
    positions: Matrix
    threshold: Vector
    scale: float
    work: Matrix
    inverse: Matrix
    fit: Matrix


@compiled
def _terms(count: int) -> int:
    """Return how many coefficients a polynomial through `count` samples has."""
    return min(count, 2 if count < QUADRATIC_SAMPLES else 3)


@compiled
def _basis(offset: float, terms: int, basis: Vector) -> None:
    """Write 1, offset, offset^2, of which the first `terms` count and the others are 0."""
    basis[0] = 1.0
    basis[1] = offset if terms > 1 else 0.0
    basis[2] = offset * offset if terms > 2 else 0.0


@compiled
def _fit(window: Window, count: int) -> None:
    """Fit a polynomial to the first `count` samples: write `fit` and `inverse`."""
    times, positions, _, scale, work, inverse, fit = window
    terms = _terms(count)
    origin = times[count - 1]
    system, basis = work[:3], work[3]
    system[:] = 0.0
    fit[:] = 0.0
    for k in range(count):
        _basis((times[k] - origin) / scale, terms, basis)
        for a in range(3):
            for b in range(3):
                system[a, b] += basis[a] * basis[b]
            for j in range(positions.shape[1]):
                fit[a, j] += basis[a] * positions[k, j]
    for a in range(terms, 3):
        system[a, a] = 1.0
    # Gauss-Jordan; the matrix is positive definite, so that no pivot has to be searched.
    inverse[:] = 0.0
    for a in range(3):
        inverse[a, a] = 1.0
    for a in range(3):
        pivot = system[a, a]
        for c in range(3):
            system[a, c] /= pivot
            inverse[a, c] /= pivot
        for b in range(3):
            if b != a:
                factor = system[b, a]
                for c in range(3):
                    system[b, c] -= factor * system[a, c]
                    inverse[b, c] -= factor * inverse[a, c]
    for j in range(positions.shape[1]):
        x, y, z = fit[0, j], fit[1, j], fit[2, j]
        for a in range(3):
            fit[a, j] = inverse[a, 0] * x + inverse[a, 1] * y + inverse[a, 2] * z


@compiled
def _samples_beyond_jump(window: Window, count: int) -> int:
    """Return how many of the last samples lie beyond a jump, 0 when there is none.

    To the fitted polynomial X c a kink k = (t - t_s)_+ is added. X leaves z of it, z.z = k.k - k^T X (X^T X)^-1 X^T k.
    With the residuals r of the fit, which are orthogonal to X, its least-squares size is (r.k) / (z.z), and in standard
    deviations of the noise (r.k) / sqrt(z.z). Only samples beyond the kink have a part in k.
    """
    times, positions, threshold, scale, work, inverse, fit = window
    found = 0
    best = 1.0
    basis, projection = work[0], work[1]
    origin = times[count - 1]
    terms = _terms(count)
    for beyond in range(1, min(MOST_BEYOND, count - QUADRATIC_SAMPLES) + 1):
        vertex = times[count - 1 - beyond]
        own = 0.0
        projection[:] = 0.0
        for k in range(count - beyond, count):
            kink = (times[k] - vertex) / scale
            own += kink * kink
            _basis((times[k] - origin) / scale, terms, basis)
            for a in range(3):
                projection[a] += kink * basis[a]
        left = own
        for a in range(3):
            for b in range(3):
                left -= projection[a] * inverse[a, b] * projection[b]
        if left <= 1e-9 * own:
            continue
        for j in range(positions.shape[1]):
            along = 0.0
            for k in range(count - beyond, count):
                _basis((times[k] - origin) / scale, terms, basis)
                expected = fit[0, j] + basis[1] * fit[1, j] + basis[2] * fit[2, j]
                along += (positions[k, j] - expected) * (times[k] - vertex) / scale
            size = along * along / (left * threshold[j] * threshold[j])
            if size > best:
                best = size
                found = beyond
    return found if found >= LEAST_BEYOND else 0


@compiled
def _take(time: float, position: Vector, count: int, velocity: Vector, fields: tuple[Any, ...]) -> tuple[int, float]:
    """Take one sample; return how many there are now, and the time of the jump that it showed, NaN when none.

    fields: of a Window, which holds `count` samples.
    """
    window = Window(*fields)
    times, positions = window.times, window.positions
    if count == times.size:
        count -= 1
        for k in range(count):
            times[k] = times[k + 1]
            positions[k] = positions[k + 1]
    times[count] = time
    positions[count] = position
    count += 1
    _fit(window, count)
    jump = math.nan
    kept = _samples_beyond_jump(window, count)
    if kept > 0:
        jump = times[count - 1 - kept]
        for k in range(kept):
            times[k] = times[count - kept + k]
            positions[k] = positions[count - kept + k]
        count = kept
        _fit(window, count)
    if count > 1:
        for j in range(position.size):
            velocity[j] = window.fit[1, j] / window.scale
    return count, jump


class JumpAwareVelocityFilter:
    """Velocity (n,) from positions: a polynomial through the last samples, but never through a velocity jump.

    At an impact the position has a kink and the velocity jumps; a filter over a window mixes the velocity before
    with that after for as long as the window lasts. This one asks at each sample whether a kink at one of the last
    samples, added to its polynomial, would stand out of the noise. Where it does in any joint, all samples up to the
    most likely kink are forgotten, in all joints, and the fit starts again beyond it. The idea is that of Rijnen 2018,
    reference [14] of Proper 2021: estimate on one side of a jump at a time.

    With few samples the fit is a line, from 8 on a parabola. Noise of standard deviation s at period T gives a line
    through m samples the slope s / (T sqrt(m^3 / 12)), and a parabola 4 times that at its end, where it is taken: the
    window is the trade-off between noise and what the motion differs from a parabola. With 40 samples, 0.25 mrad of
    noise, the published one, and a threshold of six times that, a jump of 1 rad/s stands out after 3 samples and one
    of 0.3 rad/s after 6.

    Attributes (arrays that the next call of `observe` overwrites):
        velocity: (n,) [rad/s] at the last sample; 0 until there are two, and after a gap as it was.
        jumped: whether the last sample showed a jump.
        jump_time: [s] of the last jump, a sample's; NaN when there was none.
    """

    def __init__(self, threshold: Vector, window: int = 40, maximum_gap: float = 0.05) -> None:
        """Set the tuning; n is the length of `threshold`.

        threshold: (n,) [rad] above 0, about six standard deviations of the position noise.
        window: most samples of the fit, at least 12.
        maximum_gap: [s] between samples, beyond which it restarts.
        Raises InvalidInputError for anything else.
        """
        bound = checked_vector("threshold", threshold, zero_allowed=False)
        capacity = checked_count("window", window, MOST_BEYOND)
        self._maximum_gap = require_positive("maximum_gap", maximum_gap)
        n = bound.size
        self._times, self._positions = np.zeros(capacity), np.zeros((capacity, n))
        work, inverse, fit = np.zeros((4, 3)), np.zeros((3, 3)), np.zeros((3, n))
        self._window = (self._times, self._positions, bound, self._maximum_gap, work, inverse, fit)
        self.velocity: Vector = np.zeros(n)
        self._advance(np.zeros(n), 0.0, 0)  # compiles the kernel here and not in the loop
        self.reset()

    def reset(self) -> None:
        """Forget everything: velocity 0 until the second sample."""
        self.velocity[:] = 0.0
        self.jumped = False
        self.jump_time = math.nan
        self._count = 0
        self._time = -math.inf

    def observe(self, position: Vector, time: float) -> Vector:
        """Take one sample, position (n,) [rad] at `time` [s], and return `velocity` (n,) [rad/s]. Never raises.

        Repeated and older stamps and positions that are not finite are ignored; after a gap it restarts.
        """
        self.jumped = False
        period = sample_period(time - self._time, self._maximum_gap)
        if math.isnan(period) or not math.isfinite(position.sum()):
            return self.velocity
        self._time = time
        self._advance(position, time, self._count if period > 0.0 else 0)
        return self.velocity

    def restart_from(self, time: float) -> None:
        """Forget the samples before `time` [s]: for a jump that is known from elsewhere, as from a detector."""
        first = int(np.searchsorted(self._times[: self._count], time))
        kept = self._count - first
        self._times[:kept] = self._times[first : self._count].copy()
        self._positions[:kept] = self._positions[first : self._count].copy()
        self._count = kept

    def _advance(self, position: Vector, time: float, count: int) -> None:
        self._count, jump = _take(time, position, count, self.velocity, self._window)
        if not math.isnan(jump):
            self.jumped, self.jump_time = True, jump
