"""The scene: arms, what they are to hit, and the settings that hold for every arm.

`Scenario` is a scene with one arm, which hits a surface; `ObjectScene` one whose arms hit objects together. Frames and
symbols as in van Steen 2024 section IV and Proper 2021 sections 3.1, 3.4 and 4.3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from impact_control.robots import InertiaModel, RobotDescription
from impact_control.scenario.classification import Classification
from impact_control.scenario.control import Control, InterimEnd
from impact_control.scenario.detection import Detection
from impact_control.scenario.document import Node, overlay, override_tree
from impact_control.scenario.environment import ActualEnvironment, CompliantSurface, ExpectedEnvironment, Surface, Touch
from impact_control.scenario.fields import Choice, Refusal
from impact_control.scenario.objects import ActualObject, ExpectedObject, SceneExpectedEnvironment, Target
from impact_control.scenario.prediction import Prediction
from impact_control.scenario.reaction import ReactionSettings
from impact_control.scenario.robot import Robot, joint_sizes, robot_of
from impact_control.scenario.robot_side import Simulation
from impact_control.scenario.task import Motions, Posture, Task
from impact_control.scenario.validation import build
from impact_control.util.yaml_text import yaml_of

OUTCOMES = ("succeeded", "impact_unexpected", "post_impact_unexpected", "no_impact", "undecided")
"""Outcomes that a scenario may be meant to end with: those of a task that ran to its end, `pipeline.Outcome`."""

LONGEST_TASK = 100_000
"""Samples of the longest task, 100 s at 1 kHz: to plan it takes 1.3 s and 0.2 GB."""


PLANE_TOLERANCE = 1e-5
"""[m] distance within which the impact position counts as lying on the expected surface."""

HEADING_TOLERANCE = 1e-3
"""Smallest length of the heading's projection onto the expected surface."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Scene(ABC):
    """Everything about one experiment. Frozen; arrays are read-only; SI units; world frame A."""

    FIRST: ClassVar = (
        *("name", "description", "expected_outcome", "robot", "arms", "task"),
        *("expected_environment", "actual_environment"),
    )
    """Entries that are read and documented before the settings of the arms."""

    name: Annotated[str, "name; the file's name when left out, never inherited"]
    description: Annotated[str, "purpose of the scenario, one sentence"]
    expected_outcome: Annotated[
        str, Choice(OUTCOMES), "outcome that a run is meant to end with; a report compares", OUTCOMES[0]
    ]
    robot: Annotated[Robot, "robot model of every arm"]
    task: Motions
    expected_environment: ExpectedEnvironment | SceneExpectedEnvironment
    actual_environment: ActualEnvironment
    control: Annotated[Control, "controller of each arm"]
    detection: Annotated[Detection, "observer and detectors of each arm"]
    classification: Annotated[Classification, "classifier of each arm"]
    reaction: Annotated[ReactionSettings, "reaction of each arm"]
    simulation: Annotated[Simulation, "simulator"]
    document: Node = field(repr=False)

    @classmethod
    def read(cls, document: Node) -> Self:
        """Check a document and build the scene it describes. Raises ScenarioError."""
        return build(cls, document, joint_sizes(document), document=document)

    @property
    @abstractmethod
    def arm_names(self) -> tuple[str, ...]:
        """Names of the arms; the arm of a `Scenario` has the name ""."""

    @abstractmethod
    def arm(self, name: str = "") -> Scenario:
        """Return the task and the settings of one arm, "": of the only one, in frame A. Raises ScenarioError."""

    @abstractmethod
    def robots(self) -> dict[str, RobotDescription]:
        """Return the robot of each arm at its place in frame A. Raises ScenarioError."""

    @property
    def impact_time(self) -> float:
        """Nominal impact time T_nom [s] of all arms after the start of the task."""
        return self.task.impact.time

    @property
    def duration(self) -> float:
        """Time [s] at which the task ends."""
        return self.task.duration

    @property
    def expected_surface(self) -> Surface | None:
        """Surface that an arm hits or that the objects stand on, as expected."""
        return self.expected_environment.surface

    @property
    def actual_surface(self) -> CompliantSurface | None:
        """Surface that is really there."""
        return self.actual_environment.surface

    @property
    def expected_objects(self) -> Mapping[str, ExpectedObject]:
        """Objects by name, as expected."""
        return {}

    @property
    def actual_objects(self) -> Mapping[str, ActualObject]:
        """Objects by name that are really there."""
        return {}

    @abstractmethod
    def touches_of(self, arm: str) -> Sequence[Touch]:
        """Return the touches of one arm, beside the impact."""

    @property
    def inertia_model(self) -> InertiaModel:
        """Inertia of the arms in the impact map."""
        return InertiaModel.REDUCED_MOTORS

    def with_overrides(self, overrides: Mapping[str, Any]) -> Self:
        """Return a changed scene, checked like a file.

        overrides: dotted keys to values as they would stand in a file, e.g. {"simulation.seed": 3,
        "task.impact.speed": "0.3 m/s"}. Raises ScenarioError, with `override` in place of the file.
        """
        return self.read(overlay(self.document, override_tree(overrides)))

    def to_yaml(self) -> str:
        """Return the whole scene, inheritance and overrides resolved, as YAML that loads to the same."""
        return yaml_of(self.document.plain())

    def require_sampling(self) -> None:
        """Refuse settings that do not fit the control period."""
        period = self.control.period
        longest = LONGEST_TASK * period
        if self.duration > longest:
            allowed = f"at most {LONGEST_TASK} times control.period, {longest:g} s"
            raise Refusal("task.duration", self.duration, allowed)
        rate = self.classification.decay_rate
        if rate * period >= 1.0:
            raise Refusal("classification.decay_rate", rate, f"below 1/control.period = {1.0 / period:g} 1/s")
        interim = self.control.interim
        if interim.until is InterimEnd.CONTACT_COMPLETION and self.classification.completion is None:
            words = f"{interim.until} only with classification.completion, which detects it"
            raise Refusal("control.interim.until", str(interim.until), words)
        if self.simulation.largest_step > period:
            step = self.simulation.largest_step
            raise Refusal("simulation.largest_step", step, f"at most control.period = {period:g} s")
        delay = self.simulation.measurement_delay
        if abs(delay / period - round(delay / period)) > 1e-6:
            raise Refusal("simulation.measurement_delay", delay, f"a multiple of control.period = {period:g} s")
        if (jitter := self.simulation.jitter) > 0.2 * period:
            raise Refusal("simulation.jitter", jitter, f"at most a fifth of control.period = {period:g} s")


