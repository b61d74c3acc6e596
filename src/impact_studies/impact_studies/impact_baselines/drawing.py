"""Pictures of the comparison: feedback torque over how early or late the impact came, and its course."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from impact_control.recording.style import NEUTRAL, ROW, SERIES, WIDTH, line
from impact_studies.frame.legend import legend_above
from impact_studies.impact_baselines.statements import PEAK_FEEDBACK, Outcome

_LEGEND = 0.7
"""[inch]"""


def draw_peaks(outcome: Outcome) -> Figure:
    """A dot for each trial."""
    figure = Figure(figsize=(WIDTH, 2.6 * ROW + _LEGEND))
    axes = figure.subplots()
    for method, colour in zip(outcome.trials, SERIES, strict=False):
        offsets = [1e3 * trial.contact_offset for trial in outcome.trials[method]]
        axes.plot(offsets, outcome.values(method, PEAK_FEEDBACK), ".", color=colour, markersize=5.0)
    axes.set_yscale("log")
    axes.axvline(0.0, color=NEUTRAL, linewidth=0.8)
    axes.set(xlabel="first contact after the nominal time [ms]", ylabel="peak feedback torque [Nm]")
    _legend(figure, outcome)
    return figure


def draw_courses(outcome: Outcome) -> Figure:
    """Largest feedback torque of all joints around the impact: the lowest and the highest surface, one between."""
    figure = Figure(figsize=(WIDTH, 3 * ROW + _LEGEND))
    panels = figure.subplots(3, 1, sharex=True)
    first = next(iter(outcome.cases.values()))
    order = np.argsort([case.height for case in first])
    for axes, k in zip(panels, (order[-1], order[len(order) // 2], order[0]), strict=True):
        for method, colour in zip(outcome.trials, SERIES, strict=False):
            trial = outcome.trials[method][k]
            axes.plot(1e3 * trial.time, trial.feedback, color=colour, linewidth=1.0)
        axes.set(ylabel="[Nm]", title=f"surface {1e3 * first[k].height:+.1f} mm")
    panels[-1].set_xlabel("time after the first contact [ms]")
    _legend(figure, outcome)
    return figure


def _legend(figure: Figure, outcome: Outcome) -> None:
    entries = [line(method, colour) for method, colour in zip(outcome.trials, SERIES, strict=False)]
    legend_above(figure, entries, _LEGEND, columns=4)
