"""Motion of the end-effector and the contact force."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from impact_control.recording.contact import contact_forces
from impact_control.recording.figures.panels import finish_multiples, fit_vertically, small_multiples
from impact_control.recording.figures.run_data import RunData
from impact_control.recording.figures.samples import resample, shown
from impact_control.recording.style import ANTE, INK, SERIES, TimeAxis, finish, line, note, time_axes


def task_space(run: RunData) -> Figure | None:
    """Position of the end-effector with its reference, and the contact force with the desired force.

    The force of each contact point is drawn, too, where there are several and they are on record.
    """
    recording, topics = run.recording, run.topics
    if topics.reference not in recording or topics.status not in recording:
        return None
    reference, status = recording.series(topics.reference), recording.series(topics.status)
    columns = time_axes(run.analysis)
    has_truth = topics.truth in recording
    figure, grid = small_multiples(4 if has_truth else 3, columns, row_height=1.9)
    wanted = resample(status["stamp"], reference["stamp"], reference["position"])
    actual = wanted - status["position_error"]
    for i, name in enumerate("xyz"):
        for axes, time in zip(grid[i], columns, strict=True):
            near = shown(time, status["stamp"])
            axes.plot(time(status["stamp"][near]), 1e3 * wanted[near, i], color=ANTE, linewidth=1.6)
            axes.plot(time(status["stamp"][near]), 1e3 * actual[near, i], color=INK, linewidth=1.0)
            fit_vertically([axes], 1e3 * np.concatenate([wanted[near, i], actual[near, i]]), least=1.0)
        grid[i][0].set_ylabel(f"{name} [mm]")
    contacts = _draw_force(grid[3], columns, run) if has_truth else 0
    finish_multiples(grid, columns, run.analysis)
    each = [line(f"contact {i + 1}", _colour(i)) for i in range(contacts)]
    finish(figure, run.analysis, [line("measured", INK), line("reference", ANTE), *each])
    return figure


def _colour(contact: int) -> str:
    """A colour for each contact point; the first of SERIES means the reference."""
    return SERIES[1 + contact % (len(SERIES) - 1)]


def _draw_force(row: NDArray[np.object_], columns: list[TimeAxis], run: RunData) -> int:
    """Draw desired and actual force; return the number of contact points drawn."""
    truth = run.recording.series(run.topics.truth)
    reference = run.recording.series(run.topics.reference)
    desired = np.linalg.norm(reference["force"], axis=1)
    settled = 3 * max(float(desired.max()), run.analysis.final_force or 0.0)
    each = contact_forces(run.recording, run.topics)
    count = each[1].shape[1] if each is not None and each[1].shape[1] > 1 else 0
    for axes, time in zip(row, columns, strict=True):
        axes.plot(time(reference["stamp"]), desired, color=ANTE, linewidth=1.6)
        for i in range(count):
            axes.plot(time(truth["stamp"]), truth["contact_normal_forces"][:, i], color=_colour(i), linewidth=0.8)
        axes.plot(time(truth["stamp"]), truth["normal_force"], color=INK, linewidth=1.0)
        near = shown(time, truth["stamp"])
        top = max(float(truth["normal_force"][near].max(initial=0.0)), float(desired.max()), 1.0)
        clipped = not time.zoomed and 0 < settled < top
        if clipped:
            note(axes, f"peak {run.analysis.peak_force:.0f} N, beyond the axis")
        axes.set_ylim(-0.05 * (settled if clipped else top), 1.08 * (settled if clipped else top))
    row[0].set_ylabel("normal force [N]")
    return count
