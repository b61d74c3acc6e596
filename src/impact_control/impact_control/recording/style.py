"""How figures look: one palette, one way to mark modes and impacts, units on every axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from impact_control.recording.analysis import RunAnalysis
from impact_control.types import Vector

INK = "#1f2933"
ANTE = "#0072b2"
INTERIM = "#e69f00"
POST = "#009e73"
LIMIT = "#c0392b"
IMPACT = "#7b3294"
NEUTRAL = "#8795a1"
SERIES = (ANTE, LIMIT, POST, INTERIM, IMPACT, "#56b4e9", NEUTRAL)
"""Colours of lines that have no meaning of their own, told apart by most colour-blind readers."""

ZOOM = (-20.0, 150.0)
"""[ms] around the impact."""

LineStyle = Literal["-", "--", "-.", ":", ""]

_Time = TypeVar("_Time", float, Vector)

_MODE_COLOURS = {
    "ante": ANTE,
    "interim": INTERIM,
    "post": POST,
    "fault": LIMIT,
    "pull_back": IMPACT,
    "admittance": "#56b4e9",
    "resume": NEUTRAL,
}
_SHADE = 0.08
_LEGEND_COLUMNS = 5
_LEGEND_ROW = 0.24
_LEFT, _RIGHT, _BOTTOM, _TOP = 0.95, 0.15, 0.5, 0.3
_LABEL = 0.52


@contextmanager
def styled() -> Iterator[None]:
    """Settings under which all figures are drawn."""
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
    """A horizontal axis: the whole run in seconds, or the surroundings of the impact in milliseconds.

    Attributes:
        origin: [s] stamp at its zero.
        scale: units of the axis per second.
        label: with unit.
        limits: range shown, None for all.
    """

    origin: float
    scale: float
    label: str
    limits: tuple[float, float] | None

    def __call__(self, time: _Time) -> _Time:
        """Position of one or many stamps [s] on the axis."""
        return (time - self.origin) * self.scale

    @property
    def zoomed(self) -> bool:
        """Whether it shows the surroundings of the impact only."""
        return self.limits is not None

    @classmethod
    def whole_run(cls) -> TimeAxis:
        """Seconds since the first joint state."""
        return cls(0.0, 1.0, "time [s]", None)

    @classmethod
    def around(cls, impact_time: float) -> TimeAxis:
        """Milliseconds since the impact, over `ZOOM`."""
        return cls(impact_time, 1e3, "time after impact [ms]", ZOOM)


def time_axes(analysis: RunAnalysis) -> list[TimeAxis]:
    """The whole run, and the surroundings of the impact if there was one."""
    impact = analysis.impact_time
    return [TimeAxis.whole_run()] + ([TimeAxis.around(impact)] if impact is not None else [])


_LABEL_WIDTH = 0.2
"""Of the axes, that a label of an impact takes."""


def mark_run(axes: Axes, time: TimeAxis, analysis: RunAnalysis, *, labels: bool = False) -> None:
    """Shade the modes and draw a line at every impact; with `labels`, name the impacts above the axes."""
    lower, upper = time.limits if time.limits is not None else (0.0, analysis.duration)
    for interval in analysis.modes:
        start, end = max(time(interval.start), lower), min(time(interval.end), upper)
        if interval.mode in _MODE_COLOURS and end > start:
            axes.axvspan(start, end, color=_MODE_COLOURS[interval.mode], alpha=_SHADE, linewidth=0)
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
    """Put one legend above the panels and the panels in place, with margins that do not depend on their
    content.

    Args:
        figure: with its panels.
        analysis: the modes that occurred in it are explained in the legend.
        entries: of the legend.
        rows: gap between rows of panels, in heights of a panel.
        columns: gap between columns of panels, in widths of a panel.
        header: [inch] room above the panels for titles.
    """
    occurred = dict.fromkeys(interval.mode for interval in analysis.modes)
    shades = [
        Patch(color=_MODE_COLOURS[mode], alpha=3 * _SHADE, linewidth=0, label=f"{mode.replace('_', ' ')} mode")
        for mode in occurred
        if mode in _MODE_COLOURS
    ]
    handles = [*entries, *shades]
    width, height = figure.get_size_inches()
    legend_rows = -(-len(handles) // _LEGEND_COLUMNS)
    top = _TOP + header + _LEGEND_ROW * legend_rows
    if handles:
        figure.legend(
            handles=handles,
            loc="upper center",
            ncols=min(len(handles), _LEGEND_COLUMNS),
            bbox_to_anchor=(0.5, 1.0),
        )
    figure.subplots_adjust(
        left=_LEFT / width,
        right=1 - _RIGHT / width,
        bottom=_BOTTOM / height,
        top=1 - top / height,
        hspace=rows,
        wspace=columns,
    )
    for axes in figure.axes:
        axes.yaxis.set_label_coords(-_LABEL / (axes.get_position().width * width), 0.5)


def line(label: str, color: str, style: LineStyle = "-", width: float = 1.4) -> Line2D:
    """Entry of a legend."""
    return Line2D([], [], color=color, linestyle=style, linewidth=width, label=label)


def note(axes: Axes, text: str) -> None:
    """Small text in the upper right corner of the axes."""
    box = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 1.5}
    axes.text(0.985, 0.94, text, transform=axes.transAxes, ha="right", va="top", fontsize=8, bbox=box)


def _mark_impact(axes: Axes, position: float, label: str, style: LineStyle, side: Literal["left", "right"]) -> None:
    lower, upper = axes.get_xlim()
    if not lower <= position <= upper:
        return
    axes.axvline(position, color=IMPACT, linestyle=style, linewidth=0.9, zorder=1.5)
    if label:
        text = f"{label} " if side == "right" else f" {label}"
        axes.text(
            position,
            1.01,
            text,
            transform=axes.get_xaxis_transform(),
            ha=side,
            va="bottom",
            fontsize=8,
            color=IMPACT,
        )