@dataclass(frozen=True, eq=False, kw_only=True)
class Scenario(Scene):
    """A scene with one arm, which hits a surface; or one arm of a scene, and what it hits is a face of its `target`."""

    task: Annotated[Task, "motion and impact of the arm"]
    expected_environment: Annotated[ExpectedEnvironment, "what the robot believes"]
    actual_environment: Annotated[ActualEnvironment, "what is really there"]
    prediction: Annotated[Prediction, "what may be learned from impacts", {}]
    target: Target | None = None

    @property
    def arm_names(self) -> tuple[str, ...]:
        """The only arm, which has no name."""
        return ("",)

    def arm(self, name: str = "") -> Scenario:
        """Return this scenario: it has one arm."""
        return self

    def robots(self) -> dict[str, RobotDescription]:
        """Return the robot, with its base at the origin of A. Raises ScenarioError."""
        return {"": robot_of(self.robot)}

    def touches_of(self, arm: str) -> Sequence[Touch]:
        """Return the touches of the arm, beside the impact."""
        return self.actual_environment.touches

    def check(self) -> None:
        """Require that robot, task, surface and sampling fit together."""
        robot = robot_of(self.robot)
        self.require_sampling()
        require_inside_limits("task", self.task, robot)
        impact, surface = self.task.impact, self.expected_environment.surface
        distance = float(surface.normal @ (impact.position - surface.point))
        if abs(distance) > PLANE_TOLERANCE:
            side = "above" if distance > 0.0 else "below"
            words = f"a point on expected_environment.surface; it lies {1e3 * abs(distance):.4g} mm {side} it"
            raise Refusal("task.impact.position", impact.position.tolist(), words)
        if np.linalg.norm(np.cross(impact.heading, surface.normal)) < HEADING_TOLERANCE:
            raise Refusal("task.impact.heading", impact.heading.tolist(), "a direction off the surface's normal")
        require_known_links(self.actual_environment.touches, robot)
        contacts = len(robot.end_effector.contact_points)
        if self.prediction.adapt and contacts > 1:
            raise Refusal("prediction.adapt", True, f"false with an end-effector of {contacts} contact points")


def require_known_links(touches: Sequence[Touch], robot: RobotDescription) -> None:
    """Refuse a touch on a link that the robot does not have."""
    moving = [frame.name for frame in robot.pinocchio_model.frames if frame.parentJoint > 0]
    for k, touch in enumerate(touches):
        if touch.link not in moving:
            allowed = f"one of {', '.join(moving)}"
            raise Refusal(f"actual_environment.touches[{k}].link", touch.link, allowed)


def require_inside_limits(section: str, arm: Posture, robot: RobotDescription) -> None:
    """Refuse a home configuration, or a value of joint 1, beyond the limits of the joints."""
    lower, upper = robot.limits.position_lower, robot.limits.position_upper
    for key, values in (("home_configuration", arm.home_configuration), ("joint_1", np.array([arm.posture]))):
        outside = (values < lower[: values.size]) | (values > upper[: values.size])
        if np.any(outside):
            joint = int(np.argmax(outside))
            allowed = f"{robot.joint_names[joint]} from {lower[joint]:g} to {upper[joint]:g} rad"
            raise Refusal(f"{section}.{key}", float(values[joint]), allowed)
