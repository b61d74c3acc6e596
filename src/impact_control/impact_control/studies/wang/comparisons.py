"""Figs 6 to 9 and Table I of Wang 2022 beside ours: winner and order of the options, speeds, times, the fit of (23)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from impact_control.impacts.inverse_inertia import ContactVelocityTable
from impact_control.studies.study import Comparison, Mark
from impact_control.studies.wang import published
from impact_control.studies.wang.evaluation import FittedImpact, Reading, best, winners
from impact_control.studies.wang.measurement import end_of_push
from impact_control.studies.wang.models import ModelCase
from impact_control.studies.wang.options import OPTIONS_OF_WANG, InertiaOption
from impact_control.studies.wang.outcome import Outcome
from impact_control.studies.wang.trials import ControlMode, Trial
from impact_control.types import Vector

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
                mark=Mark.of(found is InertiaOption.COMPOSITE),
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
                    mark=Mark.of(right == len(cases)),
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
            "impact told by the torques of joints 5 and 6 after",
            f"{low:g} to {high:g} ms",
            f"{min(detections):.1f} to {max(detections):.1f} ms, {inside} of {len(detections)} in between",
            mark=Mark.of(inside == len(detections)),
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
            mark=Mark.of(misfit <= MATCHES),
        ),
        Comparison(
            "Fig. 8, (28)",
            "sum of the energies of the fitted law over the initial one",
            "equal",
            f"to {imbalance:.1e}",
            mark=Mark.of(imbalance <= _EQUAL),
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
            mark=Mark.of(max(left) > LEFT),
        ),
        Comparison(
            "Appendix A (30)",
            "compression rate of the contact point during the first push, exact",
            "rises monotonically",
            f"in {steady} of {len(every)}; turns back by up to {largest} % of the speed before",
            mark=Mark.of(steady == len(every)),
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
