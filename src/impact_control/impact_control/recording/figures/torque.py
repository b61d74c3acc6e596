"""The commanded torque beside its limits."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from impact_control.recording.commands import commanded_torque, control_period, torque_rate
from impact_control.recording.figures.panels import finish_multiples, fit_vertically, small_multiples
from impact_control.recording.figures.run_data import RunData
from impact_control.recording.style import INK, LIMIT, TimeAxis, finish, line, note
from impact_control.types import Vector


def torques(run: RunData) -> Figure | None:
    """Commanded torques and their rates with the limits, one row a joint."""
    commanded = commanded_torque(run.recording, run.topics)
    if commanded is None:
        return None
    stamp, torque = commanded
    rate_stamp, rate = torque_rate(stamp, torque, control_period(run.recording, run.topics))
    limits = run.analysis.limits
    whole = TimeAxis.whole_run()
    figure, grid = small_multiples(torque.shape[1], [whole, whole])
    for j, (left, beside) in enumerate(grid):
        left.plot(stamp, torque[:, j], color=INK, linewidth=1.0)
        beside.plot(rate_stamp, rate[:, j], color=INK, linewidth=0.7)
        left.set_ylabel(f"{run.joints[j]}\n[Nm]")
        beside.set_ylabel("[Nm/s]")
        bounds = (None, None) if limits is None else (limits.torque[j], limits.torque_rate[j])
        _draw_limit(left, torque[:, j], bounds[0], "Nm")
        _draw_limit(beside, rate[:, j], bounds[1], "Nm/s")
    finish_multiples(grid, [whole, whole], run.analysis)
    grid[0, 0].set_title("commanded torque")
    grid[0, 1].set_title("rate of the commanded torque")
    finish(figure, run.analysis, [line("commanded", INK), line("limit", LIMIT, "--")], header=0.2)
    return figure


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
    fit_vertically([axes], visible)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.22 * (high - low))
    note(axes, f"peak {_three_digits(peak)} of {limit:.4g} {unit}")


def _three_digits(value: float) -> str:
    """At least three digits, without an exponent."""
    return f"{value:.0f}" if value >= 100.0 else f"{value:.3g}"
