"""Panels of a figure: a grid of one row a joint, and the range they show."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from impact_control.recording.analysis import RunAnalysis
from impact_control.recording.style import TimeAxis, mark_run
from impact_control.types import Vector

WIDTH = 10.0
"""[inch] of every figure."""

ROW = 1.55
"""[inch] height of one row of panels."""

_MARGIN = 0.08


def small_multiples(rows: int, columns: list[TimeAxis], row_height: float = ROW) -> tuple[Figure, NDArray[np.object_]]:
    """A figure and its axes (rows, columns), one column a time axis. `row_height` in inches."""
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
    margin = max(_MARGIN * (high - low), (least - (high - low)) / 2, 1e-6)
    for axes in panels:
        axes.set_ylim(low - margin, high + margin)
