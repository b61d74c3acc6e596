"""Figures of motion in a run: joint velocities and their error, predictions, task space.

Each returns None where the recording does not contain what it shows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from impact_control.recording.analysis import RunAnalysis
from impact_control.recording.gaps import with_gaps
from impact_control.recording.measures import Envelope, contact_forces, measured_joints
from impact_control.recording.series import Series, Topics
from impact_control.recording.style import (
    ANTE,
    INK,
    LIMIT,
    NEUTRAL,
    POST,
    SERIES,
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
from impact_control.recording.summary import RunData, short_joint_names
from impact_control.util.types import Matrix, Vector

_REFERENCES = (("ante", ANTE, ("IDLE", "ANTE")), ("post", POST, ("POST", "STOPPED")))
"""Name, colour, and the modes in which it is followed."""

_HALF = 0.36
"""Half the width of a joint, whose neighbours are 1 apart."""

_MARKERS = "osD^v"


def joint_velocities(run: RunData) -> Figure | None:
    """Draw the measured joint velocities with the ante- and post-impact references, one row a joint."""
    measured = measured_joints(run.recording)
    stamp, velocity = with_gaps(measured.time, measured.velocity)
    columns = time_axes(run.analysis)
    figure, grid = small_multiples(len(run.joints), columns)
    reference = run.recording.get(Topics.reference)
    modes = run.recording.constants(Topics.reference) if reference is not None else {}
    gross = run.analysis.gross_post_velocity
    for j, row in enumerate(grid):
        visible = [velocity[:, j]]
        for axes, time in zip(row, columns, strict=True):
            axes.plot(time(stamp), velocity[:, j], color=INK, linewidth=0.9, zorder=3)
            if reference is not None:
                visible += _draw_references(axes, time, reference, modes, j)
            if gross is not None and time.zoomed:
                axes.plot(0.0, gross[j], marker="D", markersize=4.5, color=LIMIT, zorder=4, linestyle="")
        fit_vertically(row, np.concatenate(visible))
        row[0].set_ylabel(f"{run.joints[j]}\n[rad/s]")
    finish_multiples(grid, columns, run.analysis)
    entries = [line("measured", INK, width=0.9)]
    if reference is not None:
        entries += [line(f"{name}-impact reference", color, width=3.0) for name, color, _ in _REFERENCES]
        entries += [line("extension of either", NEUTRAL, "--")]
    if gross is not None:
        entries.append(line("gross velocity after impact", LIMIT, ""))
        entries[-1].set(marker="D", markersize=4.5)
    finish(figure, run.analysis, entries)
    return figure


def _draw_references(axes: Axes, time: TimeAxis, reference: Series, modes: dict[str, int], joint: int) -> list[Vector]:
    """Draw both references, solid where they are followed; return the values that are."""
    followed_values = []
    for name, color, own_modes in _REFERENCES:
        velocity = reference[f"{name}_joint_velocity"][:, joint]
        stamp, values, mode = with_gaps(reference["stamp"], velocity, reference["mode"])
        followed = np.isin(mode, [modes[own] for own in own_modes])
        axes.plot(time(stamp), np.where(followed, values, np.nan), color=color, linewidth=3.0, alpha=0.6)
        axes.plot(time(stamp), np.where(followed, np.nan, values), color=color, linewidth=1.1, linestyle="--")
        followed_values.append(values[followed])
    return followed_values


def velocity_error(run: RunData) -> Figure | None:
    """Draw the joint velocity error around the impact with its envelope. Proper 2021, (4.10), (4.26), (4.27)."""
    impact, reference, envelope = run.analysis.impact_time, run.recording.get(Topics.reference), run.envelope
    if impact is None or reference is None:
        return None
    time = TimeAxis.around(impact)
    measured = measured_joints(run.recording)
    error = measured.velocity - _expected_velocity(run.analysis, reference, measured.time)
    stamp, error = with_gaps(measured.time, error)
    if envelope is not None:
        envelope = Envelope(*with_gaps(envelope.time, envelope.lower, envelope.upper, envelope.margin))
    near = time.shown(stamp)
    count = len(run.joints) + 1
    rows = -(-count // 2)
    figure = Figure(figsize=(WIDTH, 1.7 * rows + 1.0))
    panels = list(np.ravel(figure.subplots(rows, 2, squeeze=False)))
    for j, axes in enumerate(panels[: count - 1]):
        visible = [error[near, j], np.zeros(1)]
        if envelope is not None:
            visible += _draw_envelope(axes, time, envelope, j)
        axes.axhline(0.0, color=NEUTRAL, linestyle="-.", linewidth=1.0)
        axes.plot(time(stamp[near]), error[near, j], color=INK, zorder=3)
        fit_vertically([axes], np.concatenate(visible))
        axes.set_ylabel(f"{run.joints[j]}\n[rad/s]")
    _draw_worst_joint(panels[count - 1], time, envelope, stamp, error)
    for axes in panels[count:]:
        axes.remove()
    for i, axes in enumerate(panels[:count]):
        mark_run(axes, time, run.analysis, labels=i < 2)
        if i >= count - 2:
            axes.set_xlabel(time.label)
        else:
            axes.tick_params(labelbottom=False)
    entries = [line("velocity error", INK), line("zero", NEUTRAL, "-.")]
    if envelope is not None:
        entries += [line("envelope", ANTE), line("envelope and margin", ANTE, ":")]
    finish(figure, run.analysis, entries, columns=0.34)
    return figure


def _expected_velocity(analysis: RunAnalysis, reference: Series, time: Vector) -> Matrix:
    """Return the ante-impact reference until the impact is detected, then the post-impact one. Proper 2021, (4.11)."""
    ante, post = (_resample(time, reference["stamp"], reference[f"{name}_joint_velocity"]) for name in ("ante", "post"))
    switch = np.inf if analysis.impact_detection is None else analysis.impact_detection
    return np.where(time[:, None] <= switch, ante, post)


def _resample(time: Vector, known_time: Vector, values: Matrix) -> Matrix:
    """Return columns (k, n) at (k,) [s] interpolated linearly at (m,) [s], NaN in gaps, the ends kept: (m, n)."""
    known_time, values = with_gaps(known_time, values)
    return np.column_stack([np.interp(time, known_time, column) for column in values.T])


def _draw_envelope(axes: Axes, time: TimeAxis, envelope: Envelope, joint: int) -> list[Vector]:
    near = time.shown(envelope.time)
    position = time(envelope.time[near])
    lower, upper = envelope.lower[near, joint], envelope.upper[near, joint]
    margin = envelope.margin[near, joint]
    wide = [lower - margin, upper + margin]
    axes.fill_between(position, lower, upper, color=ANTE, alpha=0.16, linewidth=0)
    for bound in (lower, upper):
        axes.plot(position, bound, color=ANTE, linewidth=1.0)
    for bound in wide:
        axes.plot(position, bound, color=ANTE, linewidth=1.0, linestyle=":")
    return wide


def _draw_worst_joint(axes: Axes, time: TimeAxis, envelope: Envelope | None, error_time: Vector, error: Matrix) -> None:
    """Draw the smallest distance of zero to a widened bound, over the joints; without envelope the largest error."""
    if envelope is None:
        near = time.shown(error_time)
        stamp, value, label = error_time[near], np.abs(error[near]).max(axis=1), "largest error"
    else:
        near = time.shown(envelope.time)
        inside = np.minimum(envelope.upper[near], -envelope.lower[near]) + envelope.margin[near]
        stamp, value, label = envelope.time[near], inside.min(axis=1), "smallest margin"
    axes.axhline(0.0, color=LIMIT if envelope is not None else NEUTRAL, linestyle="--", linewidth=1.0)
    axes.plot(time(stamp), value, color=POST if envelope is not None else INK)
    fit_vertically([axes], np.append(value, 0.0))
    axes.set_ylabel(f"{label}\n[rad/s]")


def post_impact(run: RunData) -> Figure | None:
    """Draw the joint velocities predicted for after the impact beside the observed ones, and their errors."""
    comparison = run.comparison
    if comparison is None:
        return None
    names = short_joint_names(comparison.joint_names)
    place = np.arange(len(names))
    figure = Figure(figsize=(WIDTH, 6.2))
    velocities, errors = figure.subplots(2, 1, height_ratios=[1.4, 1.0])
    velocities.axhline(0.0, color=NEUTRAL, linewidth=0.8)
    for velocity, color, width, label in (
        (comparison.ante, NEUTRAL, 2.2, "before the impact"),
        (comparison.gross_post, INK, 2.6, "after it, observed"),
    ):
        velocities.hlines(velocity, place - _HALF, place + _HALF, color=color, linewidth=width, label=label)
    count, best = len(comparison.predictions), comparison.best()
    # Marks and bars of the predictions beside each other over the width of a joint.
    shifts = (np.arange(count) - (count - 1) / 2) * 2 * _HALF / max(count, 1)
    for i, ((name, prediction), error) in enumerate(
        zip(comparison.predictions.items(), comparison.errors().values(), strict=True)
    ):
        color, symbol = SERIES[i % len(SERIES)], name.replace("B_theta", r"$B_\theta$").replace("B_rho", r"$B_\rho$")
        mark = {"linestyle": "", "marker": _MARKERS[i % len(_MARKERS)], "markersize": 7, "markeredgecolor": "white"}
        velocities.plot(place + shifts[i], prediction, color=color, label=f"predicted with {symbol}", **mark)
        mean, weight = error.mean(), "bold" if name == best else "normal"
        bars = np.arange(len(names) + 1) + shifts[i]
        errors.bar(bars, np.append(error, mean), width=1.7 * _HALF / count, color=color, alpha=0.9)
        errors.text(bars[-1], mean, f"{mean:.1f}", ha="center", va="bottom", fontsize=8, fontweight=weight)
    errors.axvline(len(names) - 0.5, color=NEUTRAL, linewidth=0.8)
    velocities.set(xticks=place, xticklabels=names, ylabel="joint velocity [deg/s]")
    errors.set(xticks=np.append(place, len(names)), xticklabels=[*names, "mean"], ylabel="absolute error [deg/s]")
    for axes in (velocities, errors):
        axes.set_xlim(-0.5, len(names) + 0.5)
        axes.grid(axis="x", visible=False)
    handles, _ = velocities.get_legend_handles_labels()
    finish(figure, replace(run.analysis, modes=()), handles, rows=0.2)
    return figure


def task_space(run: RunData) -> Figure | None:
    """Draw the position of the end-effector with its reference, and the contact force with the desired force.

    The force of each contact point is drawn, too, where there are several and they are on record.
    """
    reference, status, truth = (run.recording.get(topic) for topic in (Topics.reference, Topics.status, Topics.truth))
    if reference is None or status is None:
        return None
    columns = time_axes(run.analysis)
    figure, grid = small_multiples(3 if truth is None else 4, columns, row_height=1.9)
    stamp, error = with_gaps(status["stamp"], status["position_error"])
    desired = _resample(stamp, reference["stamp"], reference["position"])
    measured = desired - error
    for i, name in enumerate("xyz"):
        for axes, time in zip(grid[i], columns, strict=True):
            near = time.shown(stamp)
            axes.plot(time(stamp[near]), 1e3 * desired[near, i], color=ANTE, linewidth=1.6)
            axes.plot(time(stamp[near]), 1e3 * measured[near, i], color=INK, linewidth=1.0)
            fit_vertically([axes], 1e3 * np.concatenate([desired[near, i], measured[near, i]]), least=1.0)
        grid[i][0].set_ylabel(f"{name} [mm]")
    contacts = 0 if truth is None else _draw_force(grid[3], columns, run, reference, truth)
    finish_multiples(grid, columns, run.analysis)
    each = [line(f"contact {i + 1}", _contact_color(i)) for i in range(contacts)]
    finish(figure, run.analysis, [line("measured", INK), line("reference", ANTE), *each])
    return figure


def _contact_color(contact: int) -> str:
    """Return the colour of a contact point; the first of SERIES means the reference."""
    return SERIES[1 + contact % (len(SERIES) - 1)]


def _draw_force(
    row: NDArray[np.object_], columns: list[TimeAxis], run: RunData, reference: Series, truth: Series
) -> int:
    """Draw desired and actual force; return the number of contact points drawn."""
    stamp, normal = truth["stamp"], truth["normal_force"]
    desired = np.linalg.norm(reference["force"], axis=1)
    settled = 3 * max(float(desired.max()), run.analysis.final_force or 0.0)
    each = contact_forces(run.recording)
    count = each[1].shape[1] if each is not None and each[1].shape[1] > 1 else 0
    planned_stamp, planned = with_gaps(reference["stamp"], desired)
    felt_stamp, felt = with_gaps(stamp, normal)
    for axes, time in zip(row, columns, strict=True):
        axes.plot(time(planned_stamp), planned, color=ANTE, linewidth=1.6)
        for i in range(count):
            _, force = with_gaps(stamp, truth["contact_normal_forces"][:, i])
            axes.plot(time(felt_stamp), force, color=_contact_color(i), linewidth=0.8)
        axes.plot(time(felt_stamp), felt, color=INK, linewidth=1.0)
        top = max(float(normal[time.shown(stamp)].max(initial=0.0)), float(desired.max()), 1.0)
        if not time.zoomed and 0 < settled < top:
            note(axes, f"peak {run.analysis.peak_force:.0f} N, beyond the axis")
            top = settled
        axes.set_ylim(-0.05 * top, 1.08 * top)
    row[0].set_ylabel("normal force [N]")
    return count
