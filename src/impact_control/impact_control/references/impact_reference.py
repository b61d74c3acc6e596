"""References of one arm before and after the impact, joined at the nominal impact time.

van Steen 2024 section IV-A, Proper 2021 sections 3.4 and 3.4.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from impact_control.impacts import SlipOutcome
from impact_control.references.approach import Approach
from impact_control.references.impact_deviation import friction_deviation
from impact_control.references.impact_geometry import ImpactGeometry
from impact_control.references.joint_space import TaskMotion, joint_motion
from impact_control.references.planning import knots, reference_table, through_impact
from impact_control.references.table import ReferenceTable
from impact_control.robots import Dynamics, RobotDescription
from impact_control.scenario import Scenario, Task
from impact_control.util.types import Vector


@dataclass(frozen=True, eq=False)
class ExpectedImpact:
    """Expected impact of a task, against which a classifier judges.

    Attributes:
        nominal_impact_time: T_nom [s].
        impact_configuration: q(T_nom) (n,) [rad] of both references.
        jump_deviation: standard deviation of dq^+ (n,) [rad/s].
        friction_deviation: of the velocity after it, by joint friction that is not known (n,) [rad/s].
        configuration_deviation: of q(T_nom), by the same (n,) [rad].
        height_deviation: of the end-effector over the surface after it, by the same, with the force of the task [m].
    """

    nominal_impact_time: float
    impact_configuration: Vector
    jump_deviation: Vector
    friction_deviation: Vector
    configuration_deviation: Vector
    height_deviation: float


@dataclass(frozen=True, eq=False)
class ImpactReference(ExpectedImpact):
    """Everything the controller and the classifier follow and expect.

    Attributes beside those of `ExpectedImpact`:
        ante, post: the references, both from the start to the end of the task, van Steen 2024 (11)-(14).
        geometry: of the planned impact.
        initial_configuration: (n,) [rad] at which the task starts, at rest.
        ante_impact_velocity: dq^- (n,) [rad/s], Proper 2021 (3.18) extended by joint 1.
        post_impact_velocity: dq^+ (n,) [rad/s], (3.17).
        normal_impulse: predicted impulse along the normal [Ns].
        slip: what the prediction makes of the slip along the surface.
    """

    ante: ReferenceTable
    post: ReferenceTable
    geometry: ImpactGeometry
    initial_configuration: Vector
    ante_impact_velocity: Vector
    post_impact_velocity: Vector
    normal_impulse: float
    slip: SlipOutcome


class PredictedJump(NamedTuple):
    """Prediction of the jump of the joint velocity, see `ExpectedImpact`."""

    post_impact_velocity: Vector
    jump_deviation: Vector
    normal_impulse: float
    slip: SlipOutcome


def reference_through_impact(
    robot: RobotDescription,
    approach: Approach,
    scenario: Scenario,
    motion_after: Vector,
    end: Vector,
    jump: PredictedJump,
) -> ImpactReference:
    """Put the reference after the impact beside that of the approach, with the configuration of the impact in both.

    motion_after (7,): velocity of the end-effector [m/s], angular velocity, rate of joint 1 [rad/s] with which the
    reference leaves the impact; end (3,) [m]: position at which it comes to rest. Raises UnreachableReferenceError
    naming joint and time.
    """
    task, geometry = scenario.task, approach.geometry
    nominal, post = task.impact.time, task.post
    motion = _post_motion(task, geometry.impact_position, motion_after, end)
    after = sorted({nominal + duration for duration in (post.duration, post.settle_duration)})
    places = knots([nominal - post.lead, nominal, *after], approach.sampling)
    at_impact = int(np.searchsorted(places, nominal))
    joints = joint_motion(
        Dynamics(robot), places, motion, geometry.orientation, approach.impact_configuration, at_impact
    )
    table = reference_table(robot, approach.times, motion, places, joints)
    by_friction = friction_deviation(
        robot, scenario, table, geometry.normal, approach.impact_configuration, approach.ante_impact_velocity
    )
    return ImpactReference(
        ante=approach.table,
        post=table,
        geometry=geometry,
        nominal_impact_time=nominal,
        initial_configuration=approach.initial_configuration,
        impact_configuration=approach.impact_configuration,
        ante_impact_velocity=approach.ante_impact_velocity,
        friction_deviation=by_friction.velocity,
        configuration_deviation=by_friction.configuration,
        height_deviation=by_friction.height,
        **jump._asdict(),
    )


def _post_motion(task: Task, impact_position: Vector, twist: Vector, end: Vector) -> Callable[[Vector], TaskMotion]:
    """Return the motion after the impact, twist (7,): velocity, angular velocity, rate of joint 1 just after it.

    Before T_nom it comes in from rest along the velocity after the impact: that motion continued backwards,
    as if the contact had been there before. The rotation is about the fixed axis of the angular velocity, so
    that the derivatives of phi are the angular velocity and acceleration.
    """
    impact, post = task.impact.time, task.post
    position = through_impact(impact, post.lead, impact_position, twist[:3], post.duration, end)
    rotation = through_impact(impact, post.lead, np.zeros(3), twist[3:6], post.settle_duration, np.zeros(3))
    posture = np.array([task.posture])
    joint_1 = through_impact(impact, post.lead, posture, twist[6:], post.settle_duration, posture)

    def motion(times: Vector) -> TaskMotion:
        return TaskMotion(*position.sample(times), *rotation.sample(times), np.hstack(joint_1.sample(times)))

    return motion
