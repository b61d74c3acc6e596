"""Motion to a configuration outside of a task, back to the start of the next one.

After a task the arm may press on the surface, and the straight way in joint space may lead through it. So the way has
two parts, each a quintic from rest to rest, van Steen 2024 (11)-(13):

1. The end-effector lifts off along the normal of the surface of the task before, with its orientation and joint 1 as
   they are, until it is `CLEARANCE` above the place where it stood, but no higher than the goal.
2. All joints move to the goal together.

To follow the approach backwards would need the arm to be on it: after an unexpected impact, a stop or a cancelled task
it is somewhere else, and after a slide the end-effector would be dragged back over the surface under load. Along the
normal it leaves the contact from wherever it stands. Heights of the contact points over the expected surfaces are
checked along the second part: a way through a surface is refused. Of anything else, the arm's own links included, only
the detection of contacts knows.
"""

from __future__ import annotations

import math

import numpy as np

from impact_control.planning.budget import move_violations
from impact_control.planning.feasible_plan import InfeasibleTaskError
from impact_control.references import FINE, PiecewiseQuintic, ReferenceColumns, ReferenceTable, ViaPoint
from impact_control.references.joint_space import TaskMotion, joint_motion
from impact_control.references.planning import knots, sample_times
from impact_control.references.quintic import PEAK_ACCELERATION, PEAK_SPEED
from impact_control.robots import Dynamics, RobotDescription, lowest_points
from impact_control.scenario import Scenario, Surface
from impact_control.util.checks import finite_array
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

DEFAULT_SPEED = 0.5
"""[rad/s] of the fastest joint, where no other is asked for."""

ACCELERATION = 2.0
"""[rad/s^2] of no joint is exceeded: a tenth and less of what the arms here allow."""

CLEARANCE = 0.05
"""[m] by which the end-effector lifts off before the joints move to the goal."""

LIFT_SPEED, LIFT_ACCELERATION = 0.1, 0.5
"""[m/s, m/s^2] of the end-effector at most while it lifts off."""

_SHORTEST = 0.1
"""[s] that each part takes at least."""

_LEAST_LIFT = 1e-3
"""[m] Smallest height to lift off by."""

_ROUNDING = 1e-4
"""[m] of a height."""

_LOOK = 0.01
"""[s] between two samples whose height is checked."""


def plan_move(
    robot: RobotDescription,
    scenario: Scenario,
    start: Vector,
    goal: Vector,
    *,
    speed: float = DEFAULT_SPEED,
    before: Scenario | None = None,
) -> ReferenceTable:
    """Plan the motion from rest in `start` to rest in `goal`, (n,) each [rad].

    scenario: whose expected surface is near the goal, and whose control period and limits hold. speed [rad/s]: of the
    fastest joint. before: whose expected surface is near the start; None: the same. The columns of orientation and of
    joint 1 are 0: the joints are followed.

    Raises InvalidInputError for a goal, a speed or a way that is not allowed, InfeasibleTaskError where a limit of a
    joint would be broken, UnreachableReferenceError where the end-effector cannot lift off.
    """
    goal = finite_array("joint_position", goal, start.shape)
    fastest = float(robot.limits.velocity.min())
    if not 0.0 < speed <= fastest:
        raise InvalidInputError("speed", speed, f"above 0, at most {fastest:g} rad/s, the limit of the slowest joint")
    surfaces = [(before or scenario).expected_environment.surface, scenario.expected_environment.surface]
    lift = _lift_off(robot, surfaces[0], start, goal, speed)
    lifted, lift_end = (start, 0.0) if lift is None else (lift.sample(lift.times[-1:])[0][0], float(lift.times[-1]))
    duration = _duration(float(np.abs(goal - lifted).max()), speed, ACCELERATION)
    joints = PiecewiseQuintic.through([ViaPoint.at_rest(0.0, lifted), ViaPoint.at_rest(duration, goal)])
    grid = sample_times(lift_end + duration, scenario.control.period)
    motion = joints.sample(grid - lift_end)
    if lift is not None:
        for whole, first in zip(motion, lift.sample(grid), strict=True):
            whole[grid < lift_end] = first[grid < lift_end]
    table = _table(robot, grid, *motion)
    _require_clearance(robot, surfaces, table, lift_end)
    if violations := move_violations(robot, scenario, table):
        raise InfeasibleTaskError(violations)
    return table


def _duration(way: float, speed: float, acceleration: float) -> float:
    """Return the shortest time [s] for a way from rest to rest inside speed and acceleration, in one unit of length."""
    return max(_SHORTEST, PEAK_SPEED * way / speed, math.sqrt(PEAK_ACCELERATION * way / acceleration))


