"""Pictures of the backlash study: Figs 7, 8 and 11 of Flacco 2016 again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from impact_control.recording.figures.panels import ROW, WIDTH
from impact_control.recording.style import ANTE, IMPACT, INK, LIMIT, NEUTRAL, POST, line
from impact_control.studies.flacco.arm import JOINTS
from impact_control.studies.flacco.evaluation import START, crossings
from impact_control.studies.flacco.outcome import Outcome

_TOP = 0.45
"""[inch] for the legend."""

_SHOWN = 6.0
"""[s] of the identification."""


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
    for first, last in crossings(recording.deflection[:, 0], gap):
        for axes in (upper, lower):
            if time[first] > START:
                axes.axvspan(float(time[first]), float(time[last]), color=IMPACT, alpha=0.12, linewidth=0)
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


def _bounds(axes: Axes, value: float) -> None:
    for bound in (-value, value):
        axes.axhline(bound, color=NEUTRAL, linestyle="--", linewidth=0.8)


def _legend(figure: Figure, entries: Sequence[Artist]) -> None:
    width, height = figure.get_size_inches()
    figure.legend(handles=list(entries), loc="upper center", ncols=len(entries), bbox_to_anchor=(0.5, 1.0))
    figure.subplots_adjust(
        left=0.85 / width, right=1 - 0.15 / width, bottom=0.5 / height, top=1 - _TOP / height, hspace=0.15
    )
    figure.align_ylabels()
