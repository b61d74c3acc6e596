"""The scenario: what a file may say, and the values the program works with, all in SI and in frame A.

Every field declares its unit, range and meaning once. Frames and symbols as in van Steen 2024 section IV and
Proper 2021 sections 3.1, 3.4 and 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any

import numpy as np

from impact_control.errors import ScenarioError
from impact_control.robots import RobotDescription, load_robot
from impact_control.scenario.classification import Classification
from impact_control.scenario.control import CONTACT_COMPLETION, Control
from impact_control.scenario.detection import Detection
from impact_control.scenario.document import Node, document_text, overlay, override_tree
from impact_control.scenario.environment import ActualEnvironment, ExpectedEnvironment, Touch
from impact_control.scenario.fields import (
    JOINTS,
    Entry,
    Flag,
    Refusal,
    Section,
    Text,
)
from impact_control.scenario.reaction import Reaction
from impact_control.scenario.robot_side import Simulation
from impact_control.scenario.task import Task
from impact_control.scenario.validation import build
from impact_control.types import Vector

PLANE_TOLERANCE = 1e-5
"""[m] distance within which the impact position counts as lying on the expected surface."""

HEADING_TOLERANCE = 1e-3
"""Smallest length of the heading's projection onto the expected surface."""

LONGEST_TASK = 100_000
"""Samples of the longest task, 100 s at 1 kHz: to plan it takes 1.3 s and 0.2 GB."""

_ROBOT_ERRORS = {
    "robot": "model",
    "end_effector": "end_effector",
    "transmission.reduced_motor_inertia.": "motor_inertia",
}
"""Keys in the errors of `load_robot`, and the scenario's entries they are about."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Robot:
    """Which arm, tool and parameter set."""

    model: Annotated[str, Entry(Text(), "robot model in `impact_control.robots`, or a .yaml file relative to this one")]
    end_effector: Annotated[str, Entry(Text(), "end-effector of that model, or a .yaml file relative to this one")]
    motor_inertia: Annotated[str, Entry(Text(), "named set of reduced motor inertias B_theta")]
    gravity_compensated_by_robot: Annotated[
        bool, Entry(Flag(), "the commanded torque is without gravity, as on a Franka")
    ]

    def check(self) -> None:
        """Require names that the robot's data files know, and a robot that carries its own weight."""
        if not self.gravity_compensated_by_robot:
            words = "true: a robot side that does not compensate gravity is not supported yet"
            raise Refusal("gravity_compensated_by_robot", False, words)
        try:
            _robot(self.model, self.end_effector, self.motor_inertia)
        except ScenarioError as error:
            for part, key in _ROBOT_ERRORS.items():
                if error.key.startswith(part):
                    raise Refusal(key, getattr(self, key), error.allowed) from None
            raise


