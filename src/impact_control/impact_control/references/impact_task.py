"""The two references of an impact task: before and after the impact, overlapping around its nominal time.

van Steen 2024 section IV-A, Proper 2021 sections 3.4 and 3.4.1. The end-effector meets the expected surface with all of
its contact points at once, a simultaneous impact of an edge or a plate (Proper 2021 section 2.2.1), and keeps its
orientation until then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from impact_control.errors import InvalidInputError
from impact_control.references.impact_geometry import ImpactGeometry, impact_geometry, initial_configuration
from impact_control.references.impact_map import ImpactMap, rigid_impact_map
from impact_control.references.joint_space import (
    JointMotion,
    TaskMotion,
    UnreachableReferenceError,
    joint_motion,
    task_jacobian,
)
from impact_control.references.quintic import PiecewiseQuintic, ViaPoint
from impact_control.references.table import ReferenceColumns, ReferenceTable
from impact_control.robots import (
    Dynamics,
    RobotDescription,
    contact_jacobians,
)
from impact_control.scenario import Scenario
from impact_control.types import Matrix, Vector

_JOINTS = 7

_KNOT_SPACING = 0.01
"""[s] between configurations found by inverse kinematics; the quintics between them err by less than 1e-9."""

_LARGEST_NORMAL_VELOCITY = 1e-6
"""[m/s] a predicted post-impact velocity along the normal below this is rounding."""


@dataclass(frozen=True, eq=False)
class ImpactReference:
    """Everything the controller and the classifier follow and expect.

    Attributes:
        ante, post: the references, both from the start to the end of the task, van Steen 2024 (11)-(14).
        geometry: of the planned impact.
        nominal_impact_time: T_nom [s].
        initial_configuration: (n,) [rad] at which the task starts, at rest.
        impact_configuration: q(T_nom) (n,) [rad] of both references.
        ante_impact_velocity: dq^- (n,) [rad/s], Proper 2021 (3.18) extended by joint 1.
        post_impact_velocity: dq^+ (n,) [rad/s], (3.17).
        normal_impulse: predicted impulse along the normal [Ns].
    """

    ante: ReferenceTable
    post: ReferenceTable
    geometry: ImpactGeometry
    nominal_impact_time: float
    initial_configuration: Vector
    impact_configuration: Vector
    ante_impact_velocity: Vector
    post_impact_velocity: Vector
    normal_impulse: float


def build_reference(scenario: Scenario, robot: RobotDescription, predict: ImpactMap | None = None) -> ImpactReference:
    """Plan both references of a scenario.

    predict: the impact map of one contact, by default `rigid_impact_map(robot)`, which always predicts impacts at
    several. Raises UnreachableReferenceError naming joint and time; InvalidInputError when the impact map refuses
    the impact or does not keep the contacts.
    """
    if len(robot.joint_names) != _JOINTS:
        raise InvalidInputError("joints", robot.joint_names, f"{_JOINTS}: six for the pose and one for joint 1")
    task, geometry = scenario.task, impact_geometry(scenario, robot)
    dynamics = Dynamics(robot)
    period = scenario.control.period
    grid: Vector = period * np.arange(int(np.ceil(task.duration / period - 1e-9)) + 1, dtype=np.float64)
    start = initial_configuration(scenario, robot)

    nominal = task.impact.time
    ante_motion = _ante_motion(scenario, geometry)
    ante_knots = _knots([0.0, nominal, nominal + task.ante.extension_duration])
    ante_joints = joint_motion(dynamics, ante_knots, ante_motion, geometry.orientation, start)
    at_impact = int(np.searchsorted(ante_knots, nominal))
    impact_configuration = ante_joints.position[at_impact]
    before = ante_joints.velocity[at_impact]

    friction = scenario.expected_environment.surface.friction
    several = len(geometry.contact_offsets) > 1
    predicted = (rigid_impact_map(robot) if several or predict is None else predict)(
        impact_configuration,
        before,
        geometry.contact_offsets if several else geometry.contact_offset,
        geometry.normal,
        friction,
    )
    after = np.asarray(predicted.velocity, dtype=float)
    if after.shape != before.shape or not np.all(np.isfinite(after)):
        raise InvalidInputError("predicted post-impact velocity", after, f"{before.size} finite numbers")
    dynamics.update(impact_configuration, after)
    _require_contacts_at_rest(geometry, dynamics, after)
    post_motion = _post_motion(scenario, geometry, task_jacobian(dynamics.jacobian) @ after)
    ends = {nominal + task.post.duration, nominal + task.post.settle_duration}
    post_knots = _knots([nominal - task.post.lead, nominal, *sorted(ends)])
    at_impact = int(np.searchsorted(post_knots, nominal))
    post_joints = joint_motion(dynamics, post_knots, post_motion, geometry.orientation, impact_configuration, at_impact)
    return ImpactReference(
        ante=_table(robot, grid, ante_motion, ante_knots, ante_joints),
        post=_table(robot, grid, post_motion, post_knots, post_joints),
        geometry=geometry,
        nominal_impact_time=nominal,
        initial_configuration=start,
        impact_configuration=impact_configuration,
        ante_impact_velocity=before,
        post_impact_velocity=after,
        normal_impulse=float(predicted.normal_impulse),
    )


def _ante_motion(scenario: Scenario, geometry: ImpactGeometry) -> Callable[[Vector], TaskMotion]:
    """Return the reference before the impact: straight, with constant orientation and joint 1."""
    task = scenario.task
    nominal = task.impact.time
    position = PiecewiseQuintic.through(
        [
            ViaPoint.at_rest(0.0, geometry.start_position),
            ViaPoint(nominal, geometry.impact_position, geometry.approach_velocity, np.zeros(3)),
            ViaPoint.at_rest(nominal + task.ante.extension_duration, geometry.rest_position),
        ]
    )

    def motion(times: Vector) -> TaskMotion:
        still = np.zeros((times.size, 3))
        posture = np.tile([task.posture, 0.0, 0.0], (times.size, 1))
        return TaskMotion(*position.sample(times), still, still, still, posture)

    return motion


def _require_contacts_at_rest(geometry: ImpactGeometry, dynamics: Dynamics, velocity: Vector) -> None:
    """Refuse a joint velocity (n,) [rad/s] after the impact that moves a contact along the normal."""
    for i, jacobian in enumerate(contact_jacobians(dynamics.jacobian, geometry.contact_offsets)):
        along_normal = float(geometry.normal @ jacobian @ velocity)
        if abs(along_normal) > _LARGEST_NORMAL_VELOCITY:
            name = f"predicted post-impact velocity of contact {i} along the normal"
            raise InvalidInputError(name, along_normal, "0 m/s")


def _post_motion(scenario: Scenario, geometry: ImpactGeometry, twist: Vector) -> Callable[[Vector], TaskMotion]:
    """Return the reference after the impact, twist (7,): velocity, angular velocity, joint 1 just after it.

    Before T_nom it comes in from rest along the velocity after the impact: that motion continued backwards,
    as if the surface had been there before. The rotation is about the fixed axis of the angular velocity, so
    that the derivatives of phi are the angular velocity and acceleration.
    """
    task, normal = scenario.task, geometry.normal
    along_normal = float(twist[:3] @ normal)
    if abs(along_normal) > _LARGEST_NORMAL_VELOCITY:
        raise InvalidInputError("predicted post-impact velocity along the normal", along_normal, "0 m/s")
    velocity = twist[:3] - along_normal * normal
    impact, lead, post = task.impact.time, task.post.lead, task.post
    end = geometry.impact_position + post.slide * geometry.heading
    position = _through_impact(impact, lead, geometry.impact_position, velocity, post.duration, end)
    rotation = _through_impact(impact, lead, np.zeros(3), twist[3:6], post.settle_duration, np.zeros(3))
    posture = np.array([task.posture])
    joint_1 = _through_impact(impact, lead, posture, twist[6:], post.settle_duration, posture)

    def motion(times: Vector) -> TaskMotion:
        return TaskMotion(*position.sample(times), *rotation.sample(times), np.hstack(joint_1.sample(times)))

    return motion


def _through_impact(
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


def _knots(breakpoints: Sequence[float]) -> Vector:
    """Return increasing times that contain the breakpoints, at most _KNOT_SPACING apart."""
    pieces = [np.array(breakpoints[:1])]
    for begin, end in pairwise(breakpoints):
        count = int(np.ceil((end - begin) / _KNOT_SPACING))
        pieces.append(np.linspace(begin, end, count + 1)[1:])
    return np.concatenate(pieces)


def _table(
    robot: RobotDescription,
    grid: Vector,
    motion: Callable[[Vector], TaskMotion],
    knots: Vector,
    joints: JointMotion,
) -> ReferenceTable:
    """Sample a motion on the grid, in task and joint space, and check it against the joints' limits."""
    tasks = motion(grid)
    q, dq, ddq = PiecewiseQuintic(knots, joints.position, joints.velocity, joints.acceleration).sample(grid)
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
