"""What the sweeps say, in sentences built from their numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from impact_control.classification import Algorithm
from impact_control.studies.classification.completion import CompletionErrors, completion_errors
from impact_control.studies.classification.evaluation import Outcome
from impact_control.studies.classification.sweep import EDGE, SPHERE, SweptImpact
from impact_control.studies.classification.tables import LARGEST_GRAY, reaches
from impact_control.studies.classification.trial import LEAD
from impact_control.studies.study import Finding, Mark

ASSUMPTIONS = (
    "The tunings of the source and most of its gray areas are inside pictures and not in its text: here a tuner finds "
    "the parameters, and only what the text says is compared.",
    "e_eta is one number for each joint; t_xi, m and a are searched on a grid, all else follows from the acceptable "
    "trials with a reserve of a tenth.",
    f"Every trial starts {1e3 * LEAD:g} ms before the first touch, on the reference. The noise of (3.5) acts in "
    "observer, detector, completion, classifier and control.",
    "All approach angles and places of Table 4.1 are there, but at each only some of the tilts, others than at its "
    "neighbours; the quick version has 5 angles and 4 places.",
    "With contact completion zeta and epsilon are for the first touch, which a tilted edge makes early.",
    "Impacts are detected by (3.6) and (3.7), not with a fixed delay; the control leaves the interim phase when the "
    "contact is complete, or after 150 ms. The gain of the pose task is our choice.",
)


def completions(trials: Sequence[SweptImpact]) -> list[CompletionErrors]:
    """Return how well the completion of the edge was told, by tilt."""
    edge = [trial for trial in trials if trial.point.end_effector == EDGE]
    groups = []
    for low, high in ((0.0, 0.0), (0.5, 2.0), (2.5, 5.5), (6.0, 10.0)):
        name = "edge, level" if high == 0.0 else f"edge, {low:g} to {high:g} deg"
        groups.append((name, [trial for trial in edge if low <= abs(trial.tilt) <= high]))
    return [completion_errors(name, group) for name, group in groups if group]


def verdict(outcomes: Sequence[Outcome]) -> tuple[bool, str]:
    """Return whether all gray areas are as small as they are to be without false alarms, and the sentence on it."""
    fine = [o for o in outcomes if reaches(o, o.area.below) and reaches(o, o.area.above) and not o.false_alarms]
    return len(fine) == len(outcomes), (
        f"{len(fine)} of {len(outcomes)} tunings have a gray area as small as asked for, and call nothing acceptable "
        "unexpected, on noise that they were not tuned on."
    )


def findings(outcomes: Sequence[Outcome], told: Sequence[CompletionErrors]) -> tuple[Finding, ...]:
    """Say how wide the gray areas are, whether shares fall with the tilt, and how well completion is told."""
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
    found += [_rise_finding(outcome) for outcome in outcomes if outcome.rises()]
    alarms = sum(outcome.false_alarms for outcome in outcomes)
    judged = sum(int(outcome.acceptable.sum()) for outcome in outcomes)
    found.append(
        Finding(
            f"Of {judged} judgements on acceptable trials with new noise, {alarms} are unexpected.",
            Mark.BAD if alarms else Mark.GOOD,
        )
    )
    missed, early = sum(e.missed for e in told), sum(e.early for e in told)
    found.append(
        Finding(
            f"Full contact is told in all but {missed} of {sum(e.touched for e in told)} trials in which every point "
            f"of the edge touched, and in {early} of {sum(e.trials for e in told)} before that.",
            Mark.GOOD if not (missed or early) else Mark.BAD,
        )
    )
    return tuple(found)


def _gray_finding(name: str, group: Sequence[Outcome]) -> Finding:
    widths = ", ".join(f"{_width(o.area.below)} and {_width(o.area.above)}" for o in group)
    fine = all(reaches(o, width) for o in group for width in (o.area.below, o.area.above))
    asked = f"at most {LARGEST_GRAY:g} deg" if group[0].experiment.end_effector == EDGE else "an end"
    return Finding(
        f"{name}: the gray area is {widths} deg wide below and above the three acceptable sets; asked for is {asked}.",
        Mark.GOOD if fine else Mark.BAD,
    )


def _rise_finding(outcome: Outcome) -> Finding:
    share = outcome.expected_share()
    tilts = sorted(share)
    words = []
    for tilt in outcome.rises():
        nearer = tilts[tilts.index(tilt) - int(np.sign(tilt))]
        words.append(f"{100 * share[tilt]:.1f} % at {tilt:g} deg after {100 * share[nearer]:.1f} % at {nearer:g} deg")
    return Finding(
        f"Figure {outcome.experiment.figure}: the share that is called expected rises with the tilt: "
        + "; ".join(words)
        + ".",
        Mark.BAD,
    )


def _width(width: float) -> str:
    return f"{width:g}" if math.isfinite(width) else "endless"
