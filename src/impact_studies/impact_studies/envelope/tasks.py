"""Random tasks inside an operating envelope, and what is really there when they are run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from impact_control.classification import Verdict
from impact_control.pipeline import Outcome
from impact_control.planning import ArmPlan, InfeasibleTaskError, OperatingEnvelope, plan_scenario, propose
from impact_control.references import ImpactReference, UnreachableReferenceError, rigid_impact_map
from impact_control.robots import RobotDescription
from impact_control.scenario import Scenario, load_scenario, robot_of
from impact_control.simulation.scenario_run import Course, run_scenario
from impact_control.util.errors import ImpactControlError
from impact_control.util.types import Vector


class Variant(Enum):
    """Difference of what is really there from what is expected; values are words."""

    AS_EXPECTED = "as expected"
    TILTED = "tilted"
    EARLY = "early"
    LATE = "late"
    MISSING = "missing"
    OTHER_FRICTION = "other friction"
    OTHER_STIFFNESS = "other stiffness"
    OTHER_INERTIA = "other inertia"
    OTHER_JOINT_FRICTION = "other joint friction"


_UNEXPECTED = (Outcome.IMPACT_UNEXPECTED, Outcome.POST_IMPACT_UNEXPECTED)

RIGHT_OUTCOMES = {
    Variant.AS_EXPECTED: (Outcome.SUCCEEDED,),
    Variant.TILTED: _UNEXPECTED,
    Variant.EARLY: (Outcome.IMPACT_UNEXPECTED,),
    Variant.LATE: (Outcome.IMPACT_UNEXPECTED,),
    Variant.MISSING: (Outcome.NO_IMPACT,),
    Variant.OTHER_FRICTION: _UNEXPECTED,
    Variant.OTHER_STIFFNESS: (Outcome.SUCCEEDED,),
    Variant.OTHER_INERTIA: (Outcome.SUCCEEDED,),
    Variant.OTHER_JOINT_FRICTION: (Outcome.SUCCEEDED,),
}
"""The outcomes that call it so; with another friction, where it makes a difference."""


_OTHER_ARM = {Variant.OTHER_INERTIA: "inertia", Variant.OTHER_JOINT_FRICTION: "friction"}
"""Keys of `simulation.arm_deviation` that these variants set to one standard deviation."""


@dataclass(frozen=True)
class RandomTask:
    """One task, in SI and the names of `planning.operating_envelope.Ranges`, with what may be different from it.

    number: of the task, from 0; seed: of the sensor noise. azimuth: of the horizontal axis of A towards which the
    surface falls; heading: from the direction out of the base to the direction of the motion along the surface, to the
    left. other_stiffness: drawn as the stiffness. axis: of the tilt of the real surface, in it, from the heading;
    rougher: whether the real friction is higher.
    """

    number: int
    seed: int
    x: float
    y: float
    z: float
    tilt: float
    approach_angle: float
    speed: float
    friction: float
    force: float
    slide: float
    stiffness: float
    azimuth: float
    heading: float
    other_stiffness: float
    axis: float
    rougher: bool


@dataclass(frozen=True)
class Case:
    """A task for a robot in the scenario that says the rest, with each of the variants (names in `Variant`).

    tilt [rad], time [s], friction: the deviations of the variants.
    """

    scenario: str
    robot: str
    end_effector: str
    task: RandomTask
    tilt: float
    time: float
    friction: float
    variants: tuple[str, ...] = tuple(variant.name for variant in Variant)


def cases(envelope: OperatingEnvelope, count: int, seed: int) -> list[Case]:
    """Return `count` tasks for each robot, each its own; more of them begin with the same ones."""
    base, tool, of = envelope.scenario, envelope.end_effector, envelope.deviations
    return [
        Case(base, robot, tool, draw(envelope, robot, seed, number), of.tilt, of.time, of.friction)
        for number in range(count)
        for robot in envelope.robots
    ]


def draw(envelope: OperatingEnvelope, robot: str, seed: int, number: int) -> RandomTask:
    """Draw a task of a robot."""
    ranges, random = envelope.ranges, np.random.default_rng([seed, crc32(robot.encode()), number])
    names = ("x", "y", "z", "tilt", "approach_angle", "speed", "friction", "force", "slide")
    drawn = {name: float(random.uniform(*getattr(ranges, name))) for name in names}
    decades = np.log10(ranges.stiffness)
    stiffness, other = (float(10.0 ** random.uniform(*decades)) for _ in range(2))
    azimuth, heading, axis = random.uniform(0.0, 2.0 * math.pi, 3).tolist()
    return RandomTask(
        number=number,
        seed=int(random.integers(0, 2**31)),
        **drawn,
        stiffness=stiffness,
        azimuth=azimuth,
        heading=heading,
        other_stiffness=other,
        axis=axis,
        rougher=bool(random.integers(0, 2)),
    )


@dataclass(frozen=True, eq=False)
class Geometry:
    """Axes (3,) of a task in A: normal of the expected surface, heading in it, direction of the approach."""

    normal: Vector
    heading: Vector
    approach: Vector


def geometry(task: RandomTask) -> Geometry:
    """Return the axes of a task."""
    sine = math.sin(task.tilt)
    normal = np.array([sine * math.cos(task.azimuth), sine * math.sin(task.azimuth), math.cos(task.tilt)])
    outward = np.array([task.x, task.y, 0.0])
    outward -= (outward @ normal) * normal
    outward /= np.linalg.norm(outward)
    heading = math.cos(task.heading) * outward + math.sin(task.heading) * np.cross(normal, outward)
    approach = math.cos(task.approach_angle) * heading - math.sin(task.approach_angle) * normal
    return Geometry(normal, heading, approach)


def planned(case: Case) -> Scenario:
    """Return the scenario of a case with everything as expected. Raises ScenarioError."""
    task, axes, base = case.task, geometry(case.task), load_scenario(case.scenario).arm()
    point = np.array([task.x, task.y, task.z])
    surface = {"point": _text(point, "m"), "normal": axes.normal.tolist(), "friction": task.friction}
    return base.with_overrides(
        {
            "robot.model": case.robot,
            "robot.end_effector": case.end_effector,
            "task.impact.position": _text(point, "m"),
            "task.impact.speed": _text(task.speed, "m/s"),
            "task.impact.approach_angle": _text(task.approach_angle, "rad"),
            "task.impact.heading": axes.heading.tolist(),
            "task.post.force": _text(task.force, "N"),
            "task.post.slide": _text(task.slide, "m"),
            **{f"expected_environment.surface.{key}": value for key, value in surface.items()},
            **{f"actual_environment.surface.{key}": value for key, value in surface.items()},
            **_contact(base, task.stiffness),
            "simulation.seed": task.seed,
        }
    )


def actual_friction(case: Case) -> float:
    """Return the real friction of the variant with another one."""
    change = case.friction if case.task.rougher else -case.friction
    return max(0.0, case.task.friction + change)


def met(scenario: Scenario, case: Case, variant: Variant) -> Scenario:
    """Return a planned scenario with what is really there in a variant. Raises ScenarioError."""
    if variant in _OTHER_ARM:
        changes: dict[str, Any] = {_OTHER_ARM[variant]: 1.0, "seed": case.task.seed}
        return scenario.with_overrides({f"simulation.arm_deviation.{key}": value for key, value in changes.items()})
    changes = _changes(scenario, case, variant)
    return scenario.with_overrides({f"actual_environment.{key}": value for key, value in changes.items()})


def _changes(scenario: Scenario, case: Case, variant: Variant) -> dict[str, Any]:
    task, axes = case.task, geometry(case.task)
    if variant is Variant.TILTED:
        axis = math.cos(task.axis) * axes.heading + math.sin(task.axis) * np.cross(axes.normal, axes.heading)
        normal = math.cos(case.tilt) * axes.normal + math.sin(case.tilt) * np.cross(axis, axes.normal)
        return {"surface.normal": normal.tolist()}
    if variant in (Variant.EARLY, Variant.LATE):
        way = case.time * task.speed * (1.0 if variant is Variant.LATE else -1.0)
        return {"surface.point": _text(np.array([task.x, task.y, task.z]) + way * axes.approach, "m")}
    if variant is Variant.MISSING:
        return {"surface": "none"}
    if variant is Variant.OTHER_FRICTION:
        return {"surface.friction": actual_friction(case)}
    if variant is Variant.OTHER_STIFFNESS:
        contact = _contact(scenario, task.other_stiffness)
        return {key.removeprefix("actual_environment."): value for key, value in contact.items()}
    return {}


def _contact(scenario: Scenario, stiffness: float) -> dict[str, str]:
    """Return a contact with a stiffness [N/m^1.5] that loses as much energy at a speed as that of the scenario."""
    surface = scenario.actual_environment.surface
    assert surface is not None  # the envelope has been checked
    damping = stiffness * surface.contact.damping / surface.contact.stiffness
    key = "actual_environment.surface.contact"
    return {f"{key}.stiffness": _text(stiffness, "N/m^1.5"), f"{key}.damping": _text(damping, "N*s/m^2.5")}


def _text(values: float | Vector, unit: str) -> str:
    return ", ".join(f"{value:.17g}" for value in np.atleast_1d(values)) + f" {unit}"


OUT_OF_REACH = "no configuration of the arm"
"""Reason of the refusal of a task whose path no joint angles follow."""


@dataclass(frozen=True)
class Ended:
    """Outcome and measures of one variant of a task; NaN where there is nothing to measure.

    outcome, impact, post_impact: values of `Outcome` and `Verdict`; reason: of the verdict, or of a refusal. deviation:
    largest from what is expected as a part of its limit; probability: that all is as expected, as the stack says.
    delay [s]: from the first contact to the first detection; negative for one before a contact. early: whether there
    was a detection without a contact before it. free [s]: for how long the arm moved without contact. Largest shares of
    limits: position (of the way from the middle to the end), velocity, torque, torque_rate. held_force [N]:
    mean from the end of the slide to the end of the task.
    """

    outcome: int = int(Outcome.REFUSED)
    impact: int = int(Verdict.UNKNOWN)
    post_impact: int = int(Verdict.NOT_STARTED)
    reason: str = ""
    deviation: float = math.nan
    probability: float = math.nan
    delay: float = math.nan
    early: bool = False
    free: float = 0.0
    position: float = math.nan
    velocity: float = math.nan
    torque: float = math.nan
    torque_rate: float = math.nan
    held_force: float = math.nan


def run_case(case: Case) -> Mapping[str, NDArray[Any]]:
    """Plan a case and run its variants; arrays (variants,) of the attributes of `Ended`, and what is known of the plan.

    refusal: a short reason, "" where it can be begun; proposed: whether a refusal comes with values that are then
    accepted. jump_change: largest difference of the velocity after the impact that the other friction makes by the
    impact map, in standard deviations of what is planned.
    """
    scenario = planned(case)
    robot = robot_of(scenario.robot)
    try:
        plan = plan_scenario(scenario)
    except ImpactControlError as refusal:
        ended = [Ended(reason=str(refusal))] * len(case.variants)
        change, proposed = math.nan, _can_be_done_otherwise(scenario, refusal)
        words = refusal_words(refusal)
    else:
        arm = plan.arms[""]
        ended = [measure(run_scenario(met(scenario, case, Variant[name]), plan=plan), arm) for name in case.variants]
        friction = scenario.expected_environment.surface.friction
        change, proposed = jump_change(arm.reference, robot, actual_friction(case), friction), False
        words = ""
    facts = {"refusal": words, "proposed": proposed, "jump_change": change}
    columns = {name: np.array([getattr(one, name) for one in ended]) for name in Ended.__annotations__}
    return {**columns, **{name: np.asarray(value) for name, value in facts.items()}}


def refusal_words(refusal: ImpactControlError) -> str:
    """Return why a task is refused without its numbers: what is limited, before or after the impact, and the key."""
    if isinstance(refusal, InfeasibleTaskError):
        worst = refusal.violations[0]
        return f"{worst.quantity.words}, {worst.reference} ({worst.key})"
    if isinstance(refusal, UnreachableReferenceError):
        return OUT_OF_REACH if refusal.joint is None else "position of a joint"
    return type(refusal).__name__


def _can_be_done_otherwise(scenario: Scenario, refusal: ImpactControlError) -> bool:
    """Return whether the first values that are proposed for a refused task are accepted."""
    proposals = propose(scenario, (refusal,))
    if not proposals:
        return False
    changed = scenario.with_overrides(proposals[0].changes)
    try:
        plan_scenario(changed)
    except ImpactControlError:
        return False
    return True


def jump_change(reference: ImpactReference, robot: RobotDescription, friction: float, expected: float) -> float:
    """Return how far another friction moves the velocity after the impact, in its standard deviations."""
    predict = rigid_impact_map(robot)
    offsets, normal = reference.geometry.contact_offsets, reference.geometry.normal
    after, planned_after = (
        predict(reference.impact_configuration, reference.ante_impact_velocity, offsets, normal, mu).velocity
        for mu in (friction, expected)
    )
    return float(np.max(np.abs(after - planned_after) / reference.jump_deviation))


def measure(course: Course, plan: ArmPlan) -> Ended:
    """Return what is measured of a run."""
    limits, task, arm = plan.robot.limits, plan.scenario.task, course.single
    signals = arm.signals
    middle, half = (0.5 * (limits.position_upper + sign * limits.position_lower) for sign in (1.0, -1.0))
    period = float(course.time[1] - course.time[0])
    rate = np.abs(np.diff(signals.torque, axis=0, prepend=0.0 * signals.torque[:1])) / period
    contact = math.inf if math.isnan(arm.first_contact_time) else arm.first_contact_time
    pressed = signals.normal_force[
        (course.time >= task.impact.time + task.post.duration) & (course.time < task.duration)
    ]
    return Ended(
        outcome=int(course.outcome),
        impact=int(arm.impact),
        post_impact=int(arm.post_impact),
        reason=arm.reason,
        deviation=arm.deviation,
        probability=arm.probability,
        delay=arm.detection_time - arm.first_contact_time,
        early=arm.detection_time < contact,
        free=min(contact, float(course.time[-1])),
        position=float(np.max(np.abs(signals.measured_position - middle) / half)),
        velocity=float(np.max(np.abs(signals.measured_velocity) / limits.velocity)),
        torque=float(np.max(np.abs(signals.torque) / limits.torque)),
        torque_rate=float(np.max(rate / limits.torque_rate)),
        held_force=float(np.mean(pressed)) if pressed.size else math.nan,
    )
