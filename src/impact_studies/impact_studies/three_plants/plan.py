"""Plan of the planar arm: approach, impact, slide; and the joint motion that the classifier compares with."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from impact_control.robots import Dynamics, RobotDescription
from impact_control.util.types import Matrix, Vector
from impact_studies.planar_impact.response import PLANAR_TASK, StraightApproach, planar_approach
from impact_studies.three_plants.course import HEIGHT, SPEED, Slide, expected_slide

KNOT = 0.01
"""[s] Between two solutions of the inverse kinematics; joint velocities between them by cubic splines."""

Motion = Callable[[float], tuple[Vector, Vector, Vector]]
"""Pose (x, z [m], turn about y [rad]), its rate and its second derivative, each (3,), at a time [s]."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Motion for one approach angle and one place of impact; times [s] count from the expected impact.

    Attributes:
        approach: ante-impact motion of E; its own clock starts at its start.
        slide: post-impact motion of E, from the velocity that the rigid map predicts: Proper 2021 (3.15)-(3.18),
            before its begin straight on instead of (3.19), (3.20).
        configuration: q_ref(t_1d) (3,) [rad].
        ante, post: joint positions (3,) [rad] over time, of the extended references.
    """

    approach: StraightApproach
    slide: Slide
    configuration: Vector
    ante: CubicSpline
    post: CubicSpline

    def ante_pose(self, time: float) -> tuple[Vector, Vector, Vector]:
        """Return pose (x, z [m], turn about y [rad]), rate and second derivative before the impact, each (3,)."""
        position, velocity, acceleration = self.approach.at(time + self.approach.impact_time)
        return tuple(np.array([part[0], part[2], 0.0]) for part in (position, velocity, acceleration))  # type: ignore[return-value]


@dataclass(frozen=True, eq=False)
class Timetable:
    """Reference of a plan at every sample, looked up once for all trials of it.

    Attributes:
        period: [s] between samples; first: number of the first row, at `first` periods from the expected impact.
        ante_pose, post_pose: (k, 3, 3) pose, rate and second derivative of each sample, as of `Plan`.
        ante_velocity, post_velocity: (k, 3) joint velocities [rad/s] of the extended references.
    """

    period: float
    first: int
    ante_pose: NDArray[np.float64]
    post_pose: NDArray[np.float64]
    ante_velocity: Matrix
    post_velocity: Matrix

    def row(self, time: float) -> int:
        """Return the row of a sample at `time` [s] from the expected impact."""
        return round(time / self.period) - self.first


def tabulate(plan: Plan, first: int, last: int, period: float) -> Timetable:
    """Return what a plan wants from sample number `first` to `last`, counted from the expected impact."""
    times = period * np.arange(first, last + 1)
    return Timetable(
        period,
        first,
        np.array([plan.ante_pose(time) for time in times]),
        np.array([plan.slide.at(time) for time in times]),
        plan.ante(times, 1),
        plan.post(times, 1),
    )


def plan_impact(robot: RobotDescription, angle: float, distance: float, start: float, end: float) -> Plan:
    """Return the plan of an impact at `distance` [m] from the base under `angle` [deg], Proper 2021, Table 3.2.

    start, end: first and last time [s] from the expected impact for which joint velocities are asked.
    Raises InvalidInputError, and UnreachablePoseError for a place the arm cannot reach.
    """
    approach = planar_approach(angle, SPEED, distance, HEIGHT)
    slide = expected_slide(robot, approach)
    if abs(math.cos(math.radians(angle))) < 1e-9:
        # Straight down there is no way to go on: sgn(0) in (3.15).
        slide = Slide(slide.start, slide.twist, slide.start, slide.duration)
    times = np.linspace(start, end, 2 + math.ceil((end - start) / KNOT))
    configuration = approach.configuration(robot, approach.impact_position)
    plan = Plan(approach, slide, configuration, *(CubicSpline([0.0, 1.0], np.zeros((2, 3))) for _ in range(2)))
    ante, post = (joint_path(robot, configuration, times, pose) for pose in (plan.ante_pose, slide.at))
    return Plan(approach, slide, configuration, ante, post)


def joint_path(robot: RobotDescription, configuration: Vector, times: Vector, pose: Motion) -> CubicSpline:
    """Return the joint positions (3,) [rad] over time [s] that follow a pose: Proper 2021 (3.26), elbow up.

    By Newton's method from the knot before, at time 0 from the configuration (3,) [rad]. times (k,) [s]: the knots.
    """
    dynamics = Dynamics(robot)
    order = np.argsort(np.abs(times))
    path: Matrix = np.zeros((times.size, configuration.size))
    known: dict[int, Vector] = {}
    for index in map(int, order):
        q = known.get(index - 1, known.get(index + 1, configuration)).copy()
        desired = pose(float(times[index]))[0]
        for _ in range(20):
            error = desired - planar_pose(dynamics, q)
            if np.max(np.abs(error)) < 1e-12:
                break
            q += np.linalg.solve(dynamics.jacobian[list(PLANAR_TASK)], error)
        known[index] = path[index] = q
    return CubicSpline(times, path)


def planar_pose(dynamics: Dynamics, q: Vector) -> Vector:
    """Return x, z [m] of E and its turn about y [rad] from pointing down, at q (3,) [rad]; updates `dynamics`."""
    dynamics.compute(q, np.zeros_like(q))
    return measured_pose(dynamics)


def measured_pose(dynamics: Dynamics) -> Vector:
    """Return x, z [m] of E and its turn about y [rad] from pointing down, at the state of `dynamics`."""
    rotation = dynamics.rotation
    # R = R_y(turn) diag(1, -1, -1): the first column is (cos, 0, -sin).
    turn = math.atan2(-rotation[2, 0], rotation[0, 0])
    return np.array([dynamics.position[0], dynamics.position[2], turn])
