"""Pictures of the study: Fig. 9 with ours, the forces, and what the wall decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from impact_control.recording.style import ANTE, IMPACT, INK, INTERIM, LIMIT, NEUTRAL, POST, ROW, WIDTH, LineStyle, line
from impact_studies.frame.legend import legend_above
from impact_studies.models.contact_identification.contact_model import ContactModel
from impact_studies.wang import published
from impact_studies.wang.evaluation import Case, FittedImpact, Limit, Reading
from impact_studies.wang.impacts import MassOf, ModelCase
from impact_studies.wang.measurement import Impulses, allowed_force, compression_of, end_of_push, force_spline
from impact_studies.wang.options import InertiaOption
from impact_studies.wang.trials import RESTITUTION, ControlMode, Trial

OPTION_STYLES: dict[InertiaOption, tuple[str, LineStyle]] = {
    InertiaOption.ALGEBRAIC: (INTERIM, "--"),
    InertiaOption.GENERALIZED_MOMENTUM: (LIMIT, "-"),
    InertiaOption.COMPOSITE: (IMPACT, "-"),
    InertiaOption.JOINT_MOTION: ("#56b4e9", ":"),
    InertiaOption.REDUCED_MOTORS: (POST, "-"),
    InertiaOption.MOTORS: (NEUTRAL, "-."),
}

MODE_COLOURS = {
    ControlMode.TORQUE_HELD: POST,
    ControlMode.TORQUE_TASK: "#56b4e9",
    ControlMode.VELOCITY_INTERFACE: INTERIM,
    ControlMode.VELOCITY_DRIVE: ANTE,
    ControlMode.MOTORS_LOCKED: INK,
}

_SHOWN = (-2.0, 30.0)
_FIT_SHOWN = 20.0
"""[ms]"""

_ENERGY_COLOURS = (ANTE, POST, INTERIM, NEUTRAL)
_MASSES = (3, 5, 7, 10, 20, 30, 50)
"""[kg] marked on the axis of the walls."""

_LEGEND_ROW, _LEGEND_COLUMNS = 0.24, 4


def draw_impulses(cases: Sequence[Case]) -> Figure:
    """Measured impulses over the speed with the predictions: a row for each mode, a column for each configuration."""
    grid: dict[ControlMode, dict[str, list[Case]]] = {}
    for case in cases:
        grid.setdefault(case.mode, {}).setdefault(case.approach.configuration.name, []).append(case)
    columns = len(next(iter(grid.values())))
    figure = Figure(figsize=(WIDTH, 2.0 * ROW * len(grid) + 1.4))
    panels = figure.subplots(len(grid), columns, squeeze=False, sharex=True, sharey=True)
    for row, (mode, by_configuration) in zip(panels, grid.items(), strict=True):
        for axes, (name, group) in zip(row, by_configuration.items(), strict=True):
            for option, (color, style) in OPTION_STYLES.items():
                axes.plot(
                    [np.mean([impulses.speed for impulses in case.impulses]) for case in group],
                    [case.predictions[option] for case in group],
                    color=color,
                    linestyle=style,
                )
            for case in group:
                speeds = [impulses.speed for impulses in case.impulses]
                axes.plot(speeds, case.measured(Reading.FITTED), "^", color=INK, markersize=4.5, markeredgewidth=0)
                axes.plot(speeds, case.measured(Reading.EXACT), "o", color=INK, markersize=4, markerfacecolor="none")
            axes.set_title(f"{mode.value}, configuration {name}" if columns < 3 else f"{mode.value}, {name}")
        row[0].set_ylabel("impulse [Ns]")
    for axes in panels[-1]:
        axes.set_xlabel("speed before the impact [m/s]")
    fitted = _mark(f"measured to the {Reading.FITTED.value}", "^", markeredgewidth=0)
    exact = _mark(f"measured to the {Reading.EXACT.value}", "o", markerfacecolor="none")
    finish(figure, [fitted, exact, *_option_entries()])
    return figure


def draw_forces(shown: Sequence[tuple[str, ControlMode, Trial, Impulses]]) -> Figure:
    """Normal force over time, a panel for each configuration; shown: its name, mode, trial and what was measured."""
    names = list(dict.fromkeys(name for name, *_ in shown))
    figure = Figure(figsize=(WIDTH, 2.2 * ROW + 1.0))
    panels = dict(zip(names, figure.subplots(1, len(names), squeeze=False, sharey=True)[0], strict=True))
    for name, mode, trial, impulses in shown:
        axes = panels[name]
        color = MODE_COLOURS[mode]
        inside = (1e3 * trial.time >= _SHOWN[0]) & (1e3 * trial.time <= _SHOWN[1])
        axes.plot(1e3 * trial.time[inside], trial.exact_force[inside], color=color, linestyle=_mode_style(mode))
        for moment, marker in ((impulses.fitted_time, "^"), (impulses.compression_time, "o")):
            force = np.interp(moment, trial.time, trial.exact_force)
            axes.plot(1e3 * moment, force, marker, color=color, markersize=5, markerfacecolor="none")
    for name, axes in panels.items():
        axes.set_title(f"configuration {name}")
        axes.set_xlabel("time after the touch [ms]")
    panels[names[0]].set_ylabel("normal force [N]")
    modes = dict.fromkeys(mode for _, mode, *_ in shown)
    kinds = ((Reading.FITTED, "^"), (Reading.EXACT, "o"))
    marks = [_mark(reading.value, marker, markerfacecolor="none") for reading, marker in kinds]
    finish(figure, [*(line(mode.value, MODE_COLOURS[mode], _mode_style(mode)) for mode in modes), *marks])
    return figure


def draw_fits(shown: Sequence[FittedImpact]) -> Figure:
    """Measured force with the fitted law, and the energies of its free mass below; a column for each speed."""
    figure = Figure(figsize=(WIDTH, 3.4 * ROW + 1.0))
    panels = figure.subplots(2, len(shown), squeeze=False, sharex=True, sharey="row")
    for (force, energy), one in zip(panels.T, shown, strict=True):
        inside = (1e3 * one.trial.time >= _SHOWN[0]) & (1e3 * one.trial.time <= _FIT_SHOWN)
        force.plot(1e3 * one.trial.time[inside], one.trial.force[inside], color=INK, linewidth=0.9)
        law, time = one.impact, 1e3 * (one.onset + one.impact.time)
        force.plot(time, law.force, color=LIMIT)
        for moment, style in ((law.compression_end, ":"), (law.restitution_end, "--")):
            force.axvline(1e3 * (one.onset + moment), color=LIMIT, linewidth=0.9, linestyle=style)
        parts = (law.kinetic_energy, law.stored_energy, law.dissipated_energy)
        for values, color in zip((*parts, sum(parts)), _ENERGY_COLOURS, strict=True):
            energy.plot(time, values, color=color)
        force.set_title(f"{one.speed:g} m/s")
        energy.set_xlabel("time after the touch [ms]")
    panels[0, 0].set_ylabel("normal force [N]")
    panels[1, 0].set_ylabel("energy [J]")
    names = ("kinetic", "stored, (26)", "dissipated, (27)", "sum")
    energies = [line(name, color) for name, color in zip(names, _ENERGY_COLOURS, strict=True)]
    moments = [line("compression ends", LIMIT, ":"), line("restitution ends", LIMIT, "--")]
    finish(figure, [line("measured", INK), line("(23), fitted", LIMIT), *moments, *energies])
    return figure


def draw_walls(sweeps: Sequence[Sequence[Limit]]) -> Figure:
    """Measured mass over the wall stiffness, with the masses of the options; a column for each configuration."""
    names = list(dict.fromkeys(sweep[0].approach.configuration.name for sweep in sweeps))
    figure = Figure(figsize=(WIDTH, 3.6 * ROW + 1.4))
    panels = figure.subplots(2, len(names), squeeze=False, sharex=True, sharey=True)
    for sweep in sweeps:
        column = names.index(sweep[0].approach.configuration.name)
        for row, reading in enumerate((Reading.FITTED, Reading.EXACT)):
            panels[row, column].plot(
                [limit.stiffness for limit in sweep],
                [limit.mass(reading) for limit in sweep],
                color=MODE_COLOURS[sweep[0].mode],
                linestyle=_mode_style(sweep[0].mode),
                marker="o",
                markersize=3.5,
            )
    for row, reading in enumerate((Reading.FITTED, Reading.EXACT)):
        for axes, name in zip(panels[row], names, strict=True):
            limits = next(sweep for sweep in sweeps if sweep[0].approach.configuration.name == name)
            _mark_options(axes, limits[0])
            axes.set_title(f"{reading.value}, {name}")
            axes.set_xscale("log")
    panels[0, 0].set(yscale="log", yticks=_MASSES, yticklabels=[f"{mass:g}" for mass in _MASSES])
    panels[0, 0].minorticks_off()
    for row_panels in panels:
        row_panels[0].set_ylabel("impulse over speed [kg]")
    for axes in panels[-1]:
        axes.set_xlabel("stiffness of the wall [N/m]")
    modes = dict.fromkeys(sweep[0].mode for sweep in sweeps)
    entries = [line(mode.value, MODE_COLOURS[mode], _mode_style(mode), marker="o", markersize=4) for mode in modes]
    finish(figure, [*entries, *_option_entries()])
    return figure


def _mark_options(axes: Axes, limit: Limit) -> None:
    for option, (color, style) in OPTION_STYLES.items():
        axes.axhline(limit.masses[option], color=color, linestyle=style, linewidth=0.9, zorder=1)


def _mode_style(mode: ControlMode) -> LineStyle:
    """Dashed for the limit, which lies on the mode it is the limit of."""
    return "--" if mode is ControlMode.MOTORS_LOCKED else "-"


def _mark(label: str, marker: str, **others: Any) -> Artist:
    return line(label, INK, "", marker=marker, markersize=5, **others)


def _option_entries() -> list[Artist]:
    return [line(option.value, color, style) for option, (color, style) in OPTION_STYLES.items()]


def finish(figure: Figure, entries: Sequence[Artist], hspace: float = 0.28) -> None:
    """Put the legend above the panels, with margins in inches; hspace: between rows, in heights of a panel."""
    rows = -(-len(entries) // _LEGEND_COLUMNS)
    top = 0.45 + _LEGEND_ROW * rows
    legend_above(figure, entries, top, left=0.65, columns=_LEGEND_COLUMNS, hspace=hspace, wspace=0.1)


SHADED_RESTITUTION = 0.5
"""[-] Of the green area, an example as in Fig. 3(b), where it has no number."""

_COLOURS = {"one": LIMIT, "two": ANTE, "three": POST}
"""Colours of the configurations, as in Figs 4(b) and 5(b)."""

_FULL, _PART = "#9ecae1", "#74c476"
_SHIFT = 7e-4
"""[m/s] by which the configurations stand side by side."""

_PROFILE_SHOWN = (-1.0, 16.0)
"""[ms] of the forces of Fig. 6."""

_TICKS = (0.2, 0.3, 0.5, 0.7, 1, 2, 3, 5)


def draw_profiles(cases: Sequence[ModelCase]) -> Figure:
    """Fig. 6: all forces of the first configuration on the damped wall, a panel for each speed of the source."""
    shown = [
        case
        for case in cases
        if case.name == cases[0].name and not case.lossless and case.speed in published.PROFILE_SPEEDS
    ]
    figure = Figure(figsize=(WIDTH, 2.2 * ROW + 1.0))
    for axes, case in zip(figure.subplots(1, len(shown), squeeze=False, sharey=True)[0], shown, strict=True):
        for trial in case.trials:
            time = 1e3 * trial.time
            inside = (time >= _PROFILE_SHOWN[0]) & (time <= _PROFILE_SHOWN[1])
            axes.plot(time[inside], trial.force[inside], color=INK, linewidth=0.7, alpha=0.6)
        speed = np.mean([trial.speed for trial in case.trials])
        axes.set(title=f"{speed:.4f} m/s", xlabel="time after the touch [ms]", xlim=_PROFILE_SHOWN)
        axes.text(0.97, 0.95, f"{len(case.trials)} impacts", transform=axes.transAxes, ha="right", va="top")
    figure.axes[0].set_ylabel("normal force [N]")
    finish(figure, [line("force sensor, noise included", INK)])
    return figure


def draw_areas(cases: Sequence[ModelCase]) -> Figure:
    """Force over time with the area of a virtual spring, on both walls, and over the way into them below."""
    names = list(dict.fromkeys(case.name for case in cases))
    speeds = list(dict.fromkeys(case.speed for case in cases))
    shown = [case for case in cases if case.speed == speeds[len(speeds) // 2]]
    figure = Figure(figsize=(WIDTH, 5.2 * ROW + 1.0))
    panels = figure.subplots(3, len(names), squeeze=False, sharey="row")
    for column, name in enumerate(names):
        for row, lossless in enumerate((False, True)):
            case = next(one for one in shown if one.name == name and one.lossless is lossless)
            _draw_area(panels[row, column], case)
            _draw_loop(panels[2, column], case)
            panels[row, column].set_title(f"{name}, {'wall that is a spring' if lossless else 'damped wall'}")
        panels[2, column].set(title=f"{name}, both walls", xlim=(0.0, None))
        panels[2, column].set_xlabel("way into the wall [um]")
    for axes in panels[:2].flat:
        axes.set_xlabel("time after the touch [ms]")
    for axes in panels[:, 0]:
        axes.set(ylabel="normal force [N]", ylim=(0.0, None))
    finish(
        figure,
        [
            line("measured", INK),
            _mark("contact point stops", "o", markerfacecolor="none"),
            Patch(color=_FULL, label="restitution up to 1"),
            Patch(color=_PART, label=f"restitution up to {SHADED_RESTITUTION}"),
            line("restitution 0 ends here", NEUTRAL, "--"),
            line("on the spring, below", INTERIM),
        ],
        hspace=0.55,
    )
    return figure


def draw_restitutions(cases: Sequence[ModelCase]) -> Figure:
    """Restitution by Maxwell's law and by (25) over the speed; a column for each origin of the mass."""
    names = list(dict.fromkeys(case.name for case in cases))
    figure = Figure(figsize=(WIDTH, 4.0 * ROW + 1.0))
    panels = figure.subplots(2, len(MassOf), squeeze=False, sharex=True, sharey="row")
    rows = (
        (ContactModel.MAXWELL, "Maxwell, Fig. 4(b)"),
        (ContactModel.NONLINEAR_VISCOELASTIC, "(25) of the law (23), Fig. 5(b)"),
    )
    for row, (model, title) in zip(panels, rows, strict=True):
        for axes, mass in zip(row, MassOf, strict=True):
            axes.axhline(RESTITUTION, color=NEUTRAL, linewidth=0.9, linestyle=":")
            for shift, name in enumerate(names):
                group = [case for case in cases if case.name == name]
                _draw_course(axes, [case for case in group if not case.lossless], model, mass, (shift - 1) * _SHIFT)
                springs = [case for case in group if case.lossless]
                values = [float(case.estimated(model, mass).mean()) for case in springs]
                speeds = [case.speed for case in springs]
                axes.plot(speeds, values, "--", color=_COLOURS[name], linewidth=0.9)
            axes.set_title(f"{title}, {mass.value}")
        row[0].set_ylabel("restitution [-]")
    panels[1, 0].set(yscale="log", yticks=_TICKS, yticklabels=[f"{tick:g}" for tick in _TICKS])
    panels[1, 0].minorticks_off()
    for axes in panels[1]:
        axes.set_xlabel("reference speed [m/s]")
    entries = [line(f"configuration {name}", _COLOURS[name], marker="o", markersize=4) for name in names]
    finish(figure, [*entries, line("wall that is a spring", INK, "--"), line("of the materials", NEUTRAL, ":")])
    return figure


