"""Use of each limit by a plan, along the parts of its references that can be followed.

- Ante-impact: from the start to its end below the surface, where an approach without impact leads, at the latest until
  `control.missing_impact_timeout`.
- Post-impact: from the earliest impact that counts as expected, `classification.time_error` before the nominal time, or
  `task.post.lead` before it where that is later, to its end. What it does earlier is followed after unexpected impacts
  only.

With `plain_tracking` the controller changes at the nominal time whatever happens, and so do the references here.

Position and acceleration are those of the references; the acceleration counts the motion alone. So is the velocity, or
what it comes to within the horizon of the controller, which keeps the limit that far ahead, `control.limits`. At the
impact on a surface the links alone are faster for less than a millisecond, `references.link_impact_map`.

The torque is what the control law feeds forward: (M + B_theta) ddq + C dq, the compensated part of the joint friction,
and after the impact J^T f of the desired force. The motor carries gravity as well; the torque has to be inside its
limit with gravity and without. The torque rate is its change along each reference. What the change from one reference
to the other asks for at once is no part of it: it takes the longer, see `Budget.change` and `Budget.force`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from impact_control.control import DesiredForce
from impact_control.control.contact_force import NO_FORCE
from impact_control.control.limits import HORIZON
from impact_control.planning.arm_plan import ArmPlan
from impact_control.planning.driving_key import driving_key
from impact_control.planning.limit_use import ANTE, AT_IMPACT, MOVE, POST, Quantity, Use
from impact_control.references import ReferenceColumns, ReferenceTable, link_impact_map
from impact_control.robots import Dynamics, InertiaModel, RobotDescription
from impact_control.scenario import ImpactStrategy, Scenario
from impact_control.util.types import Matrix, Vector

_SPACING = 0.005
"""[s] between the samples of a reference whose torque is computed."""

Rows = NDArray[np.intp]
"""Numbers of samples of a reference (m,)."""


@dataclass(frozen=True)
class TorqueStep:
    """A step of the desired torque: the joint that takes longest to reach it, the torque [Nm], the duration [s]."""

    joint: str
    torque: float
    duration: float


@dataclass(frozen=True)
class Budget:
    """Use of the limits by a plan.

    Attributes:
        uses: the largest of each quantity along each reference.
        change: of the torque from one reference to the other at the nominal impact, the force included.
        force: J^T f of the desired force alone, at the nominal impact.
    """

    uses: tuple[Use, ...]
    change: TorqueStep
    force: TorqueStep

    @property
    def violations(self) -> tuple[Use, ...]:
        """Return what is violated, in the order of `Quantity`, of each the worse first."""
        order = list(Quantity)
        broken = (use for use in self.uses if use.violated)
        return tuple(sorted(broken, key=lambda use: (order.index(use.quantity), -use.share)))


def budget_of(plan: ArmPlan) -> Budget:
    """Return what a plan uses of each limit."""
    ante, post = plan.reference.ante, plan.reference.post
    before_end, after_begin = _followed(plan)
    uses = [*_uses(plan, ANTE, ante, before_end), *_uses(plan, POST, post, after_begin)]
    uses += [
        _largest(plan.robot, AT_IMPACT, post, course, lambda *_: "task.impact.speed") for course in _at_impact(plan)
    ]
    at_impact = _rows(ante, plan.reference.nominal_impact_time, 0.0)
    robot, scenario = plan.robot, plan.scenario
    before = _torques(robot, scenario, ante, at_impact)
    after = _torques(robot, scenario, post, at_impact, plan.force)
    change = _step(plan, (after.command - before.command)[0])
    return Budget(tuple(uses), change, _step(plan, after.pressing[0]))


def largest_share(plan: ArmPlan, with_torque: bool) -> float:
    """Return the largest use of a limit [-] along both references; torque and torque rate take most of the time."""
    ante, post = plan.reference.ante, plan.reference.post
    before, after = _followed(plan)
    robot, scenario = plan.robot, plan.scenario
    courses = [*_motion(robot, scenario, ante, before), *_motion(robot, scenario, post, after), *_at_impact(plan)]
    if with_torque:
        courses += _effort(robot, scenario, ante, before)
        courses += _effort(robot, scenario, post, after, plan.force)
    return float(np.max([course.shares.max() for course in courses if course.rows.size]))


def _followed(plan: ArmPlan) -> tuple[Rows, Rows]:
    """Return the samples of the ante- and of the post-impact reference that can be followed."""
    task, impact, control = plan.scenario.task, plan.reference.nominal_impact_time, plan.scenario.control
    extension, timeout = task.ante.extension_duration, control.missing_impact_timeout
    end = impact + (extension if timeout is None else min(extension, timeout))
    begin = impact - min(task.post.lead, plan.scenario.classification.time_error)
    if control.impact_strategy is ImpactStrategy.PLAIN_TRACKING:
        end = begin = impact
    rest = impact + max(task.post.duration, task.post.settle_duration)
    return _rows(plan.reference.ante, 0.0, end), _rows(plan.reference.post, begin, rest)


def _rows(table: ReferenceTable, begin: float, end: float) -> Rows:
    """Return the numbers of the samples from `begin` to `end` [s], at least one."""
    first, last = (round(time / table.period) for time in (begin, end))
    return np.arange(first, min(max(first, last), len(table.columns.data) - 1) + 1)


@dataclass(frozen=True, eq=False)
class _Torques:
    """Torques in m samples of a reference, (m, n) each [Nm]: the command, J^T f as a part of it, gravity beside it."""

    command: Matrix
    pressing: Matrix
    gravity: Matrix


def _torques(
    robot: RobotDescription, scenario: Scenario, table: ReferenceTable, rows: Rows, force: DesiredForce = NO_FORCE
) -> _Torques:
    """Return what the control law feeds forward in samples of a reference; force: that is exerted."""
    joints = table.columns.joints
    dynamics, wanted = Dynamics(robot), ReferenceColumns.one_sample(joints)
    wrench, friction = np.zeros(6), np.zeros(joints)
    command, pressing, gravity = (np.zeros((rows.size, joints)) for _ in range(3))
    compensated = scenario.control.friction_compensation
    for i, row in enumerate(rows):
        wanted.data[:] = table.columns.data[row]
        dynamics.compute(wanted.joint_position, wanted.joint_velocity)
        robot.friction.reduced(robot.transmission).torque(wanted.joint_velocity, friction)
        command[i] = dynamics.inertia(InertiaModel.REDUCED_MOTORS) @ wanted.joint_acceleration
        command[i] += dynamics.coriolis + compensated * friction
        gravity[i] = dynamics.gravity
        force.exert(1.0, wanted, dynamics.jacobian, wrench, pressing[i])
    return _Torques(command + pressing, pressing, gravity)


def _uses(plan: ArmPlan, reference: str, table: ReferenceTable, rows: Rows) -> tuple[Use, ...]:
    """Return the largest use of each limit in samples of a reference."""
    robot, scenario, force = plan.robot, plan.scenario, plan.force if reference == POST else NO_FORCE
    courses = [*_motion(robot, scenario, table, rows), *_effort(robot, scenario, table, rows, force)]
    key = partial(driving_key, plan)
    return tuple(_largest(robot, reference, table, course, key) for course in courses if course.rows.size)


def _at_impact(plan: ArmPlan) -> list[_Course]:
    """Return the velocity of the links after the impact on a surface; none for an impact on an object."""
    if plan.name:
        return []
    robot, reference, surface = plan.robot, plan.reference, plan.scenario.expected_environment.surface
    offsets = reference.geometry.contact_offsets
    state = (reference.impact_configuration, reference.ante_impact_velocity)
    velocity = link_impact_map(robot)(*state, offsets, surface.normal, surface.friction).velocity
    limit, rows = robot.limits.velocity, _rows(reference.post, reference.nominal_impact_time, 0.0)
    return [_Course(Quantity.VELOCITY, rows, velocity[None], -limit, limit)]


def move_violations(robot: RobotDescription, scenario: Scenario, motion: ReferenceTable) -> tuple[Use, ...]:
    """Return the largest violation of each limit by a motion outside of a task; none where it can be followed.

    scenario: of the controller that follows it.
    """
    rows = _rows(motion, 0.0, motion.duration)
    courses = [*_motion(robot, scenario, motion, rows), *_effort(robot, scenario, motion, rows)]
    uses = [_largest(robot, MOVE, motion, course, lambda *_: "") for course in courses]
    return tuple(use for use in uses if use.violated)


def _motion(robot: RobotDescription, scenario: Scenario, table: ReferenceTable, rows: Rows) -> list[_Course]:
    """Return position, velocity and acceleration in samples of a reference."""
    limits, columns = robot.limits, table.columns
    velocity, acceleration = columns.joint_velocity[rows], columns.joint_acceleration[rows]
    ahead = velocity + max(HORIZON, table.period) * acceleration
    most = scenario.control.max_joint_acceleration
    return [
        _Course(Quantity.POSITION, rows, columns.joint_position[rows], limits.position_lower, limits.position_upper),
        _Course(Quantity.VELOCITY, rows, _larger(velocity, ahead), -limits.velocity, limits.velocity),
        _Course(Quantity.ACCELERATION, rows, acceleration, -most, most),
    ]


def _effort(
    robot: RobotDescription, scenario: Scenario, table: ReferenceTable, rows: Rows, force: DesiredForce = NO_FORCE
) -> list[_Course]:
    """Return torque and torque rate in some of the samples of a reference; force: that is exerted."""
    limits = robot.limits
    seen = np.unique(np.append(rows[:: max(1, round(_SPACING / table.period))], rows[-1]))
    torques = _torques(robot, scenario, table, seen, force)
    command, motor = torques.command, torques.command + torques.gravity
    rate = np.diff(command, axis=0) / (table.period * np.diff(seen)[:, None])
    return [
        _Course(Quantity.TORQUE, seen, _larger(command, motor), -limits.torque, limits.torque),
        _Course(Quantity.TORQUE_RATE, seen[1:], rate, -limits.torque_rate, limits.torque_rate),
    ]


def _larger(first: Matrix, second: Matrix) -> Matrix:
    """Return of each pair the number that is larger in magnitude."""
    return np.where(np.abs(first) > np.abs(second), first, second)


@dataclass(frozen=True, eq=False)
class _Course:
    """A quantity in m samples of a reference: their numbers, values (m, n), bounds (n,)."""

    quantity: Quantity
    rows: Rows
    values: Matrix
    lower: Vector
    upper: Vector

    @property
    def shares(self) -> Matrix:
        """Return the uses of the limit (m, n) [-], see `Use.share`."""
        middle, half = 0.5 * (self.upper + self.lower), 0.5 * (self.upper - self.lower)
        shares: Matrix = np.abs(self.values - middle) / half
        return shares


def _largest(
    robot: RobotDescription,
    reference: str,
    table: ReferenceTable,
    course: _Course,
    key: Callable[[Quantity, str, int, int], str],
) -> Use:
    """Return the largest use of one limit; key: see `driving_key`."""
    shares = course.shares
    where, joint = np.unravel_index(int(np.argmax(shares)), shares.shape)
    row = int(course.rows[where])
    return Use(
        quantity=course.quantity,
        reference=reference,
        joint=robot.joint_names[joint],
        time=row * table.period,
        value=float(course.values[where, joint]),
        lower=float(course.lower[joint]),
        upper=float(course.upper[joint]),
        share=float(shares[where, joint]),
        key=key(course.quantity, reference, row, int(joint)),
    )


def _step(plan: ArmPlan, torque: Vector) -> TorqueStep:
    """Return which joint needs longest for a torque (n,) [Nm] at the limit of its rate."""
    durations = np.abs(torque) / plan.robot.limits.torque_rate
    joint = int(np.argmax(durations))
    return TorqueStep(plan.robot.joint_names[joint], float(torque[joint]), float(durations[joint]))
