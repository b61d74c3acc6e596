"""What stands in the world of a scenario: arms, surfaces, boxes; as expected and as it really is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from impact_control.references import scene_robots
from impact_control.robots import RobotDescription
from impact_control.scenario import ExpectedObject, Scenario, SceneScenario, Surface, robot_of
from impact_control.types import Vector
from impact_control.view.bodies import base_placement

_SAME_PLACE, _SAME_DIRECTION = 1e-4, 1e-6
"""[m], [-] within which an actual surface or object counts as being where it was expected."""


@dataclass(frozen=True, eq=False)
class ShownArm:
    """An arm: its robot at its place, the configuration (n,) [rad] it is shown in before a sample has come.

    normal (3,): of the surface it is to touch, frame A, out of it.
    """

    robot: RobotDescription
    rest: Vector
    normal: Vector


@dataclass(frozen=True, eq=False)
class ShownSurface:
    """A plane, shown around `point` (3,) [m]; unit normal (3,), frame A. expected: only in the mind of the robot."""

    point: Vector
    normal: Vector
    expected: bool


@dataclass(frozen=True, eq=False)
class ShownBox:
    """A box: edges (3,) [m], and its pose (7,) before one has come: centre [m], quaternion x, y, z, w, frame A.

    expected: only in the mind of the robots; it stays where it is.
    """

    size: Vector
    pose: Vector
    expected: bool


@dataclass(frozen=True, eq=False)
class Stage:
    """Everything in the world of a scenario, by name; the only arm has the name "". focus (3,) [m]: to look at."""

    title: str
    arms: Mapping[str, ShownArm]
    surfaces: tuple[ShownSurface, ...]
    boxes: Mapping[str, ShownBox]
    focus: Vector


def stage_of(scenario: Scenario | SceneScenario, *, simulated: bool = True) -> Stage:
    """Return the stage of a scenario or scene. simulated: whether the truth is known. Raises ScenarioError."""
    if isinstance(scenario, SceneScenario):
        return _stage_of_scene(scenario, simulated)
    robot = robot_of(scenario.robot)
    expected = scenario.expected_environment.surface
    actual = scenario.actual_environment.surface if simulated else None
    place = scenario.task.impact.position
    base, _ = base_placement(robot)
    return Stage(
        title=scenario.name,
        arms={"": ShownArm(robot, scenario.task.home_configuration, expected.normal)},
        surfaces=_surfaces(expected, actual, place),
        boxes={},
        focus=0.5 * (base + place) + np.array([0.0, 0.0, 0.25]),
    )


def _stage_of_scene(scene: SceneScenario, simulated: bool) -> Stage:
    robots = scene_robots(scene)
    expected = scene.expected_environment
    boxes = {name: _box(thing, False) for name, thing in expected.objects.items()}
    if simulated:
        for name, thing in expected.objects.items():
            there = scene.actual_environment.objects.get(name, thing)
            if there is None:
                boxes[name] = _box(thing, True)
            elif not _alike(there, thing):
                boxes |= {name: _box(there, False), f"{name} (expected)": _box(thing, True)}
    middle = np.mean([thing.centre for thing in expected.objects.values()], axis=0)
    table, actual = expected.table, scene.actual_environment.table if simulated else None
    bases = [base_placement(robot)[0] for robot in robots.values()]
    return Stage(
        title=scene.name,
        arms={
            name: ShownArm(robots[name], arm.home_configuration, scene.normal(name)) for name, arm in scene.arms.items()
        },
        surfaces=() if table is None else _surfaces(table, actual, middle),
        boxes=boxes,
        focus=0.5 * (np.mean(bases, axis=0) + middle) + np.array([0.0, 0.0, 0.1]),
    )


def _surfaces(expected: Surface, actual: Surface | None, place: Vector) -> tuple[ShownSurface, ...]:
    """Return what is shown of a surface around a place (3,) [m]: the expected one only where it is elsewhere."""
    belief = ShownSurface(_onto(expected, place), expected.normal, True)
    if actual is None:
        return (belief,)
    truth = ShownSurface(_onto(actual, place), actual.normal, False)
    apart = abs(float(expected.normal @ (truth.point - belief.point)))
    turned = 1.0 - float(expected.normal @ actual.normal)
    return (truth,) if apart < _SAME_PLACE and turned < _SAME_DIRECTION else (truth, belief)


def _onto(surface: Surface, place: Vector) -> Vector:
    """Return the point (3,) [m] of a plane vertically above or below a place, the nearest one if it is upright."""
    gap = float(surface.normal @ (surface.point - place))
    if abs(surface.normal[2]) > 0.1:
        point: Vector = place + np.array([0.0, 0.0, gap / surface.normal[2]])
        return point
    nearest: Vector = place + gap * surface.normal
    return nearest


def _box(thing: ExpectedObject, expected: bool) -> ShownBox:
    turn = np.array([0.0, 0.0, np.sin(0.5 * thing.yaw), np.cos(0.5 * thing.yaw)])
    return ShownBox(thing.size, np.concatenate([thing.centre, turn]), expected)


def _alike(one: ExpectedObject, other: ExpectedObject) -> bool:
    apart = max(float(np.abs(one.centre - other.centre).max()), float(np.abs(one.size - other.size).max()))
    return apart < _SAME_PLACE and abs(one.yaw - other.yaw) < _SAME_PLACE
