"""Figs 3, 4 and 5 of Wang 2022 beside ours, and what else section VII says of contact models and restitutions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from impact_control.identification import ContactModel
from impact_control.impacts.inverse_inertia import ContactVelocityTable
from impact_control.studies.study import Comparison, Finding, Mark
from impact_control.studies.wang import published
from impact_control.studies.wang.comparisons import MATCHES
from impact_control.studies.wang.models import MODELS, MassOf, ModelCase
from impact_control.studies.wang.trials import RESTITUTION
from impact_control.types import Vector

_SPRING, _MAXWELL, _VISCOELASTIC = MODELS

VISIBLE = 2.0
"""Standard deviations between repetitions by which a restitution has to change with the speed to be said to vary."""


def model_comparisons(models: Sequence[ModelCase], velocities: ContactVelocityTable) -> tuple[Comparison, ...]:
    """Return what the source says of the three models and of the restitutions they give, beside ours.

    velocities: our Table I, of the same configurations and speeds in the same order.
    """
    cases = [case for case in models if not case.lossless]
    said = [*_area_comparisons(cases)]
    for mass in MassOf:
        said += [_spring_comparison(cases, mass), _maxwell_comparison(cases, mass), _printed_comparison(cases, mass)]
        said += [_best_comparison(cases, mass), _material_comparison(cases, mass)]
        said += [_small_comparison(cases, velocities, mass)]
    return tuple(said)


def spring_wall_finding(models: Sequence[ModelCase]) -> Finding:
    """Say what a wall that is a spring tells of the conclusions from Figs 3, 4 and 5."""
    lossy = [case for case in models if not case.lossless]
    springs = [case for case in models if case.lossless]
    areas = [area for case in springs for area in case.areas]
    outside = sum(not math.isnan(area.leaves) for area in areas)
    mass = MassOf.COMPOSITE
    changes = {
        (model, wall): [float(np.ptp(means)) for means in _courses(cases, model, mass).values()]
        for model in (_MAXWELL, _VISCOELASTIC)
        for wall, cases in (("damped", lossy), ("spring", springs))
    }
    return Finding(
        "What the wall has to do with Figs 3 to 5: at a wall that is a spring the largest force comes at "
        f"{_range([area.phase for area in areas], 2)} of the time to the stop. Yet {outside} of {len(areas)} forces "
        "leave the area of a virtual spring, with an impulse after the peak that is "
        f"{_range([area.required_restitution for area in areas], 2)} times that before it: joints and motors go on "
        "pushing, in a contact without any damping. With the mass of the CRB, the restitution by Maxwell's law differs "
        f"between the speeds by {_range(changes[_MAXWELL, 'spring'], 3)} there and by "
        f"{_range(changes[_MAXWELL, 'damped'], 3)} on the damped wall, that by (25) by "
        f"{_range(changes[_VISCOELASTIC, 'spring'], 3)} and {_range(changes[_VISCOELASTIC, 'damped'], 3)}: how they "
        "go with the speed is decided by the law of the wall."
    )


def _area_comparisons(cases: Sequence[ModelCase]) -> Iterator[Comparison]:
    """Fig. 3(b): is the force inside the area, and is its peak where compression ends?"""
    areas = [area for case in cases for area in case.areas]
    count = len(areas)
    outside = [area for area in areas if not math.isnan(area.leaves)]
    part = f", with {_range([100.0 * area.outside for area in areas], 0)} % of the impulse after the peak"
    yield Comparison(
        "Fig. 3(b)",
        "force after its peak against the area that restitutions from 0 to 1 allow a virtual spring",
        "leaves it",
        f"leaves it in {len(outside)} of {count}{part}",
        mark=Mark.of(len(outside) == count),
    )
    required = [area.required_restitution for area in areas]
    above = sum(value > 1.0 for value in required)
    yield Comparison(
        "Fig. 3(b), VII-A1",
        "impulse after the peak over that before it, the restitution that a virtual spring had to have",
        "above 1",
        f"{_range(required, 2)}, above 1 in {above} of {count}",
        mark=Mark.of(above == count),
    )
    phases = [area.phase for area in areas]
    ahead = sum(phase < 1.0 for phase in phases)
    yield Comparison(
        "Fig. 3(b), VII-A1",
        "peak of the force against the end of compression",
        "ahead of it",
        f"ahead in {ahead} of {count}, at {_range(phases, 2)} of the time to the true stop of the contact point",
        mark=Mark.of(ahead == count),
    )
    first = [
        area for case in cases if case.name == "one" and case.speed in published.PROFILE_SPEEDS for area in case.areas
    ]
    similar = sum(area.required_restitution > 1.0 for area in first)
    yield Comparison(
        "Fig. 6, VII-A1",
        "the other forces in configuration one, up to 0.15 m/s",
        "similar patterns: restitution above 1",
        f"above 1 in {similar} of {len(first)}",
        mark=Mark.of(similar == len(first)),
    )


def _spring_comparison(cases: Sequence[ModelCase], mass: MassOf) -> Comparison:
    restitutions, misfits = _all(cases, _SPRING, mass)
    above, matches = restitutions > 1.0, misfits <= MATCHES
    return Comparison(
        "VII-A1",
        f"virtual spring fitted to the forces, {mass.value}",
        "does not fit unless its restitution is above 1",
        f"restitution {_range(restitutions, 2)}, misfit {_range(100.0 * misfits, 1)} % of the peak; "
        f"{int(np.sum(matches & ~above))} of {misfits.size} fit to {100.0 * MATCHES:g} % with 1 or less",
        mark=Mark.of(not np.any(matches & ~above)),
    )


def _maxwell_comparison(cases: Sequence[ModelCase], mass: MassOf) -> Comparison:
    courses = _courses(cases, _MAXWELL, mass)
    scatter = {
        name: max(float(case.estimated(_MAXWELL, mass).std()) for case in cases if case.name == name)
        for name in courses
    }
    varies = [float(np.ptp(means)) > VISIBLE * scatter[name] for name, means in courses.items()]
    return Comparison(
        "Fig. 4(b)",
        f"restitution by Maxwell's law over the contact velocity, {mass.value}",
        "varies with it, in all three configurations; the law has a constant one",
        f"varies in {sum(varies)} of {len(varies)}: {_ends(courses)}; {max(scatter.values()):.3f} or less between "
        "repetitions",
        mark=Mark.of(all(varies)),
    )


def _printed_comparison(cases: Sequence[ModelCase], mass: MassOf) -> Comparison:
    courses = _courses(cases, _VISCOELASTIC, mass)
    steps = [after < before for means in courses.values() for before, after in pairwise(means)]
    rising = steps.count(False)
    fall = all(means[-1] < means[0] for means in courses.values())
    return Comparison(
        "Fig. 5(b)",
        f"restitution (25) of the law (23) over the contact velocity, {mass.value}",
        "roughly decreases: all but configuration two at 0.08 m/s",
        f"falls in {len(steps) - rising} of {len(steps)} steps of the speed: {_ends(courses)}",
        mark=Mark.of(fall and rising <= published.RISING_STEPS),
    )


def _best_comparison(cases: Sequence[ModelCase], mass: MassOf) -> Comparison:
    misfits = {model: _all(cases, model, mass)[1] for model in MODELS}
    best = min(MODELS, key=lambda model: float(misfits[model].mean()))
    return Comparison(
        "VII, c1",
        f"model that regenerates the measured forces best, {mass.value}",
        f"{_VISCOELASTIC.value}, the only one that does",
        f"{best.value}; mean misfit "
        + ", ".join(f"{model.value} {100.0 * float(values.mean()):.1f} %" for model, values in misfits.items())
        + " of the peak",
        mark=Mark.of(best is _VISCOELASTIC),
    )


def _material_comparison(cases: Sequence[ModelCase], mass: MassOf) -> Comparison:
    restitutions, _ = _all(cases, _VISCOELASTIC, mass)
    below = int(np.sum(restitutions < RESTITUTION))
    return Comparison(
        "I, VII, r1",
        f"restitution (25) against that of the materials, {mass.value}",
        f"below {RESTITUTION} in all experiments",
        f"below in {below} of {restitutions.size}: {_range(restitutions, 2)}",
        mark=Mark.of(below == restitutions.size),
    )


def _small_comparison(cases: Sequence[ModelCase], velocities: ContactVelocityTable, mass: MassOf) -> Comparison:
    """Section VII-C, for the cases of ours that meet its two conditions."""
    chosen = [
        case
        for case, ratio in zip(cases, velocities.ratio.ravel(), strict=True)
        if ratio > published.SMALL_ABOVE_RATIO and case.speed > published.SMALL_ABOVE_SPEED
    ]
    restitutions, _ = _all(chosen, _VISCOELASTIC, mass)
    return Comparison(
        "VII-C, Fig. 5(b)",
        f"restitution (25) where (29) is above {published.SMALL_ABOVE_RATIO} and the speed above "
        f"{published.SMALL_ABOVE_SPEED} m/s, {mass.value}",
        f"below {published.SMALL_RESTITUTION}",
        _range(restitutions, 2) if restitutions.size else "no such impact",
        mark=Mark.of(bool(np.all(restitutions < published.SMALL_RESTITUTION))) if restitutions.size else Mark.PLAIN,
    )


def _courses(cases: Sequence[ModelCase], model: ContactModel, mass: MassOf) -> Mapping[str, Vector]:
    """Return by configuration the mean restitution (s,) [-] at the speeds, which ascend."""
    means: dict[str, list[float]] = {}
    for case in cases:
        means.setdefault(case.name, []).append(float(case.estimated(model, mass).mean()))
    return {name: np.array(values) for name, values in means.items()}


def _all(cases: Sequence[ModelCase], model: ContactModel, mass: MassOf) -> tuple[Vector, Vector]:
    """Return restitutions and misfits [-] of all repetitions."""
    restitutions = [case.estimated(model, mass) for case in cases]
    misfits = [case.misfits(model, mass) for case in cases]
    return np.concatenate([np.empty(0), *restitutions]), np.concatenate([np.empty(0), *misfits])


def _ends(courses: Mapping[str, Vector]) -> str:
    return ", ".join(f"{name} {means[0]:.3f} to {means[-1]:.3f}" for name, means in courses.items())


def _range(values: Sequence[float] | Vector, decimals: int) -> str:
    low, high = (f"{value:.{decimals}f}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"
