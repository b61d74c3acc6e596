"""How long the loop computed, and what it missed."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from impact_control.recording.figures.panels import WIDTH
from impact_control.recording.figures.run_data import RunData
from impact_control.recording.series import Series
from impact_control.recording.style import ANTE, INK, INTERIM, LIMIT, NEUTRAL, TimeAxis, finish, mark_run, note
from impact_control.recording.topics import series_if_recorded
from impact_control.types import Vector


def timing(run: RunData) -> Figure | None:
    """Duration of the computation, intervals of the joint states, missed samples and late cycles."""
    recording, topics, whole = run.recording, run.topics, TimeAxis.whole_run()
    status = series_if_recorded(recording, topics.status)
    truth = series_if_recorded(recording, topics.truth)
    figure = Figure(figsize=(WIDTH, 6.4))
    ((over_time, histogram), (counters, intervals)) = figure.subplots(2, 2)
    if status is not None:
        _draw_durations(over_time, histogram, status["stamp"], 1e6 * status["step_duration"])
        _draw_count(counters, status["stamp"], _counts(status["missed_samples"]), INTERIM, "missed samples")
    if truth is not None:
        waiting = truth["command_state"] != recording.constants(topics.truth)["COMMAND_FRESH"]
        _draw_count(counters, truth["stamp"], _counts(truth["late_cycles"]), ANTE, "late cycles")
        _draw_count(counters, truth["stamp"], np.cumsum(waiting), NEUTRAL, "periods without a new command")
    if counters.lines:
        counters.legend(loc="upper left", frameon=True, edgecolor="none", framealpha=0.85)
        counters.set_ylim(0.0, max(1.0, 1.5 * counters.get_ylim()[1]))
    _draw_intervals(intervals, recording.series(topics.joint_states))
    over_time.set(ylabel="duration [µs]", xlabel=whole.label, title="computation of one command")
    histogram.set(xlabel="duration [µs]", ylabel="samples [-]", title="computation of one command")
    counters.set(ylabel="count [-]", xlabel=whole.label, title="what went missing")
    counters.yaxis.set_major_locator(MaxNLocator(integer=True))
    intervals.set(xlabel="interval [ms]", ylabel="samples [-]", title="from one joint state to the next")
    mark_run(over_time, whole, run.analysis, labels=True)
    mark_run(counters, whole, run.analysis, labels=True)
    finish(figure, run.analysis, rows=0.5, header=0.2)
    return figure


def _draw_durations(over_time: Axes, histogram: Axes, stamp: Vector, micros: Vector) -> None:
    """Durations (m,) [µs] of the computation over their stamps [s], and how often each occurred."""
    median, high, largest = np.percentile(micros, [50, 99, 100])
    over_time.plot(stamp, micros, color=INK, linewidth=0.6)
    over_time.axhline(high, color=LIMIT, linestyle="--", linewidth=1.0)
    over_time.set_ylim(0.0, 1.25 * largest)
    note(over_time, "dashed: 99 % lie below")
    histogram.hist(micros, bins=60, color=ANTE, log=True)
    note(histogram, f"median {median:.0f} µs\n99 % {high:.0f} µs\nlargest {largest:.0f} µs")


def _draw_intervals(axes: Axes, states: Series) -> None:
    """How often the joint states followed each other at which interval, by stamp and by reception."""
    steps = {"stamps": 1e3 * np.diff(states["stamp"]), "reception": 1e3 * np.diff(states["log_time"])}
    longest = max((float(step.max(initial=0.0)) for step in steps.values()), default=0.0)
    for (label, step), color, shift in zip(steps.items(), (ANTE, INTERIM), (0.25, 0.75), strict=True):
        width = max(longest, 1e-3) * 1.05 / 40
        heights, edges = np.histogram(step, bins=width * np.arange(42))
        axes.bar(edges[:-1] + shift * width, heights, width=width / 2, color=color, label=label, log=True)
    axes.legend(loc="upper right", ncols=2)
    # Room for the legend above the highest bar, wherever that stands.
    axes.set_ylim(0.7, 30.0 * len(states["stamp"]))


def _draw_count(axes: Axes, time: Vector, count: NDArray[np.int64], color: str, label: str) -> None:
    axes.step(time, count, where="post", color=color, label=f"{label}: {count[-1]}")


def _counts(counter: NDArray[np.integer]) -> NDArray[np.int64]:
    """Increments of a counter since the first sample."""
    values: NDArray[np.int64] = counter.astype(np.int64)
    return np.asarray(values - values[0])