def _height(robot: RobotDescription, dynamics: Dynamics, surface: Surface) -> float:
    """Return how far the lowest contact point is above a surface [m], at the state of `dynamics`."""
    tool = robot.end_effector
    offsets = lowest_points(tool.contact_points, tool.radius, dynamics.rotation, surface.normal)
    return float(((dynamics.position + offsets - surface.point) @ surface.normal).min())


def _heights(robot: RobotDescription, surface: Surface, configurations: Matrix) -> Vector:
    """Return the heights (m,) [m] over a surface in configurations (m, n) [rad]."""
    dynamics, still = Dynamics(robot), np.zeros(configurations.shape[1])
    heights = np.empty(len(configurations))
    for i, configuration in enumerate(configurations):
        dynamics.compute(configuration, still)
        heights[i] = _height(robot, dynamics, surface)
    return heights


def _lift_off(
    robot: RobotDescription, surface: Surface, start: Vector, goal: Vector, speed: float
) -> PiecewiseQuintic | None:
    """Return the first part of the way, in joint space; None where the goal is no higher than the start."""
    here, there = _heights(robot, surface, np.array([start, goal]))
    way = min(max(here, 0.0) + CLEARANCE, there) - here
    if way < _LEAST_LIFT:
        return None
    dynamics = Dynamics(robot)
    dynamics.compute(start, np.zeros_like(start))
    origin, rotation = dynamics.position.copy(), dynamics.rotation.copy()
    end = _duration(way, LIFT_SPEED, LIFT_ACCELERATION)
    line = PiecewiseQuintic.through(
        [ViaPoint.at_rest(0.0, origin), ViaPoint.at_rest(end, origin + way * surface.normal)]
    )

    def motion(times: Vector) -> TaskMotion:
        still = np.zeros((times.size, 3))
        return TaskMotion(*line.sample(times), still, still, still, np.tile([start[0], 0.0, 0.0], (times.size, 1)))

    places = knots([0.0, end], FINE)
    lifted = joint_motion(dynamics, places, motion, rotation, start)
    # The same way in a longer time, where a joint would be too fast; between the knots by less than a thousandth more.
    slower = 1.001 * max(
        1.0,
        float(np.abs(lifted.velocity).max()) / speed,
        math.sqrt(float(np.abs(lifted.acceleration).max()) / ACCELERATION),
    )
    return PiecewiseQuintic(slower * places, lifted.position, lifted.velocity / slower, lifted.acceleration / slower**2)


def _table(robot: RobotDescription, grid: Vector, q: Matrix, dq: Matrix, ddq: Matrix) -> ReferenceTable:
    """Return a motion of the joints with that of the end-effector, at the times `grid` (N,) [s]."""
    joints, dynamics = q.shape[1], Dynamics(robot)
    columns = ReferenceColumns.samples(grid.size, joints)
    columns.joint_position[:], columns.joint_velocity[:], columns.joint_acceleration[:] = q, dq, ddq
    for i in range(grid.size):
        dynamics.compute(q[i], dq[i])
        columns.position[i] = dynamics.position
        columns.velocity[i] = dynamics.twist[:3]
        columns.acceleration[i] = dynamics.jacobian[:3] @ ddq[i] + dynamics.jacobian_rate_velocity[:3]
    return ReferenceTable(float(grid[1] - grid[0]), columns)


def _require_clearance(
    robot: RobotDescription, surfaces: list[Surface], motion: ReferenceTable, lift_end: float
) -> None:
    """Refuse a second part that leads lower than half the clearance, or half of its lower end where that is less.

    A goal below a surface is refused as well, a start that is there already is not.
    """
    step = max(1, round(_LOOK / motion.period))
    first = min(math.ceil(lift_end / motion.period), len(motion.columns.data) - 1)
    rows = np.unique([*range(first, len(motion.columns.data), step), len(motion.columns.data) - 1])
    for surface in surfaces:
        heights = _heights(robot, surface, motion.columns.joint_position[rows])
        end = min(CLEARANCE, heights[0], max(heights[-1], 0.0))
        least, lowest = 0.5 * end if end > 0.0 else end, int(np.argmin(heights))
        if heights[lowest] < least - _ROUNDING:
            where = f"height over the expected surface {rows[lowest] * motion.period:.2f} s after the begin"
            allowed = f"at least {least:.3f} m; move to a configuration above it first"
            raise InvalidInputError(where, round(float(heights[lowest]), 4), allowed)
