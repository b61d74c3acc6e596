"""Findings and verdict of the sweeps, built from their numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from impact_control.classification import Algorithm, GrayArea
from impact_studies.classification.evaluation import Outcome, asked_for, reaches
from impact_studies.classification.sweep import EDGE, LEAST, SPHERE, CompletionErrors, completion_errors
from impact_studies.classification.trial import LEAD, SweptImpact
from impact_studies.frame.study import OWN_TARGET, Comparison, Finding, held

ASSUMPTIONS = (
    "The tunings of the source and most of its gray areas are inside pictures and not in its text: here a tuner finds "
    "the parameters, and only what the text says is compared. It is on the behaviour after the impact, parts (b), in "
    "steps of a degree: beside it are our verdicts by the behaviour alone at whole degrees. Of the impacts, parts (a), "
    "the text gives no result. Similar are gray areas that differ by a degree or less, significantly larger is one by "
    "more. The tuner looks for the least gray area of both parts together, by one tuning as in the source: what the "
    "impact part rejects, the behaviour part need not.",
    "e_eta is one number for each joint; t_xi, m and a are searched on a grid, all else follows from the acceptable "
    "trials with a reserve of a tenth, and for e_eta the half-width of the velocity noise besides.",
    f"Every trial starts {1e3 * LEAD:g} ms before the first touch, on the reference. The noise of (3.5) acts in "
    "observer, detector, completion, classifier and control.",
    "All approach angles and places of Table 4.1 are there, but at each only some of the tilts, others than at its "
    "neighbours; tuned on are all places and every third angle, half of the combinations. The quick version has 5 "
    "angles and 4 places. Every point tuned on has the acceptable tilts in steps of a degree, and half a degree; where "
    f"an acceptable set has less than {LEAST} trials by that, they are repeated with other noise, but not in the quick "
    "version.",
    "With contact completion zeta and epsilon are for the first touch, which a tilted edge makes early.",
    "Impacts are detected by (3.6) and (3.7), not with a fixed delay; the control leaves the interim phase when the "
    "contact is complete, or after 150 ms. The gain of the pose task is our choice.",
)


def completions(trials: Sequence[SweptImpact]) -> list[CompletionErrors]:
    """Return errors and delays of the reports of contact completion, by end-effector and tilt."""
    groups = []
    for tool in (EDGE, SPHERE):
        for low, high in ((0.0, 0.0), (0.5, 2.0), (2.5, 5.5), (6.0, 10.0)):
            name = f"{tool.removeprefix('planar_')}, {'level' if high == 0.0 else f'{low:g} to {high:g} deg'}"
            chosen = [t for t in trials if t.point.end_effector == tool and low <= abs(t.deviation) <= high]
            groups.append((name, chosen))
    return [completion_errors(name, group) for name, group in groups if group]


def verdict(compared: Sequence[Comparison]) -> str:
    """Return how many statements of the source hold and how many targets of our own are met, in one sentence."""
    ours, theirs = ([one for one in compared if (one.where == OWN_TARGET) is own] for own in (True, False))
    return (
        f"{held(theirs)} statements of the source hold, and {held(ours)} targets of our own are met, on noise that was "
        "not tuned on."
    )


def findings(
    outcomes: Sequence[Outcome], unreserved: Sequence[Outcome], reported: Sequence[CompletionErrors]
) -> tuple[Finding, ...]:
    """Describe width and cause of the gray areas, whether shares fall with the tilt, and errors of contact completion.

    unreserved: outcomes of experiments among `outcomes`, tuned without a reserve.
    """
    found = []
    for name, tool, algorithm in (
        ("Single impact, Algorithm 1", SPHERE, Algorithm.SINGLE),
        ("Simultaneous impact, Algorithm 2 as printed", EDGE, Algorithm.SIMULTANEOUS),
        ("Simultaneous impact, Algorithm 2 with contact completion", EDGE, Algorithm.COMPLETION),
        ("Single impact, Algorithm 2", SPHERE, Algorithm.SIMULTANEOUS),
    ):
        group = [o for o in outcomes if (o.experiment.end_effector, o.experiment.algorithm) == (tool, algorithm)]
        if group:
            found.append(_gray_finding(name, group))
    found += [_reason(outcome, outcomes, bare) for bare in unreserved for outcome in outcomes if _missed(outcome, bare)]
    found += [_rise_finding(outcome) for outcome in outcomes if outcome.overall.rises]
    alarms = sum(outcome.overall.false_alarms for outcome in outcomes)
    judged = sum(outcome.overall.judged_acceptable for outcome in outcomes)
    found.append(
        Finding(f"Of {judged} judgements on acceptable trials with new noise, {alarms} are unexpected.", not alarms)
    )
    touched, early = sum(e.touched for e in reported), sum(e.early for e in reported)
    missed, unfinished = sum(e.missed for e in reported), sum(e.unfinished for e in reported)
    found.append(
        Finding(
            f"Full contact is reported in {touched - missed - unfinished} of {touched} trials in which every point "
            f"touched; {missed} times it lasts and is missed, {unfinished} trials end before it lasts. In {early} of "
            f"{sum(e.trials for e in reported)} it is reported before every point touched.",
            not (missed or early),
        )
    )
    return tuple(found)


def _gray_finding(name: str, group: Sequence[Outcome]) -> Finding:
    widths = ", ".join(_sides(o.overall.area) for o in group)
    fine = all(reaches(o, width) for o in group for width in (o.overall.area.below, o.overall.area.above))
    return Finding(
        f"{name}: the gray area is {widths} deg wide below and above the three acceptable sets; our target is "
        f"{asked_for(group[0])}.",
        fine,
    )


def _missed(outcome: Outcome, bare: Outcome) -> bool:
    """Check that a tuning misses the target, and `bare` is the same one without a reserve."""
    same = outcome.experiment.figure == bare.experiment.figure
    return same and not (reaches(outcome, outcome.overall.area.below) and reaches(outcome, outcome.overall.area.above))


def _reason(outcome: Outcome, outcomes: Sequence[Outcome], bare: Outcome) -> Finding:
    """Describe why Algorithm 2 as printed leaves more than asked for: its thresholds are for every impact."""
    limits = outcome.parameters
    text = (
        f"Figure {outcome.experiment.figure}: the impacts alone leave a gray area of {_sides(outcome.impacts.area)} "
        f"deg, the behaviour alone {_sides(outcome.behaviour.area)}. Zeta and epsilon are for every impact, the last "
        f"bounce included, which takes {1e3 * limits.time_error:.0f} ms and {limits.configuration_error:.3f} rad"
    )
    first = [
        other
        for other in outcomes
        if other.experiment.algorithm is Algorithm.COMPLETION
        and other.experiment.acceptable == outcome.experiment.acceptable
    ]
    for other in first:
        limits = other.parameters
        text += (
            f"; for the first touch alone, with contact completion, {1e3 * limits.time_error:.0f} ms and "
            f"{limits.configuration_error:.3f} rad do, and the impacts alone leave {_sides(other.impacts.area)} deg"
        )
    return Finding(
        f"{text}. Without a reserve on the thresholds the gray area is {_sides(bare.overall.area)} deg; of "
        f"{bare.overall.judged_acceptable} acceptable trials {bare.overall.false_alarms} then come out unexpected.",
        holds=False,
    )


def _sides(area: GrayArea) -> str:
    return f"{_width(area.below)} and {_width(area.above)}"


def _rise_finding(outcome: Outcome) -> Finding:
    share = outcome.overall.shares
    tilts = sorted(share)
    words = []
    for tilt in outcome.overall.rises:
        nearer = tilts[tilts.index(tilt) - int(np.sign(tilt))]
        words.append(f"{100 * share[tilt]:.1f} % at {tilt:g} deg after {100 * share[nearer]:.1f} % at {nearer:g} deg")
    return Finding(
        f"Figure {outcome.experiment.figure}: the share that is called expected rises with the tilt: "
        + "; ".join(words)
        + "."
    )


def _width(width: float) -> str:
    return f"{width:g}" if math.isfinite(width) else "endless"
