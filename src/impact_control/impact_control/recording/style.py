"""Style of all figures: one palette, one grid of panels, one way to mark modes and impacts, units on every axis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from impact_control.recording.analysis import RunAnalysis
from impact_control.util.types import Vector

INK = "#1f2933"
ANTE = "#0072b2"
INTERIM = "#e69f00"
POST = "#009e73"
LIMIT = "#c0392b"
IMPACT = "#7b3294"
NEUTRAL = "#8795a1"
SERIES = (ANTE, LIMIT, POST, INTERIM, IMPACT, "#56b4e9", NEUTRAL)
"""Colours of lines that have no meaning of their own, distinguishable for most colour-blind readers."""

WIDTH, ROW = 10.0, 1.55
"""[inch] width of every figure, height of one row of panels."""

ZOOM = (-20.0, 150.0)
"""[ms] around the impact."""

LineStyle = Literal["-", "--", "-.", ":", ""]

_Time = TypeVar("_Time", float, Vector)

MODE_COLOURS = {
    "ante": ANTE,
    "interim": INTERIM,
    "post": POST,
    "fault": LIMIT,
    "pull back": IMPACT,
    "admittance": "#56b4e9",
    "resume": NEUTRAL,
}
_SHADE = 0.08
_LEGEND_COLUMNS = 5
_LEGEND_ROW = 0.24
_LEFT, _RIGHT, _BOTTOM, _TOP = 0.95, 0.15, 0.5, 0.3
_LABEL = 0.58
"""[inch] of the margins, and from an axis to its label."""

_FIT_MARGIN = 0.08
"""Margin above and below the values of a panel, as part of their range."""

_LABEL_WIDTH = 0.2
"""Width of the label of an impact, as part of the axes."""


@contextmanager
def styled() -> Iterator[None]:
    """Apply the settings of all figures."""
    settings: dict[Any, Any] = {
        "path.simplify_threshold": 0.5,
        "font.size": 9,
        "axes.labelsize": 9,
        "axes.titlesize": 9.5,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.edgecolor": "#9aa5b1",
        "axes.labelcolor": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.titlepad": 14,
        "grid.color": "#e4e7eb",
        "grid.linewidth": 0.6,
        "xtick.color": "#52606d",
        "ytick.color": "#52606d",
        "text.color": INK,
        "lines.linewidth": 1.2,
        "legend.frameon": False,
        "legend.fontsize": 9,
    }
    with mpl.rc_context(settings):
        yield


@dataclass(frozen=True)
class TimeAxis:
    """Horizontal axis: the whole run in seconds, or the surroundings of the impact in milliseconds.

    origin: [s] stamp at its zero. scale: units of the axis per second. label: with unit. limits: range, None for all.
    """

    origin: float
    scale: float
    label: str
    limits: tuple[float, float] | None

    def __call__(self, time: _Time) -> _Time:
        """Return the position of one or many stamps [s] on the axis."""
        return (time - self.origin) * self.scale

    @property
    def zoomed(self) -> bool:
        """Only the surroundings of the impact."""
        return self.limits is not None

    @classmethod
    def whole_run(cls) -> TimeAxis:
        """Return the axis in seconds since the first joint state."""
        return cls(0.0, 1.0, "time [s]", None)

    @classmethod
    def around(cls, impact_time: float) -> TimeAxis:
        """Return the axis in milliseconds since the impact, over `ZOOM`."""
        return cls(impact_time, 1e3, "time after impact [ms]", ZOOM)

    def shown(self, stamp: Vector) -> NDArray[np.bool_]:
        """Return which stamps (m,) [s] lie within the limits (m,)."""
        if self.limits is None:
            return np.ones(len(stamp), dtype=bool)
        position = self(stamp)
        near: NDArray[np.bool_] = (position >= self.limits[0]) & (position <= self.limits[1])
        return near


def time_axes(analysis: RunAnalysis) -> list[TimeAxis]:
    """Return the axes of the whole run, and of the surroundings of the impact if there was one."""
    impact = analysis.impact_time
    return [TimeAxis.whole_run()] + ([TimeAxis.around(impact)] if impact is not None else [])


def small_multiples(rows: int, columns: list[TimeAxis], row_height: float = ROW) -> tuple[Figure, NDArray[np.object_]]:
    """Return a figure and its panels (rows, columns), one column a time axis; row_height [inch]."""
    figure = Figure(figsize=(WIDTH, row_height * rows + 0.8))
    return figure, figure.subplots(rows, len(columns), squeeze=False, sharex="col")


def finish_multiples(grid: NDArray[np.object_], columns: list[TimeAxis], analysis: RunAnalysis) -> None:
    """Mark modes and impacts in all panels (rows, columns); name impacts at the top and the time at the bottom."""
    for i, row in enumerate(grid):
        for axes, time in zip(row, columns, strict=True):
            mark_run(axes, time, analysis, labels=i == 0)
            if i == len(grid) - 1:
                axes.set_xlabel(time.label)
            else:
                axes.tick_params(labelbottom=False)


def fit_vertically(panels: Iterable[Axes], values: Vector, least: float = 0.0) -> None:
    """Show these values and a margin around them, whatever else is drawn; at least the range `least`."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return
    low, high = float(finite.min()), float(finite.max())
    margin = max(_FIT_MARGIN * (high - low), (least - (high - low)) / 2, 1e-6)
    for axes in panels:
        axes.set_ylim(low - margin, high + margin)


