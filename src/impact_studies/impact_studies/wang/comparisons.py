"""Figs 6 to 9 and Table I of Wang 2022 beside ours: winner and order of the options, speeds, times, the fit of (23)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from impact_control.util.types import Vector
from impact_studies.frame.study import Comparison, Finding
from impact_studies.models.contact_identification.contact_model import ContactModel
from impact_studies.models.impacts.inverse_inertia import ContactVelocityTable
from impact_studies.wang import published
from impact_studies.wang.evaluation import FittedImpact, Outcome, Reading, best, winners
from impact_studies.wang.impacts import MODELS, MassOf, ModelCase
from impact_studies.wang.measurement import end_of_push
from impact_studies.wang.options import OPTIONS_OF_WANG, InertiaOption
from impact_studies.wang.trials import RESTITUTION, ControlMode, Trial

LEFT, NO_RISE = 0.01, 1e-3
"""[-] Part of the deepest compression up to which it is back at zero, and of the speed before the impact up to which
a rate does not turn back; our choice."""

MATCHES, _EQUAL = 0.05, 1e-4
"""[-] Parts of the peak and of the initial energy up to which a law matches and energies are equal; our choice."""


def comparisons(
    outcome: Outcome, velocities: ContactVelocityTable, speeds: Sequence[float], names: Sequence[str]
) -> tuple[Comparison, ...]:
    """Return winner and order by the reading of the end of compression, and Table I."""
    cases = outcome.of(ControlMode.VELOCITY_DRIVE)
    said = []
    for reading in Reading:
        found = best(cases, OPTIONS_OF_WANG, reading)
        wins = winners(cases, OPTIONS_OF_WANG, reading)[found]
        said.append(
            Comparison(
                "Fig. 9",
                f"most accurate option under stiff velocity control, impulse to the {reading.value}",
                InertiaOption.COMPOSITE.value,
                f"{found.value}, nearest in {wins} of {len(cases)} cases",
                holds=found is InertiaOption.COMPOSITE,
            )
        )
        for option, above in (
            (InertiaOption.ALGEBRAIC, True),
            (InertiaOption.GENERALIZED_MOMENTUM, False),
            (InertiaOption.JOINT_MOTION, False),
        ):
            right = sum((case.error(option, reading) > 0.0) == above for case in cases)
            said.append(
                Comparison(
                    "Fig. 9, VII-B",
                    f"{option.value} against what is measured, to the {reading.value}",
                    f"{'above' if above else 'below'} in all cases",
                    f"{'above' if above else 'below'} in {right} of {len(cases)}",
                    holds=right == len(cases),
                )
            )
    chosen = [published.SPEEDS.index(speed) for speed in speeds]
    quantities = (
        ("contact velocity", "m/s", velocities.exact, published.EXACT),
        ("that of the composite rigid body", "m/s", velocities.approximation, published.APPROXIMATION),
        ("their ratio (29)", "", velocities.ratio, published.RATIO),
    )
    entries = [
        Comparison("Table I", f"{what}, {name}, {speed:.2f} m/s", float(printed), float(own), unit)
        for what, unit, ours, theirs in quantities
        for name, ours_by_speed, theirs_by_speed in zip(names, ours, theirs[: len(names), chosen], strict=True)
        for speed, own, printed in zip(speeds, ours_by_speed, theirs_by_speed, strict=True)
    ]
    # By these the configurations were chosen.
    means = [
        Comparison(
            "Table I",
            f"ratio (29), {name}, mean of the speeds, by which the configuration was chosen",
            float(theirs.mean()),
            float(ours.mean()),
        )
        for name, ours, theirs in zip(names, velocities.ratio, published.RATIO[: len(names), chosen], strict=True)
    ]
    return (*said, *entries, *means)


def profile_comparisons(
    models: Sequence[ModelCase], velocities: ContactVelocityTable, speeds: Sequence[float]
) -> tuple[Comparison, ...]:
    """Return the numbers that the text gives of the measured forces, Fig. 6 and section VI, beside ours."""
    trials = [trial for case in models if not case.lossless for trial in case.trials]
    detections = [1e3 * trial.detection for trial in trials]
    durations = [1e3 * float(trial.time[end_of_push(trial.time, trial.force)[0]]) for trial in trials]
    low, high = published.DETECTION
    inside = sum(low <= detection <= high for detection in detections)
    contact = [
        Comparison(
            "Fig. 6",
            f"contact velocity, configuration one, reference {speed:.2f} m/s",
            published.PROFILE_SPEEDS[speed],
            float(own),
            "m/s",
        )
        for speed, own in zip(speeds, velocities.exact[0], strict=True)
        if speed in published.PROFILE_SPEEDS
    ]
    return (
        *contact,
        Comparison(
            "VI",
            "time of an impact, mean; ours is that of the first push, for which the wall was chosen",
            published.DURATION,
            float(np.mean(durations)),
            "ms",
        ),
        Comparison(
            "VI",
            "impact detected by the torques of joints 5 and 6 after",
            f"{low:g} to {high:g} ms",
            f"{min(detections):.1f} to {max(detections):.1f} ms, {inside} of {len(detections)} in between",
            holds=inside == len(detections),
        ),
    )


def fit_comparisons(fitted: Sequence[FittedImpact]) -> tuple[Comparison, ...]:
    """Return how well (23) fits the forces, and whether the energies of the fitted law balance."""
    misfit = max(one.misfit for one in fitted)
    imbalance = max(one.impact.energy_imbalance for one in fitted)
    return (
        Comparison(
            "Fig. 7",
            "force of the law (23) on the measured one",
            "matches",
            f"root mean square of the misfit at most {100.0 * misfit:.1f} % of the peak",
            holds=misfit <= MATCHES,
        ),
        Comparison(
            "Fig. 8, (28)",
            "sum of the energies of the fitted law over the initial one",
            "equal",
            f"to {imbalance:.1e}",
            holds=imbalance <= _EQUAL,
        ),
    )


def rate_comparisons(fitted: Sequence[FittedImpact], models: Sequence[ModelCase]) -> tuple[Comparison, ...]:
    """Return how rate and compression go in an impact: by the fitted law, and at the simulated contact point.

    A free mass that is only pushed back has a monotone rate whatever the law, so that this has no verdict. By (23) it
    comes back to a compression of zero, as the speed k/c, at which the force would vanish before, is never reached:
    see `vanishing_force_restitution`.
    """
    monotone = sum(_turned_back(one.impact.depth_rate) <= 0.0 for one in fitted)
    left = [float(one.impact.depth[-1] / one.impact.depth.max()) for one in fitted]
    turned: dict[str, list[float]] = {}
    for case in models:
        if not case.lossless:
            turned.setdefault(case.name, []).extend(
                _turned_back(trial.penetration_rate[_first_push(trial)]) / trial.speed for trial in case.trials
            )
    every = [turn for turns in turned.values() for turn in turns]
    steady = sum(turn <= NO_RISE for turn in every)
    largest = ", ".join(f"{name} {100.0 * max(turns):.1f}" for name, turns in turned.items())
    return (
        Comparison(
            "Fig. 7",
            "compression rate of the law (23)",
            "rises monotonically from its negative initial value",
            f"monotone in {monotone} of {len(fitted)}, as of any free mass that nothing pulls",
        ),
        Comparison(
            "Fig. 7, V-B",
            "compression of the law (23) when its force is zero again",
            "does not systematically come back to zero",
            f"at most {100.0 * max(left):.1f} % of the deepest one is left",
            holds=max(left) > LEFT,
        ),
        Comparison(
            "Appendix A (30)",
            "compression rate of the contact point during the first push, exact",
            "rises monotonically",
            f"in {steady} of {len(every)}; turns back by up to {largest} % of the speed before",
            holds=steady == len(every),
        ),
    )


def _turned_back(rate: Vector) -> float:
    """Return by how much a rate into the wall (m,) [m/s], which is to fall, rises above what it was before, at most."""
    return float(np.max(rate - np.minimum.accumulate(rate)))


def _first_push(trial: Trial) -> NDArray[np.bool_]:
    """Return which samples (m,) of a trial are in contact, from the touch to the end of the first push."""
    inside: NDArray[np.bool_] = (trial.exact_force > 0.0) & (
        trial.time <= trial.time[end_of_push(trial.time, trial.force)[0]]
    )
    return inside


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
    """Return the finding on the conclusions from Figs 3, 4 and 5 with a lossless spring as the wall."""
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
        holds=len(outside) == count,
    )
    required = [area.required_restitution for area in areas]
    above = sum(value > 1.0 for value in required)
    yield Comparison(
        "Fig. 3(b), VII-A1",
        "impulse after the peak over that before it, the restitution that a virtual spring had to have",
        "above 1",
        f"{_range(required, 2)}, above 1 in {above} of {count}",
        holds=above == count,
    )
    phases = [area.phase for area in areas]
    ahead = sum(phase < 1.0 for phase in phases)
    yield Comparison(
        "Fig. 3(b), VII-A1",
        "peak of the force against the end of compression",
        "ahead of it",
        f"ahead in {ahead} of {count}, at {_range(phases, 2)} of the time to the true stop of the contact point",
        holds=ahead == count,
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
        holds=similar == len(first),
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
        holds=not np.any(matches & ~above),
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
        holds=all(varies),
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
        holds=fall and rising <= published.RISING_STEPS,
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
        holds=best is _VISCOELASTIC,
    )


def _material_comparison(cases: Sequence[ModelCase], mass: MassOf) -> Comparison:
    restitutions, _ = _all(cases, _VISCOELASTIC, mass)
    below = int(np.sum(restitutions < RESTITUTION))
    return Comparison(
        "I, VII, r1",
        f"restitution (25) against that of the materials, {mass.value}",
        f"below {RESTITUTION} in all experiments",
        f"below in {below} of {restitutions.size}: {_range(restitutions, 2)}",
        holds=below == restitutions.size,
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
        holds=bool(np.all(restitutions < published.SMALL_RESTITUTION)) if restitutions.size else None,
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
    misfits = [case.fitted("misfit", model, mass) for case in cases]
    return np.concatenate([np.empty(0), *restitutions]), np.concatenate([np.empty(0), *misfits])


def _ends(courses: Mapping[str, Vector]) -> str:
    return ", ".join(f"{name} {means[0]:.3f} to {means[-1]:.3f}" for name, means in courses.items())


def _range(values: Sequence[float] | Vector, decimals: int) -> str:
    low, high = (f"{value:.{decimals}f}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"
