"""Pictures of the sweeps: share of expected trials over the tilt, and times of decision."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from impact_control.recording.style import ANTE, INK, INTERIM, LIMIT, POST, ROW, SERIES, WIDTH, line
from impact_studies.classification.evaluation import Outcome
from impact_studies.frame.legend import legend_above

_COLUMNS = 3


def draw_shares(outcomes: Sequence[Outcome]) -> Figure:
    """Share of trials called expected over the tilt, a panel for each figure of the source; acceptable tilts shaded.

    By the impacts, its part (a), by the behaviour, its part (b), and by both.
    """
    rows = -(-len(outcomes) // _COLUMNS)
    figure = Figure(figsize=(WIDTH, rows * ROW + 0.8), layout="constrained")
    grid = figure.subplots(rows, _COLUMNS, squeeze=False, sharex=True, sharey=True)
    for axes, outcome in zip(grid.flat, outcomes, strict=False):
        low, high = outcome.experiment.acceptable
        axes.axvspan(low - 0.25, high + 0.25, color=POST, alpha=0.15)
        parts = (outcome.impacts, INTERIM), (outcome.behaviour, ANTE), (outcome.overall, INK)
        # Where lines lie on each other all are seen: the one below is wider.
        for (verdicts, color), width in zip(parts, (4.0, 2.4, 0.9), strict=True):
            shares = verdicts.shares
            axes.plot(list(shares), 100.0 * np.array(list(shares.values())), color=color, linewidth=width)
        area = outcome.overall.area
        for width, edge, sign in ((area.below, low, -1.0), (area.above, high, 1.0)):
            if 0.0 < width < np.inf:
                axes.axvline(edge + sign * width, color=LIMIT, linewidth=0.9, linestyle=":")
        axes.set_title(outcome.experiment.title)
    for axes in grid[-1]:
        axes.set_xlabel("tilt [deg]")
    for axes in grid[:, 0]:
        axes.set_ylabel("expected [%]")
    entries = [line("by the impacts (a)", INTERIM), line("by the behaviour (b)", ANTE), line("by both", INK)]
    legend_above(figure, entries)
    return figure


def draw_times(outcomes: Sequence[Outcome]) -> Figure:
    """Distribution of the time from the first impact to the verdict, of what is unexpected."""
    figure = Figure(figsize=(WIDTH, 2.2 * ROW), layout="constrained")
    axes = figure.subplots()
    for outcome, color in zip(outcomes, SERIES, strict=False):
        times = np.sort(1e3 * outcome.decided_after[outcome.unexpected])
        if times.size:
            axes.step(
                [0.0, *times],
                100.0 * np.arange(times.size + 1) / times.size,
                where="post",
                color=color,
                label=outcome.experiment.title,
            )
    axes.set(xlabel="after the first impact [ms]", ylabel="named unexpected [%]")
    axes.legend(loc="lower right")
    return figure
