"""The plots of the last seconds: which lines there are, and their points; in the terms of uPlot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from impact_control.types import Vector
from impact_control.view.frame import PLOT_SPAN, Courses
from impact_control.view.panel import JOINT_COLORS

FORCE_SHOWN = 100.0
"""[N] at least on the scale of the forces; it ends at three times the desired force: a hard impact passes it by far."""

ALL_JOINTS = "all joints"
"""Choice of the joints that are plotted."""


@dataclass(frozen=True, eq=False)
class Plot:
    """One plot: title, lines as uPlot describes them, the first is the time, and their points (k,) each."""

    title: str
    lines: tuple[dict[str, Any], ...]
    data: tuple[Vector, ...]
    scale: tuple[float, float] | None = None


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
    top = max(FORCE_SHOWN, 3.0 * float(courses.desired_force.max()))
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
    described += [
        {"label": label, "stroke": color, "width": 1.2 if dashed else 1.6, **({"dash": (5, 4)} if dashed else {})}
        for label, color, dashed, _ in lines
    ]
    return Plot(title, tuple(described), (time, *(points for *_, points in lines)), scale)


def empty_courses(joints: int) -> Courses:
    """Return courses of nothing, for a plot that waits for its data."""
    time = np.linspace(-PLOT_SPAN, 0.0, 2)
    of_joints, of_force = np.zeros((2, joints)), np.zeros((2, 1))
    return Courses(time, of_joints, of_joints, of_force, of_force, of_joints)
