"""The runs in tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from impact_control.pipeline import Outcome
from impact_control.util.types import Vector
from impact_studies.envelope.outcome import ALIKE, DIFFERENT, Bin, Law, Runs
from impact_studies.envelope.statements import LIMITS, RIGHT, delays, force_errors, missed, right
from impact_studies.envelope.tasks import Variant
from impact_studies.frame.study import OWN_TARGET, Cell, Column, Comparison, Judged, Table, columns, targets_table

_OUTCOMES = {
    "as expected": (Outcome.SUCCEEDED,),
    "impact\nunexpected": (Outcome.IMPACT_UNEXPECTED,),
    "behaviour\nunexpected": (Outcome.POST_IMPACT_UNEXPECTED,),
    "no\nimpact": (Outcome.NO_IMPACT,),
    "fault": (Outcome.FAULT,),
    "other": (Outcome.CANCELLED, Outcome.UNDECIDED, Outcome.REFUSED),
}

_DECADES = (1e6, 1e7, 1e8, 1e9, 1e11)

_SHOWN_WRONG = 40
"""Rows of the table of wrong verdicts; the file of tasks has all."""


def robots_table(found: Sequence[Comparison]) -> Table:
    """Return the targets of each robot beside the measured values."""
    heads = {"where": "robot", "what": "what", "published": "target", "own": "measured"}
    return targets_table(
        found,
        {name: Column(head) for name, head in heads.items()},
        note="In brackets: the interval of Wilson that holds the true share with 95 %.",
    )


def comparisons(found: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Return those with a verdict, as targets of ours: no source has such tasks."""
    return tuple(
        replace(one, where=OWN_TARGET, what=f"{one.where}: {one.what}") for one in found if one.holds is not None
    )


def verdicts_table(runs: Runs) -> Table:
    """Return the outcomes of every robot and variant."""

    def row(robot: str, variant: Variant) -> Iterable[Cell | Judged]:
        these = runs.select(runs["robot"] == robot).of_variant(variant)
        share = right(these)
        yield from (robot, variant.value, int(np.count_nonzero(these.begun)))
        yield from (these.outcomes(*outcomes) for outcomes in _OUTCOMES.values())
        yield from (share.count and share.of, share.count)
        first, *interval = share.percent
        judged = variant is not Variant.OTHER_FRICTION and share.of
        yield from (Judged(first, share.value >= RIGHT) if judged else first, *interval)

    return Table.of(
        "verdicts",
        "Outcomes",
        (
            *columns(("robot", "really there", "begun", *_OUTCOMES, "judged", "right")),
            *columns(("right", "from", "to"), "%", 1),
        ),
        (row(robot, variant) for robot in runs.robots for variant in Variant),
        "From, to: the interval of Wilson that holds the true share with 95 %. Another friction is to be found "
        f"unexpected where it moves the velocity of some joint after the impact by more than {DIFFERENT:g} of its "
        f"standard deviations by the impact map, as expected where by less than {ALIKE:g}; else it is not judged.",
    )


def friction_table(runs: Runs) -> Table:
    """Return the outcomes with another friction by its effect on the jump."""
    these = runs.of_variant(Variant.OTHER_FRICTION)

    def row(lower: float, upper: float) -> Iterable[Cell]:
        some = these.select(these.begun & (these["jump_change"] >= lower) & (these["jump_change"] < upper))
        succeeded, count = some.outcomes(Outcome.SUCCEEDED), int(some.begun.size)
        words = f"{lower:g} to {upper:g}" if np.isfinite(upper) else f"above {lower:g}"
        return words, count, succeeded, 100.0 * succeeded / count if count else None

    return Table.of(
        "friction",
        "Another friction, by what it changes",
        (*columns(("change in standard deviations", "runs", "as expected")), Column("as expected", "%", 1)),
        (row(*bounds) for bounds in pairwise((0.0, ALIKE, DIFFERENT, 6.0, np.inf))),
    )


def delays_table(runs: Runs) -> Table:
    """Return the delays of the detection and the missed contacts by stiffness."""
    return Table.of(
        "delays",
        "From contact to detection",
        (
            Column("robot"),
            Column("stiffness from", "N/m^1.5"),
            *columns(("detected", "not detected")),
            *columns(("median", "95 %", "largest"), "ms", 2),
        ),
        (
            (robot, f"{lower:.0e}", some.size, missed(these, upper, lower), *_worst(some))
            for robot in runs.robots
            for these in [runs.select(runs["robot"] == robot)]
            for lower, upper in pairwise(_DECADES)
            for some in [1e3 * delays(these, upper, lower)]
        ),
    )


