"""Pieces of which references are planned: knots, curves through the impact, tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from impact_control.references.joint_space import JointMotion, TaskMotion
from impact_control.references.quintic import PiecewiseQuintic, ViaPoint
from impact_control.references.table import ReferenceColumns, ReferenceTable
from impact_control.robots import RobotDescription
from impact_control.util.types import Vector


@dataclass(frozen=True)
class Sampling:
    """Resolution of a planned reference.

    knots: time [s] between configurations found by inverse kinematics; the quintics between them err by less than 1e-9
    with 10 ms. samples: time [s] between the samples of the table; None: the control period. iterations: after which
    the search for the start is given up.
    """

    knots: float = 0.01
    samples: float | None = None
    iterations: int = 200


FINE, COARSE = Sampling(), Sampling(knots=0.06, samples=0.01, iterations=40)
"""To be followed; to be judged only: a third of the work, and joint motions that need the same within 1 %."""


def sample_times(duration: float, period: float) -> Vector:
    """Return 0, period, ... up to the first sample (N,) [s] that is not before duration [s]."""
    times: Vector = period * np.arange(int(np.ceil(duration / period - 1e-9)) + 1, dtype=np.float64)
    return times


def knots(breakpoints: Sequence[float], sampling: Sampling) -> Vector:
    """Return increasing times that contain the breakpoints, not further apart than the knots of the sampling."""
    pieces = [np.array(breakpoints[:1])]
    for begin, end in pairwise(breakpoints):
        count = int(np.ceil((end - begin) / sampling.knots))
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

    joints: the same motion in joint space at the times of `knots`.
    """
    tasks = motion(grid)
    q, dq, ddq = PiecewiseQuintic(places, joints.position, joints.velocity, joints.acceleration).sample(grid)
    columns = ReferenceColumns.samples(grid.size, len(robot.joint_names))
    columns.position[:], columns.velocity[:], columns.acceleration[:] = (
        tasks.position,
        tasks.velocity,
        tasks.acceleration,
    )
    columns.orientation[:], columns.posture[:] = tasks.orientation, tasks.posture
    columns.angular_velocity[:], columns.angular_acceleration[:] = tasks.angular_velocity, tasks.angular_acceleration
    columns.joint_position[:], columns.joint_velocity[:], columns.joint_acceleration[:] = q, dq, ddq
    return ReferenceTable(float(grid[1] - grid[0]), columns)
