"""Figures of a run. Each function draws one; what the recording does not contain is left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from impact_control.errors import InvalidInputError
from impact_control.recording.analysis import (
    PostImpactComparison,
    RunAnalysis,
    Topics,
    commanded_torque,
    measured_joints,
    rate_of_change,
)
from impact_control.recording.series import Recording
from impact_control.recording.style import (
    ANTE,
    INK,
    INTERIM,
    LIMIT,
    NEUTRAL,
    POST,
    SERIES,
    TimeAxis,
    finish,
    line,
    mark_run,
    note,
    time_axes,
)
from impact_control.recording.summary import short_joint_names
from impact_control.types import Matrix, Vector

_WIDTH = 10.0
_ROW = 1.55
_MARGIN = 0.08


@dataclass(frozen=True)
class Envelope:
    """Envelope of the joint velocity error, recomputed by the caller. Proper 2021, (4.26).

    Attributes:
        time: (m,) [s] stamps.
        lower: (m, n) [rad/s] bound.
        upper: (m, n) [rad/s] bound.
        margin: [rad/s] e_eta, by which the bounds are widened in (4.27).
    """

    time: Vector
    lower: Matrix
    upper: Matrix
    margin: float = 0.0

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit together."""
        for name, bound in (("lower", self.lower), ("upper", self.upper)):
            if bound.ndim != 2 or len(bound) != len(self.time) or bound.shape != self.lower.shape:
                raise InvalidInputError(name, bound.shape, f"shape ({len(self.time)}, joints)")


@dataclass(frozen=True)
class RunData:
    """All that the figures draw from."""

    recording: Recording
    analysis: RunAnalysis
    topics: Topics
    comparison: PostImpactComparison | None = None
    envelope: Envelope | None = None

    @property
    def joints(self) -> tuple[str, ...]:
        """Short names of the joints."""
        return short_joint_names(self.analysis.joint_names)


@dataclass(frozen=True)
class FigureEntry:
    """A kind of figure: file name, heading, explanation, and the function that draws it or returns None."""

    name: str
    title: str
    caption: str
    draw: Callable[[RunData], Figure | None]


def joint_velocities(run: RunData) -> Figure | None:
    """Measured joint velocities with the ante- and post-impact references, one row a joint."""
    measured = measured_joints(run.recording, run.topics)
    columns = time_axes(run.analysis)
    figure, grid = _small_multiples(len(run.joints), columns)
    reference = run.recording.series(run.topics.reference) if run.topics.reference in run.recording else None
    gross = run.analysis.gross_post_velocity
    for j, row in enumerate(grid):
        visible = [measured.velocity[:, j]]
        for axes, time in zip(row, columns, strict=True):
            axes.plot(time(measured.time), measured.velocity[:, j], color=INK, linewidth=0.9, zorder=3)
            if reference is not None:
                modes = run.recording.constants(run.topics.reference)
                for name, color, own_modes in (
                    ("ante", ANTE, ("IDLE", "ANTE")),
                    ("post", POST, ("POST", "STOPPED")),
                ):
                    values = reference[f"{name}_joint_velocity"][:, j]
                    followed = np.isin(reference["mode"], [modes[mode] for mode in own_modes])
                    _plot_where(
                        axes,
                        time(reference["stamp"]),
                        values,
                        followed,
                        color=color,
                        linewidth=3.0,
                        alpha=0.6,
                    )
                    _plot_where(
                        axes,
                        time(reference["stamp"]),
                        values,
                        ~followed,
                        color=color,
                        linewidth=1.1,
                        linestyle="--",
                    )
                    visible.append(values[followed])
            if gross is not None and time.zoomed:
                axes.plot(0.0, gross[j], marker="D", markersize=4.5, color=LIMIT, zorder=4, linestyle="")
        _fit_vertically(row, np.concatenate(visible))
        row[0].set_ylabel(f"{run.joints[j]}\n[rad/s]")
    _finish_multiples(grid, columns, run.analysis)
    entries = [line("measured", INK, width=0.9)]
    if reference is not None:
        entries += [
            line("ante-impact reference", ANTE, width=3.0),
            line("post-impact reference", POST, width=3.0),
        ]
        entries += [line("extension of either", NEUTRAL, "--")]
    if gross is not None:
        entries.append(line("gross velocity after impact", LIMIT, ""))
        entries[-1].set(marker="D", markersize=4.5)
    finish(figure, run.analysis, entries)
    return figure


