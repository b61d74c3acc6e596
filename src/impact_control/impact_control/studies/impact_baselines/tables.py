"""The methods side by side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from impact_control.studies.impact_baselines.outcome import AROUND, LEAST_CUT, MEASURES, Outcome
from impact_control.studies.study import Cell, Column, Comparison, Mark, Table
from impact_control.types import Vector


def medians_table(outcome: Outcome) -> Table:
    """Return the median of every measure by method."""
    count = len(next(iter(outcome.trials.values())))
    title = f"Medians of {count} trials"
    return _table(outcome, "medians", title, np.nanmedian, "The same surfaces and the same noise for all methods.")


def worst_table(outcome: Outcome) -> Table:
    """Return what 95 % of the trials stay below, by method."""
    return _table(outcome, "worst", "What 95 % of the trials stay below", lambda values: np.nanpercentile(values, 95))


def _table(
    outcome: Outcome, name: str, title: str, statistic: Callable[[Vector], float], note: str = ""
) -> Table:  # fmt: skip
    head = (Column("method"), *(Column(one.name, one.unit, one.decimals) for one in MEASURES))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (method, *(float(statistic(outcome.values(method, measure))) for measure in MEASURES))
        for method in outcome.trials
    )
    return Table(name, title, head, rows, note=note)


def comparisons(outcome: Outcome) -> tuple[Comparison, ...]:
    """Return the targets, which are ours: no source compares these methods."""
    cut, broken = outcome.cut(), outcome.broken()
    return (
        Comparison(
            "target of our own",
            "cut of the median peak feedback torque against plain tracking, at least",
            LEAST_CUT,
            cut,
            "%",
            Mark.of(cut >= LEAST_CUT),
        ),
        Comparison(
            "target of our own", "trials in which a limit was broken", 0.0, float(broken), mark=Mark.of(broken == 0)
        ),
    )


def target_table(outcome: Outcome) -> Table:
    """Return the target of the comparison beside what was measured."""
    measured, limits = outcome.cut(), outcome.broken()
    paired, around = float(np.median(outcome.paired_cut())), float(np.median(outcome.paired_cut(AROUND)))
    met = Mark.of(measured >= LEAST_CUT)
    kept = Mark.of(limits == 0)
    return Table(
        "targets",
        "Targets",
        (Column("what"), Column("unit"), Column("target"), Column("measured", "", 1)),
        (
            ("cut of the median peak feedback torque against plain tracking", "%", f"at least {LEAST_CUT:g}", measured),
            ("median of the cuts on each surface", "%", "", paired),
            ("the same from the nominal time on, where the impact is late", "%", "", around),
            ("trials in which a limit was broken", "", "0", limits),
        ),
        marks={(0, 3): met, (3, 3): kept},
    )
