"""Joint velocities beside their references."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from impact_control.recording.figures.panels import finish_multiples, fit_vertically, small_multiples
from impact_control.recording.figures.run_data import RunData
from impact_control.recording.joints import measured_joints
from impact_control.recording.series import Series
from impact_control.recording.style import ANTE, INK, LIMIT, NEUTRAL, POST, TimeAxis, finish, line, time_axes
from impact_control.recording.topics import series_if_recorded
from impact_control.types import Vector

_REFERENCES = (("ante", ANTE, ("IDLE", "ANTE")), ("post", POST, ("POST", "STOPPED")))
"""Name, colour, and the modes in which it is followed."""


def joint_velocities(run: RunData) -> Figure | None:
    """Measured joint velocities with the ante- and post-impact references, one row a joint."""
    measured = measured_joints(run.recording, run.topics)
    columns = time_axes(run.analysis)
    figure, grid = small_multiples(len(run.joints), columns)
    reference = series_if_recorded(run.recording, run.topics.reference)
    modes = run.recording.constants(run.topics.reference) if reference is not None else {}
    gross = run.analysis.gross_post_velocity
    for j, row in enumerate(grid):
        visible = [measured.velocity[:, j]]
        for axes, time in zip(row, columns, strict=True):
            axes.plot(time(measured.time), measured.velocity[:, j], color=INK, linewidth=0.9, zorder=3)
            if reference is not None:
                visible += _draw_references(axes, time, reference, modes, j)
            if gross is not None and time.zoomed:
                axes.plot(0.0, gross[j], marker="D", markersize=4.5, color=LIMIT, zorder=4, linestyle="")
        fit_vertically(row, np.concatenate(visible))
        row[0].set_ylabel(f"{run.joints[j]}\n[rad/s]")
    finish_multiples(grid, columns, run.analysis)
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


def _draw_references(axes: Axes, time: TimeAxis, reference: Series, modes: dict[str, int], joint: int) -> list[Vector]:
    """Draw both references, solid where they are followed; return the values that are."""
    followed_values = []
    stamp = time(reference["stamp"])
    for name, color, own_modes in _REFERENCES:
        values = reference[f"{name}_joint_velocity"][:, joint]
        followed = np.isin(reference["mode"], [modes[mode] for mode in own_modes])
        axes.plot(stamp, np.where(followed, values, np.nan), color=color, linewidth=3.0, alpha=0.6)
        axes.plot(stamp, np.where(followed, np.nan, values), color=color, linewidth=1.1, linestyle="--")
        followed_values.append(values[followed])
    return followed_values