def velocity_error(run: RunData) -> Figure | None:
    """Joint velocity error around the impact with its envelope. Proper 2021, (4.10), (4.26), (4.27)."""
    impact = run.analysis.impact_time
    if impact is None or run.topics.reference not in run.recording:
        return None
    time = TimeAxis.around(impact)
    measured = measured_joints(run.recording, run.topics)
    error = measured.velocity - _expected_velocity(run, measured.time)
    near = _within(time, measured.time)
    rows = -(-(len(run.joints) + 1) // 2)
    figure = Figure(figsize=(_WIDTH, 1.7 * rows + 1.0))
    panels = list(np.ravel(figure.subplots(rows, 2, squeeze=False)))
    for j, axes in enumerate(panels[: len(run.joints)]):
        visible = [error[near, j], np.zeros(1)]
        if run.envelope is not None:
            visible += _draw_envelope(axes, time, run.envelope, j)
        axes.axhline(0.0, color=NEUTRAL, linestyle="-.", linewidth=1.0)
        axes.plot(time(measured.time[near]), error[near, j], color=INK, zorder=3)
        _fit_vertically([axes], np.concatenate(visible))
        axes.set_ylabel(f"{run.joints[j]}\n[rad/s]")
    _draw_worst_joint(panels[len(run.joints)], time, run.envelope, measured.time, error)
    for axes in panels[len(run.joints) + 1 :]:
        axes.remove()
    for i, axes in enumerate(panels[: len(run.joints) + 1]):
        mark_run(axes, time, run.analysis, labels=i < 2)
        if i >= len(run.joints) - 1:
            axes.set_xlabel(time.label)
        else:
            axes.tick_params(labelbottom=False)
    entries = [line("velocity error", INK), line("zero", NEUTRAL, "-.")]
    if run.envelope is not None:
        entries += [line("envelope", ANTE), line("envelope and margin", ANTE, ":")]
    finish(figure, run.analysis, entries)
    return figure


def residual(run: RunData) -> Figure | None:
    """Momentum residual and its rate with the thresholds of the detector. Proper 2021, (2.89), (3.4)."""
    if run.topics.external_torque not in run.recording:
        return None
    series = run.recording.series(run.topics.external_torque)
    stamp, torque = series["stamp"], series["external_torque"]
    rate, threshold = series["external_torque_rate"], series["rate_threshold"]
    whole, *zoomed = time_axes(run.analysis)
    right = zoomed[0] if zoomed else whole
    count = len(run.joints)
    figure = Figure(figsize=(_WIDTH, _ROW * (count + 2.2) + 0.8))
    layout = figure.add_gridspec(count + 2, 2, height_ratios=[1.4, 0.4] + [1.0] * count)
    overview = figure.add_subplot(layout[0, :])
    ratio = np.max(np.abs(rate) / np.where(threshold > 0, threshold, np.nan), axis=1)
    overview.semilogy(stamp, np.maximum(ratio, 1e-3), color=INK, linewidth=0.8)
    overview.axhline(1.0, color=LIMIT, linestyle="--", linewidth=1.2)
    overview.set(ylabel="rate / threshold [-]", xlabel=whole.label)
    overview.set_title("largest over the joints: an impact is detected above 1")
    mark_run(overview, whole, run.analysis, labels=True)
    grid = np.array([[figure.add_subplot(layout[j + 2, k]) for k in range(2)] for j in range(count)])
    for j, (left, beside) in enumerate(grid):
        left.plot(stamp, torque[:, j], color=INK, linewidth=1.0)
        left.set_ylabel(f"{run.joints[j]}\n[Nm]")
        near = _within(right, stamp)
        beside.fill_between(
            right(stamp),
            -threshold[:, j],
            threshold[:, j],
            color=NEUTRAL,
            alpha=0.18,
            linewidth=0,
            step="mid",
        )
        for sign in (-1, 1):
            beside.plot(right(stamp), sign * threshold[:, j], color=LIMIT, linestyle="--", linewidth=1.0)
        beside.plot(right(stamp), rate[:, j], color=INK, linewidth=1.0, marker=".", markersize=2.5)
        _fit_vertically([beside], np.concatenate([rate[near, j], threshold[near, j], -threshold[near, j]]))
        beside.set_ylabel("[Nm/s]")
    _finish_multiples(grid, [whole, right], run.analysis)
    grid[0, 0].set_title("residual")
    grid[0, 1].set_title("rate of the residual")
    finish(figure, run.analysis, [line("estimate", INK), line("threshold", LIMIT, "--")], header=0.2)
    return figure


def task_space(run: RunData) -> Figure | None:
    """Position of the end-effector with its reference, and the contact force with the desired force."""
    recording, topics = run.recording, run.topics
    if topics.reference not in recording or topics.status not in recording:
        return None
    reference, status = recording.series(topics.reference), recording.series(topics.status)
    columns = time_axes(run.analysis)
    has_truth = topics.truth in recording
    figure, grid = _small_multiples(4 if has_truth else 3, columns, row_height=1.9)
    wanted = _resample(status["stamp"], reference["stamp"], reference["position"])
    actual = wanted - status["position_error"]
    for i, name in enumerate("xyz"):
        for axes, time in zip(grid[i], columns, strict=True):
            near = _within(time, status["stamp"])
            axes.plot(time(status["stamp"][near]), 1e3 * wanted[near, i], color=ANTE, linewidth=1.6)
            axes.plot(time(status["stamp"][near]), 1e3 * actual[near, i], color=INK, linewidth=1.0)
            _fit_vertically([axes], 1e3 * np.concatenate([wanted[near, i], actual[near, i]]), least=1.0)
        grid[i][0].set_ylabel(f"{name} [mm]")
    if has_truth:
        _draw_force(grid[3], columns, run)
    _finish_multiples(grid, columns, run.analysis)
    finish(figure, run.analysis, [line("measured", INK), line("reference", ANTE)])
    return figure


def torques(run: RunData) -> Figure | None:
    """Commanded torques and their rates with the limits, one row a joint."""
    commanded = commanded_torque(run.recording, run.topics)
    if commanded is None:
        return None
    stamp, torque = commanded
    rate_stamp, rate = rate_of_change(stamp, torque)
    limits = run.analysis.limits
    whole = TimeAxis.whole_run()
    figure, grid = _small_multiples(torque.shape[1], [whole, whole])
    for j, (left, beside) in enumerate(grid):
        left.plot(stamp, torque[:, j], color=INK, linewidth=1.0)
        beside.plot(rate_stamp, rate[:, j], color=INK, linewidth=0.7)
        left.set_ylabel(f"{run.joints[j]}\n[Nm]")
        beside.set_ylabel("[Nm/s]")
        bounds = (None, None) if limits is None else (limits.torque[j], limits.torque_rate[j])
        _draw_limit(left, torque[:, j], bounds[0], "Nm")
        _draw_limit(beside, rate[:, j], bounds[1], "Nm/s")
    _finish_multiples(grid, [whole, whole], run.analysis)
    grid[0, 0].set_title("commanded torque")
    grid[0, 1].set_title("rate of the commanded torque")
    finish(figure, run.analysis, [line("commanded", INK), line("limit", LIMIT, "--")], header=0.2)
    return figure


def timing(run: RunData) -> Figure | None:
    """Duration of the computation, intervals of the joint states, missed samples and late cycles."""
    recording, topics, whole = run.recording, run.topics, TimeAxis.whole_run()
    status = recording.series(topics.status) if topics.status in recording else None
    truth = recording.series(topics.truth) if topics.truth in recording else None
    states = recording.series(topics.joint_states)
    figure = Figure(figsize=(_WIDTH, 6.4))
    ((over_time, histogram), (counters, intervals)) = figure.subplots(2, 2)
    if status is not None:
        micros = 1e6 * status["step_duration"]
        median, high, largest = np.percentile(micros, [50, 99, 100])
        over_time.plot(status["stamp"], micros, color=INK, linewidth=0.6)
        over_time.axhline(high, color=LIMIT, linestyle="--", linewidth=1.0)
        over_time.set_ylim(0.0, 1.25 * largest)
        note(over_time, "dashed: 99 % lie below")
        histogram.hist(micros, bins=60, color=ANTE, log=True)
        note(histogram, f"median {median:.0f} µs\n99 % {high:.0f} µs\nlargest {largest:.0f} µs")
        _draw_count(counters, status["stamp"], _counts(status["missed_samples"]), INTERIM, "missed samples")
    if truth is not None:
        waiting = truth["command_state"] != recording.constants(topics.truth)["COMMAND_FRESH"]
        _draw_count(counters, truth["stamp"], _counts(truth["late_cycles"]), ANTE, "late cycles")
        _draw_count(counters, truth["stamp"], np.cumsum(waiting), NEUTRAL, "periods without a new command")
    if counters.lines:
        counters.legend(loc="upper left")
        counters.set_ylim(0.0, max(1.0, 1.5 * counters.get_ylim()[1]))
    steps = {"stamps": 1e3 * np.diff(states["stamp"]), "reception": 1e3 * np.diff(states["log_time"])}
    longest = max((float(step.max(initial=0.0)) for step in steps.values()), default=0.0)
    for (label, step), color, shift in zip(steps.items(), (ANTE, INTERIM), (0.25, 0.75), strict=True):
        width = max(longest, 1e-3) * 1.05 / 40
        heights, edges = np.histogram(step, bins=width * np.arange(42))
        intervals.bar(edges[:-1] + shift * width, heights, width=width / 2, color=color, label=label, log=True)
    intervals.legend(loc="upper left")
    intervals.set_ylim(0.7, 3.0 * len(states["stamp"]))
    over_time.set(ylabel="duration [µs]", xlabel=whole.label, title="computation of one command")
    histogram.set(xlabel="duration [µs]", ylabel="samples [-]", title="computation of one command")
    counters.set(ylabel="count [-]", xlabel=whole.label, title="what went missing")
    counters.yaxis.set_major_locator(MaxNLocator(integer=True))
    intervals.set(xlabel="interval [ms]", ylabel="samples [-]", title="from one joint state to the next")
    mark_run(over_time, whole, run.analysis, labels=True)
    mark_run(counters, whole, run.analysis, labels=True)
    finish(figure, run.analysis, rows=0.5, header=0.2)
    return figure


def post_impact(run: RunData) -> Figure | None:
    """Joint velocities predicted for after the impact beside the observed ones, and their errors."""
    comparison = run.comparison
    if comparison is None:
        return None
    names = short_joint_names(comparison.joint_names)
    place = np.arange(len(names))
    figure = Figure(figsize=(_WIDTH, 6.2))
    velocities, errors = figure.subplots(2, 1, height_ratios=[1.4, 1.0])
    half = 0.36
    velocities.axhline(0.0, color=NEUTRAL, linewidth=0.8)
    velocities.hlines(
        comparison.ante, place - half, place + half, color=NEUTRAL, linewidth=2.2, label="before the impact"
    )
    velocities.hlines(
        comparison.gross_post,
        place - half,
        place + half,
        color=INK,
        linewidth=2.6,
        label="after it, observed",
    )
    count = max(len(comparison.predictions), 1)
    best = comparison.best()
    for i, (name, error) in enumerate(comparison.errors().items()):
        shift = (i - (count - 1) / 2) * 2 * half / count
        color, marker = SERIES[i % len(SERIES)], "osD^v"[i % 5]
        velocities.plot(
            place + shift,
            comparison.predictions[name],
            linestyle="",
            marker=marker,
            markersize=7,
            color=color,
            markeredgecolor="white",
            label=f"predicted with {_math(name)}",
        )
        heights = np.append(error, error.mean())
        errors.bar(
            np.append(place, len(names)) + shift,
            heights,
            width=1.7 * half / count,
            color=color,
            label=_math(name),
            alpha=0.9,
        )
        errors.text(
            len(names) + shift,
            heights[-1],
            f"{heights[-1]:.1f}",
            ha="center",
            va="bottom",
            fontsize=8,
            fontweight="bold" if name == best else "normal",
        )
    velocities.set(xticks=place, xticklabels=names, ylabel="joint velocity [deg/s]", xlim=(-0.5, len(names) + 0.5))
    errors.set(xticks=np.append(place, len(names)), xticklabels=[*names, "mean"], ylabel="absolute error [deg/s]")
    errors.set_xlim(-0.5, len(names) + 0.5)
    errors.axvline(len(names) - 0.5, color=NEUTRAL, linewidth=0.8)
    for axes in (velocities, errors):
        axes.grid(axis="x", visible=False)
    handles, _ = velocities.get_legend_handles_labels()
    finish(figure, replace(run.analysis, modes=()), handles, rows=0.2)
    return figure


FIGURES = (
    FigureEntry(
        "joint_velocity",
        "Joint velocities",
        "Left the whole run, right the surroundings of the impact. The reference of the current mode is "
        "solid, its extension beyond the impact dashed. Diamond: gross velocity after the impact, from a "
        "cubic fit of the joint position over 100 ms.",
        joint_velocities,
    ),
    FigureEntry(
        "velocity_error",
        "Joint velocity error",
        "Measured velocity minus the ante-impact reference before the detection and the post-impact "
        "reference after it. With the envelope, the behaviour is as expected while the envelope widened by "
        "the margin contains zero: while the smallest margin of all joints, in the last panel, is positive.",
        velocity_error,
    ),
    FigureEntry(
        "post_impact",
        "Predicted velocity after the impact",
        "Impact map with different joint inertias against the observed gross velocity; below the errors.",
        post_impact,
    ),
    FigureEntry(
        "residual",
        "Momentum residual",
        "Estimated external joint torque; its rate around the impact with the thresholds of the detector.",
        residual,
    ),
    FigureEntry(
        "task_space",
        "Task space",
        "Position of the end-effector (reference minus reported error) and normal force of the simulated "
        "contact with the magnitude of the force reference.",
        task_space,
    ),
    FigureEntry(
        "torque",
        "Commanded torque",
        "Without gravity. A limit is drawn where the command comes near it.",
        torques,
    ),
    FigureEntry("timing", "Timing", "Computation, sampling, and what the loop missed.", timing),
)
"""All figures in the order of the report."""


def _small_multiples(
    rows: int, columns: list[TimeAxis], row_height: float = _ROW
) -> tuple[Figure, NDArray[np.object_]]:
    figure = Figure(figsize=(_WIDTH, row_height * rows + 0.8))
    return figure, figure.subplots(rows, len(columns), squeeze=False, sharex="col")


def _finish_multiples(grid: NDArray[np.object_], columns: list[TimeAxis], analysis: RunAnalysis) -> None:
    for i, row in enumerate(grid):
        for axes, time in zip(row, columns, strict=True):
            mark_run(axes, time, analysis, labels=i == 0)
            if i == len(grid) - 1:
                axes.set_xlabel(time.label)
            else:
                axes.tick_params(labelbottom=False)


def _fit_vertically(panels: list[Axes] | NDArray[np.object_], values: Vector, least: float = 0.0) -> None:
    """Show these values and a margin around them, whatever else is drawn; at least the range `least`."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return
    low, high = float(finite.min()), float(finite.max())
    margin = max(_MARGIN * (high - low), (least - (high - low)) / 2, 1e-6)
    for axes in panels:
        axes.set_ylim(low - margin, high + margin)


def _plot_where(axes: Axes, time: Vector, values: Vector, where: NDArray[np.bool_], **style: Any) -> None:
    axes.plot(time, np.where(where, values, np.nan), **style)


def _within(time: TimeAxis, stamp: Vector) -> NDArray[np.bool_]:
    if time.limits is None:
        return np.ones(len(stamp), dtype=bool)
    position = time(stamp)
    near: NDArray[np.bool_] = (position >= time.limits[0]) & (position <= time.limits[1])
    return near


def _resample(time: Vector, known_time: Vector, values: Matrix) -> Matrix:
    return np.column_stack([np.interp(time, known_time, column) for column in values.T])


def _expected_velocity(run: RunData, time: Vector) -> Matrix:
    """Ante-impact reference until the first detection, then post-impact. Proper 2021, (4.11)."""
    reference = run.recording.series(run.topics.reference)
    ante = _resample(time, reference["stamp"], reference["ante_joint_velocity"])
    post = _resample(time, reference["stamp"], reference["post_joint_velocity"])
    switch = run.analysis.detections[0] if run.analysis.detections.size else np.inf
    return np.where(time[:, None] <= switch, ante, post)


def _draw_envelope(axes: Axes, time: TimeAxis, envelope: Envelope, joint: int) -> list[Vector]:
    near = _within(time, envelope.time)
    position = time(envelope.time[near])
    lower, upper = envelope.lower[near, joint], envelope.upper[near, joint]
    wide = (lower - envelope.margin, upper + envelope.margin)
    axes.fill_between(position, lower, upper, color=ANTE, alpha=0.16, linewidth=0)
    for bound in (lower, upper):
        axes.plot(position, bound, color=ANTE, linewidth=1.0)
    for bound in wide:
        axes.plot(position, bound, color=ANTE, linewidth=1.0, linestyle=":")
    return list(wide)


def _draw_worst_joint(axes: Axes, time: TimeAxis, envelope: Envelope | None, error_time: Vector, error: Matrix) -> None:
    """Smallest distance of zero to a widened bound, over the joints; without envelope the largest error."""
    if envelope is None:
        near = _within(time, error_time)
        stamp, value, label = error_time[near], np.abs(error[near]).max(axis=1), "largest error"
    else:
        near = _within(time, envelope.time)
        inside = np.minimum(envelope.upper[near], -envelope.lower[near]).min(axis=1)
        stamp, value, label = envelope.time[near], inside + envelope.margin, "smallest margin"
    axes.axhline(0.0, color=LIMIT if envelope is not None else NEUTRAL, linestyle="--", linewidth=1.0)
    axes.plot(time(stamp), value, color=POST if envelope is not None else INK)
    _fit_vertically([axes], np.append(value, 0.0))
    axes.set_ylabel(f"{label}\n[rad/s]")


def _draw_count(axes: Axes, time: Vector, count: NDArray[np.int64], color: str, label: str) -> None:
    axes.step(time, count, where="post", color=color, label=f"{label}: {count[-1]}")


def _draw_force(row: NDArray[np.object_], columns: list[TimeAxis], run: RunData) -> None:
    truth = run.recording.series(run.topics.truth)
    reference = run.recording.series(run.topics.reference)
    desired = np.linalg.norm(reference["force"], axis=1)
    settled = 3 * max(float(desired.max()), run.analysis.final_force or 0.0)
    for axes, time in zip(row, columns, strict=True):
        axes.plot(time(reference["stamp"]), desired, color=ANTE, linewidth=1.6)
        axes.plot(time(truth["stamp"]), truth["normal_force"], color=INK, linewidth=1.0)
        near = _within(time, truth["stamp"])
        top = max(float(truth["normal_force"][near].max(initial=0.0)), float(desired.max()), 1.0)
        clipped = not time.zoomed and 0 < settled < top
        if clipped:
            note(axes, f"peak {run.analysis.peak_force:.0f} N, beyond the axis")
        axes.set_ylim(-0.05 * (settled if clipped else top), 1.08 * (settled if clipped else top))
    row[0].set_ylabel("normal force [N]")


def _draw_limit(axes: Axes, values: Vector, limit: float | None, unit: str) -> None:
    """Draw the limit if the values use more than half of it, and say how much they use."""
    peak = float(np.abs(values).max(initial=0.0))
    if limit is None:
        note(axes, f"peak {_three_digits(peak)} {unit}")
        return
    visible = values
    if peak > 0.5 * limit:
        for sign in (-1, 1):
            axes.axhline(sign * limit, color=LIMIT, linestyle="--", linewidth=1.0)
        visible = np.concatenate([values, [limit, -limit]])
    _fit_vertically([axes], visible)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.22 * (high - low))
    note(axes, f"peak {_three_digits(peak)} of {limit:.4g} {unit}")


def _counts(counter: NDArray[np.integer]) -> NDArray[np.int64]:
    """Increments of a counter since the first sample."""
    values: NDArray[np.int64] = counter.astype(np.int64)
    return np.asarray(values - values[0])


def _math(name: str) -> str:
    """Inertia models as formulas: `M + B_theta` becomes M + B with the subscript θ."""
    return name.replace("B_theta", r"$B_\theta$").replace("B_rho", r"$B_\rho$")


def _three_digits(value: float) -> str:
    """At least three digits, without an exponent."""
    return f"{value:.0f}" if value >= 100.0 else f"{value:.3g}"
