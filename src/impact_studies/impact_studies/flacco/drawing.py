"""Pictures of the backlash study: Figs 2, 5 to 9, 11 and 13 of Flacco 2016 again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from impact_control.recording.style import ANTE, IMPACT, INK, LIMIT, NEUTRAL, POST, ROW, SERIES, WIDTH, line
from impact_control.util.types import Matrix, Vector
from impact_studies.flacco.arm import JOINTS, SHOWN_GAP
from impact_studies.flacco.evaluation import JOINT, START, crossings
from impact_studies.flacco.experiments import SETTLING, figure_9_motion
from impact_studies.flacco.outcome import Outcome
from impact_studies.frame.legend import legend_above

_TOP = 0.45
"""[inch] for the legend."""

_legend = partial(legend_above, top=_TOP, align=True, hspace=0.15)

_SHOWN = 6.0
"""[s] of the identification."""


def draw_single_joint(outcome: Outcome) -> Figure:
    """Fig. 2: one joint with a large gap; link and motor above, the classical residual below."""
    swing = outcome.single_joint
    recording, time = swing.recording, swing.recording.time
    figure = Figure(figsize=(WIDTH, 3.2 * ROW + _TOP + 0.5))
    upper, lower = figure.subplots(2, 1, sharex=True)
    _mark_crossings((upper, lower), time, recording.deflection[:, 0], float(JOINT.gap[0]))
    upper.plot(time, recording.motor_position[:, 0], color=LIMIT, linestyle="--", linewidth=1.2)
    upper.plot(time, recording.position[:, 0], color=INK, linewidth=1.2)
    upper.set_ylabel("position [rad]")
    shown = time > START
    lower.plot(time[shown], swing.classical[shown], color=LIMIT, linewidth=1.2)
    lower.plot(time[shown], swing.backlash[shown], color=ANTE, linewidth=1.2)
    lower.set(ylabel="residual [Nm]", xlabel="time [s]", xlim=(0.0, float(time[-1])))
    positions = [line("joint", INK), line("motor", LIMIT, "--")]
    residuals = [line("classical residual", LIMIT), line("with backlash", ANTE)]
    _legend(figure, [*positions, *residuals, line("crossing", IMPACT, "-", 6.0)])
    return figure


def draw_gap(outcome: Outcome) -> Figure:
    """Fig. 5: link less motor position of joint 2 while the link is moved by hand and the motor stands still."""
    recording, gap = outcome.gap_recording, outcome.gap
    time = recording.time
    figure = Figure(figsize=(WIDTH, 2.4 * ROW + _TOP + 0.5))
    axes = figure.subplots()
    deflection = recording.position[:, SHOWN_GAP] - recording.motor_position[:, SHOWN_GAP]
    axes.axvspan(0.0, SETTLING, color=NEUTRAL, alpha=0.15, linewidth=0)
    axes.plot(time, 1e3 * deflection, color=INK, linewidth=1.0)
    for side in (-1.0, 1.0):
        edge = float(gap.centre[SHOWN_GAP] + side * gap.gap[SHOWN_GAP])
        axes.axhline(1e3 * edge, color=LIMIT, linestyle="--", linewidth=1.0)
    axes.set(ylabel=f"q - theta of joint {SHOWN_GAP + 1} [mrad]", xlabel="time [s]", xlim=(0.0, float(time[-1])))
    entries = [line("as measured", INK), line("edges found from it", LIMIT, "--"), line("left out", NEUTRAL, "-", 6.0)]
    _legend(figure, entries)
    return figure


def draw_trajectories(outcome: Outcome) -> Figure:
    """Figs 6 and 9: the motion of the identification, and the desired one of the second experiment."""
    first = outcome.identification
    touched = outcome.figure_11.recording.time
    motion = figure_9_motion(outcome.durations.half)
    desired = np.array([motion(float(time))[0] for time in touched])
    figure = Figure(figsize=(WIDTH, 3.6 * ROW + _TOP + 0.5))
    upper, lower = figure.subplots(2, 1)
    shown = first.time <= _SHOWN
    _joints(upper, first.time[shown], first.position[shown])
    _joints(lower, touched, desired)
    upper.set(ylabel="identification [rad]", xlabel="time [s]", xlim=(0.0, _SHOWN))
    lower.set(ylabel="second experiment [rad]", xlabel="time [s]", xlim=(0.0, float(touched[-1])))
    _legend(figure, _joint_lines(), hspace=0.3)
    return figure


def draw_guidance(outcome: Outcome) -> Figure:
    """Fig. 13: the joints above, the residual beyond its threshold below, while a person leads the arm."""
    guidance, time = outcome.guidance, outcome.guidance.recording.time
    figure = Figure(figsize=(WIDTH, 4.0 * ROW + _TOP + 0.5))
    upper, lower = figure.subplots(2, 1, sharex=True)
    for axes in (upper, lower):
        for push in guidance.pushes:
            axes.axvspan(push.start, push.end, color=POST, alpha=0.2, linewidth=0)
        for begin, end in guidance.yields:
            axes.axvspan(float(time[begin]), float(time[end - 1]), color=NEUTRAL, alpha=0.15, linewidth=0)
    _joints(upper, time, guidance.recording.position)
    upper.set_ylabel("joint position [rad]")
    shown = time > START
    heard = np.where(np.abs(guidance.residual) >= guidance.threshold, guidance.residual, 0.0)
    _joints(lower, time[shown], heard[shown])
    lower.set(ylabel="residual [Nm]", xlabel="time [s]", xlim=(0.0, float(time[-1])))
    _legend(figure, [*_joint_lines(), line("push", POST, "-", 6.0), line("yields", NEUTRAL, "-", 6.0)])
    return figure


def draw_identification(outcome: Outcome) -> Figure:
    """Fig. 7: the residual (8) of the joints with a gap, and what the identified model makes of it."""
    joints = np.flatnonzero(JOINTS.gap > 0.0)
    figure = Figure(figsize=(WIDTH, ROW * joints.size + _TOP + 0.5))
    grid = figure.subplots(joints.size, 1, sharex=True)
    time = outcome.identification.time
    shown = (time >= 1.0) & (time <= 1.0 + _SHOWN)
    for axes, j in zip(grid, joints, strict=True):
        axes.plot(time[shown], outcome.residual[shown, j], color=INK, linewidth=1.0)
        axes.plot(time[shown], outcome.fit.reconstructed[shown, j], color=LIMIT, linestyle="--", linewidth=1.0)
        axes.set(ylabel=f"joint {j + 1} [Nm]", xlim=(1.0, 1.0 + _SHOWN))
    grid[-1].set_xlabel("time [s]")
    _legend(figure, [line("residual (8)", INK), line("identified model", LIMIT, "--")])
    return figure


def draw_crossings(outcome: Outcome) -> Figure:
    """Fig. 8: joint 1 swings; deflection with the gap above, classical and new residual below."""
    run, recording = outcome.figure_8, outcome.figure_8.recording
    time, gap, threshold = recording.time, float(JOINTS.gap[0]), float(outcome.threshold[0])
    figure = Figure(figsize=(WIDTH, 3.2 * ROW + _TOP + 0.5))
    upper, lower = figure.subplots(2, 1, sharex=True)
    _mark_crossings((upper, lower), time, recording.deflection[:, 0], gap)
    upper.plot(time, 1e3 * recording.deflection[:, 0], color=INK, linewidth=1.0)
    _bounds(upper, 1e3 * gap)
    upper.set_ylabel("q - theta [mrad]")
    shown = time > START
    lower.plot(time[shown], run.classical[shown, 0], color=LIMIT, linewidth=1.0)
    lower.plot(time[shown], run.backlash[shown, 0], color=ANTE, linewidth=1.2)
    _bounds(lower, threshold)
    lower.set(ylabel="residual [Nm]", xlabel="time [s]", xlim=(0.0, float(time[-1])))
    entries = [line("classical", LIMIT), line("with backlash", ANTE), line("gap, threshold", NEUTRAL, "--")]
    _legend(figure, [*entries, line("crossing", IMPACT, "-", 6.0)])
    return figure


def draw_contacts(outcome: Outcome) -> Figure:
    """Fig. 11: residuals of all joints with their thresholds, and when there were contacts."""
    run = outcome.figure_11
    time = run.recording.time
    joints = JOINTS.gap.size
    figure = Figure(figsize=(WIDTH, 0.8 * ROW * joints + _TOP + 0.5))
    grid = figure.subplots(joints, 1, sharex=True)
    shown = time > START
    for j, axes in enumerate(grid):
        for contact in outcome.contacts:
            if contact.torque[j]:
                axes.axvspan(contact.start, contact.end, color=POST, alpha=0.2, linewidth=0)
        axes.plot(time[shown], run.recording.external_torque[shown, j], color=INK, linewidth=0.8)
        axes.plot(time[shown], run.backlash[shown, j], color=ANTE, linewidth=0.9)
        _bounds(axes, float(outcome.threshold[j]))
        axes.set(ylabel=f"joint {j + 1} [Nm]", xlim=(0.0, float(time[-1])))
    grid[-1].set_xlabel("time [s]; the second half in motion")
    entries = [line("external torque", INK), line("residual with backlash", ANTE), line("threshold", NEUTRAL, "--")]
    _legend(figure, [*entries, line("contact", POST, "-", 6.0)])
    return figure


def _mark_crossings(panels: Sequence[Axes], time: Vector, deflection: Vector, gap: float) -> None:
    for first, last in crossings(deflection, gap):
        for axes in panels:
            if time[first] > START:
                axes.axvspan(float(time[first]), float(time[last]), color=IMPACT, alpha=0.12, linewidth=0)


def _joints(axes: Axes, time: Vector, values: Matrix) -> None:
    for column, color in zip(values.T, SERIES, strict=True):
        axes.plot(time, column, color=color, linewidth=1.1)


def _joint_lines() -> list[Artist]:
    return [line(f"joint {j + 1}", color) for j, color in enumerate(SERIES)]


def _bounds(axes: Axes, value: float) -> None:
    for bound in (-value, value):
        axes.axhline(bound, color=NEUTRAL, linestyle="--", linewidth=0.8)
