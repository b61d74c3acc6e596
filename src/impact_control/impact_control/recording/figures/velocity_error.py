"""The joint velocity error around the impact, which the classifier judges."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from impact_control.recording.figures.panels import WIDTH, fit_vertically
from impact_control.recording.figures.run_data import Envelope, RunData
from impact_control.recording.figures.samples import resample, shown
from impact_control.recording.joints import measured_joints
from impact_control.recording.style import ANTE, INK, LIMIT, NEUTRAL, POST, TimeAxis, finish, line, mark_run
from impact_control.types import Matrix, Vector


def velocity_error(run: RunData) -> Figure | None:
    """Joint velocity error around the impact with its envelope. Proper 2021, (4.10), (4.26), (4.27)."""
    impact = run.analysis.impact_time
    if impact is None or run.topics.reference not in run.recording:
        return None
    time = TimeAxis.around(impact)
    measured = measured_joints(run.recording, run.topics)
    error = measured.velocity - _expected_velocity(run, measured.time)
    near = shown(time, measured.time)
    rows = -(-(len(run.joints) + 1) // 2)
    figure = Figure(figsize=(WIDTH, 1.7 * rows + 1.0))
    panels = list(np.ravel(figure.subplots(rows, 2, squeeze=False)))
    for j, axes in enumerate(panels[: len(run.joints)]):
        visible = [error[near, j], np.zeros(1)]
        if run.envelope is not None:
            visible += _draw_envelope(axes, time, run.envelope, j)
        axes.axhline(0.0, color=NEUTRAL, linestyle="-.", linewidth=1.0)
        axes.plot(time(measured.time[near]), error[near, j], color=INK, zorder=3)
        fit_vertically([axes], np.concatenate(visible))
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


def _expected_velocity(run: RunData, time: Vector) -> Matrix:
    """Ante-impact reference until the first detection, then post-impact. Proper 2021, (4.11)."""
    reference = run.recording.series(run.topics.reference)
    ante = resample(time, reference["stamp"], reference["ante_joint_velocity"])
    post = resample(time, reference["stamp"], reference["post_joint_velocity"])
    switch = run.analysis.detections[0] if run.analysis.detections.size else np.inf
    return np.where(time[:, None] <= switch, ante, post)


def _draw_envelope(axes: Axes, time: TimeAxis, envelope: Envelope, joint: int) -> list[Vector]:
    near = shown(time, envelope.time)
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
        near = shown(time, error_time)
        stamp, value, label = error_time[near], np.abs(error[near]).max(axis=1), "largest error"
    else:
        near = shown(time, envelope.time)
        inside = np.minimum(envelope.upper[near], -envelope.lower[near]).min(axis=1)
        stamp, value, label = envelope.time[near], inside + envelope.margin, "smallest margin"
    axes.axhline(0.0, color=LIMIT if envelope is not None else NEUTRAL, linestyle="--", linewidth=1.0)
    axes.plot(time(stamp), value, color=POST if envelope is not None else INK)
    fit_vertically([axes], np.append(value, 0.0))
    axes.set_ylabel(f"{label}\n[rad/s]")
