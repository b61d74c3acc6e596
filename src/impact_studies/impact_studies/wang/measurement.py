"""Measurements of an impact: the impulse at the end of compression, found in two ways, and the whole impulse.

The end of compression is where the contact point stops, Wang 2022 appendix A. The simulation knows when that is. A
force sensor does not: the source fits (23) to the force and takes the moment where the fitted law has come to a stop
(Fig. 7). Both are computed here, each as the integral of the force from the touch to that moment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.integrate import trapezoid
from scipy.interpolate import CubicSpline

from impact_control.impacts.restitution import vanishing_force_restitution
from impact_control.util.types import Vector
from impact_studies.models.contact_identification.contact_model import ContactModel
from impact_studies.models.contact_identification.contact_parameters import ContactFit, fit_contact_model
from impact_studies.models.contact_identification.contact_profile import ForceProfile
from impact_studies.models.impacts.normal_impact import NormalImpact, simulate_normal_impact
from impact_studies.wang.trials import FORCE_NOISE, Trial

NO_FORCE = 4.0 * FORCE_NOISE
"""[N] A smaller force counts as none."""

RISE = 0.03
"""[-] Part of the peak by which the force has to rise again to count as another push."""

BEFORE = 3e-3
"""[s] before the touch that the fit sees."""


@dataclass(frozen=True)
class FittedStop:
    """Stop of (23) fitted to the first push of an impact.

    Attributes:
        fitted: [Ns] from the touch to the end of compression of the fitted law.
        fitted_time: [s] that takes.
        fitted_mass: [kg] of the free mass in that fit.
        fitted_restitution: [-] of that fit, speed after over speed before.
        printed_restitution: [-] of that fit by (25), k / (c v), what the source calls its restitution.
        misfit: [-] root of the mean square of what the fit leaves, over the peak force.
    """

    fitted: float
    fitted_time: float
    fitted_mass: float
    fitted_restitution: float
    printed_restitution: float
    misfit: float


@dataclass(frozen=True)
class Impulses(FittedStop):
    """Measurements of one impact, with the fitted law, whose mass is fitted, too.

    Attributes:
        speed: [m/s] before it, into the wall.
        compression: [Ns] from the touch to the moment at which the contact point stops; NaN if it does not.
        compression_time: [s] that takes.
        push: [Ns] from the touch to the end of the first push.
        push_time: [s] that takes.
        separates: whether the contact opens at its end; else another push begins there.
        whole: [Ns] from the touch to the end of the record.
        peak: [N] largest force of the first push.
        peak_time: [s] when that is.
    """

    speed: float
    compression: float
    compression_time: float
    push: float
    push_time: float
    separates: bool
    whole: float
    peak: float
    peak_time: float


def fit_push(trial: Trial, mass: float | None = None) -> FittedStop:
    """Fit (23) to the first push, with the free mass [kg] given or, with None, fitted too; the speed is given.

    Raises InvalidInputError when no law fits: one with negative damping.
    """
    fit, misfit = fit_first_push(ContactModel.NONLINEAR_VISCOELASTIC, trial, mass)
    law = fit.law()
    stop = fit.onsets[0].value + simulate_normal_impact(law, fit.mass.value, trial.speed).compression_end
    return FittedStop(
        fitted=impulse_until(trial.time, trial.force, stop),
        fitted_time=stop,
        fitted_mass=fit.mass.value,
        fitted_restitution=fit.restitutions[0].value,
        printed_restitution=vanishing_force_restitution(law.parameters[1] * trial.speed / law.parameters[0]),
        misfit=misfit,
    )


def fitted_impact(trial: Trial) -> tuple[float, NormalImpact, float]:
    """Return when (23), fitted to the first push, begins [s], the impact of its free mass, and the misfit [-].

    Raises InvalidInputError when no law fits: one with negative damping.
    """
    fit, misfit = fit_first_push(ContactModel.NONLINEAR_VISCOELASTIC, trial)
    return fit.onsets[0].value, simulate_normal_impact(fit.law(), fit.mass.value, trial.speed), misfit


def fit_first_push(model: ContactModel, trial: Trial, mass: float | None = None) -> tuple[ContactFit, float]:
    """Return a model fitted to the force of the first push, mass [kg] given or, with None, fitted too; and the misfit.

    The speed is given. What is not physical about the fit is among its objections. Misfit [-]: see `FittedStop`.
    """
    end, _ = end_of_push(trial.time, trial.force)
    seen = slice(int(np.searchsorted(trial.time, -BEFORE)), end + 1)
    profile = ForceProfile(trial.time[seen], trial.force[seen], trial.speed)
    fit = fit_contact_model(model, [profile], mass)
    return fit, fit.residual_rms / float(np.max(profile.force))


def measure(trial: Trial) -> Impulses:
    """Return what is measured of a trial. Raises InvalidInputError when no law fits: one with negative damping."""
    end, separates = end_of_push(trial.time, trial.force)
    pushing = (trial.time > 0.0) & (trial.time <= trial.time[end])
    peak = int(np.flatnonzero(pushing)[np.argmax(trial.force[pushing])])
    stop = end_of_compression(trial.time, trial.penetration_rate)
    return Impulses(
        **vars(fit_push(trial)),
        speed=trial.speed,
        compression=impulse_until(trial.time, trial.exact_force, stop),
        compression_time=stop,
        push=impulse_until(trial.time, trial.force, float(trial.time[end])),
        push_time=float(trial.time[end]),
        separates=separates,
        whole=impulse_until(trial.time, trial.force, float(trial.time[-1])),
        peak=float(trial.force[peak]),
        peak_time=float(trial.time[peak]),
    )


def end_of_compression(time: Vector, penetration_rate: Vector) -> float:
    """Return the first time [s] after 0 at which the rate (m,) [m/s] falls to zero; NaN if it does not."""
    stops = np.flatnonzero((time[1:] > 0.0) & (penetration_rate[1:] <= 0.0))
    if not stops.size:
        return math.nan
    i = int(stops[0])
    # The cubic through the four samples around it: the rate is not straight between samples 0.25 ms apart.
    around = slice(max(i - 1, 0), i + 3)
    roots = CubicSpline(time[around], penetration_rate[around]).roots(extrapolate=False)
    inside = [float(root) for root in roots if time[i] <= root <= time[i + 1]]
    return inside[0] if inside else float(time[i + 1])


def end_of_push(time: Vector, force: Vector) -> tuple[int, bool]:
    """Return the sample at which the first push after time 0 ends, and whether the contact opens there.

    It ends where the force is gone, or at the smallest force before it rises again by RISE of the peak.
    """
    first = int(np.searchsorted(time, 0.0, side="right"))
    risen = first + int(np.argmax(force[first:] > NO_FORCE))
    gone = np.flatnonzero(force[risen:] <= NO_FORCE)
    opened = risen + int(gone[0]) if gone.size else force.size - 1
    threshold = RISE * float(np.max(force[first : opened + 1]))
    highest = lowest = risen
    for i in range(risen, opened + 1):
        fallen = force[highest] - force[lowest] > threshold
        if not fallen and force[i] > force[highest]:
            highest = lowest = i
        elif force[i] < force[lowest]:
            lowest = i
        elif fallen and force[i] - force[lowest] > threshold:
            return lowest, False
    return opened, bool(gone.size)


def impulse_until(time: Vector, force: Vector, end: float) -> float:
    """Return the integral of the force (m,) [N] from time 0, where it is 0, to `end` [s]: [Ns], NaN for NaN."""
    return math.nan if math.isnan(end) else float(force_spline(time, force).integrate(0.0, end))


def force_spline(time: Vector, force: Vector) -> CubicSpline:
    """Return the cubic spline [N] through the samples (m,) after time 0 [s], where the force is 0."""
    after = time > 0.0
    return CubicSpline(np.concatenate(([0.0], time[after])), np.concatenate(([0.0], force[after])))


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
