"""Targets, findings and verdict of the study."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from impact_control.pipeline import Outcome
from impact_control.planning import OperatingEnvelope
from impact_control.util.types import Vector
from impact_studies.envelope.outcome import ALIKE, AS_EXPECTED, CLOSE, DIFFERENT, Bin, Runs, Share
from impact_studies.envelope.tasks import Variant
from impact_studies.frame.study import Comparison, Finding, all_hold, held

RIGHT = 0.98
"""Least share of right verdicts."""

REFUSED, PROPOSED = 0.1, 0.95
"""Largest share of refused tasks; least share of those that come with values that work."""

FORCE = 0.2
"""By which part the mean force at the end may miss what was asked for."""

STIFF = 1e8
"""[N/m^1.5] from which the delay of the detection counts."""

MEDIAN_DELAY, LARGEST_DELAY = 1e-3, 3e-3
"""[s]"""

_ROUNDING = 1e-6
"""Part of a limit that is not counted as exceeding it."""

LIMITS = ("position", "velocity", "torque", "torque_rate")
"""Columns of the largest shares of limits."""


def targets(runs: Runs, bins: list[Bin]) -> tuple[Comparison, ...]:
    """Return all targets, each at its robot, plain where there is nothing to measure; bins: of all robots together."""
    each = (target for robot in runs.robots for target in _of_robot(robot, runs.select(runs["robot"] == robot)))
    return (*each, *_of_probability(bins))


def exceeded(runs: Runs) -> int:
    """Return in how many runs a limit was exceeded."""
    shares = np.array([runs[name] for name in LIMITS], dtype=np.float64)
    return int(np.count_nonzero(np.any(shares > 1.0 + _ROUNDING, axis=0)))


def right(runs: Runs) -> Share:
    """Return how many verdicts of those that can be judged are right."""
    return Share(int(np.count_nonzero(runs.right & runs.judged)), int(np.count_nonzero(runs.judged)))


def refused(runs: Runs) -> Share:
    """Return how many tasks are refused."""
    tasks = runs.of_variant(Variant.AS_EXPECTED)
    return Share(int(np.count_nonzero(~tasks.begun)), tasks.begun.size)


def proposed(runs: Runs) -> Share:
    """Return how many refused tasks come with values that are then accepted."""
    tasks = runs.of_variant(Variant.AS_EXPECTED)
    return Share(int(np.count_nonzero(tasks["proposed"])), int(np.count_nonzero(~tasks.begun)))


def force_errors(runs: Runs) -> Vector:
    """Return by which part the force at the end misses what was asked for, of tasks as expected that succeeded (k,)."""
    ended = runs.of_variant(*AS_EXPECTED)
    ended = ended.select(ended["outcome"] == Outcome.SUCCEEDED)
    found: Vector = ended["held_force"] / ended["force"] - 1.0
    return found


def delays(runs: Runs, stiffest: float = math.inf, softest: float = 0.0) -> Vector:
    """Return delays from contact to detection [s] of runs with a contact of a stiffness in a range [N/m^1.5] (k,)."""
    inside = (runs.stiffness >= softest) & (runs.stiffness < stiffest)
    return runs.select(inside & ~runs["early"].astype(bool)).finite("delay")


def missed(runs: Runs, stiffest: float = math.inf, softest: float = 0.0) -> int:
    """Return how many contacts of a stiffness in a range [N/m^1.5] were not detected at all."""
    inside = (runs.stiffness >= softest) & (runs.stiffness < stiffest) & (runs["variant"] != Variant.MISSING.value)
    return int(np.count_nonzero(runs.begun & inside & np.isnan(runs["delay"])))


def _of_robot(robot: str, runs: Runs) -> Iterator[Comparison]:
    for variant in Variant:
        if variant is Variant.OTHER_FRICTION:
            continue
        share = right(runs.of_variant(variant))
        yield _least(robot, f"{variant.value}: right verdicts of those begun", share, RIGHT)
    faults, over = runs.outcomes(Outcome.FAULT), exceeded(runs)
    yield _target(robot, "runs that ended in FAULT", "0", str(faults), faults == 0)
    yield _target(robot, "runs in which a limit was exceeded", "0", str(over), over == 0)
    errors = np.abs(force_errors(runs))
    largest = float(np.max(errors)) if errors.size else math.nan
    near = Share(int(np.count_nonzero(errors <= FORCE)), errors.size)
    yield _target(
        robot,
        "force at the end within 20 % of what was asked for",
        "all",
        f"{near.count} of {near.of}, largest error {100.0 * largest:.1f} %",
        near.count == near.of if near.of else None,
    )
    found = refused(runs)
    value, low, high = found.percent
    measured = f"{value:.1f} % ({low:.1f} to {high:.1f} %)"
    yield _target(robot, "tasks refused", f"<= {100 * REFUSED:g} %", measured, found.value <= REFUSED)
    if found.count:
        yield _least(robot, "refusals with a proposal that is then accepted", proposed(runs), PROPOSED)
    stiff = 1e3 * delays(runs, softest=STIFF)
    if stiff.size:
        median, worst = float(np.median(stiff)), float(np.max(stiff))
        met = median <= 1e3 * MEDIAN_DELAY and worst <= 1e3 * LARGEST_DELAY
        measured = f"{median:.2f} / {worst:.2f} ms"
        yield _target(
            robot, "delay of the detection from 10^8 N/m^1.5 on, median / largest", "<= 1 / 3 ms", measured, met
        )
    alarms, hours = int(np.count_nonzero(runs["early"])), float(np.sum(runs["free"])) / 3600.0
    yield _target(robot, "detections without a contact", "0", f"{alarms} in {hours:.2f} h of free motion", alarms == 0)
    lost = missed(runs, softest=STIFF)
    yield _target(robot, "contacts from 10^8 N/m^1.5 on that were not detected", "0", str(lost), lost == 0)


def _of_probability(bins: list[Bin]) -> Iterator[Comparison]:
    full = [one for one in bins if one.expected.of]
    off = [one for one in full if one.close is False]
    few = [one for one in full if one.close is None]
    measured = f"{len(full) - len(off) - len(few)} of {len(full)} bins"
    if few:
        measured += f", {len(few)} with too few runs to tell"
    bound = f"all within {100.0 * CLOSE:g} points of the frequency"
    yield _target("all", "probability that all is as expected, in ten bins", bound, measured, not off)


def _target(robot: str, what: str, bound: str, measured: str, met: bool | None) -> Comparison:
    return Comparison(robot, what, bound, measured, holds=met)


def _least(robot: str, what: str, share: Share, least: float) -> Comparison:
    value, low, high = share.percent
    measured = f"{value:.2f} % ({low:.1f} to {high:.1f} %), {share.count} of {share.of}"
    return _target(robot, what, f">= {100.0 * least:g} %", measured, share.value >= least if share.of else None)


def findings(runs: Runs, found: Sequence[Comparison]) -> tuple[Finding, ...]:
    """Return how many targets are met, and what wrong verdicts have in common."""
    return (
        Finding(f"{held(found)} targets are met.", all_hold(found)),
        *_wrong(runs),
        *_friction(runs),
    )


def _wrong(runs: Runs) -> list[Finding]:
    """Describe how the tasks with wrong verdicts ended."""
    said = []
    for variant in Variant:
        these = runs.of_variant(variant)
        wrong = these.select(these.judged & ~these.right)
        if wrong.right.size:
            counts = {outcome: wrong.outcomes(outcome) for outcome in Outcome}
            parts = ", ".join(f"{count} {outcome.name}" for outcome, count in counts.items() if count)
            said.append(Finding(f"Wrong, {variant.value}: {wrong.right.size} of {right(these).of} ended {parts}."))
    return said


def _friction(runs: Runs) -> list[Finding]:
    these = runs.of_variant(Variant.OTHER_FRICTION)
    different = right(these.select(~these.as_expected))
    alike = right(these.select(these.as_expected))
    skipped = int(np.count_nonzero(these.begun & ~these.judged))
    return [
        Finding(
            f"Another friction is called unexpected in {different.count} of {different.of} runs in which it changes "
            f"the predicted jump by more than {DIFFERENT:g} standard deviations, as expected in {alike.count} of "
            f"{alike.of} in which by less than {ALIKE:g}; {skipped} lie between and are not judged."
        )
    ]


def verdict(runs: Runs, found: Sequence[Comparison]) -> str:
    """Return the answer in one sentence."""
    share = right(runs.certain)
    word = "All targets are met" if all_hold(found) else "Not all targets are met"
    return (
        f"{100.0 * share.value:.1f} % of {share.of} verdicts on random tasks are right, another friction apart. {word}."
    )


def assumptions(envelope: OperatingEnvelope) -> tuple[str, ...]:
    """Return what was taken for what no source says."""
    deviations = envelope.deviations
    return (
        f"Ranges: {envelope.name}. Each value is uniform and independent, the heading of any direction, the stiffness "
        f"uniform in its logarithm. What is not drawn is that of the scenario {envelope.scenario}.",
        "Each task is run as expected, and with one thing different: the surface tilted by "
        f"{np.degrees(deviations.tilt):g} deg about a random axis in it, moved along the approach so that it is met "
        f"{1e3 * deviations.time:g} ms early or late, missing, with a friction that is {deviations.friction:g} higher "
        "or lower, with another stiffness, or with an arm whose inertia, or joint friction, differs from the model of "
        "the controller by the standard deviations in the robot's file. The planner never knows the stiffness.",
        "A tilted surface is called so by an unexpected impact or behaviour, one met early or late by an unexpected "
        "impact.",
        "The probability is judged on this mixture of runs, each task once in each variant but that with another "
        "friction, of which it is not beyond doubt what is as expected.",
    )
