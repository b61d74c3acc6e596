"""Pictures of the benchmark: what each detector finds at which price, and how fast."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from impact_control.recording.style import SERIES, WIDTH, line
from impact_studies.detection.evaluation import Choice, median_delay
from impact_studies.detection.methods import METHODS
from impact_studies.detection.motion import ARMS
from impact_studies.detection.plan import Extent, Ideal, Outcomes
from impact_studies.detection.trials import NOISES
from impact_studies.frame.legend import legend_above

_IDEAL: dict[str, Any] = {"marker": "x", "color": "black", "linestyle": "", "markersize": 7.0}

_DELAYS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
_MARKS = ("o", "s", "o", "s", "^", "o", "s", "^", "o")
_COLOURS = (*SERIES[:1] * 2, *SERIES[1:2] * 3, *SERIES[2:3] * 3, *SERIES[3:4])


def draw_roc(outcomes: Outcomes) -> Figure:
    """Share of impacts found over false alarms an hour, all bounds; a row an arm, a column a noise."""
    figure = Figure(figsize=(WIDTH, 7.6))
    grid = figure.subplots(len(ARMS), len(NOISES), squeeze=False, sharex=True, sharey=True)
    hours = outcomes.hours * outcomes.alarms.shape[1] * outcomes.alarms.shape[3]
    for a, arm in enumerate(ARMS):
        for n, noise in enumerate(NOISES):
            axes = grid[a, n]
            axes.set_title(f"{arm.robot}, noise x{noise:g}")
            for m in range(len(METHODS)):
                alarms = outcomes.alarms[a, :, n, :, m].sum(axis=(0, 1)) / hours
                found = 100.0 * np.mean(~np.isnan(outcomes.delay[a, :, :, :, :, n, :, m]), axis=(0, 1, 2, 3, 4))
                axes.plot(alarms, found, marker=_MARKS[m], markersize=3.5, color=_COLOURS[m])
            axes.set_xscale("symlog", linthresh=1.0)
            axes.set_xlim(left=-0.2)
            if a == len(ARMS) - 1:
                axes.set_xlabel("false alarms an hour")
            if n == 0:
                axes.set_ylabel("impacts found [%]")
    _legend(figure)
    return figure


def draw_delays(outcomes: Outcomes, extent: Extent, choice: Choice, ideal: Ideal) -> Figure:
    """Median delay over the speed at the chosen bounds, each contact a column, each arm a row; noise 1.

    A cross is the bound of the ideal detector at the slowest speed.
    """
    figure = Figure(figsize=(WIDTH, 7.6))
    grid = figure.subplots(len(ARMS), len(extent.contacts), squeeze=False, sharex=True, sharey=True)
    for a, arm in enumerate(ARMS):
        for c, contact in enumerate(extent.contacts):
            axes = grid[a, c]
            axes.set_title(contact if a == 0 else "")
            for m in range(len(METHODS)):
                delays = outcomes.delay[a, c, ..., 0, :, m, choice.scales[a][m]]
                medians = [1e3 * median_delay(delays[v]) for v in range(len(extent.speeds))]
                axes.plot(extent.speeds, medians, marker=_MARKS[m], markersize=3.5, color=_COLOURS[m])
            bound = 1e3 * median_delay(ideal.delay[a, c, :, 0])
            axes.plot(extent.speeds[0], bound, **_IDEAL)
            axes.set(xscale="log", yscale="log", xlim=(0.008, 0.65), ylim=(0.1, 60.0))
            axes.set_xticks([0.01, 0.1, 0.5], ["0.01", "0.1", "0.5"])
            axes.set_yticks(_DELAYS, [f"{delay:g}" for delay in _DELAYS])
            axes.minorticks_off()
            if a == len(ARMS) - 1:
                axes.set_xlabel("speed [m/s]")
            if c == 0:
                axes.set_ylabel(f"{arm.robot}: median delay [ms]")
    _legend(figure, Line2D([], [], label="ideal detector", **_IDEAL))
    return figure


def _legend(figure: Figure, *more: Line2D) -> None:
    entries = [
        line(method.name, color, marker=mark, markersize=3.5)
        for method, color, mark in zip(METHODS, _COLOURS, _MARKS, strict=True)
    ]
    legend_above(figure, [*entries, *more], 1.25, left=0.8, columns=4, hspace=0.25, wspace=0.1)
