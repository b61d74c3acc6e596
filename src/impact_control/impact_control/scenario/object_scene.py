"""The scene with objects: arms that hit, push or grab boxes together, van Steen 2024 section VI.

Robot, control, detection, classification, reaction and simulation hold for every arm. World frame A is not the base of
an arm: each arm has a base of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
import pinocchio as pin

from impact_control.robots import InertiaModel, RobotDescription, mounted_at, rotation_from_roll_pitch_yaw
from impact_control.scenario.document import Node, nested, overlay
from impact_control.scenario.environment import ActualEnvironment, ExpectedEnvironment, Surface, Touch
from impact_control.scenario.fields import Refusal
from impact_control.scenario.objects import (
    INERTIA_MODELS,
    ActualObject,
    ExpectedObject,
    SceneActualEnvironment,
    SceneArm,
    SceneExpectedEnvironment,
    SceneTask,
    Target,
    face_normal,
)
from impact_control.scenario.prediction import Prediction
from impact_control.scenario.robot import joint_sizes, robot_of
from impact_control.scenario.scene import Scenario, Scene, require_inside_limits, require_known_links
from impact_control.scenario.settings import entries
from impact_control.scenario.task import AfterImpact, Impact, Post, Task
from impact_control.scenario.validation import build
from impact_control.util.errors import ScenarioError
from impact_control.util.types import Matrix, Vector

_BALANCED = 1e-6
"""Length of the sum of the normals of the faces below which clamping forces cancel each other."""

_SHARED = ("robot", "control", "detection", "classification", "reaction", "simulation")
"""Sections that hold for every arm as they stand."""

_UP = np.array([0.0, 0.0, 1.0])

_NO_DIRECTION = 1e-9
"""[m/s] slip below which the velocity is along the normal."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ObjectScene(Scene):
    """A scene whose arms hit objects, with one impact of all of them."""

    arms: Annotated[Mapping[str, SceneArm], "the arms, by name"]
    task: Annotated[SceneTask, "joint task of the arms"]
    expected_environment: Annotated[SceneExpectedEnvironment, "what the robots believe"]
    actual_environment: Annotated[
        SceneActualEnvironment, "what is really there; what is left out of an object is as expected"
    ]

    @classmethod
    def read(cls, document: Node) -> Self:
        """Check a document and build the scene it describes; an actual object is as expected where it has no entry."""
        return build(cls, _with_expected_objects(document), joint_sizes(document), document=document)

    @property
    def arm_names(self) -> tuple[str, ...]:
        """Names of the arms."""
        return tuple(self.arms)

    def robots(self) -> dict[str, RobotDescription]:
        """Return the robot of each arm at its place in frame A. Raises ScenarioError."""
        robot = robot_of(self.robot)
        return {
            name: mounted_at(robot, arm.base.position, rotation_from_roll_pitch_yaw(arm.base.orientation))
            for name, arm in self.arms.items()
        }

    @property
    def expected_objects(self) -> Mapping[str, ExpectedObject]:
        """Objects by name, as expected."""
        return self.expected_environment.objects

    @property
    def actual_objects(self) -> Mapping[str, ActualObject]:
        """Objects by name that are really there."""
        return {name: box for name, box in self.actual_environment.objects.items() if box is not None}

    def touches_of(self, arm: str) -> Sequence[Touch]:
        """Return the touches of one arm, beside the impact."""
        return tuple(touch for touch in self.actual_environment.touches if touch.arm == arm)

    def check(self) -> None:
        """Require that arms, objects and task fit together."""
        if not self.arms:
            raise Refusal("arms", {}, "at least one arm")
        self.require_sampling()
        robot, objects = robot_of(self.robot), self.expected_environment.objects
        for name, arm in self.arms.items():
            require_inside_limits(f"arms.{name}", arm, robot)
            if arm.impact.object not in objects:
                key = f"arms.{name}.impact.object"
                raise Refusal(key, arm.impact.object, f"one of expected_environment.objects: {', '.join(objects)}")
            normal, velocity = self.normal(name), arm.impact.velocity
            if not normal @ velocity < 0.0:
                words = f"a velocity into the face, against its normal {np.round(normal, 6).tolist()}"
                raise Refusal(f"arms.{name}.impact.velocity", velocity.tolist(), words)
        require_known_links(self.actual_environment.touches, robot)
        for k, touch in enumerate(self.actual_environment.touches):
            if touch.arm not in self.arms:
                allowed = f"one of arms: {', '.join(self.arms)}"
                raise Refusal(f"actual_environment.touches[{k}].arm", touch.arm, allowed)
        self._require_balance()

    def _require_balance(self) -> None:
        """Refuse clamping forces that would drive an object instead of holding it."""
        if self.task.post.force == 0.0:
            return
        for name in {arm.impact.object for arm in self.arms.values()}:
            total = sum((self.normal(arm) for arm in self.arms_at(name)), np.zeros(3))
            if np.linalg.norm(total) > _BALANCED:
                words = "0 N, unless the faces that the arms press on oppose each other"
                raise Refusal("task.post.force", self.task.post.force, words)

    def arms_at(self, name: str) -> tuple[str, ...]:
        """Return the names of the arms that hit an object."""
        return tuple(arm for arm, section in self.arms.items() if section.impact.object == name)

    def _object_at(self, arm: str) -> ExpectedObject:
        """Return what an arm hits, as expected."""
        return self.expected_environment.objects[self.arms[arm].impact.object]

    def normal(self, arm: str) -> Vector:
        """Return the unit normal (3,) of the face that an arm hits, out of the object, frame A."""
        return face_normal(self.arms[arm].impact.face, self._object_at(arm).yaw)

    @property
    def inertia_model(self) -> InertiaModel:
        """Inertia of the arms in the impact map."""
        return INERTIA_MODELS[self.task.impact.inertia]

    def impact_point(self, arm: str) -> Vector:
        """Return the point (3,) [m] of the expected object that the middle of an arm's contact points hits, frame A."""
        impact, normal = self.arms[arm].impact, self.normal(arm)
        face = self._object_at(arm).middle_of_face(impact.face)
        point: Vector = face + impact.offset[0] * np.cross(_UP, normal) + impact.offset[1] * _UP
        return point

    def arm(self, name: str = "") -> Scenario:
        """Return the task and the settings of one arm as a scenario, in the world frame A of the scene.

        The face that is hit is its expected surface; there is no actual one, because the scene has the objects. The
        base of the arm is not part of it: its robot is `mounted_at` its place. The document stays that of the scene.
        Raises ScenarioError for an arm that is not there.
        """
        if name not in self.arms:
            alone = "a scenario with one arm that hits a surface, without the section `arms`"
            allowed = f"one of the name {name}" if name else alone
            raise ScenarioError(self.document.origin, "arms", list(self.arms), allowed)
        section, task, normal, point = self.arms[name], self.task, self.normal(name), self.impact_point(name)
        velocity, post, box = section.impact.velocity, task.post, self._object_at(name)
        speed = float(np.linalg.norm(velocity))
        slip = velocity - (velocity @ normal) * normal
        heading = slip / np.linalg.norm(slip) if np.linalg.norm(slip) > _NO_DIRECTION else _UP
        orientation = pin.rpy.matrixToRpy(flat_orientation(normal, section.impact.turn))
        for values in (point, normal, heading, orientation):
            values.setflags(write=False)
        surface = Surface(point=point, normal=normal, friction=box.friction)
        impact = Impact(
            time=task.impact.time,
            position=point,
            speed=speed,
            approach_angle=float(np.arcsin(min(1.0, -float(velocity @ normal) / speed))),
            heading=heading,
            orientation=orientation,
        )
        return Scenario(
            name=f"{self.name}_{name}",
            description=self.description,
            expected_outcome=self.expected_outcome,
            task=Task(
                duration=task.duration,
                home_configuration=section.home_configuration,
                joint_1=section.posture,
                impact=impact,
                ante=task.ante,
                post=Post(slide=0.0, **{key: getattr(post, key) for key in entries(AfterImpact)}),
            ),
            expected_environment=ExpectedEnvironment(surface=surface),
            actual_environment=ActualEnvironment(surface=None, touches=()),
            prediction=Prediction.of(),
            target=Target(
                name=section.impact.object,
                box=box,
                normal=normal,
                velocity=velocity,
                arms=len(self.arms_at(section.impact.object)),
                table=self.expected_surface,
                motion=post,
            ),
            document=self.document,
            **{key: getattr(self, key) for key in _SHARED},
        )


