"""A sampled force profile of an impact, and first guesses from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.integrate import trapezoid

from impact_control.util.checks import finite_array, increasing_stamps, require_positive
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Vector

_FEWEST_SAMPLES = 20


@dataclass(frozen=True)
class ForceProfile:
    """Normal force (m,) [N], pushing positive, at ascending times (m,) [s], and the approach speed [m/s] if known.

    It has to hold one impact whole, with the time before it; 20 samples at least. noise: standard deviation of the
    force [N] if known, by which profiles are weighed against each other. Raises InvalidInputError.
    """

    time: Vector
    force: Vector
    speed: float | None = None
    noise: float | None = None

    def __post_init__(self) -> None:
        time = increasing_stamps("time", self.time, fewest=_FEWEST_SAMPLES)
        force = finite_array("force", self.force, time.shape)
        if not np.max(force) > 0.0:
            raise InvalidInputError("force", self.force, "a force that pushes (positive)")
        require_positive_or_none("speed", self.speed)
        require_positive_or_none("noise", self.noise)


@dataclass(frozen=True)
class Outline:
    """First guesses from a profile: onset [s], duration [s], peak [N], impulse [N s]."""

    onset: float
    duration: float
    peak: float
    impulse: float


def outline_of(profile: ForceProfile) -> Outline:
    """Return where the force, smoothed, stays above a fifth of its peak, widened as for a half sine."""
    time, force = np.asarray(profile.time, dtype=float), np.asarray(profile.force, dtype=float)
    smooth = np.convolve(force, np.full(3, 1.0 / 3.0), mode="same")
    top = int(np.argmax(smooth))
    low = np.flatnonzero(smooth < 0.2 * smooth[top])
    before, after = low[low < top], low[low > top]
    first = int(before[-1]) if before.size else 0
    last = int(after[0]) if after.size else time.size - 1
    above = float(time[last] - time[first])
    inside = slice(first, last + 1)
    return Outline(
        onset=float(time[first]) - 0.07 * above,
        duration=1.15 * above,
        peak=float(smooth[top]),
        impulse=float(trapezoid(force[inside], time[inside])),
    )


def require_positive_or_none(name: str, value: float | None) -> None:
    """Raise InvalidInputError for a number that is known and not above 0."""
    if value is not None:
        require_positive(name, value)
