"""Pictures of the envelope: where verdicts are right, where tasks are refused, what a probability is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap
from matplotlib.figure import Figure

from impact_control.recording.style import ANTE, INK, INTERIM, LIMIT, NEUTRAL, POST, SERIES, WIDTH, line
from impact_control.util.types import Vector
from impact_studies.envelope.outcome import CLOSE, Bin, Mask, Runs, Share
from impact_studies.envelope.statements import RIGHT, right
from impact_studies.envelope.tasks import Variant

_HEIGHT = 6.0
"""[inch]"""

_CELLS = 5
"""Cells of a map along each axis."""

_FEW = 30
"""Runs in a bin below which it is drawn in grey."""

_WORST = 0.9
"""Share of right verdicts at the red end of the colours."""


class _Shading(NamedTuple):
    """Colours of the shares from low to high."""

    colours: str | Colormap
    low: float
    high: float


_TRUST = _Shading(LinearSegmentedColormap.from_list("trust", [LIMIT, INTERIM, "#d5e8d4", POST]), _WORST, 1.0)
_REFUSALS = _Shading("Reds", 0.0, 0.5)


@dataclass(frozen=True)
class _Scale:
    """A column of the runs on an axis: its name there, how many of its unit are one in SI, limits, wrapped or not."""

    column: str
    label: str
    factor: float = 1.0
    wrapped: bool = False

    def of(self, runs: Runs) -> Vector:
        values: Vector = np.asarray(runs[self.column], dtype=np.float64) * self.factor
        return (values + 180.0) % 360.0 - 180.0 if self.wrapped else values

    def edges(self, runs: Runs, count: int) -> Vector:
        values = self.of(runs)
        lower, upper = (-180.0, 180.0) if self.wrapped else (float(values.min()), float(values.max()))
        found: Vector = np.linspace(lower, upper + 1e-9, count + 1)
        return found


_DEGREES = float(np.degrees(1.0))
_SPEED, _ANGLE = _Scale("speed", "speed [m/s]"), _Scale("approach_angle", "approach angle [deg]", _DEGREES)
_FRICTION = _Scale("friction", "friction")
_HEADING = _Scale("heading", "heading [deg], 0: outward", _DEGREES, wrapped=True)
_FORCE, _TILT = _Scale("force", "contact force asked for [N]"), _Scale("tilt", "tilt of the surface [deg]", _DEGREES)


def draw_envelope(runs: Runs, bins: Sequence[Bin]) -> Figure:
    """Draw the share of right verdicts over the ranges, by what is really there, and what a probability is worth."""
    figure = Figure(figsize=(WIDTH, _HEIGHT))
    panels = figure.subplots(2, 3)
    certain = runs.certain
    _map(panels[0, 0], certain, _SPEED, _ANGLE)
    _map(panels[0, 1], certain, _FRICTION, _HEADING)
    _variants(panels[0, 2], runs)
    _rates(panels[1, 0], certain, _FORCE)
    _rates(panels[1, 1], certain, _TILT)
    _reliability(panels[1, 2], bins)
    titles = (
        "right [%] by speed and angle",
        "right [%] by friction, heading",
        "by what is really there",
        "by force",
        "by tilt",
        "probability and frequency",
    )
    for axes, title in zip(panels.flat, titles, strict=True):
        axes.set_title(title, pad=6)
    share = right(certain)
    figure.suptitle(
        f"Where it can be trusted: {100.0 * share.value:.1f} % of {share.of} verdicts on random tasks are right",
        x=0.01,
        ha="left",
        fontsize=12,
        fontweight="bold",
    )
    figure.tight_layout(rect=(0.0, 0.0, 1.0, 0.98))
    return figure


def draw_refusals(runs: Runs) -> Figure:
    """Draw the share of refused tasks over the same ranges."""
    tasks = runs.of_variant(Variant.AS_EXPECTED)
    figure = Figure(figsize=(WIDTH, 0.5 * _HEIGHT))
    panels = figure.subplots(1, 3)
    place = _Scale("x", "x [m]"), _Scale("y", "y [m]")
    for axes, (across, up) in zip(panels, ((_SPEED, _ANGLE), (_FORCE, _TILT), place), strict=True):
        _cells(axes, tasks, across, up, ~tasks.begun, np.ones(tasks.begun.size, dtype=np.bool_), _REFUSALS)
        axes.set_title("refused tasks [%]", pad=6)
    figure.tight_layout()
    return figure


def draw_delays(runs: Runs) -> Figure:
    """Draw the delay of each detection over the stiffness of the contact."""
    figure = Figure(figsize=(WIDTH, 0.5 * _HEIGHT))
    axes = figure.subplots()
    for robot, colour in zip(runs.robots, SERIES, strict=False):
        these = runs.select((runs["robot"] == robot) & ~runs["early"].astype(bool))
        axes.plot(these.stiffness, 1e3 * these["delay"], ".", color=colour, markersize=3.0, alpha=0.6)
    axes.set(xscale="log", xlabel="stiffness of the contact [N/m^1.5]", ylabel="delay [ms]", ylim=(0.0, None))
    axes.legend(handles=[line(robot, colour) for robot, colour in zip(runs.robots, SERIES, strict=False)])
    figure.tight_layout()
    return figure


def _map(axes: Axes, runs: Runs, across: _Scale, up: _Scale) -> None:
    _cells(axes, runs, across, up, runs.right, runs.judged, _TRUST)


def _cells(axes: Axes, runs: Runs, across: _Scale, up: _Scale, hit: Mask, of: Mask, shading: _Shading) -> None:
    """Draw in each cell how many per cent of the rows `of` are `hit`."""
    x, y = across.edges(runs, _CELLS), up.edges(runs, _CELLS)
    columns, rows = (np.digitize(scale.of(runs), edges) - 1 for scale, edges in ((across, x), (up, y)))
    shares = np.full((_CELLS, _CELLS), np.nan)
    for i in range(_CELLS):
        for j in range(_CELLS):
            here = of & (rows == i) & (columns == j)
            if np.any(here):
                shares[i, j] = np.mean(hit[here])
                middle = 0.5 * (x[j] + x[j + 1]), 0.5 * (y[i] + y[i + 1])
                axes.text(*middle, f"{100.0 * shares[i, j]:.0f}", ha="center", va="center", fontsize=8, color=INK)
    colours, low, high = shading
    axes.pcolormesh(x, y, shares, cmap=colours, vmin=low, vmax=high, edgecolors="white", linewidth=1.0)
    axes.grid(visible=False)
    axes.set(xlabel=across.label, ylabel=up.label)
    if up.wrapped:
        axes.set_yticks([-180, -90, 0, 90, 180])


def _variants(axes: Axes, runs: Runs) -> None:
    height = 0.8 / len(runs.robots)
    for k, (robot, colour) in enumerate(zip(runs.robots, SERIES, strict=False)):
        these = runs.select(runs["robot"] == robot)
        for place, variant in enumerate(Variant):
            _interval(
                axes, place + (k - 0.5 * (len(runs.robots) - 1)) * height, right(these.of_variant(variant)), colour
            )
    axes.axvline(100.0 * RIGHT, color=NEUTRAL, linestyle="--", linewidth=0.9)
    axes.set_yticks(range(len(Variant)), [variant.value for variant in Variant])
    axes.invert_yaxis()
    axes.set(xlabel="right verdicts [%]", xlim=(None, 100.4))
    axes.legend(handles=[line(robot, colour) for robot, colour in zip(runs.robots, SERIES, strict=False)], fontsize=8)


def _interval(axes: Axes, place: float, share: Share, colour: str) -> None:
    """Draw a share and its interval on a line of its own."""
    if share.of:
        value, low, high = share.percent
        axes.plot([low, high], [place, place], "-", color=colour, linewidth=1.2)
        axes.plot([value], [place], "o", color=colour, markersize=4.0)


def _rates(axes: Axes, runs: Runs, scale: _Scale) -> None:
    """Draw the share of right verdicts over one range: as expected, and not."""
    edges, values = scale.edges(runs, 2 * _CELLS), scale.of(runs)
    middles = 0.5 * (edges[1:] + edges[:-1])
    kinds = (("as expected", ANTE, runs.as_expected), ("not as expected", LIMIT, ~runs.as_expected))
    for _, colour, kind in kinds:
        shares = []
        for lower, upper in pairwise(edges):
            shares.append(right(runs.select(kind & (values >= lower) & (values < upper))))
        percents = np.array([share.percent for share in shares])
        axes.fill_between(middles, percents[:, 1], percents[:, 2], color=colour, alpha=0.15, linewidth=0)
        axes.plot(middles, percents[:, 0], "o-", color=colour, markersize=3.0)
    axes.axhline(100.0 * RIGHT, color=NEUTRAL, linestyle="--", linewidth=0.9)
    axes.set(xlabel=scale.label, ylabel="right verdicts [%]", ylim=(None, 100.4))
    axes.legend(handles=[line(name, colour) for name, colour, _ in kinds], loc="lower left", fontsize=8)


def _reliability(axes: Axes, bins: Sequence[Bin]) -> None:
    span = np.array([0.0, 100.0])
    axes.plot(span, span, color=NEUTRAL, linewidth=0.8)
    axes.fill_between(span, span - 100.0 * CLOSE, span + 100.0 * CLOSE, color=NEUTRAL, alpha=0.15, linewidth=0)
    for one in bins:
        if one.expected.of:
            value, low, high = one.expected.percent
            colour = NEUTRAL if one.close is None or one.expected.of < _FEW else POST
            axes.plot([100.0 * one.mean] * 2, [low, high], color=colour, linewidth=1.2)
            axes.plot([100.0 * one.mean], [value], "o", color=colour, markersize=4.0)
            left = one.mean <= 0.5
            axes.annotate(
                str(one.expected.of),
                (100.0 * one.mean, low),
                (4.0 if left else 0.0, -3.0),
                textcoords="offset points",
                ha="left" if left else "center",
                va="top",
                fontsize=7,
            )
    axes.set(xlabel="probability of a verdict [%]", ylabel="turns out as expected [%]", xlim=(-3, 103), ylim=(-3, 103))
