"""The panel beside the scene, as HTML: mode and verdicts in colour, numbers, and a bar for each joint."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from impact_control.classification import Verdict
from impact_control.control import Fault, Mode
from impact_control.util.types import Vector
from impact_control.util.words import fixed, in_words
from impact_control.view.frame import PLOT_SPAN, ArmFrame, Courses

_GREEN, _RED, _BLUE, _ORANGE = "#2f9e44", "#e03131", "#1c7ed6", "#e8590c"
_VIOLET, _TEAL, _GRAY, _PALE = "#7048e8", "#0c8599", "#868e96", "#adb5bd"

MODE_COLORS = {
    Mode.IDLE: _GRAY,
    Mode.ANTE: _BLUE,
    Mode.INTERIM: _ORANGE,
    Mode.POST: _GREEN,
    Mode.STOPPED: "#495057",
    Mode.FAULT: _RED,
    Mode.PULL_BACK: _VIOLET,
    Mode.ADMITTANCE: _TEAL,
    Mode.RESUME: _BLUE,
    Mode.MOVE: _TEAL,
}
"""Colour of each mode."""

VERDICT_COLORS = {
    Verdict.UNKNOWN: _GRAY,
    Verdict.EXPECTED: _GREEN,
    Verdict.UNEXPECTED: _RED,
    Verdict.NOT_STARTED: _PALE,
}
"""Colour of each verdict."""

JOINT_COLORS = ("#1c7ed6", "#e8590c", "#2f9e44", "#e03131", "#7048e8", "#846358", "#d6336c")
"""Colours of the joints, in panel and plots."""

_THRESHOLD_AT = 70.0
"""[%] of its width at which a bar stands when the rate is at the threshold."""

_STYLE = "font:13px/1.45 system-ui,'Open Sans',sans-serif;padding:2px 10px 6px"
_CELL = "padding:1px 4px;text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap"


def arm_panel(name: str, frame: ArmFrame) -> str:
    """Return the panel of an arm; name: "" for the only one."""
    title = f"<div style='font-weight:700;font-size:15px'>{escape(name)}</div>" if name else ""
    mode = "no data" if frame.mode is None else in_words(frame.mode)
    color = _PALE if frame.mode is None else MODE_COLORS[frame.mode]
    if frame.fault is not Fault.NONE:
        mode, color = f"{mode}: {in_words(frame.fault)}", _RED
    rows = [
        _row("Mode", badge(mode, color)),
        _row("Impact", badge(in_words(frame.impact), VERDICT_COLORS[frame.impact])),
        _row("After it", badge(in_words(frame.post_impact), VERDICT_COLORS[frame.post_impact])),
    ]
    reason = f"<div style='color:#666;font-size:12px;margin:0 0 4px'>{escape(frame.reason)}</div>"
    return (
        f"<div style=\"{_STYLE}\">{title}<table style='width:100%;border-collapse:collapse'>{''.join(rows)}</table>"
        f"{reason if frame.reason else ''}{_numbers(frame)}{rate_bars(frame)}</div>"
    )


def badge(text: str, color: str) -> str:
    """Return a word in white on a colour."""
    return (
        f"<span style='background:{color};color:#fff;font-weight:700;border-radius:4px;padding:1px 8px'>"
        f"{escape(text)}</span>"
    )


def rate_bars(frame: ArmFrame) -> str:
    """Return a bar for each joint: rate of the residual against its threshold, the largest of the last second.

    The thin line is the threshold; a bar beyond it is red. Beside it the residual itself. The joints have the colours
    of their lines in the plots.
    """
    rate, threshold, residual = frame.peak_rate, frame.rate_threshold, frame.residual
    if rate is None or residual is None:
        return ""
    bound = np.full(len(rate), np.nan) if threshold is None else threshold
    rows = "".join(_joint_row(joint, *values) for joint, values in enumerate(zip(rate, bound, residual, strict=True)))
    head = "".join(f"<td style='{_CELL};color:#666;font-size:11px'>{text}</td>" for text in ("Nm/s", "limit", "Nm"))
    return (
        "<div style='font-weight:600;margin-top:6px'>External torque: rate and its threshold</div>"
        f"<table style='width:100%;border-collapse:collapse'><tr><td></td><td></td>{head}</tr>{rows}</table>"
    )


def _joint_row(joint: int, rate: float, threshold: float, residual: float) -> str:
    color = JOINT_COLORS[joint % len(JOINT_COLORS)]
    cells = (
        f"<td style='{_CELL};font-weight:700;color:{color}'>{joint + 1}</td>",
        f"<td style='width:100%;padding:1px 4px'>{_bar(rate, threshold)}</td>",
        f"<td style='{_CELL}'>{rate:.0f}</td>",
        f"<td style='{_CELL};color:#666'>{_text(threshold, '.0f')}</td>",
        f"<td style='{_CELL}'>{fixed(residual, 2, '+')}</td>",
    )
    return f"<tr>{''.join(cells)}</tr>"


def _bar(rate: float, threshold: float) -> str:
    share = rate / threshold if threshold > 0.0 else 0.0
    width = min(100.0, _THRESHOLD_AT * share)
    color = _RED if share > 1.0 else _ORANGE if share > 0.5 else _BLUE
    return (
        "<div style='position:relative;height:11px;background:#e9ecef;border-radius:3px;overflow:hidden'>"
        f"<div style='width:{width:.1f}%;height:100%;background:{color}'></div>"
        f"<div style='position:absolute;left:{_THRESHOLD_AT:g}%;top:0;width:2px;height:100%;background:#212529'>"
        "</div></div>"
    )


def _numbers(frame: ArmFrame) -> str:
    force = "-" if frame.contact_force is None else f"{np.linalg.norm(frame.contact_force):.0f} N"
    desired = 0.0 if frame.desired_force is None else float(np.linalg.norm(frame.desired_force))
    peak = "" if math.isnan(frame.peak_force) else f", peak {frame.peak_force:.0f} N"
    impacts = str(frame.impacts) + (f", link {frame.isolated_link}" if frame.isolated_link > 0 else "")
    cells = [
        ("Task time", _text(frame.task_time, ".2f", " s")),
        ("Impacts", impacts),
        ("Contact force", f"{force}{peak}"),
        ("Desired force", f"{desired:.0f} N"),
        ("Position error", _text(1e3 * frame.position_error, ".1f", " mm")),
        ("Missed samples", str(frame.missed_samples)),
    ]
    return f"<table style='width:100%;border-collapse:collapse'>{''.join(_row(*cell) for cell in cells)}</table>"


def _row(name: str, value: str) -> str:
    return f"<tr><td style='color:#666;padding:2px 4px'>{name}</td><td style='{_CELL}'>{value}</td></tr>"


def _text(value: float, form: str, unit: str = "") -> str:
    return f"{value:{form}}{unit}" if math.isfinite(value) else "-"


FORCE_SHOWN = 100.0
"""[N] at least on the scale of the forces; it ends at three times the desired force: a hard impact passes it by far."""

LEAST_SHOWN = 0.2
"""[rad/s, Nm] at least on the scale of velocities and torques."""

ALL_JOINTS = "all joints"
"""Choice of the joints that are plotted."""


@dataclass(frozen=True, eq=False)
class Plot:
    """One plot: title, lines as uPlot describes them, the first is the time, their points (k,) each, and y range.

    uPlot draws over NaN, and finds no range with it: a line with gaps is several lines, and the range is given.
    """

    title: str
    lines: tuple[dict[str, Any], ...]
    data: tuple[Vector, ...]
    scale: tuple[float, float]


def plots_of(courses: Courses, chosen: str) -> tuple[Plot, Plot, Plot]:
    """Return the plots of velocity, force and external torque.

    chosen: one of `joint_choices`.
    """
    joints = range(courses.velocity.shape[1])
    if chosen != ALL_JOINTS:
        joints = range(int(chosen.split()[-1]) - 1, int(chosen.split()[-1]))
    time = courses.time
    velocity = [(f"{j + 1}", _color(j), False, courses.velocity[:, j]) for j in joints]
    reference = [(f"{j + 1} ref", _color(j), True, courses.reference[:, j]) for j in joints]
    force = [
        ("contact", "#e03131", False, courses.contact_force[:, 0]),
        ("desired", "#495057", True, courses.desired_force[:, 0]),
    ]
    torque = [(f"{j + 1}", _color(j), False, courses.residual[:, j]) for j in joints]
    top = max(FORCE_SHOWN, 3.0 * float(np.nan_to_num(courses.desired_force).max()))
    return (
        _plot("Joint velocity, dashed: reference [rad/s]", time, [*velocity, *reference]),
        _plot("Contact force [N]", time, force, (0.0, top)),
        _plot("External torque, residual [Nm]", time, torque),
    )


def joint_choices(joints: int) -> Sequence[str]:
    """Return what can be chosen of an arm with this many joints."""
    return (ALL_JOINTS, *(f"joint {joint}" for joint in range(1, joints + 1)))


def _color(joint: int) -> str:
    return JOINT_COLORS[joint % len(JOINT_COLORS)]


def _plot(
    title: str, time: Vector, lines: list[tuple[str, str, bool, Vector]], scale: tuple[float, float] | None = None
) -> Plot:
    described: list[dict[str, Any]] = [{"label": "t"}]
    data = [time]
    for label, color, dashed, points in lines:
        style = {"label": label, "stroke": color, "width": 1.2 if dashed else 1.6}
        for part in _without_gaps(points):
            described.append({**style, **({"dash": (5, 4)} if dashed else {})})
            data.append(part)
    return Plot(title, tuple(described), tuple(data), scale or _range_of(data[1:]))


def _without_gaps(points: Vector) -> list[Vector]:
    """Return a line (k,) with gaps as lines (k,) that are known in one stretch each; at least one."""
    known = np.isfinite(points)
    stretch = np.cumsum(known & ~np.append(False, known[:-1]))
    return [np.where(known & (stretch == k), points, np.nan) for k in range(1, max(1, int(stretch[-1])) + 1)]


def _range_of(lines: list[Vector]) -> tuple[float, float]:
    """Return the range of all points and a margin, at least `LEAST_SHOWN` wide."""
    points = np.concatenate(lines)
    points = points[np.isfinite(points)]
    low, high = (float(points.min()), float(points.max())) if points.size else (0.0, 0.0)
    margin = max(0.05 * (high - low), 0.5 * (LEAST_SHOWN - (high - low)))
    return low - margin, high + margin


def empty_courses(joints: int) -> Courses:
    """Return courses of nothing, for a plot that waits for its data."""
    time = np.linspace(-PLOT_SPAN, 0.0, 2)
    of_joints, of_force = np.zeros((2, joints)), np.zeros((2, 1))
    return Courses(time, of_joints, of_joints, of_force, of_force, of_joints)
