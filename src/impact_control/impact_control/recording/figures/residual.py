"""The momentum residual, which the detector judges."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from impact_control.recording.contact import touch_torques
from impact_control.recording.figures.panels import ROW, WIDTH, finish_multiples, fit_vertically
from impact_control.recording.figures.run_data import RunData
from impact_control.recording.figures.samples import shown
from impact_control.recording.style import ANTE, INK, LIMIT, NEUTRAL, finish, line, mark_run, time_axes


def residual(run: RunData) -> Figure | None:
    """Momentum residual and its rate with the thresholds of the detector. Proper 2021, (2.89), (3.4).

    Beside the residual the torque of what touched links of a simulated robot, which it is to estimate.
    """
    if run.topics.external_torque not in run.recording:
        return None
    series = run.recording.series(run.topics.external_torque)
    stamp, torque = series["stamp"], series["external_torque"]
    rate, threshold = series["external_torque_rate"], series["rate_threshold"]
    touches = touch_torques(run.recording, run.topics)
    whole, *zoomed = time_axes(run.analysis)
    right = zoomed[0] if zoomed else whole
    count = len(run.joints)
    figure = Figure(figsize=(WIDTH, ROW * (count + 2.2) + 0.8))
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
        if touches is not None:
            left.plot(touches[0], touches[1][:, j], color=ANTE, linewidth=1.4)
        left.plot(stamp, torque[:, j], color=INK, linewidth=1.0)
        left.set_ylabel(f"{run.joints[j]}\n[Nm]")
        near = shown(right, stamp)
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
        fit_vertically([beside], np.concatenate([rate[near, j], threshold[near, j], -threshold[near, j]]))
        beside.set_ylabel("[Nm/s]")
    finish_multiples(grid, [whole, right], run.analysis)
    grid[0, 0].set_title("residual")
    grid[0, 1].set_title("rate of the residual")
    true = [line("touch, simulated", ANTE)] if touches is not None else []
    finish(figure, run.analysis, [line("estimate", INK), *true, line("threshold", LIMIT, "--")], header=0.2)
    return figure
