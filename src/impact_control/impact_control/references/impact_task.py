"""The two references of each arm: before and after the impact, overlapping around its nominal time.

van Steen 2024 section IV-A, Proper 2021 sections 3.4 and 3.4.1. The end-effector meets the expected surface, or its
face of an object, with all of its contact points at once, a simultaneous impact of an edge or a plate (Proper 2021
section 2.2.1), and keeps its orientation until then. After it an arm slides along the surface; arms that hit objects
all move as the object is to move, each from the velocity that the impact leaves it, and keep the orientation R_d: flat
end-effectors align themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from impact_control.references.approach import Approach, plan_approach
from impact_control.references.impact_deviation import jump_deviation
from impact_control.references.impact_geometry import ImpactGeometry
from impact_control.references.impact_map import ImpactMap, rigid_impact_map
from impact_control.references.impact_reference import ImpactReference, PredictedJump, reference_through_impact
from impact_control.references.joint_space import UnreachableReferenceError, task_jacobian
from impact_control.references.object_impact import ArmImpactPrediction, ObjectImpact, predict_object_impact
from impact_control.references.planning import FINE, Sampling
from impact_control.robots import Dynamics, RobotDescription, contact_jacobians
from impact_control.scenario import Scenario, Scene, Target
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Vector

_LARGEST_NORMAL_VELOCITY = 1e-6
"""[m/s] a predicted post-impact velocity along the normal below this is rounding."""


@dataclass(frozen=True, eq=False)
class References:
    """The references of all arms of a scene by name, and the impact on objects that they are planned with."""

    arms: Mapping[str, ImpactReference]
    impact: ObjectImpact


def build_references(
    scene: Scene,
    robots: Mapping[str, RobotDescription],
    predict: ImpactMap | None = None,
    sampling: Sampling = FINE,
) -> References:
    """Plan the references of all arms of a scene.

    robots: see `Scene.robots`. predict: the impact map of one contact with a surface, by default that of
    `rigid_impact_map`, which always predicts impacts at several; impacts on objects are predicted by
    `predict_object_impact`. Raises UnreachableReferenceError naming joint and time; InvalidInputError,
    ContactSolverError when the impact cannot be predicted, or the prediction does not keep the contacts.
    """
    scenarios = {name: scene.arm(name) for name in scene.arm_names}
    approaches, arms = {}, {}
    for name, scenario in scenarios.items():
        with _naming(name):
            approaches[name] = plan_approach(scenario, robots[name], sampling)
    impact = predict_object_impact(scene, robots, approaches)
    for name, approach in approaches.items():
        with _naming(name):
            scenario, robot = scenarios[name], robots[name]
            if scenario.target is None:
                arms[name] = _with_surface(scenario, robot, approach, predict)
            else:
                arms[name] = _with_object(scenario, scenario.target, robot, approach, impact.arms[name])
    return References(arms, impact)


def build_reference(
    scenario: Scenario, robot: RobotDescription, predict: ImpactMap | None = None, sampling: Sampling = FINE
) -> ImpactReference:
    """Plan both references of an arm that hits a surface; arguments and errors as of `build_references`."""
    return _with_surface(scenario, robot, plan_approach(scenario, robot, sampling), predict)


@contextmanager
def _naming(arm: str) -> Iterator[None]:
    """Note on an UnreachableReferenceError which arm it is about."""
    try:
        yield
    except UnreachableReferenceError as error:
        if arm:
            error.add_note(f"arm {arm}")
        raise


def _with_object(
    scenario: Scenario,
    target: Target,
    robot: RobotDescription,
    approach: Approach,
    predicted: ArmImpactPrediction,
) -> ImpactReference:
    """Plan both references of an arm that hits an object; after the impact it begins with the scaled prediction."""
    motion, before, after = target.motion, approach.ante_impact_velocity, predicted.joint_velocity
    motion_after = motion.velocity_scale * np.concatenate([predicted.velocity, np.zeros(3), after[:1]])
    deviation = scenario.classification.uncertainty.model * np.abs(after - before)
    jump = PredictedJump(after, deviation, float(approach.geometry.normal @ predicted.impulse), predicted.slip)
    end = approach.geometry.impact_position + motion.displacement
    return reference_through_impact(robot, approach, scenario, motion_after, end, jump)


def _with_surface(
    scenario: Scenario, robot: RobotDescription, approach: Approach, predict: ImpactMap | None
) -> ImpactReference:
    """Plan both references of an arm that hits a surface."""
    geometry, dynamics = approach.geometry, Dynamics(robot)
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
    dynamics.compute(impact_configuration, after)
    _require_contacts_at_rest(geometry, dynamics, after)
    twist = task_jacobian(dynamics.jacobian) @ after
    along_normal = float(twist[:3] @ geometry.normal)
    if abs(along_normal) > _LARGEST_NORMAL_VELOCITY:
        raise InvalidInputError("predicted post-impact velocity along the normal", along_normal, "0 m/s")
    twist[:3] -= along_normal * geometry.normal
    c = scenario.classification
    closing = 0.0 if c.completion is None else c.completion.largest_speed
    deviation = jump_deviation(robot, geometry, impact_configuration, before, after, friction, c.uncertainty, closing)
    jump = PredictedJump(after, deviation, float(predicted.normal_impulse), predicted.slip)
    end = geometry.impact_position + scenario.task.post.slide * geometry.heading
    return reference_through_impact(robot, approach, scenario, twist, end, jump)


def _require_contacts_at_rest(geometry: ImpactGeometry, dynamics: Dynamics, velocity: Vector) -> None:
    """Refuse a joint velocity (n,) [rad/s] after the impact that moves a contact along the normal."""
    for i, jacobian in enumerate(contact_jacobians(dynamics.jacobian, geometry.contact_offsets)):
        along_normal = float(geometry.normal @ jacobian @ velocity)
        if abs(along_normal) > _LARGEST_NORMAL_VELOCITY:
            name = f"predicted post-impact velocity of contact {i} along the normal"
            raise InvalidInputError(name, along_normal, "0 m/s")
