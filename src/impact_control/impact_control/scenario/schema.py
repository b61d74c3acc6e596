"""The scenario: what a file may say, and the values the program works with, all in SI and in frame A.

Every field declares its unit, range and meaning once. Frames and symbols as in van Steen 2024 section IV and
Proper 2021 sections 3.1, 3.4 and 4.3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from io import StringIO
from typing import Annotated, Any

import numpy as np
from ruamel.yaml import YAML

from impact_control.errors import ScenarioError
from impact_control.robots import RobotDescription, load_robot
from impact_control.scenario.classification import Classification
from impact_control.scenario.detection import Detection
from impact_control.scenario.document import Node, overlay, override_tree
from impact_control.scenario.environment import ActualEnvironment, ExpectedEnvironment, Touch
from impact_control.scenario.fields import (
    FRACTION,
    JOINTS,
    NOT_NEGATIVE,
    POSITIVE,
    Choice,
    Count,
    Direction,
    Entry,
    Flag,
    Number,
    Numbers,
    Range,
    Refusal,
    Section,
    Text,
)
from impact_control.scenario.robot_side import Simulation
from impact_control.scenario.validation import build
from impact_control.types import Vector

PLANE_TOLERANCE = 1e-5
"""[m] distance within which the impact position counts as lying on the expected surface."""

HEADING_TOLERANCE = 1e-3
"""Smallest length of the heading's projection onto the expected surface."""

