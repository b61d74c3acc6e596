"""Pictures of the measured forces, Fig. 6, and of the contact models: Fig. 3(b), and Figs 4(b) and 5(b) in one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from impact_control.identification import ContactModel
from impact_control.recording.figures.panels import ROW, WIDTH
from impact_control.recording.style import ANTE, INK, INTERIM, LIMIT, NEUTRAL, POST, line
from impact_control.studies.wang import published
from impact_control.studies.wang.figures import finish
from impact_control.studies.wang.measurement import end_of_push, force_spline
from impact_control.studies.wang.models import MassOf, ModelCase
from impact_control.studies.wang.trials import RESTITUTION
from impact_control.studies.wang.virtual_spring import allowed_force, compression_of

SHADED_RESTITUTION = 0.5
"""[-] Of the green area, an example as in Fig. 3(b), where it has no number."""

_COLOURS = {"one": LIMIT, "two": ANTE, "three": POST}
"""Of the configurations, as in Figs 4(b) and 5(b)."""

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
    stop = line("contact point stops", INK, "")
    stop.set(marker="o", markersize=5, markerfacecolor="none")
    finish(
        figure,
        [
            line("measured", INK),
            stop,
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
    entries = [line(f"configuration {name}", _COLOURS[name]) for name in names]
    for entry in entries:
        entry.set(marker="o", markersize=4)
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
