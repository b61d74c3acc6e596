"""The least-squares problem of one candidate: from searched unknowns to SI units, forces and residuals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
from scipy.optimize import OptimizeResult, least_squares

from impact_control.impacts.contact_laws import LawKind
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector
from impact_studies.models.contact_identification.contact_model import EXPONENT, SHAPES, ContactModel, Unknown
from impact_studies.models.contact_identification.contact_profile import (
    ForceProfile,
    outline_of,
    require_positive_or_none,
)
from impact_studies.models.impacts.normal_impact import impact_restitution
from impact_studies.models.impacts.normal_impact_kernel import sample_impact_force, state_scale

_UNFOLLOWED = 1e3


@dataclass(frozen=True)
class Point:
    """A point of the search in SI units: law parameters by name, mass, speeds and onsets per profile."""

    law: dict[str, float]
    mass: float
    speeds: tuple[float, ...]
    onsets: tuple[float, ...]


class Search:
    """The least-squares problem of one candidate: between searched unknowns, SI units and forces."""

    def __init__(
        self, model: ContactModel, profiles: Sequence[ForceProfile], mass: float | None, exponent: float | None
    ) -> None:
        require_positive_or_none("mass", mass)
        require_positive_or_none("exponent", exponent)
        if not profiles:
            raise InvalidInputError("profiles", profiles, "at least one profile")
        speeds = tuple(profile.speed for profile in profiles)
        if mass is None and None in speeds:
            raise InvalidInputError("speed", speeds, "known for every profile where the mass is unknown")
        self.model = model
        self.profiles = tuple(profiles)
        self.mass = mass
        self.exponent = exponent
        self.outlines = tuple(outline_of(profile) for profile in profiles)
        # Of the unknown one, by momentum: impulse = m v (1 + e), e in the middle.
        momenta = [outline.impulse / 1.5 for outline in self.outlines]
        if mass is None:
            self.speeds = tuple(speed for speed in speeds if speed is not None)
            self.typical_mass = float(np.mean([p / v for p, v in zip(momenta, self.speeds, strict=True)]))
        else:
            self.typical_mass = mass
            self.speeds = tuple(v if v is not None else p / mass for p, v in zip(momenta, speeds, strict=True))
        self.peak = max(outline.peak for outline in self.outlines)
        self.weights = _weights([profile.noise for profile in profiles])
        self.typical_speed = float(np.mean(self.speeds))
        self.typical_depth = self.typical_speed * float(np.mean([o.duration for o in self.outlines])) / math.pi
        self.has_exponent = EXPONENT in SHAPES[model]
        shape = [unknown for unknown in SHAPES[model] if unknown is not EXPONENT or exponent is None]
        self.unknowns = (*shape, *self._scale_unknowns(), *self._onset_unknowns())

    def _scale_unknowns(self) -> list[Unknown]:
        if self.mass is None:
            return [Unknown("mass", (0.0,), -5.0, 5.0)]
        unknown = [i for i, profile in enumerate(self.profiles) if profile.speed is None]
        return [Unknown(f"speed {i}", (0.0,), -5.0, 5.0) for i in unknown]

    def _onset_unknowns(self) -> list[Unknown]:
        return [Unknown(f"onset {i}", (0.0,), -1.0, 1.0) for i in range(len(self.profiles))]

    def starts(self) -> list[Vector]:
        """Return the points from which to search."""
        return [np.array(start) for start in product(*(unknown.starts for unknown in self.unknowns))]

    def solve(self, start: Vector, tolerance: float) -> OptimizeResult:
        """Return the minimum that is reached from a point, to a relative tolerance of cost and unknowns."""
        return least_squares(
            self.residuals,
            start,
            jac=partial(slopes, self.residuals),
            bounds=([u.lower for u in self.unknowns], [u.upper for u in self.unknowns]),
            x_scale="jac",
            ftol=tolerance,
            xtol=tolerance,
        )

    def point(self, x: Vector) -> Point:
        """Return a point of the search in SI units."""
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
        return Point(law, mass, speeds, onsets)

    def parameters(self, point: Point, i: int) -> Vector:
        """Return the parameters (4,) of the kernel for profile i."""
        law = point.law
        release_rate = law.get("newton_restitution", 0.0) * point.speeds[i]
        return np.array([law["stiffness"], law.get("damping", 0.0), law.get("exponent", 1.0), release_rate])

    def force(self, point: Point, i: int) -> Vector:
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

    def restitution(self, point: Point, i: int) -> float:
        """Return the restitution [-] of the impact of profile i."""
        if self.model is ContactModel.VIRTUAL_SPRING:
            return float(point.law["restitution"])
        return impact_restitution(int(LawKind[self.model.name]), self.parameters(point, i), point.mass, point.speeds[i])

    def residuals(self, x: Vector) -> Vector:
        """Return the weighed differences of all samples over the peak force [-]; large where it cannot be followed."""
        point = self.point(x)
        scales = self.weights / self.peak
        parts = [(self.force(point, i) - profile.force) * scales[i] for i, profile in enumerate(self.profiles)]
        bounded: Vector = np.nan_to_num(np.concatenate(parts), nan=_UNFOLLOWED, posinf=_UNFOLLOWED, neginf=-_UNFOLLOWED)
        return bounded

    def reported(self, x: Vector) -> Vector:
        """Return law parameters, mass, speeds, onsets and restitutions of a point of the search in one vector."""
        point = self.point(x)
        restitutions = [self.restitution(point, i) for i in range(len(self.profiles))]
        return np.array([*point.law.values(), point.mass, *point.speeds, *point.onsets, *restitutions])

    def stopped_at(self, x: Vector) -> list[str]:
        """Name the unknowns that ended at a bound of the search: their best value lies beyond, or nowhere."""
        return [
            f"{unknown.name} ended at the bound of the search"
            for unknown, value in zip(self.unknowns, x, strict=True)
            if min(value - unknown.lower, unknown.upper - value) < 1e-3 * (unknown.upper - unknown.lower)
        ]


def _weights(noise: Sequence[float | None]) -> Vector:
    """Return the weights of the profiles, 1 for equal noise [N] or none known; their geometric mean is 1."""
    known = [one for one in noise if one is not None]
    if not known:
        return np.ones(len(noise))
    if len(known) < len(noise):
        raise InvalidInputError("noise", tuple(noise), "known for every profile or for none")
    logarithms = np.log(known)
    return np.asarray(np.exp(logarithms.mean() - logarithms), dtype=np.float64)


def _virtual_spring_force(point: Point, speed: float, since: Vector) -> Vector:
    """Return the force (m,) [N] of a spring that loses energy at the end of compression; since (m,) [s].

    Half-way a half sine; then the spring is stiffer by 1/e^2, from the same force: a quarter of a cosine e times
    as long with e times the impulse, so e is Newton's, Poisson's and the energetic restitution at once.
    """
    stiffness, restitution = point.law["stiffness"], point.law["restitution"]
    pulsation = math.sqrt(stiffness / point.mass)
    quarter = 0.5 * math.pi / pulsation
    phase = np.where(since < quarter, since - quarter, (since - quarter) / restitution) * pulsation
    inside = np.abs(phase) < 0.5 * math.pi
    force: Vector = speed * math.sqrt(stiffness * point.mass) * np.where(inside, np.cos(phase), 0.0)
    return force


def slopes(function: Callable[[Vector], Vector], x: Vector) -> Matrix:
    """Return the derivative (values, unknowns) of a function of the unknowns, by central differences."""
    # The unknowns are of the order of 1. Far above the error of the sampled force, which is a smooth 1e-6.
    step = 1e-4
    columns = [(function(x + shift) - function(x - shift)) / (2.0 * step) for shift in step * np.eye(x.size)]
    return np.column_stack(columns)