_ROBOT_ERRORS = {
    "robot": "model",
    "end_effector": "end_effector",
    "transmission.reduced_motor_inertia.": "motor_inertia",
}
"""Keys in the errors of `load_robot`, and the scenario's entries they are about."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Robot:
    """Which arm, tool and parameter set."""

    model: Annotated[str, Entry(Text(), "robot model in `impact_control.robots`")]
    end_effector: Annotated[str, Entry(Text(), "end-effector of that model")]
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
class Impact:
    """The impact as planned, Proper 2021 table 3.2."""

    time: Annotated[float, Entry(Number("s", POSITIVE), "nominal impact time T_nom after the start of the task")]
    position: Annotated[Vector, Entry(Numbers(3, "m"), "point of the expected surface that is hit")]
    speed: Annotated[float, Entry(Number("m/s", POSITIVE), "speed of the end-effector before the impact")]
    approach_angle: Annotated[
        float,
        Entry(
            Number("rad", Range(0.0, math.pi / 2.0, open_lower=True)),
            "angle between the velocity before the impact and the expected surface",
        ),
    ]
    heading: Annotated[
        Vector,
        Entry(Direction(), "direction of the motion along the surface; its projection onto the surface is used"),
    ]
    orientation: Annotated[
        Vector,
        Entry(
            Numbers(3, "rad"),
            "roll, pitch, yaw of frame E: R_d = R_z(yaw) R_y(pitch) R_x(roll), kept during the task",
        ),
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class Ante:
    """The ante-impact reference, van Steen 2024 (11), (12): a straight approach that goes on past T_nom."""

    distance: Annotated[
        float,
        Entry(
            Number("m", POSITIVE),
            "length of the straight approach; the task starts at rest this far before the impact",
        ),
    ]
    extension_duration: Annotated[
        float, Entry(Number("s", POSITIVE), "time after T_nom in which the extended reference comes to rest")
    ]
    extension_depth: Annotated[
        float,
        Entry(Number("m", POSITIVE), "depth below the expected surface at which it rests, Proper 2021 delta y"),
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class Post:
    """The post-impact reference, van Steen 2024 (13), (14): sliding in contact along the heading."""

    force: Annotated[float, Entry(Number("N", NOT_NEGATIVE), "normal force on the surface, lambda_ref")]
    slide: Annotated[
        float, Entry(Number("m", NOT_NEGATIVE), "way along the heading after the impact, Proper 2021 delta x")
    ]
    duration: Annotated[float, Entry(Number("s", POSITIVE), "time after T_nom in which the slide comes to rest")]
    settle_duration: Annotated[
        float,
        Entry(Number("s", POSITIVE), "time after T_nom in which orientation and joint 1 return to their values"),
    ]
    lead: Annotated[
        float,
        Entry(Number("s", POSITIVE), "time before T_nom at which the extended reference starts to move"),
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """What the arm is to do."""

    duration: Annotated[float, Entry(Number("s", POSITIVE), "end of the task")]
    home_configuration: Annotated[
        Vector,
        Entry(
            Numbers(JOINTS, "rad"),
            "configuration near which the inverse kinematics searches: it selects the elbow",
        ),
    ]
    joint_1: Annotated[
        float | None,
        Entry(
            Number("rad"),
            "value of joint 1 that resolves the redundancy; default: joint 1 at home",
            default=None,
        ),
    ]
    impact: Annotated[Impact, Entry(Section(Impact), "the impact as planned")]
    ante: Annotated[Ante, Entry(Section(Ante), "the motion before the impact, extended past it")]
    post: Annotated[Post, Entry(Section(Post), "the motion after the impact, extended before it")]

    @property
    def posture(self) -> float:
        """Return the value of joint 1 [rad] that is kept before the impact."""
        return float(self.home_configuration[0]) if self.joint_1 is None else self.joint_1

    def check(self) -> None:
        """Require that all motions start and end inside the task."""
        if self.post.lead > self.impact.time:
            raise Refusal("post.lead", self.post.lead, f"at most impact.time = {self.impact.time:g} s")
        last = max(self.ante.extension_duration, self.post.duration, self.post.settle_duration)
        if self.impact.time + last > self.duration * (1.0 + 1e-12):
            raise Refusal("duration", self.duration, f"at least {self.impact.time + last:g} s, the end of the motions")


@dataclass(frozen=True, eq=False, kw_only=True)
class TaskGains:
    """Position feedback of each task; the velocity feedback is 2 sqrt(k), van Steen 2024 (15)-(17)."""

    position: Annotated[float, Entry(Number("1/s^2", POSITIVE), "k_p")]
    orientation: Annotated[float, Entry(Number("1/s^2", POSITIVE), "k_theta")]
    posture: Annotated[float, Entry(Number("1/s^2", POSITIVE), "k_q, joint 1")]


@dataclass(frozen=True, eq=False, kw_only=True)
class TaskWeights:
    """Weights of the tasks in the cost, van Steen 2024 (18)."""

    position: Annotated[float, Entry(Number("", POSITIVE), "w_p")]
    orientation: Annotated[float, Entry(Number("", POSITIVE), "w_theta")]
    posture: Annotated[float, Entry(Number("", POSITIVE), "w_q")]


@dataclass(frozen=True, eq=False, kw_only=True)
class Control:
    """The QP controller with reference spreading, van Steen 2024 section IV-B."""

    period: Annotated[float, Entry(Number("s", Range(1e-4, 0.1)), "control period Delta t")]
    gains: Annotated[TaskGains, Entry(Section(TaskGains), "feedback gains")]
    weights: Annotated[TaskWeights, Entry(Section(TaskWeights), "task weights")]
    interim_duration: Annotated[
        float,
        Entry(Number("s", POSITIVE), "Delta t_int in which the velocity feedback returns after an impact, (24)"),
    ]
    friction_compensation: Annotated[
        float, Entry(Number("", FRACTION), "fraction of the identified joint friction that is fed forward")
    ]
    stop_damping: Annotated[
        float,
        Entry(Number("1/s", POSITIVE), "rate at which joint velocities decay in a stop, ddq = -rate dq"),
    ]
    max_joint_acceleration: Annotated[
        Vector,
        Entry(
            Numbers(JOINTS, "rad/s^2", POSITIVE, repeats=True),
            "deceleration with which limits are kept viable",
        ),
    ]
    state_timeout: Annotated[
        float, Entry(Number("s", POSITIVE), "age of the joint state above which no torque is computed")
    ]

    def check(self) -> None:
        """Require that a state may be one period old."""
        if self.state_timeout < self.period:
            raise Refusal("state_timeout", self.state_timeout, f"at least control.period = {self.period:g} s")


REACTIONS = ("stop", "continue", "pull_back", "admittance")
"""What may be done after a verdict; `impact_control.reaction.Reaction`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PullBack:
    """The motion away from a contact, Wang 2022 section VI."""

    direction: Annotated[
        str,
        Entry(
            Choice(("surface_normal", "reversed_approach")),
            "along the normal of the expected surface, or against the velocity of the approach",
            default="surface_normal",
        ),
    ]
    distance: Annotated[float, Entry(Number("m", POSITIVE), "way of the end-effector", default="5 cm")]
    speed: Annotated[float, Entry(Number("m/s", POSITIVE), "largest speed on it", default="0.2 m/s")]
    acceleration: Annotated[
        float, Entry(Number("m/s^2", POSITIVE), "largest acceleration of its reference", default="2 m/s^2")
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class Admittance:
    """Yielding to external torques until nothing touches the arm, Flacco 2016 (15), and going on."""

    gain: Annotated[
        Vector,
        Entry(
            Numbers(JOINTS, "rad/Nm/s", POSITIVE, repeats=True),
            "K_a, speed for the external torque beyond the threshold",
            default="0.02 rad/Nm/s",
        ),
    ]
    threshold: Annotated[
        Vector,
        Entry(
            Numbers(JOINTS, "Nm", POSITIVE, repeats=True),
            "external torque below which a joint is not touched; above friction and model errors",
            default="2 Nm",
        ),
    ]
    speed: Annotated[
        Vector,
        Entry(
            Numbers(JOINTS, "rad/s", POSITIVE, repeats=True),
            "largest speed of a joint that yields, and on the way back",
            default="0.5 rad/s",
        ),
    ]
    acceleration: Annotated[
        Vector,
        Entry(
            Numbers(JOINTS, "rad/s^2", POSITIVE, repeats=True),
            "largest acceleration of its reference",
            default="5 rad/s^2",
        ),
    ]
    excursion: Annotated[
        Vector,
        Entry(
            Numbers(JOINTS, "rad", POSITIVE, repeats=True),
            "how far a joint may be led from where it began to yield",
            default="0.5 rad",
        ),
    ]
    quiet_time: Annotated[
        float, Entry(Number("s", Range(0.5, 60.0)), "time without a touch after which the task goes on", default="2 s")
    ]
    time_limit: Annotated[
        float, Entry(Number("s", POSITIVE), "time of yielding after which the arm stops", default="30 s")
    ]
    attempts: Annotated[
        int, Entry(Count(), "how often a task is taken up again; at the next interruption the arm stops", default=3)
    ]
    resume_duration: Annotated[
        float,
        Entry(Number("s", POSITIVE), "time in which the clock of the task comes back to full speed", default="0.5 s"),
    ]

    def check(self) -> None:
        """Require that there is time for the silence."""
        if self.time_limit < self.quiet_time:
            raise Refusal("time_limit", self.time_limit, f"at least quiet_time = {self.quiet_time:g} s")


@dataclass(frozen=True, eq=False, kw_only=True)
class Reaction:
    """What is done after a verdict."""

    on_unexpected_impact: Annotated[str, Entry(Choice(REACTIONS), "wrong time or place")]
    on_unexpected_post_impact: Annotated[str, Entry(Choice(REACTIONS), "wrong behaviour afterwards")]
    pull_back: Annotated[PullBack, Entry(Section(PullBack), "the motion of `pull_back`", default={})]
    admittance: Annotated[Admittance, Entry(Section(Admittance), "the motion of `admittance`", default={})]


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
        robot = _robot(self.robot.model, self.robot.end_effector, self.robot.motor_inertia)
        _require_inside_limits(self.task, robot)
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
        if self.simulation.largest_step > period:
            step = self.simulation.largest_step
            raise Refusal("simulation.largest_step", step, f"at most control.period = {period:g} s")
        delay = self.simulation.measurement_delay
        if abs(delay / period - round(delay / period)) > 1e-6:
            raise Refusal("simulation.measurement_delay", delay, f"a multiple of control.period = {period:g} s")
        _require_known_links(self.actual_environment.touches, robot)

    def with_overrides(self, overrides: Mapping[str, Any]) -> Scenario:
        """Return a changed scenario, checked like a file.

        overrides: dotted keys to values as they would stand in a file, e.g. {"simulation.seed": 3,
        "task.impact.speed": "0.3 m/s"}. Raises ScenarioError, with `override` in place of the file.
        """
        return scenario_from_document(overlay(self.document, override_tree(overrides)))

    def to_yaml(self) -> str:
        """Return the whole scenario, inheritance and overrides resolved, as YAML that loads to the same."""
        stream = StringIO()
        yaml = YAML(typ="safe", pure=True)
        yaml.default_flow_style = False
        yaml.dump(self.document.plain(), stream)
        return stream.getvalue()


def scenario_from_document(document: Node) -> Scenario:
    """Check a document and build the scenario. Raises ScenarioError."""
    sizes: dict[str, int] = {}
    if "robot" in document.value:
        robot = build(Robot, document.value["robot"], sizes, "robot")
        sizes[JOINTS] = len(_robot(robot.model, robot.end_effector, robot.motor_inertia).joint_names)
    return build(Scenario, document, sizes, document=document)


@lru_cache(maxsize=16)
def _robot(model: str, end_effector: str, motor_inertia: str) -> RobotDescription:
    return load_robot(model, end_effector, motor_inertia)


def _require_known_links(touches: tuple[Touch, ...], robot: RobotDescription) -> None:
    """Refuse a touch on something that the robot does not have."""
    moving = [frame.name for frame in robot.pinocchio_model.frames if frame.parentJoint > 0]
    for k, touch in enumerate(touches):
        if touch.link not in moving:
            allowed = f"one of {', '.join(moving)}"
            raise Refusal(f"actual_environment.touches[{k}].link", touch.link, allowed)


def _require_inside_limits(task: Task, robot: RobotDescription) -> None:
    """Refuse a home configuration or a value of joint 1 beyond the limits of the joints."""
    lower, upper = robot.limits.position_lower, robot.limits.position_upper
    for key, values in (
        ("home_configuration", task.home_configuration),
        ("joint_1", np.array([task.posture])),
    ):
        outside = (values < lower[: values.size]) | (values > upper[: values.size])
        if np.any(outside):
            joint = int(np.argmax(outside))
            allowed = f"{robot.joint_names[joint]} from {lower[joint]:g} to {upper[joint]:g} rad"
            raise Refusal(f"task.{key}", float(values[joint]), allowed)