def flat_orientation(normal: Vector, turn: float) -> Matrix:
    """Return R_d (3, 3), axes of E as columns in A, with z of E against an upright face and y up, turned about z."""
    into = -normal
    upright = np.column_stack([np.cross(_UP, into), _UP, into])
    rotation: Matrix = upright @ pin.exp3(np.array([0.0, 0.0, turn]))
    return rotation


def _with_expected_objects(document: Node) -> Node:
    """Let what an actual object leaves out be as expected. Raises ScenarioError for an object that is not expected."""
    expected, actual = (_objects(document, f"{whose}_environment") for whose in ("expected", "actual"))
    if expected is None or actual is None:
        return document
    for name, node in actual.value.items():
        if name not in expected.value:
            allowed = f"one of expected_environment.objects: {', '.join(expected.value)}"
            raise ScenarioError(node.origin, "actual_environment.objects", name, allowed)
    known = Node({name: node for name, node in expected.value.items() if name in actual.value}, actual.origin)
    whole = overlay(document, nested("actual_environment.objects", overlay(known, actual)))
    return Node(whole.value, document.origin)


def _objects(document: Node, environment: str) -> Node | None:
    """Return the objects of an environment, None when there are none."""
    section = document.value.get(environment)
    objects = section.value.get("objects") if section is not None and section.is_mapping else None
    return objects if objects is not None and objects.is_mapping else None
