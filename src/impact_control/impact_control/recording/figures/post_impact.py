"""Predicted against observed velocity after the impact."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from impact_control.recording.comparison import PostImpactComparison
from impact_control.recording.figures.panels import WIDTH
from impact_control.recording.figures.run_data import RunData
from impact_control.recording.style import INK, NEUTRAL, SERIES, finish
from impact_control.recording.summary import short_joint_names
from impact_control.types import Vector

_HALF = 0.36
"""Half the width of a joint, whose neighbours are 1 apart."""

_MARKERS = "osD^v"


def post_impact(run: RunData) -> Figure | None:
    """Joint velocities predicted for after the impact beside the observed ones, and their errors."""
    comparison = run.comparison
    if comparison is None:
        return None
    names = short_joint_names(comparison.joint_names)
    place = np.arange(len(names))
    figure = Figure(figsize=(WIDTH, 6.2))
    velocities, errors = figure.subplots(2, 1, height_ratios=[1.4, 1.0])
    _draw_velocities(velocities, comparison)
    _draw_errors(errors, comparison)
    velocities.set(xticks=place, xticklabels=names, ylabel="joint velocity [deg/s]")
    errors.set(xticks=np.append(place, len(names)), xticklabels=[*names, "mean"], ylabel="absolute error [deg/s]")
    for axes in (velocities, errors):
        axes.set_xlim(-0.5, len(names) + 0.5)
        axes.grid(axis="x", visible=False)
    handles, _ = velocities.get_legend_handles_labels()
    finish(figure, replace(run.analysis, modes=()), handles, rows=0.2)
    return figure


def _draw_velocities(axes: Axes, comparison: PostImpactComparison) -> None:
    """What was observed before and after the impact as bars, what was predicted as marks beside each other."""
    place = np.arange(len(comparison.joint_names))
    axes.axhline(0.0, color=NEUTRAL, linewidth=0.8)
    for velocity, color, width, label in (
        (comparison.ante, NEUTRAL, 2.2, "before the impact"),
        (comparison.gross_post, INK, 2.6, "after it, observed"),
    ):
        axes.hlines(velocity, place - _HALF, place + _HALF, color=color, linewidth=width, label=label)
    shifts = _shifts(len(comparison.predictions))
    for i, (name, prediction) in enumerate(comparison.predictions.items()):
        axes.plot(
            place + shifts[i],
            prediction,
            linestyle="",
            marker=_MARKERS[i % len(_MARKERS)],
            markersize=7,
            color=SERIES[i % len(SERIES)],
            markeredgecolor="white",
            label=f"predicted with {_math(name)}",
        )


def _draw_errors(axes: Axes, comparison: PostImpactComparison) -> None:
    """Absolute errors of the predictions and, behind a line, their means; the best mean is bold."""
    count = len(comparison.joint_names)
    shifts = _shifts(len(comparison.predictions))
    best = comparison.best()
    for i, (name, error) in enumerate(comparison.errors().items()):
        mean = error.mean()
        place = np.arange(count + 1) + shifts[i]
        width = 1.7 * _HALF / len(shifts)
        axes.bar(place, np.append(error, mean), width=width, color=SERIES[i % len(SERIES)], alpha=0.9)
        weight = "bold" if name == best else "normal"
        axes.text(place[-1], mean, f"{mean:.1f}", ha="center", va="bottom", fontsize=8, fontweight=weight)
    axes.axvline(count - 0.5, color=NEUTRAL, linewidth=0.8)


def _shifts(count: int) -> Vector:
    """(count,) offsets that put this many marks beside each other over the width of a joint."""
    shifts: Vector = (np.arange(count) - (count - 1) / 2) * 2 * _HALF / max(count, 1)
    return shifts


def _math(name: str) -> str:
    """Inertia models as formulas: `M + B_theta` becomes M + B with the subscript θ."""
    return name.replace("B_theta", r"$B_\theta$").replace("B_rho", r"$B_\rho$")
