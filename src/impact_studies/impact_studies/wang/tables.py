"""Tables of the study, with Table I of the source beside ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from impact_studies.frame.study import Cell, Column, Judged, Table, columns
from impact_studies.models.impacts.inverse_inertia import ContactVelocityTable
from impact_studies.wang import published
from impact_studies.wang.evaluation import Case, Limit, Reading, best, crossing, mean_error, winners
from impact_studies.wang.impacts import MODELS, MassOf, ModelCase
from impact_studies.wang.measurement import FittedStop
from impact_studies.wang.options import OPTIONS_OF_WANG, InertiaOption
from impact_studies.wang.trials import COMPARED, ControlMode

_ALL = tuple(InertiaOption)
_OPTIONS = tuple(option.value for option in _ALL)
_STOPS = ("fitted law", "contact\npoint")
"""Heads of what is measured by the two readings, in their order."""


def summary_table(cases: Sequence[Case]) -> Table:
    """Mean error of each option by control mode and reading, and how often it is the nearest."""

    def row(mode: ControlMode, reading: Reading) -> Iterable[Cell | Judged]:
        chosen = [case for case in cases if case.mode is mode]
        smallest = {best(chosen, options, reading) for options in (OPTIONS_OF_WANG, _ALL)}
        yield from (mode.value, reading.value)
        for option in _ALL:
            error = 100.0 * mean_error(chosen, option, reading)
            yield Judged(error, True) if option in smallest else error
        yield from (_count(winners(chosen, options, reading)) for options in (OPTIONS_OF_WANG, _ALL))

    return Table.of(
        "options",
        "Mean absolute error of the predicted impulse, and how often an option is the nearest",
        (
            *columns(("control", "impulse up to")),
            *columns(_OPTIONS, "%", 1),
            *columns(("nearest of Wang's four", "nearest of all")),
        ),
        (row(mode, reading) for mode in COMPARED for reading in Reading),
        "Good: the smallest error of Wang's four options, which have the links alone, and of all.",
    )


def impulse_table(cases: Sequence[Case]) -> Table:
    """Fig. 9 in numbers: measured and predicted impulses of all cases."""

    def row(case: Case) -> Iterable[Cell | Judged | np.generic]:
        yield from (case.mode.value, case.approach.configuration.name, case.speed)
        for measured in (case.measured(Reading.FITTED), case.measured(Reading.EXACT)):
            yield from (measured.mean(), measured.std())
        nearest = case.nearest(OPTIONS_OF_WANG, Reading.FITTED)
        for option in _ALL:
            predicted = case.predictions[option]
            yield Judged(predicted, True) if option is nearest else predicted

    return Table.of(
        "impulses",
        "End-of-compression impulse, measured and predicted (Fig. 9)",
        (
            *columns(("control", "configuration")),
            Column("reference", "m/s", 2),
            *columns((f"{stop},\n{statistic}" for stop in _STOPS for statistic in ("mean", "std")), "Ns", 4),
            *columns(_OPTIONS, "Ns", 3),
        ),
        map(row, cases),
        "Measured up to the stop of the fitted law and up to that of the contact point. Good: the one of Wang's "
        "four options nearest to the first of these. The measured impulses of Fig. 9 are in the picture of the "
        "source only, not in its text.",
    )


def velocity_table(ours: ContactVelocityTable, speeds: Sequence[float], names: Sequence[str]) -> Table:
    """Table I with ours beside it; speeds [m/s] and names of the configurations that were run."""
    chosen = [published.SPEEDS.index(speed) for speed in speeds]
    quantities = (
        ("exact [m/s]", ours.exact, published.EXACT),
        ("approximation [m/s]", ours.approximation, published.APPROXIMATION),
        ("ratio e_a [-]", ours.ratio, published.RATIO),
    )
    return Table.of(
        "table_i",
        "Contact velocity and that of the composite rigid body (Table I)",
        (
            *columns(("quantity", "configuration", "from")),
            *columns((f"{speed:.2f} m/s" for speed in speeds), decimals=4),
        ),
        (
            (name, configuration, whose, *values[i])
            for name, here, there in quantities
            for i, configuration in enumerate(names)
            for whose, values in (("here", here), ("published", there[:, chosen]))
        ),
        "The mean ratio of each configuration is not a result: the configurations were chosen by it. The ratio is "
        "kinematic, so that ours hardly changes with the speed; that of the source does by up to 0.1, for another "
        "posture at every speed. The arm of the source is 4 to 9 mm/s slower than its reference, ours is not.",
    )


def mode_table(limits: Sequence[Limit]) -> Table:
    """Impulses and times of each control mode at the same speed, without noise."""

    def row(limit: Limit) -> Iterable[Cell]:
        impulses = limit.impulses
        yield from (limit.approach.configuration.name, limit.mode.value)
        yield from (limit.mass(Reading.FITTED), limit.mass(Reading.EXACT))
        yield from (impulses.push / impulses.speed, impulses.whole / impulses.speed)
        times = (impulses.fitted_time, impulses.compression_time, impulses.peak_time, impulses.push_time)
        yield from (1e3 * time for time in times)
        yield "yes" if impulses.separates else "no"
        yield from (impulses.fitted_restitution, impulses.printed_restitution)
        yield from (100.0 * impulses.misfit, 1e3 * limit.detection)

    return Table.of(
        "modes",
        "All control modes at 0.12 m/s without noise: impulses over the speed, and times after the touch",
        (
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
        map(row, limits),
        "Impulses up to the stop of the fitted law, up to that of the contact point, of the first push, and of the "
        "whole record, which is 45 ms long; what it holds beyond the first push is what the reference pushes until "
        "it has been pulled back, and no part of the impact. Back at: when the arm is pulled back.",
    )


def wall_table(sweeps: Sequence[Sequence[Limit]], options: Sequence[InertiaOption]) -> Table:
    """Measured mass over the stiffness of the wall; each sweep is one configuration and mode."""

    def row(sweep: Sequence[Limit], reading: Reading) -> Iterable[Cell]:
        yield from (sweep[0].approach.configuration.name, sweep[0].mode.value, reading.value)
        yield from (limit.mass(reading) for limit in sweep)
        for stiffness in (crossing(sweep, option, reading) for option in options):
            yield None if stiffness is None else 1e-6 * stiffness

    return Table.of(
        "walls",
        "Impulse over the speed for other walls [kg], and the wall for which an option is exact",
        (
            *columns(("configuration", "control", "impulse up to")),
            *columns((f"{1e-6 * limit.stiffness:g}\nN/um" for limit in sweeps[0]), decimals=2),
            *columns((f"{option.value}\nexact at" for option in options), "N/um", 3),
        ),
        (row(sweep, reading) for sweep in sweeps for reading in Reading),
        "Exact at: the largest stiffness at which the measured mass passes that of the option; '-' where it does "
        "not. On the softest walls under velocity control the first push outlasts the record.",
    )


def restitution_table(limits: Sequence[Limit]) -> Table:
    """Measured mass and fit over the restitution of the materials."""
    return Table.of(
        "materials",
        "Materials of another restitution, same stiffness: impulses over the speed",
        (
            *columns(("configuration", "control")),
            Column("restitution of\nthe materials", "-", 3),
            *columns(_STOPS, "kg", 2),
            *columns(("restitution\nof the fit", "by (25)"), "-", 2),
            Column("misfit", "% of peak", 1),
        ),
        (
            (
                *(limit.approach.configuration.name, limit.mode.value, limit.restitution),
                *(limit.mass(Reading.FITTED), limit.mass(Reading.EXACT)),
                *(limit.impulses.fitted_restitution, limit.impulses.printed_restitution, 100.0 * limit.impulses.misfit),
            )
            for limit in limits
        ),
    )


def given_mass_table(given: Sequence[tuple[Limit, InertiaOption, FittedStop | None]]) -> Table:
    """Stop of the fitted law when its mass is given."""

    def row(limit: Limit, option: InertiaOption, stop: FittedStop | None) -> Iterable[Cell]:
        mass, speed = limit.masses[option], limit.impulses.speed
        yield from (limit.approach.configuration.name, limit.mode.value, option.value, mass)
        if stop is None:
            yield from (None,) * 5
        else:
            yield from (stop.fitted / speed, stop.fitted / speed / mass, 1e3 * stop.fitted_time)
            yield from (stop.printed_restitution, 100.0 * stop.misfit)

    return Table.of(
        "given_mass",
        "The fitted law with a given mass: impulse over the speed up to its stop",
        (
            *columns(("configuration", "control", "mass of")),
            *columns(("mass", "impulse\nover speed"), "kg", 2),
            Column("over\nthe mass", "-", 3),
            Column("stops\nat", "ms", 2),
            Column("restitution\nby (25)", "-", 2),
            Column("misfit", "% of peak", 1),
        ),
        (row(*one) for one in given),
        "The source identifies k and c of (23), section VII-A3; where the mass in (28) comes from it does not say. "
        "'-': no law with this mass and positive damping fits.",
    )


def extremes(sweeps: Sequence[Sequence[Limit]], reading: Reading) -> tuple[float, float]:
    """Return the smallest and the largest measured mass over that of the links, W_gm [-], in sweeps over the walls."""
    links = InertiaOption.GENERALIZED_MOMENTUM
    ratios = [limit.mass(reading) / limit.masses[links] for sweep in sweeps for limit in sweep]
    return float(np.nanmin(ratios)), float(np.nanmax(ratios))


def _count(counter: dict[InertiaOption, int]) -> str:
    return ", ".join(f"{option.value}: {count}" for option, count in sorted(counter.items(), key=lambda item: -item[1]))


_SPRING, _MAXWELL, _VISCOELASTIC = MODELS


def area_table(cases: Sequence[ModelCase]) -> Table:
    """Forces against the area of a virtual spring."""

    def row(case: ModelCase) -> Iterable[Cell | np.generic]:
        yield from _head(case)
        factors = {"peak_time": 1e3, "stop": 1e3, "phase": 1, "required_restitution": 1, "leaves": 1e3, "outside": 1e2}
        for name, factor in factors.items():
            yield factor * np.mean([getattr(area, name) for area in case.areas])

    return Table.of(
        "virtual_spring",
        "Forces under stiff velocity control against the area of a virtual spring (Fig. 3(b)), means",
        (
            *_HEAD,
            *columns(("largest\nforce at", "contact point\nstops at"), "ms", 2),
            Column("first over\nsecond", "-", 3),
            Column("impulse after\nover before", "-", 2),
            Column("leaves the\narea at", "ms", 2),
            Column("outside", "% of impulse after", 1),
        ),
        map(row, cases),
        "Impulse after over before: the largest force, what the restitution of a virtual spring had to be. Area: "
        "all that restitutions up to 1 allow.",
    )


def model_table(cases: Sequence[ModelCase], mass: MassOf) -> Table:
    """Masses, restitutions and misfits of the models with the mass from one of the sources."""

    def row(case: ModelCase) -> Iterable[Cell | np.generic]:
        yield from _head(case)
        yield from (case.fitted("mass", model, mass).mean() for model in MODELS)
        yield case.estimated(_SPRING, mass).mean()
        for found in (case.estimated(model, mass) for model in (_MAXWELL, _VISCOELASTIC)):
            yield from (found.mean(), found.std())
        yield case.fitted("restitution", _VISCOELASTIC, mass).mean()
        yield from (100.0 * case.fitted("misfit", model, mass).mean() for model in MODELS)

    heads = ("restitution,\nspring", "restitution,\nMaxwell", "std,\nMaxwell")
    return Table.of(
        f"models_{mass.name.lower()}",
        f"Contact models fitted under stiff velocity control, {mass.value}, means (Figs 4(b) and 5(b))",
        (
            *_HEAD,
            *columns(("mass,\nspring", "mass,\nMaxwell", "mass,\n(23)"), "kg", 2),
            *columns((*heads, "(25)", "std,\n(25)", "free mass\nof (23)"), "-", 3),
            *columns(("misfit,\nspring", "misfit,\nMaxwell", "misfit,\n(23)"), "% of peak", 1),
        ),
        map(row, cases),
        "Each force is fitted alone, with the speed given. Wall 'spring': no loss, one impact without noise.",
    )


_HEAD = (*columns(("configuration", "wall")), Column("reference", "m/s", 2))


def _head(case: ModelCase) -> tuple[Cell, ...]:
    return case.name, "spring" if case.lossless else f"restitution {case.restitution:g}", case.speed
