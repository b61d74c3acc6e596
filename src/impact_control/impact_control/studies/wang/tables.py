"""Tables of the study, with Table I of the source beside ours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from impact_control.impacts.inverse_inertia import ContactVelocityTable
from impact_control.studies.study import Cell, Column, Mark, Table, columns
from impact_control.studies.wang import published
from impact_control.studies.wang.evaluation import Case, Limit, Reading, best, crossing, mean_error, winners
from impact_control.studies.wang.measurement import FittedStop
from impact_control.studies.wang.options import OPTIONS_OF_WANG, InertiaOption
from impact_control.studies.wang.trials import COMPARED, ControlMode

_ALL = tuple(InertiaOption)
_OPTIONS = tuple(option.value for option in _ALL)
_STOPS = ("fitted law", "contact\npoint")
"""Heads of what is measured by the two readings, in their order."""


def summary_table(cases: Sequence[Case]) -> Table:
    """Mean error of every option by mode and reading, and which is nearest how often."""
    rows: list[tuple[Cell, ...]] = []
    marks: dict[tuple[int, int], Mark] = {}
    for mode in COMPARED:
        chosen = [case for case in cases if case.mode is mode]
        for reading in Reading:
            errors = [100.0 * mean_error(chosen, option, reading) for option in _ALL]
            marks[len(rows), 2 + _ALL.index(best(chosen, OPTIONS_OF_WANG, reading))] = Mark.GOOD
            marks[len(rows), 2 + _ALL.index(best(chosen, _ALL, reading))] = Mark.GOOD
            nearest = (_count(winners(chosen, options, reading)) for options in (OPTIONS_OF_WANG, _ALL))
            rows.append((mode.value, reading.value, *errors, *nearest))
    return Table(
        name="options",
        title="Mean absolute error of the predicted impulse, and how often an option is the nearest",
        columns=(
            *columns(("control", "impulse up to")),
            *columns(_OPTIONS, "%", 1),
            *columns(("nearest of Wang's four", "nearest of all")),
        ),
        rows=tuple(rows),
        marks=marks,
        note="Good: the smallest error of Wang's four options, which have the links alone, and of all.",
    )


def impulse_table(cases: Sequence[Case]) -> Table:
    """Fig. 9 in numbers: measured and predicted impulses of all cases."""
    rows: list[tuple[Cell, ...]] = []
    marks: dict[tuple[int, int], Mark] = {}
    for case in cases:
        measured = [case.measured(reading) for reading in (Reading.FITTED, Reading.EXACT)]
        marks[len(rows), 7 + _ALL.index(case.nearest(OPTIONS_OF_WANG, Reading.FITTED))] = Mark.GOOD
        statistics = (float(value) for impulses in measured for value in (impulses.mean(), impulses.std()))
        predictions = (case.predictions[option] for option in _ALL)
        rows.append((case.mode.value, case.approach.configuration.name, case.speed, *statistics, *predictions))
    return Table(
        name="impulses",
        title="End-of-compression impulse, measured and predicted (Fig. 9)",
        columns=(
            *columns(("control", "configuration")),
            Column("reference", "m/s", 2),
            *columns((f"{stop},\n{statistic}" for stop in _STOPS for statistic in ("mean", "std")), "Ns", 4),
            *columns(_OPTIONS, "Ns", 3),
        ),
        rows=tuple(rows),
        marks=marks,
        note=(
            "Measured up to the stop of the fitted law and up to that of the contact point. Good: the one of Wang's "
            "four options nearest to the first of these. The measured impulses of Fig. 9 are in the picture of the "
            "source only, not in its text."
        ),
    )


def velocity_table(ours: ContactVelocityTable, speeds: Sequence[float], names: Sequence[str]) -> Table:
    """Table I with ours beside it; speeds [m/s] and names of the configurations that were run."""
    chosen = [published.SPEEDS.index(speed) for speed in speeds]
    quantities = (
        ("exact [m/s]", ours.exact, published.EXACT),
        ("approximation [m/s]", ours.approximation, published.APPROXIMATION),
        ("ratio e_a [-]", ours.ratio, published.RATIO),
    )
    rows: list[tuple[Cell, ...]] = []
    for name, here, there in quantities:
        for i, configuration in enumerate(names):
            rows.append((name, configuration, "here", *(float(value) for value in here[i])))
            rows.append((name, configuration, "published", *(float(value) for value in there[i, chosen])))
    return Table(
        name="table_i",
        title="Contact velocity and that of the composite rigid body (Table I)",
        columns=(
            *columns(("quantity", "configuration", "from")),
            *columns((f"{speed:.2f} m/s" for speed in speeds), decimals=4),
        ),
        rows=tuple(rows),
        note=(
            "The mean ratio of each configuration is not a result: the configurations were chosen by it. The ratio is "
            "kinematic, so that ours hardly changes with the speed; that of the source does by up to 0.1, for another "
            "posture at every speed. The arm of the source is 4 to 9 mm/s slower than its reference, ours is not."
        ),
    )


def mode_table(limits: Sequence[Limit]) -> Table:
    """What each control mode does at the same speed, without noise."""
    rows: list[tuple[Cell, ...]] = []
    for limit in limits:
        impulses = limit.impulses
        rows.append(
            (
                limit.approach.configuration.name,
                limit.mode.value,
                limit.mass(Reading.FITTED),
                limit.mass(Reading.EXACT),
                impulses.push / impulses.speed,
                impulses.whole / impulses.speed,
                1e3 * impulses.fitted_time,
                1e3 * impulses.compression_time,
                1e3 * impulses.peak_time,
                1e3 * impulses.push_time,
                "yes" if impulses.separates else "no",
                impulses.fitted_restitution,
                impulses.printed_restitution,
                100.0 * impulses.misfit,
                1e3 * limit.detection,
            )
        )
    return Table(
        name="modes",
        title="All control modes at 0.12 m/s without noise: impulses over the speed, and times after the touch",
        columns=(
            *columns(("configuration", "control")),
            *columns((*_STOPS, "first\npush"), "kg", 2),
            Column("whole\nrecord", "kg", 1),
            *columns((*(f"{stop}\nat" for stop in _STOPS), "peak\nat"), "ms", 2),
            Column("push\nends at", "ms", 1),
            Column("contact\nopens"),
            *columns(("restitution\nof the fit", "by (25)"), "-", 2),
            Column("misfit", "% of peak", 1),
            Column("back\nat", "ms", 2),
        ),
        rows=tuple(rows),
        note=(
            "Impulses up to the stop of the fitted law, up to that of the contact point, of the first push, and of the "
            "whole record, which is 45 ms long; what it holds beyond the first push is what the reference pushes until "
            "it has been pulled back, and no impact any more. Back at: when the arm is pulled back."
        ),
    )


def wall_table(sweeps: Sequence[Sequence[Limit]], options: Sequence[InertiaOption]) -> Table:
    """What the stiffness of the wall does to the measured mass; each sweep is one configuration and mode."""
    rows: list[tuple[Cell, ...]] = []
    for sweep in sweeps:
        for reading in Reading:
            masses = [limit.mass(reading) for limit in sweep]
            crossings = (crossing(sweep, option, reading) for option in options)
            rows.append(
                (
                    sweep[0].approach.configuration.name,
                    sweep[0].mode.value,
                    reading.value,
                    *masses,
                    *(None if stiffness is None else 1e-6 * stiffness for stiffness in crossings),
                )
            )
    return Table(
        name="walls",
        title="Impulse over the speed for other walls [kg], and the wall for which an option is exact",
        columns=(
            *columns(("configuration", "control", "impulse up to")),
            *columns((f"{1e-6 * limit.stiffness:g}\nN/um" for limit in sweeps[0]), decimals=2),
            *columns((f"{option.value}\nexact at" for option in options), "N/um", 3),
        ),
        rows=tuple(rows),
        note=(
            "Exact at: the largest stiffness at which the measured mass passes that of the option; '-' where it does "
            "not. On the softest walls under velocity control the first push outlasts the record."
        ),
    )


def restitution_table(limits: Sequence[Limit]) -> Table:
    """What the restitution of the materials does to the measured mass and to the fit."""
    rows = [
        (
            limit.approach.configuration.name,
            limit.mode.value,
            limit.restitution,
            limit.mass(Reading.FITTED),
            limit.mass(Reading.EXACT),
            limit.impulses.fitted_restitution,
            limit.impulses.printed_restitution,
            100.0 * limit.impulses.misfit,
        )
        for limit in limits
    ]
    return Table(
        name="materials",
        title="Materials of another restitution, same stiffness: impulses over the speed",
        columns=(
            *columns(("configuration", "control")),
            Column("restitution of\nthe materials", "-", 3),
            *columns(_STOPS, "kg", 2),
            *columns(("restitution\nof the fit", "by (25)"), "-", 2),
            Column("misfit", "% of peak", 1),
        ),
        rows=tuple(rows),
    )


def given_mass_table(given: Sequence[tuple[Limit, InertiaOption, FittedStop | None]]) -> Table:
    """What the stop of the fitted law becomes when the mass of the law is given."""
    rows: list[tuple[Cell, ...]] = []
    for limit, option, stop in given:
        mass, speed = limit.masses[option], limit.impulses.speed
        numbers: tuple[Cell, ...] = (None,) * 5
        if stop is not None:
            ratio = stop.impulse / speed / mass
            numbers = (stop.impulse / speed, ratio, 1e3 * stop.time, stop.printed_restitution, 100.0 * stop.misfit)
        rows.append((limit.approach.configuration.name, limit.mode.value, option.value, mass, *numbers))
    return Table(
        name="given_mass",
        title="The fitted law with a given mass: impulse over the speed up to its stop",
        columns=(
            *columns(("configuration", "control", "mass of")),
            *columns(("mass", "impulse\nover speed"), "kg", 2),
            Column("over\nthe mass", "-", 3),
            Column("stops\nat", "ms", 2),
            Column("restitution\nby (25)", "-", 2),
            Column("misfit", "% of peak", 1),
        ),
        rows=tuple(rows),
        note=(
            "The source identifies k and c of (23), section VII-A3; where the mass in (28) comes from it does not say. "
            "'-': no law with this mass and positive damping fits."
        ),
    )


def extremes(sweeps: Sequence[Sequence[Limit]], mode: ControlMode, reading: Reading) -> tuple[float, float]:
    """Return the smallest and the largest measured mass over that of the links, W_gm [-], in the sweeps of a mode."""
    ratios = [
        limit.mass(reading) / limit.masses[InertiaOption.GENERALIZED_MOMENTUM]
        for sweep in sweeps
        if sweep[0].mode is mode
        for limit in sweep
    ]
    return float(np.nanmin(ratios)), float(np.nanmax(ratios))


def _count(counter: dict[InertiaOption, int]) -> str:
    return ", ".join(f"{option.value}: {count}" for option, count in sorted(counter.items(), key=lambda item: -item[1]))
