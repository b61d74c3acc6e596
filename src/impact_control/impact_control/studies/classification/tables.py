"""Tables of the sweeps: gray areas beside the targets, tunings, shares, times, contact completion."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from impact_control.studies.classification.completion import LASTING, CompletionErrors
from impact_control.studies.classification.evaluation import Outcome
from impact_control.studies.classification.targets import asked_for, reaches
from impact_control.studies.classification.verdicts import Verdicts, degrees
from impact_control.studies.study import Cell, Column, Mark, Table, columns

_SIDES = ("below", "above")


def gray_table(outcomes: Sequence[Outcome]) -> Table:
    """Gray areas beside the targets of our own; what the source says of them is in `comparisons`."""
    rows: list[tuple[Cell, ...]] = []
    marks: dict[tuple[int, int], Mark] = {}
    for i, outcome in enumerate(outcomes):
        experiment, verdicts = outcome.experiment, outcome.overall
        area = verdicts.area
        low, high = experiment.acceptable
        rows.append(
            (
                experiment.figure,
                experiment.end_effector.removeprefix("planar_"),
                f"{low:g} to {high:g}",
                degrees(area.below),
                degrees(area.above),
                asked_for(outcome),
                100.0 * area.share,
                f"{verdicts.false_alarms} of {verdicts.judged_acceptable}",
            )
        )
        marks[i, 3] = Mark.of(reaches(outcome, area.below))
        marks[i, 4] = Mark.of(reaches(outcome, area.above))
        marks[i, 7] = Mark.of(verdicts.false_alarms == 0)
    return Table(
        name="gray_areas",
        title="Gray areas on noise that was not tuned on, and targets of our own",
        columns=(
            *columns(("figure", "tool")),
            *columns(("acceptable\ntilts", *_SIDES), "deg"),
            Column("our target"),
            Column("share that\nis gray", "%", 1),
            Column("acceptable,\nbut unexpected"),
        ),
        rows=tuple(rows),
        marks=marks,
        note=(
            "Green: as small as our target; no acceptable trial unexpected. An end: within the sweep. Of the verdict "
            "as a whole, on all tilts; what the source says is on the behaviour after the impact alone."
        ),
    )


def parts_table(outcomes: Sequence[Outcome], unreserved: Sequence[Outcome]) -> Table:
    """What each half of the conditions tells, and what the reserve of the thresholds costs."""
    bare = {outcome.experiment.figure: outcome for outcome in unreserved}
    rows: list[tuple[Cell, ...]] = []
    for outcome in outcomes:
        parts = (outcome.impacts.area, outcome.behaviour.area)
        cells: list[Cell] = [degrees(width) for area in parts for width in (area.below, area.above)]
        other = bare.get(outcome.experiment.figure)
        if other is None:
            cells += [None, None, None]
        else:
            bare_verdicts = other.overall
            alarms = f"{bare_verdicts.false_alarms} of {bare_verdicts.judged_acceptable}"
            cells += [degrees(bare_verdicts.area.below), degrees(bare_verdicts.area.above), alarms]
        rows.append((outcome.experiment.figure, *cells))
    return Table(
        name="parts",
        title="Gray areas if only the impacts, or only the behaviour after the last of them, could be unexpected",
        columns=(
            Column("figure"),
            *columns((f"{part},\n{side}" for part in ("impacts", "behaviour", "no reserve") for side in _SIDES), "deg"),
            Column("acceptable,\nbut unexpected"),
        ),
        rows=tuple(rows),
        note=(
            "Impacts: time, place and interval of each, and a contact that does not complete. No reserve: both, with "
            "thresholds at the largest value of an acceptable trial tuned on; the last column is the price of that."
        ),
    )


def tuning_table(outcomes: Sequence[Outcome]) -> Table:
    """What the tuner found."""
    rows: list[tuple[Cell, ...]] = []
    for outcome in outcomes:
        p = outcome.parameters
        margins = p.joint_margins(3)
        rows.append(
            (
                outcome.experiment.figure,
                p.window_length,
                p.decay_rate,
                *map(float, margins),
                p.configuration_error,
                1e3 * p.time_error,
                1e3 * p.post_impact_time,
                1e3 * p.impact_interval if math.isfinite(p.impact_interval) else None,
            )
        )
    return Table(
        name="tunings",
        title="Tunings that the tuner found",
        columns=(
            Column("figure"),
            Column("m"),
            Column("a", "1/s", 0),
            *columns((f"e_eta,\njoint {joint}" for joint in (1, 2, 3)), "rad/s", 3),
            Column("epsilon", "rad", 4),
            Column("zeta", "ms", 1),
            Column("t_xi", "ms", 0),
            Column("t_int", "ms", 1),
        ),
        rows=tuple(rows),
    )


def shares_tables(outcomes: Sequence[Outcome]) -> tuple[Table, ...]:
    """Share of trials that are called expected, by tilt: as a whole, by the impacts alone, by the behaviour alone."""
    parts = (
        ("shares", "", "As a whole", [outcome.overall for outcome in outcomes]),
        ("impact_shares", " by time and place of the impacts, Figs 4.12 to 4.20 (a)", "If only the impacts could be "
         "unexpected", [outcome.impacts for outcome in outcomes]),
        ("behaviour_shares", " by the behaviour after the impacts, Figs 4.12 to 4.20 (b)", "If only the behaviour "
         "could be unexpected", [outcome.behaviour for outcome in outcomes]),
    )  # fmt: skip
    return tuple(_shares_table(outcomes, *part) for part in parts)


def _shares_table(outcomes: Sequence[Outcome], name: str, what: str, note: str, verdicts: Sequence[Verdicts]) -> Table:
    shares = [one.shares for one in verdicts]
    tilts = sorted({tilt for share in shares for tilt in share})
    return Table(
        name=name,
        title=f"Share of trials that is called expected{what}",
        columns=(
            Column("tilt", "deg", 1),
            *columns((outcome.experiment.figure.replace(", ", ",\n") for outcome in outcomes), "%", 1),
        ),
        rows=tuple((tilt, *(100.0 * share.get(tilt, math.nan) for share in shares)) for tilt in tilts),
        note=f"{note}; over all approach angles and places of impact.",
    )


def times_table(outcomes: Sequence[Outcome]) -> Table:
    """When an unexpected trial is named, after the first detection."""
    rows: list[tuple[Cell, ...]] = []
    for outcome in outcomes:
        times = 1e3 * outcome.decided_after[outcome.unexpected]
        quantiles = np.quantile(times, (0.0, 0.25, 0.5, 0.75, 0.95, 1.0)) if times.size else np.full(6, math.nan)
        rows.append((outcome.experiment.figure, int(times.size), *map(float, quantiles)))
    return Table(
        name="decision_times",
        title="Time from the first impact to the verdict, of what is unexpected",
        columns=(
            *columns(("figure", "trials")),
            *columns(("least", "quarter", "median", "three quarters", "95 %", "largest"), "ms", 1),
        ),
        rows=tuple(rows),
    )


def completion_table(errors: Sequence[CompletionErrors]) -> Table:
    """How well contact completion was told."""
    rows: list[tuple[Cell, ...]] = []
    marks: dict[tuple[int, int], Mark] = {}
    for i, e in enumerate(errors):
        rows.append((e.name, e.trials, e.touched, e.missed, e.unfinished, e.early, *(1e3 * q for q in e.delays)))
        marks[i, 3] = Mark.of(e.missed == 0)
        marks[i, 5] = Mark.of(e.early == 0)
    return Table(
        name="completion",
        title="Contact completion: told from measured signals, against the gaps of the simulation",
        columns=(
            *columns(("trials", "number", "every point\ntouched", "missed")),
            *columns(("end before\nit lasts", "told before\nthey touched")),
            *columns((f"delay,\n{name}" for name in ("5 %", "median", "95 %")), "ms", 1),
        ),
        rows=tuple(rows),
        marks=marks,
        note=(
            "Delay from the first touch of the last point to the report: the bounces in between are waited for. Where "
            f"not all points are closed for the last {1e3 * LASTING:.0f} ms, the trial ends before the contact lasts."
        ),
    )