def _draw_area(axes: Axes, case: ModelCase) -> None:
    trial, area = case.trials[0], case.areas[0]
    spline = force_spline(trial.time, trial.force)
    time = np.linspace(0.0, float(trial.time[end_of_push(trial.time, trial.force)[0]]), 801)
    for restitution, color in ((1.0, _FULL), (SHADED_RESTITUTION, _PART)):
        allowed = allowed_force(spline, area.peak_time, restitution, time)
        axes.fill_between(1e3 * time, allowed, color=color, linewidth=0)
    axes.plot(1e3 * time, spline(time), color=INK)
    axes.axvline(1e3 * area.peak_time, color=NEUTRAL, linestyle="--", linewidth=1.0)
    axes.plot(1e3 * area.stop, spline(area.stop), "o", color=INK, markersize=5, markerfacecolor="none")


def _draw_loop(axes: Axes, case: ModelCase) -> None:
    trial = case.trials[0]
    inside = (trial.time >= 0.0) & (trial.time <= trial.time[end_of_push(trial.time, trial.force)[0]])
    # From the touch, which lies between two samples.
    depth, force = (np.concatenate(([0.0], values[inside])) for values in (1e6 * compression_of(trial), trial.force))
    axes.plot(depth, force, color=INTERIM if case.lossless else INK)
    if not case.lossless:
        deepest = int(np.argmax(depth))
        axes.plot(depth[deepest], force[deepest], "o", color=INK, markersize=5, markerfacecolor="none")


def _draw_course(axes: Axes, cases: Sequence[ModelCase], model: ContactModel, mass: MassOf, shift: float) -> None:
    values = [case.estimated(model, mass) for case in cases]
    axes.errorbar(
        [case.speed + shift for case in cases],
        [float(one.mean()) for one in values],
        [float(one.std()) for one in values],
        color=_COLOURS[cases[0].name],
        marker="o",
        markersize=4,
        capsize=2,
    )
