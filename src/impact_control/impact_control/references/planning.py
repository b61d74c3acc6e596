"""Pieces of which references are planned: knots, curves through the impact, tables inside the joints' limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from impact_control.references.joint_space import JointMotion, TaskMotion, UnreachableReferenceError
from impact_control.references.quintic import PiecewiseQuintic, ViaPoint
from impact_control.references.table import ReferenceColumns, ReferenceTable
from impact_control.robots import RobotDescription
from impact_control.types import Matrix, Vector

_KNOT_SPACING = 0.01
"""[s] between configurations found by inverse kinematics; the quintics between them err by less than 1e-9."""


def sample_times(duration: float, period: float) -> Vector:
    """Return 0, period, ... up to the first sample (N,) [s] that is not before duration [s]."""
    times: Vector = period * np.arange(int(np.ceil(duration / period - 1e-9)) + 1, dtype=np.float64)
    return times


def knots(breakpoints: Sequence[float]) -> Vector:
    """Return increasing times that contain the breakpoints, at most _KNOT_SPACING apart."""
    pieces = [np.array(breakpoints[:1])]
    for begin, end in pairwise(breakpoints):
        count = int(np.ceil((end - begin) / _KNOT_SPACING))
        pieces.append(np.linspace(begin, end, count + 1)[1:])
    return np.concatenate(pieces)


def through_impact(
    nominal: float, lead: float, value: Vector, rate: Vector, duration: float, end: Vector
) -> PiecewiseQuintic:
    """Return the curve that comes from rest, has `value` and `rate` at T_nom, and rests at `end` after it.

    Half of lead times rate is the way on which the speed rises to the rate without overshoot.
    """
    return PiecewiseQuintic.through(
        [
            ViaPoint.at_rest(nominal - lead, value - 0.5 * lead * rate),
            ViaPoint(nominal, value, rate, np.zeros_like(value)),
            ViaPoint.at_rest(nominal + duration, end),
        ]
    )


def reference_table(
    robot: RobotDescription,
    grid: Vector,
    motion: Callable[[Vector], TaskMotion],
    places: Vector,
    joints: JointMotion,
) -> ReferenceTable:
    """Return a motion sampled at the times `grid` (N,) [s], in task and joint space.

    joints: the same motion in joint space at the times of `knots`. Raises UnreachableReferenceError naming the joint
    that would leave its limits.
    """
    tasks = motion(grid)
    q, dq, ddq = PiecewiseQuintic(places, joints.position, joints.velocity, joints.acceleration).sample(grid)
    _require_limits(robot, grid, q, dq)
    data = np.hstack(
        [
            tasks.position,
            tasks.velocity,
            tasks.acceleration,
            tasks.orientation,
            tasks.angular_velocity,
            tasks.angular_acceleration,
            tasks.posture,
            q,
            dq,
            ddq,
        ]
    )
    return ReferenceTable(float(grid[1] - grid[0]), ReferenceColumns(data, len(robot.joint_names)))


def _require_limits(robot: RobotDescription, grid: Vector, q: Matrix, dq: Matrix) -> None:
    limits = robot.limits
    bounds = (
        (q, limits.position_lower, limits.position_upper, "rad"),
        (dq, -limits.velocity, limits.velocity, "rad/s"),
    )
    for values, lower, upper, unit in bounds:
        broken = (values < lower) | (values > upper)
        if np.any(broken):
            sample = int(np.argmax(np.any(broken, axis=1)))
            joint = int(np.argmax(broken[sample]))
            value, allowed = float(values[sample, joint]), f"{lower[joint]:g} to {upper[joint]:g} {unit}"
            raise UnreachableReferenceError(float(grid[sample]), robot.joint_names[joint], value, allowed)