def mark_run(axes: Axes, time: TimeAxis, analysis: RunAnalysis, *, labels: bool = False) -> None:
    """Shade the modes and draw a line at every impact; with `labels`, name the impacts above the axes."""
    lower, upper = time.limits if time.limits is not None else (0.0, analysis.duration)
    for interval in analysis.modes:
        start, end = max(time(interval.start), lower), min(time(interval.end), upper)
        if interval.mode in MODE_COLOURS and end > start:
            axes.axvspan(start, end, color=MODE_COLOURS[interval.mode], alpha=_SHADE, linewidth=0)
    axes.set_xlim(lower, upper)
    contact = analysis.true_impact_time
    if contact is not None and (time.zoomed or not analysis.detections.size):
        _mark_impact(axes, time(contact), "contact" if labels else "", "-", "right")
    word = "detected" if time.zoomed else "impact"
    places = [time(float(detection)) for detection in analysis.detections]
    for place, name in zip(places, impact_names(places, word, _LABEL_WIDTH * (upper - lower)), strict=True):
        _mark_impact(axes, place, name if labels else "", "--" if time.zoomed else "-", "left")


def impact_names(places: Sequence[float], word: str, width: float) -> list[str]:
    """Return a label for each mark; those within `width` of the first of a group share its label."""
    if len(places) == 1:
        return [word]
    names = [""] * len(places)
    first = 0
    for number, place in enumerate(places):
        if place - places[first] > width:
            first = number
        names[first] = f"{word} {first + 1}" if first == number else f"{word} {first + 1} to {number + 1}"
    return names


def finish(
    figure: Figure,
    analysis: RunAnalysis,
    entries: Sequence[Artist] = (),
    *,
    rows: float = 0.16,
    columns: float = 0.22,
    header: float = 0.0,
) -> None:
    """Put one legend above the panels, with the modes that occurred, and the panels in place with fixed margins.

    entries: of the legend. rows, columns: gaps between panels, in heights and widths of a panel. header: [inch] room
    above the panels for titles.
    """
    occurred = dict.fromkeys(interval.mode for interval in analysis.modes)
    shades = [
        Patch(color=MODE_COLOURS[mode], alpha=3 * _SHADE, linewidth=0, label=f"{mode} mode")
        for mode in occurred
        if mode in MODE_COLOURS
    ]
    handles = [*entries, *shades]
    width, height = figure.get_size_inches()
    top = _TOP + header + _LEGEND_ROW * -(-len(handles) // _LEGEND_COLUMNS)
    if handles:
        count = min(len(handles), _LEGEND_COLUMNS)
        figure.legend(handles=handles, loc="upper center", ncols=count, bbox_to_anchor=(0.5, 1.0))
    left, right, bottom = _LEFT / width, 1 - _RIGHT / width, _BOTTOM / height
    figure.subplots_adjust(left=left, right=right, bottom=bottom, top=1 - top / height, hspace=rows, wspace=columns)
    for axes in figure.axes:
        axes.yaxis.set_label_coords(-_LABEL / (axes.get_position().width * width), 0.5)


def line(label: str, color: str, style: LineStyle = "-", width: float = 1.4, **others: Any) -> Line2D:
    """Return an entry of a legend; others: properties of the line, like those of its marker."""
    return Line2D([], [], color=color, linestyle=style, linewidth=width, label=label, **others)


def note(axes: Axes, text: str) -> None:
    """Write small text in the upper right corner of the axes."""
    box = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 1.5}
    axes.text(0.985, 0.94, text, transform=axes.transAxes, ha="right", va="top", fontsize=8, bbox=box)


def _mark_impact(axes: Axes, position: float, label: str, style: LineStyle, side: Literal["left", "right"]) -> None:
    lower, upper = axes.get_xlim()
    if not lower <= position <= upper:
        return
    axes.axvline(position, color=IMPACT, linestyle=style, linewidth=0.9, zorder=1.5)
    if label:
        text, above = f"{label} " if side == "right" else f" {label}", axes.get_xaxis_transform()
        axes.text(position, 1.01, text, transform=above, ha=side, va="bottom", fontsize=8, color=IMPACT)
