"""The scene: several arms and the objects they hit, push or grab, van Steen 2024 section VI.

What a one-arm scenario says of robot, control, detection, classification, reaction and simulator holds for every arm
of a scene. World frame A is not the base of an arm: each arm says where it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from impact_control.robots import InertiaModel
from impact_control.scenario.classification import Classification
from impact_control.scenario.control import Control
from impact_control.scenario.detection import Detection
from impact_control.scenario.document import Node, document_text, overlay, override_tree
from impact_control.scenario.fields import Entry, NamedSections, Refusal, Section, Text
from impact_control.scenario.reaction import Reaction
from impact_control.scenario.robot_side import Simulation
from impact_control.scenario.scene_arm import SceneArm
from impact_control.scenario.scene_environment import (
    ExpectedObject,
    SceneActualEnvironment,
    SceneExpectedEnvironment,
    face_normal,
)
from impact_control.scenario.scene_task import INERTIA_MODELS, SceneTask
from impact_control.scenario.schema import (
    Robot,
    joint_sizes,
    require_inside_limits,
    require_known_links,
    require_table,
    robot_of,
)
from impact_control.scenario.validation import build
from impact_control.types import Vector

_BALANCED = 1e-6
"""Length of the sum of the normals of the faces below which clamping forces cancel each other."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SceneScenario:
    """Everything about one experiment with arms and objects. Frozen; arrays are read-only; SI units; frame A."""

    name: Annotated[str, Entry(Text(), "name; the file's name when left out, never inherited")]
    description: Annotated[str, Entry(Text(), "what the scene shows")]
    robot: Annotated[Robot, Entry(Section(Robot), "the robot that every arm is")]
    arms: Annotated[Mapping[str, SceneArm], Entry(NamedSections(SceneArm), "the arms, by name")]
    task: Annotated[SceneTask, Entry(Section(SceneTask), "what they are to do together")]
    expected_environment: Annotated[
        SceneExpectedEnvironment, Entry(Section(SceneExpectedEnvironment), "what the robots believe")
    ]
    actual_environment: Annotated[
        SceneActualEnvironment,
        Entry(Section(SceneActualEnvironment), "what is really there; what is left out of an object is as expected"),
    ]
    control: Annotated[Control, Entry(Section(Control), "controller of each arm")]
    detection: Annotated[Detection, Entry(Section(Detection), "observer and detector of each arm")]
    classification: Annotated[Classification, Entry(Section(Classification), "classifier of each arm")]
    reaction: Annotated[Reaction, Entry(Section(Reaction), "reaction of each arm")]
    simulation: Annotated[Simulation, Entry(Section(Simulation), "simulator")]
    document: Node = field(repr=False)

    def check(self) -> None:
        """Require that arms, objects and task fit together."""
        if not self.arms:
            raise Refusal("arms", {}, "at least one arm")
        require_table(self.task.duration, self.control.period)
        robot, objects = robot_of(self.robot), self.expected_environment.objects
        for name, arm in self.arms.items():
            require_inside_limits(f"arms.{name}", arm.home_configuration, arm.posture, robot)
            if arm.impact.object not in objects:
                key = f"arms.{name}.impact.object"
                raise Refusal(key, arm.impact.object, f"one of expected_environment.objects: {', '.join(objects)}")
            normal, velocity = self.normal(name), arm.impact.velocity
            if not normal @ velocity < 0.0:
                words = f"a velocity into the face, against its normal {np.round(normal, 6).tolist()}"
                raise Refusal(f"arms.{name}.impact.velocity", velocity.tolist(), words)
        for name in self.actual_environment.objects:
            if name not in objects:
                allowed = f"one of expected_environment.objects: {', '.join(objects)}"
                raise Refusal("actual_environment.objects", name, allowed)
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

    def target(self, arm: str) -> ExpectedObject:
        """Return what an arm hits, as expected."""
        return self.expected_environment.objects[self.arms[arm].impact.object]

    def normal(self, arm: str) -> Vector:
        """Return the unit normal (3,) of the face that an arm hits, out of the object, frame A."""
        return face_normal(self.arms[arm].impact.face, self.target(arm).yaw)

    @property
    def inertia_model(self) -> InertiaModel:
        """Return the inertia of the arms in the impact map."""
        return INERTIA_MODELS[self.task.impact_inertia]

    def with_overrides(self, overrides: Mapping[str, Any]) -> SceneScenario:
        """Return a changed scene, checked like a file; see `Scenario.with_overrides`. Raises ScenarioError."""
        return scene_from_document(overlay(self.document, override_tree(overrides)))

    def to_yaml(self) -> str:
        """Return the whole scene, inheritance and overrides resolved, as YAML that loads to the same."""
        return document_text(self.document)


def scene_from_document(document: Node) -> SceneScenario:
    """Check a document and build the scene. Raises ScenarioError."""
    return build(SceneScenario, _with_expected_objects(document), joint_sizes(document), document=document)


def _with_expected_objects(document: Node) -> Node:
    """Let what an actual object leaves out be as expected."""
    expected = _below(document, "expected_environment", "objects")
    actual = _below(document, "actual_environment", "objects")
    if expected is None or actual is None:
        return document
    objects = {
        name: overlay(expected.value[name], node) if name in expected.value else node
        for name, node in actual.value.items()
    }
    nested = Node({"actual_environment": Node({"objects": Node(objects, actual.origin)}, actual.origin)}, "override")
    return overlay(document, nested)


def _below(node: Node, *keys: str) -> Node | None:
    """Return the section at the path, None when there is none."""
    for key in keys:
        if not node.is_mapping or key not in node.value:
            return None
        node = node.value[key]
    return node if node.is_mapping else None