def limits_table(runs: Runs) -> Table:
    """Return the largest shares of the limits, and the errors of the force at the end."""

    def row(robot: str) -> Iterable[Cell]:
        these = runs.select(runs["robot"] == robot)
        shares = (100.0 * float(np.max(these.finite(name), initial=0.0)) for name in LIMITS)
        return (robot, *shares, *_worst(100.0 * np.abs(force_errors(these))))

    return Table.of(
        "limits",
        "Largest use of limits, and force at the end",
        (
            Column("robot"),
            *columns(("position", "velocity", "torque", "torque rate"), "% of the limit", 0),
            *columns(("force error\nmedian", "force error\n95 %", "force error\nlargest"), "%", 1),
        ),
        map(row, runs.robots),
    )


def refusals_table(runs: Runs) -> Table:
    """Return the reasons of refused tasks."""
    tasks = runs.of_variant(Variant.AS_EXPECTED)
    counts = Counter(zip(tasks["robot"].tolist(), tasks["refusal"].tolist(), strict=True))
    total = Counter(tasks["robot"].tolist())
    sums = {reason: sum(counts[robot, reason] for robot in total) for _, reason in counts if reason}

    def row(reason: str) -> Iterable[Cell]:
        yield reason
        for robot in runs.robots:
            yield from (counts[robot, reason], 100.0 * counts[robot, reason] / total[robot])

    return Table.of(
        "refusals",
        "Why tasks are refused",
        (Column("limit and key"), *(Column(robot, *shown) for robot in runs.robots for shown in ((), ("%", 1)))),
        map(row, sorted(sums, key=lambda one: (-sums[one], one))),
        "Before anything moves; the first limit that is violated, and the entry of the scenario that drives it.",
    )


def reliability_table(bins: Sequence[Bin]) -> Table:
    """Return the probability against the frequency in its bins."""

    def row(one: Bin) -> Iterable[Cell | Judged]:
        yield from (f"{one.lower:.1f} to {one.upper:.1f}", one.expected.of, 100.0 * one.mean)
        if not one.expected.of:
            yield from (None,) * 3
        else:
            share, *interval = one.expected.percent
            yield Judged(share, one.close)
            yield from interval

    head = (*columns(("probability", "runs")), *columns(("mean", "as expected", "from", "to"), "%", 1))
    return Table.of("reliability", "Probability that all is as expected, against the frequency", head, map(row, bins))


def laws_table(laws: Sequence[tuple[str, Law]], fitted: Runs, judged: Runs) -> Table:
    """Return laws of the probability by name, with their loss on the runs fitted to and on those judged on."""
    return Table.of(
        "laws",
        "Laws of the probability",
        (
            Column("law"),
            *columns(("hidden", "growth", "mistaken", "fall", "loss, fitted to", "loss, judged on"), "", 4),
        ),
        (
            (name, *vars(law).values(), *(law.loss(some["deviation"], some.as_expected) for some in (fitted, judged)))
            for name, law in laws
        ),
        "P = 1 - hidden d^growth up to the limit, mistaken d^-fall beyond, d the largest deviation as a part of its "
        "limit. Fitted to the runs of tasks with an even number, judged on the others. Loss: mean of -ln P of what "
        "turned out.",
    )


def wrong_table(runs: Runs) -> Table:
    """Return wrong verdicts with their tasks."""
    wrong = runs.select(runs.judged & ~runs.right)
    names = ("robot", "variant", "number", "speed", "approach_angle", "friction", "force", "tilt", "outcome")
    cells = zip(*(wrong[name].tolist() for name in (*names, "deviation")), strict=True)
    rows = [
        (robot, variant, number, speed, np.degrees(angle), mu, force, np.degrees(tilt), Outcome(outcome).name, d)
        for robot, variant, number, speed, angle, mu, force, tilt, outcome, d in cells
    ]
    return Table.of(
        "wrong",
        "Wrong verdicts",
        (
            *columns(("robot", "really there", "task")),
            Column("speed", "m/s", 3),
            Column("angle", "deg", 0),
            Column("friction", "", 2),
            Column("force", "N", 0),
            Column("tilt", "deg", 0),
            Column("outcome"),
            Column("deviation", "", 2),
        ),
        rows[:_SHOWN_WRONG],
        f"The first {_SHOWN_WRONG} of {len(rows)}; tasks.h5 has all." if len(rows) > _SHOWN_WRONG else "",
    )


def _worst(values: Vector) -> list[Cell]:
    """Return median, 95 % quantile and largest value; nothing of none."""
    return np.percentile(values, [50.0, 95.0, 100.0]).tolist() if values.size else [None] * 3
