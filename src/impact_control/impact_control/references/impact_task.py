"""The two references of an impact task: before and after the impact, overlapping around its nominal time.

van Steen 2024 section IV-A, Proper 2021 sections 3.4 and 3.4.1. The end-effector meets the expected surface with all of
its contact points at once, a simultaneous impact of an edge or a plate (Proper 2021 section 2.2.1), and keeps its
orientation until then.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from impact_control.errors import InvalidInputError
from impact_control.references.approach import plan_approach
from impact_control.references.impact_geometry import ImpactGeometry
from impact_control.references.impact_map import ImpactMap, rigid_impact_map
from impact_control.references.impact_reference import ImpactReference, reference_through_impact
from impact_control.references.joint_space import TaskMotion, task_jacobian
from impact_control.references.planning import through_impact
from impact_control.robots import (
    Dynamics,
    RobotDescription,
    contact_jacobians,
)
from impact_control.scenario import Scenario
from impact_control.types import Vector

_LARGEST_NORMAL_VELOCITY = 1e-6
"""[m/s] a predicted post-impact velocity along the normal below this is rounding."""


def build_reference(scenario: Scenario, robot: RobotDescription, predict: ImpactMap | None = None) -> ImpactReference:
    """Plan both references of a scenario.

    predict: the impact map of one contact, by default `rigid_impact_map(robot)`, which always predicts impacts at
    several. Raises UnreachableReferenceError naming joint and time; InvalidInputError when the impact map refuses
    the impact or does not keep the contacts.
    """
    approach = plan_approach(scenario, robot)
    task, geometry, dynamics = scenario.task, approach.geometry, Dynamics(robot)
    impact_configuration, before = approach.impact_configuration, approach.ante_impact_velocity
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
    return reference_through_impact(
        robot,
        approach,
        post_motion,
        nominal_impact_time=task.impact.time,
        lead=task.post.lead,
        durations=(task.post.duration, task.post.settle_duration),
        post_impact_velocity=after,
        normal_impulse=float(predicted.normal_impulse),
    )


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
    position = through_impact(impact, lead, geometry.impact_position, velocity, post.duration, end)
    rotation = through_impact(impact, lead, np.zeros(3), twist[3:6], post.settle_duration, np.zeros(3))
    posture = np.array([task.posture])
    joint_1 = through_impact(impact, lead, posture, twist[6:], post.settle_duration, posture)

    def motion(times: Vector) -> TaskMotion:
        return TaskMotion(*position.sample(times), *rotation.sample(times), np.hstack(joint_1.sample(times)))

    return motion