@dataclass(frozen=True, eq=False, kw_only=True)
class Scenario:
    """Everything about one experiment. Frozen; arrays are read-only; SI units; world frame A."""

    name: Annotated[str, Entry(Text(), "name; the file's name when left out, never inherited")]
    description: Annotated[str, Entry(Text(), "what the scenario shows")]
    robot: Annotated[Robot, Entry(Section(Robot), "the arm")]
    task: Annotated[Task, Entry(Section(Task), "what it is to do")]
    expected_environment: Annotated[ExpectedEnvironment, Entry(Section(ExpectedEnvironment), "what the robot believes")]
    actual_environment: Annotated[ActualEnvironment, Entry(Section(ActualEnvironment), "what is really there")]
    control: Annotated[Control, Entry(Section(Control), "controller")]
    detection: Annotated[Detection, Entry(Section(Detection), "observer and detector")]
    classification: Annotated[Classification, Entry(Section(Classification), "classifier")]
    reaction: Annotated[Reaction, Entry(Section(Reaction), "reaction")]
    simulation: Annotated[Simulation, Entry(Section(Simulation), "simulator")]
    document: Node = field(repr=False)

    def check(self) -> None:
        """Require that robot, task, surface and sampling fit together."""
        robot = robot_of(self.robot)
        require_table(self.task.duration, self.control.period)
        require_inside_limits("task", self.task.home_configuration, self.task.posture, robot)
        impact, surface = self.task.impact, self.expected_environment.surface
        distance = float(surface.normal @ (impact.position - surface.point))
        if abs(distance) > PLANE_TOLERANCE:
            side = "above" if distance > 0.0 else "below"
            words = f"a point on expected_environment.surface; it lies {1e3 * abs(distance):.4g} mm {side} it"
            raise Refusal("task.impact.position", impact.position.tolist(), words)
        if np.linalg.norm(np.cross(impact.heading, surface.normal)) < HEADING_TOLERANCE:
            raise Refusal("task.impact.heading", impact.heading.tolist(), "a direction off the surface's normal")
        rate, period = self.classification.decay_rate, self.control.period
        if rate * period >= 1.0:
            raise Refusal("classification.decay_rate", rate, f"below 1/control.period = {1.0 / period:g} 1/s")
        interim = self.control.interim
        if interim.until == CONTACT_COMPLETION and self.classification.completion is None:
            words = f"{CONTACT_COMPLETION} only with classification.completion, which tells it"
            raise Refusal("control.interim.until", interim.until, words)
        if self.simulation.largest_step > period:
            step = self.simulation.largest_step
            raise Refusal("simulation.largest_step", step, f"at most control.period = {period:g} s")
        delay = self.simulation.measurement_delay
        if abs(delay / period - round(delay / period)) > 1e-6:
            raise Refusal("simulation.measurement_delay", delay, f"a multiple of control.period = {period:g} s")
        require_known_links(self.actual_environment.touches, robot)

    def with_overrides(self, overrides: Mapping[str, Any]) -> Scenario:
        """Return a changed scenario, checked like a file.

        overrides: dotted keys to values as they would stand in a file, e.g. {"simulation.seed": 3,
        "task.impact.speed": "0.3 m/s"}. Raises ScenarioError, with `override` in place of the file.
        """
        return scenario_from_document(overlay(self.document, override_tree(overrides)))

    def to_yaml(self) -> str:
        """Return the whole scenario, inheritance and overrides resolved, as YAML that loads to the same."""
        return document_text(self.document)


def scenario_from_document(document: Node) -> Scenario:
    """Check a document and build the scenario. Raises ScenarioError."""
    return build(Scenario, document, joint_sizes(document), document=document)


def joint_sizes(document: Node) -> dict[str, int]:
    """Return the sizes that the robot of a document determines; none without a robot. Raises ScenarioError."""
    if "robot" not in document.value:
        return {}
    return {JOINTS: len(robot_of(build(Robot, document.value["robot"], {}, "robot")).joint_names)}


def robot_of(robot: Robot) -> RobotDescription:
    """Return the robot of this section, with its base at the origin of A. Raises ScenarioError."""
    return _robot(robot.model, robot.end_effector, robot.motor_inertia)


@lru_cache(maxsize=16)
def _robot(model: str, end_effector: str, motor_inertia: str) -> RobotDescription:
    return load_robot(model, end_effector, motor_inertia)


def require_table(duration: float, period: float) -> None:
    """Refuse a task [s] of more samples, one each control period [s], than its references are to hold."""
    longest = LONGEST_TASK * period
    if duration > longest:
        raise Refusal("task.duration", duration, f"at most {LONGEST_TASK} times control.period, {longest:g} s")


def require_known_links(touches: Sequence[Touch], robot: RobotDescription) -> None:
    """Refuse a touch on something that the robot does not have."""
    moving = [frame.name for frame in robot.pinocchio_model.frames if frame.parentJoint > 0]
    for k, touch in enumerate(touches):
        if touch.link not in moving:
            allowed = f"one of {', '.join(moving)}"
            raise Refusal(f"actual_environment.touches[{k}].link", touch.link, allowed)


def require_inside_limits(section: str, home: Vector, posture: float, robot: RobotDescription) -> None:
    """Refuse a home configuration (n,) or a value of joint 1 [rad] beyond the limits of the joints."""
    lower, upper = robot.limits.position_lower, robot.limits.position_upper
    for key, values in (("home_configuration", home), ("joint_1", np.array([posture]))):
        outside = (values < lower[: values.size]) | (values > upper[: values.size])
        if np.any(outside):
            joint = int(np.argmax(outside))
            allowed = f"{robot.joint_names[joint]} from {lower[joint]:g} to {upper[joint]:g} rad"
            raise Refusal(f"{section}.{key}", float(values[joint]), allowed)
