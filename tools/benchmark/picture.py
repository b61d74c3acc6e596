"""The picture of a benchmark: figures with targets and peers, ratios over the runs, growth, memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import LogLocator

from benchmark.check import LIMIT
from benchmark.figure import HIGHEST, MEDIAN, Figure
from benchmark.growth import Curve
from benchmark.report import Change, Report
from impact_control.recording.page import png
from impact_control.recording.style import ANTE, INK, NEUTRAL, POST, SERIES, styled
from impact_control.recording.style import LIMIT as ALARM

_WIDTH = 11.0
_ROW = 0.22
"""[inch] of a line of text."""

_PANEL = 2.9
"""[inch] height of a panel with curves."""


def draw_report(report: Report, changes: Sequence[Change]) -> bytes:
    """Return the report, with its `changes` against earlier runs, as a PNG file."""
    timed = [
        figure
        for figures in report.sections.values()
        for figure in figures
        if MEDIAN in figure.values and figure.unit == "us"
    ]
    rows = sum(1 + sum(not peer.missing for peer in figure.peers) for figure in timed)
    wide: list[tuple[float, Callable[[Axes], None]]] = []
    if timed:
        wide.append((_ROW * rows + 0.9, partial(_draw_figures, figures=timed)))
    if changes:
        wide.append((_ROW * len(changes) + 0.9, partial(_draw_changes, changes=changes)))
    halves: list[Callable[[Axes], None]] = [partial(_draw_curve, curve=curve) for curve in report.curves]
    if report.memory:
        halves.append(partial(_draw_memory, memory=report.memory))
    heights = [height for height, _ in wide]
    if halves:
        heights.append(_PANEL * -(-len(halves) // 2))
    # Nothing to draw is left where every part failed.
    heights = heights or [_ROW]
    with styled():
        picture = Picture(figsize=(_WIDTH, sum(heights) + 0.4), layout="constrained")
        # Apart from each other, so that the long names of one do not take room from the others.
        parts = picture.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
        for part, (_, draw) in zip(parts, wide, strict=False):
            draw(part.add_subplot())
        for place, draw in enumerate(halves):
            draw(parts[-1].add_subplot(-(-len(halves) // 2), 2, place + 1))
        facts = report.machine
        title = f"impact_control {facts['version']} {facts['commit']}, {facts['date']}, {facts['kind']}"
        picture.suptitle(title, fontsize=8, color=NEUTRAL)
        return png(picture)


def _draw_figures(axes: Axes, figures: Sequence[Figure]) -> None:
    """A bar to the median of each, a line on to the 99.9 %, strokes at the limits; peers below it in grey."""
    names: list[str] = []
    for figure in figures:
        colour = {True: POST, False: ALARM, None: ANTE}[figure.met]
        for name, values, fill in (
            (figure.name, figure.values, colour),
            *((f"{peer.name}", peer.values, NEUTRAL) for peer in figure.peers if not peer.missing),
        ):
            place = len(names)
            axes.barh(place, values[MEDIAN], color=fill, height=0.7)
            if HIGHEST in values:
                axes.plot([values[MEDIAN], values[HIGHEST]], [place, place], color=fill, linewidth=1.0)
                axes.plot(values[HIGHEST], place, "|", color=fill)
            if name == figure.name:
                axes.plot(list(figure.limits.values()), [place] * len(figure.limits), "|", color=INK, markersize=12)
            names.append(name)
    axes.set_yticks(range(len(names)), names, fontsize=7.5)
    axes.set_xscale("log")
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel("duration [us]: bar to the median, line to 99.9 %, black strokes at the limits")
    axes.set_title("Ours (green: target met, red: missed, blue: no target) and others (grey)")


def _draw_changes(axes: Axes, changes: Sequence[Change]) -> None:
    """Every ratio over the median of the earlier runs, which are grey."""
    for place, change in enumerate(changes):
        earlier = [ratio / change.before for ratio in change.earlier]
        axes.plot(earlier, [place] * len(earlier), ".", color=NEUTRAL)
        axes.plot(change.change, place, "o", color=ALARM if change.worse else POST)
    axes.axvline(LIMIT, color=ALARM, linewidth=0.9, linestyle="--")
    axes.set_yticks(range(len(changes)), [change.name for change in changes], fontsize=7.5)
    axes.set_ylim(len(changes) - 0.4, -0.6)
    axes.set_xlabel("ratio, over the median of the earlier runs")
    axes.set_title("Ratios against earlier runs (grey)")


def _draw_curve(axes: Axes, curve: Curve) -> None:
    for (name, values), colour in zip(curve.lines.items(), SERIES, strict=False):
        style = "--" if name.startswith("Pinocchio") else "-"
        axes.plot(curve.places, values, style, marker="o", markersize=3, color=colour, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.minorticks_off()
    axes.set_xticks(curve.places, [str(place) for place in curve.places])
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter("{x:g}")
    # The legend has the third of the panel above the lines for itself.
    low, high = np.log(axes.get_ylim())
    axes.set_ylim(np.exp(low), np.exp(high + 0.5 * (high - low)))
    axes.set_xlabel(curve.size)
    axes.set_ylabel(f"[{curve.unit}]")
    axes.set_title(curve.name)
    axes.legend(fontsize=7.5, loc="upper left")


def _draw_memory(axes: Axes, memory: Mapping[str, Sequence[tuple[float, float]]]) -> None:
    """Growth since the second tenth of the time: before it, caches fill. What moves most lies below the others."""
    by_range = sorted(memory.items(), key=lambda one: -np.ptp([size for _, size in one[1]]))
    for (name, series), colour in zip(by_range, cycle(SERIES), strict=False):
        first = series[len(series) // 10][1]
        label = f"{name}, from {first:.0f} MB"
        axes.plot([time / 60.0 for time, _ in series], [size - first for _, size in series], color=colour, label=label)
    axes.set_xlabel("time [min]")
    axes.set_ylabel("own memory, growth [MB]")
    axes.set_title("Memory over DDS")
    axes.legend(fontsize=7.5, frameon=True, framealpha=0.85, edgecolor="none")
