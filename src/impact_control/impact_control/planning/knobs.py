"""Entries of a scenario that may be changed to make a task feasible, each with the steps to try."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from impact_control.robots import Dynamics, RobotDescription, rotation_from_roll_pitch_yaw
from impact_control.scenario import Scenario, Scene, robot_of
from impact_control.util.types import Vector

Changes = dict[str, str]
"""Values by dotted keys, as they stand in a file."""

# Steps to try, the smallest first: parts of a value, turns [rad], parts of a way.
_LESS = (-0.1, -0.25, -0.5, -0.75, -0.9)
_MORE = (0.1, 0.25, 0.6, 1.2, 2.5, 5.0, 9.0)
_EITHER = (-0.1, 0.1, -0.25, 0.25, -0.5, 0.6, -0.75, 1.2)
_TURNS = (0.1, -0.1, 0.25, -0.25, 0.45, -0.45, 0.7, -0.7, 1.0, -1.0)
_PARTS = (0.1, 0.25, 0.5, 0.75, 1.0)

_LOWEST_ANGLE = 10.0
"""[deg] below which no approach is proposed."""

_ELBOWS = ((2, 0.8), (2, -0.8), (4, 1.5), (4, -1.5), (6, 1.5), (6, -1.5), (3, -0.6), (1, 0.6))
"""Joints (from 0) of the home configuration and turns [rad] of them, behind which other solutions may lie."""

_KEYS = {
    "speed": ("task.impact.speed", "arms.{}.impact.velocity"),
    "slide": ("task.post.slide", "task.post.displacement"),
    "joint_1": ("task.joint_1", "arms.{}.joint_1"),
    "home_configuration": ("task.home_configuration", "arms.{}.home_configuration"),
}
"""Keys of entries that differ: of the only arm, and of an arm with a name."""

_NAMES = {key.rpartition(".")[2]: name for name, keys in _KEYS.items() for key in keys}


def key_of(name: str, arm: str) -> str:
    """Return the dotted key of an entry that the table has, for an arm, "": the only one."""
    return _KEYS[name][bool(arm)].format(arm)


def name_of(key: str) -> str:
    """Return the name of the knob that changes an entry."""
    last = key.rpartition(".")[2]
    return _NAMES.get(last, last)


@dataclass(frozen=True, eq=False)
class Knob:
    """One entry that may be changed.

    Attributes:
        name: of what is changed, the last part of its key in a scenario with one arm.
        steps: to try, the smallest first: parts of the value or of the way to another one, or rad.
        changes: the value at a step, with those that have to follow it; nothing where there is none.
        steady: whether a task is the easier the larger the step.
        continuous: whether there is something between two steps.
    """

    name: str
    steps: tuple[float, ...]
    changes: Callable[[float], Changes]
    steady: bool = False
    continuous: bool = True


def knobs_of(scene: Scene) -> Iterator[Knob]:
    """Yield the entries that may be changed."""
    arms, robot = {name: scene.arm(name) for name in scene.arm_names}, robot_of(scene.robot)
    speeds = {key_of("speed", name): _speed(arm) for name, arm in arms.items()}
    name, first = next(iter(arms.items()))

    def slower(step: float) -> Changes:
        return {key: _text((1.0 + step) * value, "m/s") for key, value in speeds.items()}

    yield Knob("speed", _LESS, slower, steady=True)
    yield _scaled("slide", key_of("slide", name), _slide(first), "m", _LESS, steady=True)
    ante, post = scene.task.ante, scene.task.post
    yield _scaled("force", "task.post.force", [post.force], "N", (*_LESS, -1.0), steady=True)
    yield _scaled("distance", "task.ante.distance", [ante.distance], "m", _EITHER)
    yield _scaled("extension_depth", "task.ante.extension_depth", [ante.extension_depth], "m", _LESS)
    timed = (
        ("extension_duration", "task.ante.extension_duration", ante.extension_duration),
        ("duration", "task.post.duration", post.duration),
        ("settle_duration", "task.post.settle_duration", post.settle_duration),
    )
    at_impact, end = scene.impact_time, scene.duration
    for name, key, value in timed:
        yield _longer(name, key, value, lambda after: max(end, at_impact + after), end)
    yield _longer("time", "task.impact.time", at_impact, lambda at: end + at - at_impact, end)
    room = tuple(step for step in _MORE if (1.0 + step) * post.lead <= at_impact)
    yield _scaled("lead", "task.post.lead", [post.lead], "s", room)
    for name, arm in arms.items():
        task, on_surface = arm.task, arm.target is None
        if on_surface:
            yield _angle(np.rad2deg(task.impact.approach_angle))
        yield _joint_1(name, task.posture, robot)
        if on_surface and len(robot.end_effector.contact_points) == 1:
            yield _orientation(task.impact.orientation, task.home_configuration, robot)
        yield _elbow(name, task.home_configuration, task.posture)


def _speed(arm: Scenario) -> Vector:
    """Return the velocity before the impact, (1,) or (3,) [m/s] as it stands in the file."""
    return np.array([arm.task.impact.speed]) if arm.target is None else arm.target.velocity


def _slide(arm: Scenario) -> Vector:
    """Return the way after the impact, (1,) or (3,) [m] as it stands in the file."""
    return np.array([arm.task.post.slide]) if arm.target is None else arm.target.motion.displacement


def _text(values: Sequence[float] | Vector, unit: str, digits: int = 3) -> str:
    return f"{', '.join(f'{value:.{digits}g}' for value in values)} {unit}"


def _scaled(
    name: str, key: str, values: Sequence[float] | Vector, unit: str, steps: tuple[float, ...], steady: bool = False
) -> Knob:
    """Return a knob that multiplies by 1 + step."""
    return Knob(name, steps, lambda step: {key: _text((1.0 + step) * np.asarray(values), unit)}, steady)


def _longer(name: str, key: str, value: float, end: Callable[[float], float], duration: float) -> Knob:
    """Return a knob that gives more time, `end` [s] being when the task then has to end."""

    def changes(step: float) -> Changes:
        text = _text([(1.0 + step) * value], "s")
        last = end(float(text.removesuffix(" s")))
        return {key: text} if last <= duration else {key: text, "task.duration": _text([last], "s", 6)}

    return Knob(name, _MORE, changes)


def _angle(value: float) -> Knob:
    """Return a knob that turns the velocity before the impact; value [deg]."""

    def changes(step: float) -> Changes:
        angle = value + np.rad2deg(step)
        return {"task.impact.approach_angle": f"{angle:.3g} deg"} if _LOWEST_ANGLE <= angle <= 90.0 else {}

    return Knob("approach_angle", _TURNS, changes)


def _joint_1(arm: str, value: float, robot: RobotDescription) -> Knob:
    """Return a knob that turns the elbow about the way from shoulder to hand; value [rad]."""
    lower, upper = robot.limits.position_lower[0], robot.limits.position_upper[0]

    def changes(step: float) -> Changes:
        return {key_of("joint_1", arm): f"{value + step:.3g} rad"} if lower < value + step < upper else {}

    return Knob("joint_1", _TURNS, changes)


def _orientation(angles: Vector, home: Vector, robot: RobotDescription) -> Knob:
    """Return a knob that turns a ball, which may touch as it likes, towards the orientation it has at home."""
    dynamics = Dynamics(robot)
    dynamics.compute(home, np.zeros_like(home))
    start = rotation_from_roll_pitch_yaw(angles)
    way = pin.log3(dynamics.rotation @ start.T)

    def changes(step: float) -> Changes:
        turned = np.rad2deg(pin.rpy.matrixToRpy(pin.exp3(step * way) @ start))
        return {"task.impact.orientation": _text(turned, "deg", 5)}

    return Knob("orientation", _PARTS, changes)


def _elbow(arm: str, home: Vector, posture: float) -> Knob:
    """Return a knob that begins the search for configurations elsewhere."""

    def changes(step: float) -> Changes:
        joint, turn = _ELBOWS[int(step) - 1]
        other = home.copy()
        other[joint] += turn
        kept = {key_of("joint_1", arm): _text([posture], "rad", 6)}
        return {key_of("home_configuration", arm): _text(other, "rad")} | kept

    return Knob("home_configuration", tuple(range(1, len(_ELBOWS) + 1)), changes, continuous=False)
