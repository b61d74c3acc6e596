"""One arm of a scene as a scenario of its own: what observer, detector, classifier and controller of that arm read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pinocchio as pin

from impact_control.scenario.document import Node, overlay, override_tree
from impact_control.scenario.scene import SceneScenario
from impact_control.scenario.schema import Scenario, scenario_from_document
from impact_control.types import Matrix, Vector

_SHARED = ("robot", "control", "detection", "classification", "reaction", "simulation")
"""Sections that hold for every arm as they stand."""

_UP = np.array([0.0, 0.0, 1.0])

_NO_DIRECTION = 1e-9
"""[m/s] slip below which the velocity is along the normal."""


def impact_point(scene: SceneScenario, arm: str) -> Vector:
    """Return the point (3,) [m] of the expected object that the middle of an arm's contact points hits, frame A."""
    impact, normal = scene.arms[arm].impact, scene.normal(arm)
    right = np.cross(_UP, normal)
    point: Vector = scene.target(arm).middle_of_face(impact.face) + impact.offset[0] * right + impact.offset[1] * _UP
    return point


def flat_orientation(normal: Vector, turn: float) -> Matrix:
    """Return R_d (3, 3), axes of E as columns in A, with z of E against an upright face and y up, turned about z."""
    into = -normal
    upright = np.column_stack([np.cross(_UP, into), _UP, into])
    rotation: Matrix = upright @ pin.exp3(np.array([0.0, 0.0, turn]))
    return rotation


def arm_scenario(scene: SceneScenario, arm: str) -> Scenario:
    """Return what one arm has to know, as a scenario with one arm, in the world frame A of the scene.

    The face that is hit is its expected surface; there is no actual one, because the scene has the objects. The base
    of the arm is not part of it: its robot is `mounted_at` its place. Raises ScenarioError.
    """
    section, normal = scene.arms[arm], scene.normal(arm)
    velocity, task = section.impact.velocity, scene.task
    speed = float(np.linalg.norm(velocity))
    slip = velocity - (velocity @ normal) * normal
    heading = slip / np.linalg.norm(slip) if np.linalg.norm(slip) > _NO_DIRECTION else _UP
    orientation = pin.rpy.matrixToRpy(flat_orientation(normal, section.impact.turn))
    point = impact_point(scene, arm)
    own: dict[str, Any] = {
        "name": f"{scene.name}_{arm}",
        "description": scene.description,
        "task": {
            "duration": _text([task.duration], "s"),
            "home_configuration": _text(section.home_configuration, "rad"),
            "joint_1": _text([section.posture], "rad"),
            "impact": {
                "time": _text([task.impact_time], "s"),
                "position": _text(point, "m"),
                "speed": _text([speed], "m/s"),
                "approach_angle": _text([np.arcsin(min(1.0, -float(velocity @ normal) / speed))], "rad"),
                "heading": heading.tolist(),
                "orientation": _text(orientation, "rad"),
            },
            "ante": {
                "distance": _text([task.ante.distance], "m"),
                "extension_duration": _text([task.ante.extension_duration], "s"),
                "extension_depth": _text([task.ante.extension_depth], "m"),
            },
            "post": {
                "force": _text([task.post.force], "N"),
                "slide": "0 m",
                "duration": _text([task.post.duration], "s"),
                "settle_duration": _text([task.post.settle_duration], "s"),
                "lead": _text([task.post.lead], "s"),
            },
        },
        "expected_environment": {
            "surface": {
                "point": _text(point, "m"),
                "normal": normal.tolist(),
                "friction": scene.target(arm).friction,
            }
        },
        "actual_environment": {"surface": "none"},
    }
    shared = Node({key: scene.document.value[key] for key in _SHARED}, scene.document.origin)
    return scenario_from_document(overlay(shared, override_tree(own)))


def _text(values: Iterable[float], unit: str) -> str:
    """Write a quantity so that it is read as the same numbers."""
    return f"{', '.join(repr(float(value)) for value in values)} {unit}"
