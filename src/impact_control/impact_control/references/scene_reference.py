"""The references of all arms of a scene, consistent with one impact, van Steen 2024 section IV-A.

Before the impact each arm comes straight to its face of the object; after it all arms move as the object is to move,
each from the velocity that the impact leaves it. The orientation stays R_d in both: flat end-effectors align
themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from impact_control.references.approach import Approach, plan_approach
from impact_control.references.impact_geometry import rotation_from_roll_pitch_yaw
from impact_control.references.impact_reference import ImpactReference, reference_through_impact
from impact_control.references.joint_space import TaskMotion
from impact_control.references.planning import through_impact
from impact_control.references.scene_impact import ArmImpactPrediction, SceneImpact, predict_scene_impact
from impact_control.robots import RobotDescription, mounted_at
from impact_control.scenario import SceneScenario, arm_scenario, robot_of
from impact_control.types import Vector


@dataclass(frozen=True, eq=False)
class SceneReference:
    """What is planned for a scene: the reference of each arm by its name, and the impact they were made with."""

    arms: Mapping[str, ImpactReference]
    impact: SceneImpact


def scene_robots(scene: SceneScenario) -> dict[str, RobotDescription]:
    """Return the robot of each arm at its place in frame A, by the name of the arm. Raises ScenarioError."""
    robot = robot_of(scene.robot)
    return {
        name: mounted_at(robot, arm.base.position, rotation_from_roll_pitch_yaw(arm.base.orientation))
        for name, arm in scene.arms.items()
    }


def build_scene_reference(scene: SceneScenario, robots: Mapping[str, RobotDescription]) -> SceneReference:
    """Plan the references of all arms of a scene.

    robots: see `scene_robots`. Raises UnreachableReferenceError naming joint and time; InvalidInputError,
    ContactSolverError when the impact cannot be predicted.
    """
    approaches = {name: plan_approach(arm_scenario(scene, name), robots[name]) for name in scene.arms}
    impact = predict_scene_impact(scene, robots, approaches)
    arms = {
        name: _arm_reference(scene, name, robots[name], approach, impact.arms[name])
        for name, approach in approaches.items()
    }
    return SceneReference(arms, impact)


def _arm_reference(
    scene: SceneScenario, name: str, robot: RobotDescription, approach: Approach, predicted: ArmImpactPrediction
) -> ImpactReference:
    post = scene.task.post
    return reference_through_impact(
        robot,
        approach,
        _post_motion(scene, scene.arms[name].posture, approach, predicted),
        nominal_impact_time=scene.task.impact_time,
        lead=post.lead,
        durations=(post.duration, post.settle_duration),
        post_impact_velocity=predicted.joint_velocity,
        normal_impulse=float(approach.geometry.normal @ predicted.impulse),
    )


def _post_motion(
    scene: SceneScenario, posture: float, approach: Approach, predicted: ArmImpactPrediction
) -> Callable[[Vector], TaskMotion]:
    """Return the reference after the impact; it begins with the scaled velocity of the prediction."""
    task, geometry = scene.task, approach.geometry
    nominal, post, scale = task.impact_time, task.post, task.post.velocity_scale
    end = geometry.impact_position + post.displacement
    velocity = scale * predicted.velocity
    position = through_impact(nominal, post.lead, geometry.impact_position, velocity, post.duration, end)
    joint_1, rate = np.array([posture]), scale * predicted.joint_velocity[:1]
    turning = through_impact(nominal, post.lead, joint_1, rate, post.settle_duration, joint_1)

    def motion(times: Vector) -> TaskMotion:
        still = np.zeros((times.size, 3))
        return TaskMotion(*position.sample(times), still, still, still, np.hstack(turning.sample(times)))

    return motion
