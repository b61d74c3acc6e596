"""Tables of the sweeps: gray areas beside the targets, tunings, shares, times, contact completion."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from impact_control.classification import fixed_margin
from impact_studies.classification.evaluation import Outcome, Verdicts, asked_for, degrees, reaches
from impact_studies.classification.sweep import LASTING, CompletionErrors
from impact_studies.frame.study import Cell, Column, Judged, Table, columns

_SIDES = ("below", "above")


def gray_table(outcomes: Sequence[Outcome]) -> Table:
    """Gray areas beside the targets of our own; the statements of the source on them are in `comparisons`."""

    def row(outcome: Outcome) -> Iterable[Cell | Judged]:
        experiment, verdicts = outcome.experiment, outcome.overall
        low, high = experiment.acceptable
        yield from (experiment.figure, experiment.end_effector.removeprefix("planar_"), f"{low:g} to {high:g}")
        yield from (
            Judged(degrees(width), reaches(outcome, width)) for width in (verdicts.area.below, verdicts.area.above)
        )
        yield from (asked_for(outcome), 100.0 * verdicts.area.share)
        yield Judged(f"{verdicts.false_alarms} of {verdicts.judged_acceptable}", verdicts.false_alarms == 0)

    return Table.of(
        "gray_areas",
        "Gray areas on noise that was not tuned on, and targets of our own",
        (
            *columns(("figure", "tool")),
            *columns(("acceptable\ntilts", *_SIDES), "deg"),
            Column("our target"),
            Column("share that\nis gray", "%", 1),
            Column("acceptable,\nbut unexpected"),
        ),
        map(row, outcomes),
        "Green: as small as our target; no acceptable trial unexpected. An end: within the sweep. Of the verdict "
        "as a whole, on all tilts; what the source says is on the behaviour after the impact alone.",
    )


def parts_table(outcomes: Sequence[Outcome], unreserved: Sequence[Outcome]) -> Table:
    """Gray areas of each half of the conditions alone, and the price of the reserve of the thresholds."""
    bare = {outcome.experiment.figure: outcome.overall for outcome in unreserved}

    def row(outcome: Outcome) -> Iterable[Cell]:
        yield outcome.experiment.figure
        for area in (outcome.impacts.area, outcome.behaviour.area):
            yield from (degrees(area.below), degrees(area.above))
        other = bare.get(outcome.experiment.figure)
        if other is None:
            yield from (None,) * 3
        else:
            yield from (degrees(other.area.below), degrees(other.area.above))
            yield f"{other.false_alarms} of {other.judged_acceptable}"

    return Table.of(
        "parts",
        "Gray areas if only the impacts, or only the behaviour after the last of them, could be unexpected",
        (
            Column("figure"),
            *columns((f"{part},\n{side}" for part in ("impacts", "behaviour", "no reserve") for side in _SIDES), "deg"),
            Column("acceptable,\nbut unexpected"),
        ),
        map(row, outcomes),
        "Impacts: time, place and interval of each, and a contact that does not complete. No reserve: both, with "
        "thresholds at the largest value of an acceptable trial tuned on; the last column is the price of that.",
    )


def tuning_table(outcomes: Sequence[Outcome]) -> Table:
    """Parameters that the tuner found."""

    def row(outcome: Outcome) -> Iterable[Cell | np.generic]:
        p = outcome.parameters
        margins = fixed_margin(p.envelope_margin, 3).table[0]
        yield from (outcome.experiment.figure, p.window_length, p.decay_rate, *margins)
        yield from (p.configuration_error, 1e3 * p.time_error, 1e3 * p.post_impact_time)
        yield None if p.impact_interval is None else 1e3 * p.impact_interval

    return Table.of(
        "tunings",
        "Tunings that the tuner found",
        (
            *columns(("figure", "m")),
            Column("a", "1/s", 0),
            *columns((f"e_eta,\njoint {joint}" for joint in (1, 2, 3)), "rad/s", 3),
            Column("epsilon", "rad", 4),
            Column("zeta", "ms", 1),
            Column("t_xi", "ms", 0),
            Column("t_int", "ms", 1),
        ),
        map(row, outcomes),
    )


def shares_tables(outcomes: Sequence[Outcome]) -> tuple[Table, ...]:
    """Share of trials that are called expected, by tilt: as a whole, by the impacts alone, by the behaviour alone."""
    by_impacts = " by time and place of the impacts, Figs 4.12 to 4.20 (a)"
    by_behaviour = " by the behaviour after the impacts, Figs 4.12 to 4.20 (b)"
    only = "If only the {} could be unexpected"

    def table(name: str, what: str, note: str, verdicts: Sequence[Verdicts]) -> Table:
        shares = [one.shares for one in verdicts]
        figures = (outcome.experiment.figure.replace(", ", ",\n") for outcome in outcomes)
        return Table.of(
            name,
            f"Share of trials that is called expected{what}",
            (Column("tilt", "deg", 1), *columns(figures, "%", 1)),
            (
                (tilt, *(100.0 * share.get(tilt, math.nan) for share in shares))
                for tilt in sorted({tilt for share in shares for tilt in share})
            ),
            f"{note}; over all approach angles and places of impact.",
        )

    return (
        table("shares", "", "As a whole", [one.overall for one in outcomes]),
        table("impact_shares", by_impacts, only.format("impacts"), [one.impacts for one in outcomes]),
        table("behaviour_shares", by_behaviour, only.format("behaviour"), [one.behaviour for one in outcomes]),
    )


def times_table(outcomes: Sequence[Outcome]) -> Table:
    """Time from the first detection to the verdict, of unexpected trials."""

    def row(outcome: Outcome) -> Iterable[Cell | np.generic]:
        times = 1e3 * outcome.decided_after[outcome.unexpected]
        quantiles = np.quantile(times, (0.0, 0.25, 0.5, 0.75, 0.95, 1.0)) if times.size else np.full(6, math.nan)
        return (outcome.experiment.figure, times.size, *quantiles)

    return Table.of(
        "decision_times",
        "Time from the first impact to the verdict, of what is unexpected",
        (
            *columns(("figure", "trials")),
            *columns(("least", "quarter", "median", "three quarters", "95 %", "largest"), "ms", 1),
        ),
        map(row, outcomes),
    )


def completion_table(errors: Sequence[CompletionErrors]) -> Table:
    """Errors and delays of the reports of contact completion."""
    return Table.of(
        "completion",
        "Contact completion: reported from measured signals, against the gaps of the simulation",
        (
            *columns(("trials", "number", "every point\ntouched", "missed")),
            *columns(("end before\nit lasts", "reported before\nthey touched")),
            *columns((f"delay,\n{name}" for name in ("5 %", "median", "95 %")), "ms", 1),
        ),
        (
            (
                *(e.name, e.trials, e.touched, Judged(e.missed, e.missed == 0)),
                *(e.unfinished, Judged(e.early, e.early == 0)),
                *(1e3 * delay for delay in e.delays),
            )
            for e in errors
        ),
        "Delay from the first touch of the last point to the report: the bounces in between are waited for. Where "
        f"not all points are closed for the last {1e3 * LASTING:.0f} ms, the trial ends before the contact lasts.",
    )
