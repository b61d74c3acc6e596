"""Fig. 3(b) of Wang 2022: a force profile against the area that a virtual spring allows, section VII-A1.

A spring that loses energy only when compression ends has its largest force there, at t_p. With the restitution e it
gives the force of the compression back in reverse order, in e times the time and so with e times the impulse,

    F(t_p + s) = F(t_p - s / e),

so that the profiles of all e from 0 to 1 lie below that of e = 1, the mirror image of the compression.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.integrate import trapezoid
from scipy.interpolate import CubicSpline

from impact_control.studies.wang.measurement import NO_FORCE, end_of_compression, end_of_push, force_spline
from impact_control.studies.wang.trials import Trial
from impact_control.types import Vector

_INSTANTS = 2001
"""At which profile and area are compared."""


@dataclass(frozen=True)
class SpringArea:
    """The first push of an impact against the area of Fig. 3(b).

    Attributes:
        peak_time: [s] of the largest force, where a virtual spring would end its compression.
        stop: [s] when the contact point stops, exact: where compression does end. NaN if it does not.
        before, after: [Ns] impulses from the touch to the peak, and from there to the end of the push.
        leaves: [s] when the force first exceeds that of e = 1 by NO_FORCE, NaN if it does not.
        outside: [-] part of `after` above the force of e = 1.
    """

    peak_time: float
    stop: float
    before: float
    after: float
    leaves: float
    outside: float

    @property
    def required_restitution(self) -> float:
        """Impulse after the peak over that before it [-]: what the restitution of a virtual spring had to be."""
        return self.after / self.before

    @property
    def phase(self) -> float:
        """Time to the peak over that to the stop [-], 1 for a virtual spring."""
        return self.peak_time / self.stop


def spring_area(trial: Trial) -> SpringArea:
    """Return how the first push of a trial lies to the area, by the measured force."""
    spline = force_spline(trial.time, trial.force)
    end = float(trial.time[end_of_push(trial.time, trial.force)[0]])
    peak_time = peak_of(spline, trial.time[(trial.time > 0.0) & (trial.time <= end)])
    time = np.linspace(peak_time, end, _INSTANTS)
    excess = spline(time) - allowed_force(spline, peak_time, 1.0, time)
    beyond = np.flatnonzero(excess > NO_FORCE)
    after = float(spline.integrate(peak_time, end))
    return SpringArea(
        peak_time=peak_time,
        stop=end_of_compression(trial.time, trial.penetration_rate),
        before=float(spline.integrate(0.0, peak_time)),
        after=after,
        leaves=float(time[beyond[0]]) if beyond.size else math.nan,
        outside=float(trapezoid(np.maximum(excess, 0.0), time)) / after,
    )


def allowed_force(spline: CubicSpline, peak_time: float, restitution: float, time: Vector) -> Vector:
    """Return the force (m,) [N] at the times (m,) [s] of a virtual spring with a restitution [-], 0 to 1.

    spline: the measured force, which is that of the compression up to peak_time [s]; 0 before the touch.
    """
    mirrored = np.full_like(time, -1.0)
    opening = time > peak_time
    if restitution > 0.0:
        mirrored[opening] = peak_time - (time[opening] - peak_time) / restitution
    source = np.where(opening, mirrored, time)
    return np.where(source > 0.0, spline(np.maximum(source, 0.0)), 0.0)


def peak_of(spline: CubicSpline, samples: Vector) -> float:
    """Return when the force is largest [s], between the neighbours of the largest of the samples (m,) [s]."""
    largest = int(np.argmax(spline(samples)))
    low, high = samples[max(largest - 1, 0)], samples[min(largest + 1, samples.size - 1)]
    slope = spline.derivative()
    turns = [float(root) for root in slope.roots(extrapolate=False) if low <= root <= high]
    return max([float(samples[largest]), *turns], key=lambda moment: float(spline(moment)))


def compression_of(trial: Trial) -> Vector:
    """Return the way (m,) [m] of the contact point into the wall since the touch, exact."""
    way = CubicSpline(trial.time, trial.penetration_rate).antiderivative()
    return np.asarray(way(trial.time) - way(0.0))
