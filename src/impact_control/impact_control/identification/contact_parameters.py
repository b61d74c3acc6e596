"""Parameters of a normal force law from sampled force profiles of impacts, and which law fits. Wang 2022 VII-A.

Every candidate is fitted as a free mass that hits it, to one or several profiles at once (several speeds tell laws
apart whose single profiles look alike). The searches are not held to what is physical: a candidate that would need
a restitution above 1 or a negative damping to fit comes back with those values and an objection.

A force profile alone leaves one scale open: with depths s times larger, speed s v, mass m / s, stiffness k / s^eta
and damping d / s^(eta+1) give the same force. So the mass or the speeds have to be known. Any speed, 1 m/s for
instance, will do for what does not depend on the scale: quality of the fit, exponent, restitution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import product

import numpy as np
from scipy.optimize import OptimizeResult, least_squares

from impact_control.errors import InvalidInputError
from impact_control.impacts.contact_laws import (
    ExponentialHuntCrossley,
    HuntCrossley,
    LawKind,
    LinearSpring,
    Maxwell,
    NonlinearViscoelastic,
    NormalForceLaw,
    RestitutionHuntCrossley,
)
from impact_control.impacts.normal_impact import impact_restitution, sample_impact_force, state_scale
from impact_control.impacts.scalar_checks import require_positive
from impact_control.types import Matrix, Vector

SIGNIFICANCE = 3.0
"""Standard errors by which a value has to leave its range before it counts as an objection."""

_FEWEST_SAMPLES = 20
_UNFOLLOWED = 1e3


class ContactModel(Enum):
    """A candidate of the comparison: the laws of `LawKind`, and the virtual spring with a restitution."""

    LINEAR_SPRING = "linear spring"
    VIRTUAL_SPRING = "virtual spring with restitution"
    MAXWELL = "Maxwell"
    NONLINEAR_VISCOELASTIC = "nonlinear viscoelastic"
    HUNT_CROSSLEY = "Hunt-Crossley"
    EXPONENTIAL_HUNT_CROSSLEY = "exponential Hunt-Crossley"
    RESTITUTION_HUNT_CROSSLEY = "exponential Hunt-Crossley with restitution"


@dataclass(frozen=True)
class ForceProfile:
    """Normal force (m,) [N], pushing positive, at ascending times (m,) [s], and the approach speed [m/s] if known.

    It has to hold one impact whole, with the time before it; 20 samples at least. Raises InvalidInputError.
    """

    time: Vector
    force: Vector
    speed: float | None = None

    def __post_init__(self) -> None:
        time, force = np.asarray(self.time, dtype=float), np.asarray(self.force, dtype=float)
        if time.ndim != 1 or time.size < _FEWEST_SAMPLES or not np.all(np.isfinite(time)):
            raise InvalidInputError("time", self.time, f"finite numbers, shape (m,), m at least {_FEWEST_SAMPLES}")
        if not np.all(np.diff(time) > 0.0):
            raise InvalidInputError("time", self.time, "ascending times")
        if force.shape != time.shape or not np.all(np.isfinite(force)):
            raise InvalidInputError("force", self.force, f"finite numbers, shape {time.shape}")
        if not np.max(force) > 0.0:
            raise InvalidInputError("force", self.force, "a force that pushes (positive)")
        _require_positive_or_none("speed", self.speed)


@dataclass(frozen=True)
class Estimate:
    """A value from a fit, and its standard error; 0 for what was given. Same unit."""

    value: float
    standard_error: float


@dataclass(frozen=True)
class ContactFit:
    """A candidate fitted to force profiles.

    parameters: by name, SI units of the law objects; for the virtual spring stiffness and restitution; mass [kg];
    speeds [m/s], onsets [s] of contact, restitutions [-] and fitted forces (m,) [N], one per profile;
    residual_rms [N]; aic, bic: Akaike's and Bayes's information criterion, smaller is better, comparable for the
    same profiles; objections: what is not physical about it, in words, empty if nothing.
    """

    model: ContactModel
    parameters: dict[str, Estimate]
    mass: Estimate
    speeds: tuple[Estimate, ...]
    onsets: tuple[Estimate, ...]
    restitutions: tuple[Estimate, ...]
    forces: tuple[Vector, ...]
    residual_rms: float
    aic: float
    bic: float
    objections: tuple[str, ...]

    def law(self) -> NormalForceLaw:
        """Return the fitted law, with the impact rate of the first profile where the law has one.

        Raises InvalidInputError if the fitted parameters are not physical, and for the virtual spring, whose
        restitution is not a force law.
        """
        values = {name: estimate.value for name, estimate in self.parameters.items()}
        match self.model:
            case ContactModel.LINEAR_SPRING:
                return LinearSpring(**values)
            case ContactModel.MAXWELL:
                return Maxwell(**values)
            case ContactModel.NONLINEAR_VISCOELASTIC:
                return NonlinearViscoelastic(**values)
            case ContactModel.HUNT_CROSSLEY:
                return HuntCrossley(**values)
            case ContactModel.EXPONENTIAL_HUNT_CROSSLEY:
                return ExponentialHuntCrossley(**values)
            case ContactModel.RESTITUTION_HUNT_CROSSLEY:
                return RestitutionHuntCrossley(**values, impact_rate=self.speeds[0].value)
        raise InvalidInputError("model", self.model, "a model with a force law")


def fit_contact_model(
    model: ContactModel,
    profiles: Sequence[ForceProfile],
    mass: float | None = None,
    exponent: float | None = None,
) -> ContactFit:
    """Return the least-squares fit of one candidate to profiles that share law and mass.

    mass [kg]: the effective mass along the normal, None if unknown. Either it or the speed of every profile has to
    be known. exponent [-]: of the laws that have one, None if unknown. With it unknown, stiffness and damping are
    determined only together with it: near a depth delta, d ln(k) = -ln(delta) d eta, so 1 % of the exponent is
    about 10 % of the stiffness. Raises InvalidInputError.
    """
    search = _Search(model, profiles, mass, exponent)
    rough = [search.solve(start, 1e-4) for start in search.starts()]
    best = min(rough, key=lambda solution: float(solution.cost))
    return search.report(search.solve(best.x, 1e-9))


def compare_contact_models(
    profiles: Sequence[ForceProfile],
    mass: float | None = None,
    exponent: float | None = None,
    models: Sequence[ContactModel] = tuple(ContactModel),
) -> tuple[ContactFit, ...]:
    """Return the fits of the candidates, the smallest BIC first. Wang 2022 VII-A.

    Fits with objections are kept, in their place: that one fits best is itself a finding. Arguments and errors as
    for `fit_contact_model`.
    """
    fits = [fit_contact_model(model, profiles, mass, exponent) for model in models]
    return tuple(sorted(fits, key=lambda fit: fit.bic))


@dataclass(frozen=True)
class _Unknown:
    """One unknown of a search, in the form in which it is searched: starts and bounds."""

    name: str
    starts: tuple[float, ...]
    lower: float
    upper: float


# The searched forms: stiffness by the logarithm of the force at the reference depth over the peak force; exponent by
# its logarithm; damping by asinh(d v / k), Maxwell's by zeta = sqrt(k m) / (2 c), both smooth through 0.
_STIFFNESS = _Unknown("stiffness", (0.0,), -12.0, 12.0)
_EXPONENT = _Unknown("exponent", (math.log(1.3),), math.log(0.2), math.log(6.0))
_DAMPING = _Unknown("damping", (0.3, 1.5, 4.0), math.asinh(-0.9), math.asinh(1e4))
_MAXWELL_DAMPING = _Unknown("damping", (0.1, 0.6), -0.9, 5.0)
_SPRING_RESTITUTION = _Unknown("restitution", (0.7, 1.5), 0.01, 30.0)
_NEWTON_RESTITUTION = _Unknown("newton_restitution", (0.05, 0.3), -1.0, 2.0)

_SHAPES = {
    ContactModel.LINEAR_SPRING: (_STIFFNESS,),
    ContactModel.VIRTUAL_SPRING: (_STIFFNESS, _SPRING_RESTITUTION),
    ContactModel.MAXWELL: (_STIFFNESS, _MAXWELL_DAMPING),
    ContactModel.NONLINEAR_VISCOELASTIC: (_STIFFNESS, _DAMPING),
    ContactModel.HUNT_CROSSLEY: (_STIFFNESS, _DAMPING, _EXPONENT),
    ContactModel.EXPONENTIAL_HUNT_CROSSLEY: (_STIFFNESS, _DAMPING, _EXPONENT),
    ContactModel.RESTITUTION_HUNT_CROSSLEY: (_STIFFNESS, _DAMPING, _EXPONENT, _NEWTON_RESTITUTION),
}


@dataclass(frozen=True)
class _Point:
    """A point of the search in SI units: law parameters by name, mass, speeds and onsets per profile."""

    law: dict[str, float]
    mass: float
    speeds: tuple[float, ...]
    onsets: tuple[float, ...]


class _Search:
    """The least-squares problem of one candidate: between searched unknowns, SI units and forces."""

    def __init__(
        self, model: ContactModel, profiles: Sequence[ForceProfile], mass: float | None, exponent: float | None
    ) -> None:
        _require_positive_or_none("mass", mass)
        _require_positive_or_none("exponent", exponent)
        if not profiles:
            raise InvalidInputError("profiles", profiles, "at least one profile")
        speeds = tuple(profile.speed for profile in profiles)
        if mass is None and None in speeds:
            raise InvalidInputError("speed", speeds, "known for every profile where the mass is unknown")
        self.model = model
        self.profiles = tuple(profiles)
        self.mass = mass
        self.exponent = exponent
        self.outlines = tuple(_outline(profile) for profile in profiles)
        # Of the unknown one, by momentum: impulse = m v (1 + e), e in the middle.
        momenta = [outline.impulse / 1.5 for outline in self.outlines]
        if mass is None:
            self.speeds = tuple(speed for speed in speeds if speed is not None)
            self.typical_mass = float(np.mean([p / v for p, v in zip(momenta, self.speeds, strict=True)]))
        else:
            self.typical_mass = mass
            self.speeds = tuple(v if v is not None else p / mass for p, v in zip(momenta, speeds, strict=True))
        self.peak = max(outline.peak for outline in self.outlines)
        self.typical_speed = float(np.mean(self.speeds))
        self.typical_depth = self.typical_speed * float(np.mean([o.duration for o in self.outlines])) / math.pi
        self.has_exponent = _EXPONENT in _SHAPES[model]
        shape = [unknown for unknown in _SHAPES[model] if unknown is not _EXPONENT or exponent is None]
        self.unknowns = (*shape, *self._scale_unknowns(), *self._onset_unknowns())

    def _scale_unknowns(self) -> list[_Unknown]:
        if self.mass is None:
            return [_Unknown("mass", (0.0,), -5.0, 5.0)]
        unknown = [i for i, profile in enumerate(self.profiles) if profile.speed is None]
        return [_Unknown(f"speed {i}", (0.0,), -5.0, 5.0) for i in unknown]

    def _onset_unknowns(self) -> list[_Unknown]:
        return [_Unknown(f"onset {i}", (0.0,), -1.0, 1.0) for i in range(len(self.profiles))]

    def starts(self) -> list[Vector]:
        return [np.array(start) for start in product(*(unknown.starts for unknown in self.unknowns))]

    def solve(self, start: Vector, tolerance: float) -> OptimizeResult:
        return least_squares(
            self.residuals,
            start,
            jac=partial(_slopes, self.residuals),
            bounds=([u.lower for u in self.unknowns], [u.upper for u in self.unknowns]),
            x_scale="jac",
            ftol=tolerance,
            xtol=tolerance,
        )

    def point(self, x: Vector) -> _Point:
        searched = {unknown.name: float(value) for unknown, value in zip(self.unknowns, x, strict=True)}
        mass = self.typical_mass * math.exp(searched.get("mass", 0.0))
        speeds = tuple(v * math.exp(searched.get(f"speed {i}", 0.0)) for i, v in enumerate(self.speeds))
        onsets = tuple(o.onset + o.duration * searched[f"onset {i}"] for i, o in enumerate(self.outlines))
        law = {}
        exponent = math.exp(searched.get("exponent", 0.0))
        if self.has_exponent and self.exponent is not None:
            exponent = self.exponent
        law["stiffness"] = stiffness = self.peak / self.typical_depth**exponent * math.exp(searched["stiffness"])
        if self.model is ContactModel.MAXWELL:
            zeta = searched["damping"]
            law["damping"] = math.sqrt(stiffness * mass) / (2.0 * zeta) if zeta != 0.0 else math.inf
        elif "damping" in searched:
            law["damping"] = math.sinh(searched["damping"]) * stiffness / self.typical_speed
        if self.has_exponent:
            law["exponent"] = exponent
        for name in ("restitution", "newton_restitution"):
            if name in searched:
                law[name] = searched[name]
        return _Point(law, mass, speeds, onsets)

    def parameters(self, point: _Point, i: int) -> Vector:
        """Return the parameters (4,) of the kernel for profile i."""
        law = point.law
        release_rate = law.get("newton_restitution", 0.0) * point.speeds[i]
        return np.array([law["stiffness"], law.get("damping", 0.0), law.get("exponent", 1.0), release_rate])

    def force(self, point: _Point, i: int) -> Vector:
        """Return the force (m,) [N] at the sample times of profile i, NaN where it cannot be followed."""
        since = self.profiles[i].time - point.onsets[i]
        if self.model is ContactModel.VIRTUAL_SPRING:
            return _virtual_spring_force(point, point.speeds[i], since)
        parameters = self.parameters(point, i)
        force = np.empty(since.size)
        scale = state_scale(parameters, point.mass, point.speeds[i])
        kind = int(LawKind[self.model.name])
        followed = sample_impact_force(kind, parameters, point.mass, point.speeds[i], scale, since, force)
        return force if followed else np.full(since.size, np.nan)

    def restitution(self, point: _Point, i: int) -> float:
        if self.model is ContactModel.VIRTUAL_SPRING:
            return point.law["restitution"]
        return impact_restitution(int(LawKind[self.model.name]), self.parameters(point, i), point.mass, point.speeds[i])

    def residuals(self, x: Vector) -> Vector:
        """Return the differences of all samples over the peak force [-]; large where the law cannot be followed."""
        point = self.point(x)
        parts = [(self.force(point, i) - profile.force) / self.peak for i, profile in enumerate(self.profiles)]
        return np.nan_to_num(np.concatenate(parts), nan=_UNFOLLOWED, posinf=_UNFOLLOWED, neginf=-_UNFOLLOWED)

    def reported(self, x: Vector) -> Vector:
        """Return law parameters, mass, speeds, onsets and restitutions of a point of the search in one vector."""
        point = self.point(x)
        restitutions = [self.restitution(point, i) for i in range(len(self.profiles))]
        return np.array([*point.law.values(), point.mass, *point.speeds, *point.onsets, *restitutions])

    def report(self, solution: OptimizeResult) -> ContactFit:
        x: Vector = solution.x
        samples = solution.fun.size
        unknowns = x.size + 1  # and the variance of the noise
        mean_square = float(np.mean((solution.fun * self.peak) ** 2))
        covariance = _covariance(solution.jac, float(solution.fun @ solution.fun) / max(samples - x.size, 1))
        slopes = _slopes(self.reported, x)
        errors = np.sqrt(np.einsum("ij,jk,ik->i", slopes, covariance, slopes))
        estimates = [Estimate(float(v), float(e)) for v, e in zip(self.reported(x), errors, strict=True)]
        point = self.point(x)
        n, shapes = len(self.profiles), len(point.law)
        parameters = dict(zip(point.law, estimates[:shapes], strict=True))
        rest = estimates[shapes + 1 :]
        restitutions = tuple(rest[2 * n :])
        log_likelihood = samples * math.log(max(mean_square, np.finfo(float).tiny))
        return ContactFit(
            model=self.model,
            parameters=parameters,
            mass=estimates[shapes],
            speeds=tuple(rest[:n]),
            onsets=tuple(rest[n : 2 * n]),
            restitutions=restitutions,
            forces=tuple(self.force(point, i) for i in range(n)),
            residual_rms=math.sqrt(mean_square),
            aic=log_likelihood + 2.0 * unknowns,
            bic=log_likelihood + math.log(samples) * unknowns,
            objections=(*_objections(parameters, restitutions), *self._stopped_at(x)),
        )

    def _stopped_at(self, x: Vector) -> list[str]:
        """Name the unknowns that ended at a bound of the search: their best value lies beyond, or nowhere."""
        return [
            f"{unknown.name} ended at the bound of the search"
            for unknown, value in zip(self.unknowns, x, strict=True)
            if min(value - unknown.lower, unknown.upper - value) < 1e-3 * (unknown.upper - unknown.lower)
        ]


@dataclass(frozen=True)
class _Outline:
    """First guesses from a profile: onset [s], duration [s], peak [N], impulse [N s]."""

    onset: float
    duration: float
    peak: float
    impulse: float


def _outline(profile: ForceProfile) -> _Outline:
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
    return _Outline(
        onset=float(time[first]) - 0.07 * above,
        duration=1.15 * above,
        peak=float(smooth[top]),
        impulse=float(np.trapezoid(force[inside], time[inside])),
    )


def _virtual_spring_force(point: _Point, speed: float, since: Vector) -> Vector:
    """Return the force (m,) [N] of a spring that loses energy at the end of compression; since (m,) [s].

    Half-way a half sine; then the spring is stiffer by 1/e^2, from the same force: a quarter of a cosine e times
    as long with e times the impulse, so e is Newton's, Poisson's and the energetic restitution at once.
    """
    stiffness, restitution = point.law["stiffness"], point.law["restitution"]
    pulsation = math.sqrt(stiffness / point.mass)
    quarter = 0.5 * math.pi / pulsation
    phase = np.where(since < quarter, since - quarter, (since - quarter) / restitution) * pulsation
    inside = np.abs(phase) < 0.5 * math.pi
    return speed * math.sqrt(stiffness * point.mass) * np.where(inside, np.cos(phase), 0.0)


def _objections(parameters: dict[str, Estimate], restitutions: Sequence[Estimate]) -> list[str]:
    """Name what leaves its physical range by more than SIGNIFICANCE standard errors."""
    found = [
        f"restitution {e.value:.3g} above 1"
        for e in restitutions
        if e.value - SIGNIFICANCE * e.standard_error > 1.0 + 1e-9
    ]
    ranges = {"damping": math.inf, "newton_restitution": 1.0}
    for name, highest in ranges.items():
        if name in parameters:
            value, margin = parameters[name].value, SIGNIFICANCE * parameters[name].standard_error
            if value + margin < 0.0:
                found.append(f"{name} {value:.3g} below 0")
            if value - margin > highest:
                found.append(f"{name} {value:.3g} above {highest:g}")
    return found


def _covariance(jacobian: Matrix, variance: float) -> Matrix:
    """Return the covariance of the unknowns; huge along directions that the data do not determine."""
    _, singular, directions = np.linalg.svd(jacobian, full_matrices=False)
    scaled = directions / np.maximum(singular, 1e-12 * singular[0])[:, None]
    covariance: Matrix = variance * scaled.T @ scaled
    return covariance


def _slopes(function: Callable[[Vector], Vector], x: Vector) -> Matrix:
    """Return the derivative (values, unknowns) of a function of the unknowns, by central differences."""
    # The unknowns are of the order of 1. Far above the error of the sampled force, which is a smooth 1e-6.
    step = 1e-4
    columns = [(function(x + shift) - function(x - shift)) / (2.0 * step) for shift in step * np.eye(x.size)]
    return np.column_stack(columns)


def _require_positive_or_none(name: str, value: float | None) -> None:
    if value is not None:
        require_positive(name, value)
