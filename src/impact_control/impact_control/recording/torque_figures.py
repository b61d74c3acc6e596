"""Figures of torque and timing in a run: residual, commanded torque, computation; and the residual of a replay.

Those of a run return None where the recording does not contain what they show.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from impact_control.recording.gaps import with_gaps
from impact_control.recording.measures import (
    commanded_torque,
    control_period,
    periods_without_command,
    torque_rate,
    touch_torques,
)
from impact_control.recording.series import Series, Topics
from impact_control.recording.style import (
    ANTE,
    IMPACT,
    INK,
    INTERIM,
    LIMIT,
    NEUTRAL,
    ROW,
    WIDTH,
    TimeAxis,
    finish,
    finish_multiples,
    fit_vertically,
    line,
    mark_run,
    note,
    small_multiples,
    time_axes,
)
from impact_control.recording.summary import RunData
from impact_control.util.types import Matrix, Vector

_LEAST_RATIO = 1e-3
"""Least ratio of rate and threshold on the logarithmic axis."""


def residual(run: RunData) -> Figure | None:
    """Draw the momentum residual and its rate with the thresholds of the detector. Proper 2021, (2.89), (3.4).

    Beside the residual the torque of touches of the links of a simulated robot, which it estimates.
    """
    series = run.recording.get(Topics.external_torque)
    if series is None:
        return None
    names = ("external_torque", "external_torque_rate", "rate_threshold")
    stamp, torque, rate, threshold = with_gaps(series["stamp"], *(series[name] for name in names))
    touches = touch_torques(run.recording)
    whole, *zoomed = time_axes(run.analysis)
    right = zoomed[0] if zoomed else whole
    count = len(run.joints)
    figure = Figure(figsize=(WIDTH, ROW * (count + 2.2) + 0.8))
    layout = figure.add_gridspec(count + 2, 2, height_ratios=[1.4, 0.4] + [1.0] * count)
    overview = figure.add_subplot(layout[0, :])
    _draw_ratio(overview, stamp, np.max(np.abs(rate) / np.where(threshold > 0, threshold, np.nan), axis=1))
    overview.set(ylabel="rate / threshold [-]", xlabel=whole.label)
    overview.set_title("largest over the joints: an impact is detected above 1")
    mark_run(overview, whole, run.analysis, labels=True)
    grid = np.array([[figure.add_subplot(layout[j + 2, k]) for k in range(2)] for j in range(count)])
    time, near = right(stamp), right.shown(stamp)
    for j, (left, beside) in enumerate(grid):
        if touches is not None:
            touched, true_torque = with_gaps(touches[0], touches[1][:, j])
            left.plot(touched, true_torque, color=ANTE, linewidth=1.4)
        left.plot(stamp, torque[:, j], color=INK, linewidth=1.0)
        left.set_ylabel(f"{run.joints[j]}\n[Nm]")
        bound = threshold[:, j]
        beside.fill_between(time, -bound, bound, color=NEUTRAL, alpha=0.18, linewidth=0, step="mid")
        for sign in (-1, 1):
            beside.plot(time, sign * bound, color=LIMIT, linestyle="--", linewidth=1.0)
        beside.plot(time, rate[:, j], color=INK, linewidth=1.0, marker=".", markersize=2.5)
        fit_vertically([beside], np.concatenate([rate[near, j], bound[near], -bound[near]]))
        beside.set_ylabel("[Nm/s]")
    finish_multiples(grid, [whole, right], run.analysis)
    grid[0, 0].set_title("residual")
    grid[0, 1].set_title("rate of the residual")
    true = [line("touch, simulated", ANTE)] if touches is not None else []
    finish(figure, run.analysis, [line("estimate", INK), *true, line("threshold", LIMIT, "--")], header=0.2)
    return figure


def replayed_residual(
    joints: Sequence[str],
    time: Vector,
    residual: Matrix,
    rate: Matrix,
    threshold: Vector,
    impacts: Sequence[float],
    recorded: tuple[Vector, Matrix] | None,
) -> Figure:
    """Draw the external torque of a replay on the recorded one, and the ratio of its rate to the thresholds.

    joints: (n,) names. time (k,) [s], residual (k, n) [Nm] and rate (k, n) [Nm/s] of the replay; threshold (n,) [Nm/s],
    NaN for none; impacts: times of detection [s]; recorded: stamps and external torques [Nm], or None.
    """
    bounded = np.isfinite(threshold)
    rows = len(joints) + bool(bounded.any())
    figure = Figure(figsize=(WIDTH, 1.3 * rows + 0.9), layout="constrained")
    panels = list(figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0])
    for axes in panels[: rows - len(joints)]:
        _draw_ratio(axes, *with_gaps(time, np.nanmax(np.abs(rate[:, bounded]) / threshold[bounded], axis=1)))
        axes.set_ylabel("rate /\nthreshold [-]")
    time, residual = with_gaps(time, residual)
    before = None if recorded is None else with_gaps(*recorded)
    for joint, axes in enumerate(panels[rows - len(joints) :]):
        if before is not None:
            axes.plot(before[0], before[1][:, joint], color=ANTE, linewidth=2.2)
        axes.plot(time, residual[:, joint], color=INK, linewidth=0.9)
        axes.set_ylabel(f"{joints[joint]}\n[Nm]")
    for axes in panels:
        for impact in impacts:
            axes.axvline(impact, color=IMPACT, linestyle="--", linewidth=0.9)
    panels[-1].set_xlabel("time [s]")
    entries = [line("replayed", INK), line("impact detected", IMPACT, "--")]
    entries += [line("recorded", ANTE)] if recorded is not None else []
    figure.legend(handles=entries, loc="outside upper center", ncols=len(entries))
    return figure


def _draw_ratio(axes: Axes, time: Vector, ratio: Vector) -> None:
    """Draw the rate of the residual over its threshold, largest over the joints (m,)."""
    axes.semilogy(time, np.maximum(ratio, _LEAST_RATIO), color=INK, linewidth=0.8)
    axes.axhline(1.0, color=LIMIT, linestyle="--", linewidth=1.2)


def torques(run: RunData) -> Figure | None:
    """Draw the commanded torques and their rates with the limits, one row a joint."""
    commanded = commanded_torque(run.recording)
    if commanded is None:
        return None
    stamp, torque = commanded
    rate_stamp, rate = torque_rate(stamp, torque, control_period(run.recording))
    drawn, drawn_rate = with_gaps(stamp, torque), with_gaps(rate_stamp, rate)
    limits = run.analysis.limits
    columns = [TimeAxis.whole_run()] * 2
    figure, grid = small_multiples(torque.shape[1], columns)
    for j, (left, beside) in enumerate(grid):
        left.plot(drawn[0], drawn[1][:, j], color=INK, linewidth=1.0)
        beside.plot(drawn_rate[0], drawn_rate[1][:, j], color=INK, linewidth=0.7)
        left.set_ylabel(f"{run.joints[j]}\n[Nm]")
        beside.set_ylabel("[Nm/s]")
        bounds = (None, None) if limits is None else (limits.torque[j], limits.torque_rate[j])
        _draw_limit(left, torque[:, j], bounds[0], "Nm")
        _draw_limit(beside, rate[:, j], bounds[1], "Nm/s")
    finish_multiples(grid, columns, run.analysis)
    grid[0, 0].set_title("commanded torque")
    grid[0, 1].set_title("rate of the commanded torque")
    finish(figure, run.analysis, [line("commanded", INK), line("limit", LIMIT, "--")], header=0.2)
    return figure


def _draw_limit(axes: Axes, values: Vector, limit: float | None, unit: str) -> None:
    """Draw the limit if the values use more than half of it, and note the peak."""
    peak = float(np.abs(values).max(initial=0.0))
    digits = f"{peak:.0f}" if peak >= 100.0 else f"{peak:.3g}"  # at least three, without an exponent
    if limit is None:
        note(axes, f"peak {digits} {unit}")
        return
    visible = values
    if peak > 0.5 * limit:
        for sign in (-1, 1):
            axes.axhline(sign * limit, color=LIMIT, linestyle="--", linewidth=1.0)
        visible = np.concatenate([values, [limit, -limit]])
    fit_vertically([axes], visible)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.22 * (high - low))
    note(axes, f"peak {digits} of {limit:.4g} {unit}")


def timing(run: RunData) -> Figure | None:
    """Draw the duration of the computation, intervals of the joint states, missed samples and late cycles."""
    recording, whole = run.recording, TimeAxis.whole_run()
    status, truth = recording.get(Topics.status), recording.get(Topics.truth)
    figure = Figure(figsize=(WIDTH, 6.4))
    ((over_time, histogram), (counters, intervals)) = figure.subplots(2, 2)
    if status is not None:
        _draw_durations(over_time, histogram, status["stamp"], 1e6 * status["step_duration"])
        _draw_count(counters, status["stamp"], _increments(status["missed_samples"]), INTERIM, "missed samples")
    if truth is not None:
        held, lost = periods_without_command(recording)
        _draw_count(counters, truth["stamp"], _increments(truth["late_cycles"]), ANTE, "late cycles")
        _draw_count(counters, truth["stamp"], np.cumsum(held | lost), NEUTRAL, "commands held or lost")
    if counters.lines:
        counters.legend(loc="upper left", frameon=True, edgecolor="none", framealpha=0.85)
        counters.set_ylim(0.0, max(1.0, 1.5 * counters.get_ylim()[1]))
    _draw_intervals(intervals, recording.series(Topics.joint_states))
    over_time.set(ylabel="duration [µs]", xlabel=whole.label, title="computation of one command")
    histogram.set(xlabel="duration [µs]", ylabel="samples [-]", title="computation of one command")
    counters.set(ylabel="count [-]", xlabel=whole.label, title="what went missing")
    counters.yaxis.set_major_locator(MaxNLocator(integer=True))
    intervals.set(xlabel="interval [ms]", ylabel="samples [-]", title="from one joint state to the next")
    for axes in (over_time, counters):
        mark_run(axes, whole, run.analysis, labels=True)
    finish(figure, run.analysis, rows=0.5, header=0.2)
    return figure


def _draw_durations(over_time: Axes, histogram: Axes, stamp: Vector, micros: Vector) -> None:
    """Draw durations (m,) [µs] of the computation over their stamps [s], and their histogram."""
    median, high, largest = np.percentile(micros, [50, 99, 100])
    over_time.plot(*with_gaps(stamp, micros), color=INK, linewidth=0.6)
    over_time.axhline(high, color=LIMIT, linestyle="--", linewidth=1.0)
    over_time.set_ylim(0.0, 1.25 * largest)
    note(over_time, "dashed: 99 % lie below")
    histogram.hist(micros, bins=60, color=ANTE, log=True)
    note(histogram, f"median {median:.0f} µs\n99 % {high:.0f} µs\nlargest {largest:.0f} µs")


def _draw_intervals(axes: Axes, states: Series) -> None:
    """Draw the histogram of the intervals between joint states, by stamp and by reception."""
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
    axes.step(*with_gaps(time, count), where="post", color=color, label=f"{label}: {count[-1]}")


def _increments(counter: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the increments of a counter since the first sample."""
    values: NDArray[np.int64] = counter.astype(np.int64)
    return np.asarray(values - values[0])
