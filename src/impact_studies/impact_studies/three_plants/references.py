"""The references of both end-effectors before and after the expected impact, in task space and of the joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from impact_control.robots import Dynamics, InertiaModel, RobotDescription, contact_jacobians, load_robot, lowest_points
from impact_control.util.types import Matrix, Vector
from impact_studies.planar_impact.response import PLANAR_TASK, TaskController
from impact_studies.three_plants.course import (
    ANGLE,
    DISTANCE,
    EXPECTED_NORMAL,
    PRESSING_FORCE,
    SLIDE,
    SLIDE_TIME,
    Slide,
    expected_approach,
    rigid_map,
)
from impact_studies.three_plants.plan import KNOT, Motion, Plan, joint_path, plan_impact, planar_pose

BEFORE = 0.6
"""[s] before the impact that are shown: the whole approach."""

PERIOD = 5e-3
"""[s] between the samples."""

IMPACT = round(BEFORE / PERIOD)
"""Sample of the expected impact."""

DEPTH = 0.1
"""delta y [m] of Proper 2021, Table 3.2."""


@dataclass(frozen=True, eq=False)
class Side:
    """The ante- or the post-impact reference at m samples, by order of the derivative along the second axis.

    task (m, 3, 3): pose (x, z [m], turn about y [rad]), its rate and its second derivative. joints (m, 3, 3): positions
    [rad], velocities [rad/s] and accelerations [rad/s^2].
    """

    task: NDArray[np.float64]
    joints: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reference:
    """Both references of a robot at samples (m,): time [s] from the expected impact. They go on beyond it."""

    robot: RobotDescription
    time: Vector
    ante: Side
    post: Side

    @property
    def forces(self) -> tuple[Vector, Vector]:
        """Return the normal force [N] at each contact point of the ante- and of the post-impact reference, each (n_c,).

        None and lambda_ref / n_c, at all times: Proper 2021 (3.21).
        """
        points = len(self.robot.end_effector.contact_points)
        return np.zeros(points), np.full(points, PRESSING_FORCE / points)

    @property
    def pressing_difference(self) -> float:
        """Return how far at most [Nm] the torque that presses in the studies is from that of `forces`.

        Along the post-impact reference. The torque of forces lambda at the lowest points is -sum_i J_N,i^T lambda_i.
        """
        dynamics, tool = Dynamics(self.robot), self.robot.end_effector
        controller = TaskController(self.robot, expected_approach(), 0.0, 0.0)
        found = 0.0
        for q in self.post.joints[:, 0]:
            dynamics.compute(q, np.zeros_like(q))
            offsets = lowest_points(tool.contact_points, tool.radius, dynamics.rotation, EXPECTED_NORMAL)
            normals = [EXPECTED_NORMAL @ jacobian for jacobian in contact_jacobians(dynamics.jacobian, offsets)]
            torque = -self.forces[1] @ np.array(normals)
            ours = controller.pressing_torque(q, EXPECTED_NORMAL, PRESSING_FORCE)
            found = max(found, float(np.max(np.abs(ours - torque))))
        return found

    @property
    def acceleration_error(self) -> float:
        """Return how far at most [rad/s^2] the joint accelerations are from the slope of the joint velocities.

        By central differences between the samples on each side of the impact.
        """
        return max(
            float(np.max(np.abs((joints[2:, 1] - joints[:-2, 1]) / (2.0 * PERIOD) - joints[1:-1, 2])))
            for joints in (self.ante.joints, self.post.joints)
        )

    @property
    def paths(self) -> tuple[Matrix, Matrix]:
        """Return x and z [m] of the ante- and of the post-impact reference, each (m, 2)."""
        return self.ante.task[:, 0, :2], self.post.task[:, 0, :2]

    @property
    def pivot(self) -> float:
        """Return by how much the impact changes the rate of the turn [rad/s]."""
        return float(self.post.task[IMPACT, 1, 2] - self.ante.task[IMPACT, 1, 2])

    @property
    def joint_jump(self) -> Vector:
        """Return by how much the impact changes the joint velocities (3,) [rad/s]."""
        jump: Vector = self.post.joints[IMPACT, 1] - self.ante.joints[IMPACT, 1]
        return jump

    @property
    def jump_error(self) -> float:
        """Return how far that is at most [rad/s] from the rigid map with all points of the end-effector: (3.17)."""
        joints, before = self.ante.joints[IMPACT, :2]
        points = np.arange(len(self.robot.end_effector.contact_points))
        after = rigid_map(self.robot, joints, before, EXPECTED_NORMAL, points, InertiaModel.REDUCED_MOTORS)
        return float(np.max(np.abs(self.joint_jump - (after - before))))

    @property
    def kinematics_error(self) -> float:
        """Return how far at most the joints put the end-effector from its pose, (3.23) against (3.26).

        The largest of the differences in x, z [m] and turn [rad].
        """
        dynamics = Dynamics(self.robot)
        return max(
            float(np.max(np.abs(planar_pose(dynamics, q) - pose)))
            for side in (self.ante, self.post)
            for q, pose in zip(side.joints[:, 0], side.task[:, 0], strict=True)
        )


def apart(first: Matrix, second: Matrix) -> float:
    """Return how far the points (m, 2) of a path are from another path (k, 2) at most [m], whenever they are there."""
    begin, way = second[:-1], np.diff(second, axis=0)
    # Where a path rests its way is 0, and its begin is the nearest point.
    length = np.maximum(np.sum(way**2, axis=1), np.finfo(float).tiny)
    part = np.clip(np.sum((first[:, None] - begin) * way, axis=2) / length, 0.0, 1.0)
    distance = np.linalg.norm(first[:, None] - begin - part[:, :, None] * way, axis=2)
    return float(distance.min(axis=1).max())


def extended(plan: Plan) -> tuple[Motion, Motion]:
    """Return ante- and post-impact motion over the time [s] from the expected impact, extended as in Proper 2021, 3.4.

    After the impact the ante-impact motion goes on to rest, SLIDE further and DEPTH deeper: (3.19). Before the impact
    the post-impact motion comes along the surface, from below the start of the approach: (3.20), but at the height of
    the impact. The printed matrix makes the height 0, at which the end-effector would be in the surface by its radius.
    Both by the quintic of `Slide`: the source does not say by which curve.
    """
    impact, twist, _ = plan.ante_pose(0.0)
    way = np.array([np.sign(twist[0]) * SLIDE, np.sign(twist[1]) * DEPTH, 0.0])
    beyond = Slide(impact, twist, impact + way, plan.slide.duration)
    lead = plan.approach.impact_time
    begin = np.array([plan.ante_pose(-lead)[0][0], *impact[1:]])
    backwards = Slide(impact, -plan.slide.twist, begin, lead)

    def ante(time: float) -> tuple[Vector, Vector, Vector]:
        return plan.ante_pose(time) if time < 0.0 else beyond.at(time)

    def post(time: float) -> tuple[Vector, Vector, Vector]:
        if time >= 0.0:
            return plan.slide.at(time)
        pose, rate, second = backwards.at(-time)
        return pose, -rate, second

    return ante, post


def joint_accelerations(robot: RobotDescription, time: Vector, path: CubicSpline, pose: Motion) -> Matrix:
    """Return the joint accelerations (m, 3) [rad/s^2] of a path that follows a pose: Proper 2021 (3.28)."""
    dynamics, task = Dynamics(robot), list(PLANAR_TASK)
    found = []
    for moment in time:
        dynamics.compute(path(moment), path(moment, 1))
        desired = pose(float(moment))[2] - dynamics.jacobian_rate_velocity[task]
        found.append(np.linalg.solve(dynamics.jacobian[task], desired))
    return np.array(found)


def reference(end_effector: str, *, followed: bool = False) -> Reference:
    """Return the references of Proper 2021, 3.4, for the expected impact of an end-effector.

    followed: instead those that the arms of the studies follow, which go straight on beyond the impact; the controllers
    need them for the time of the interim phase only.
    """
    time = PERIOD * np.arange(-IMPACT, 1 + round(SLIDE_TIME / PERIOD), dtype=np.float64)
    robot = load_robot("planar_rrr", end_effector)
    plan = plan_impact(robot, ANGLE, DISTANCE, float(time[0]), float(time[-1]))
    motions = (plan.ante_pose, plan.slide.at) if followed else extended(plan)
    # The impact is one of the knots.
    knots = time[:: round(KNOT / PERIOD)]

    def side(motion: Motion) -> Side:
        path = joint_path(robot, plan.configuration, knots, motion)
        joints = (path(time), path(time, 1), joint_accelerations(robot, time, path, motion))
        return Side(np.array([motion(moment) for moment in time]), np.stack(joints, axis=1))

    return Reference(robot, time, *map(side, motions))
