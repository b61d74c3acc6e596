"""From a scene to simulated arms and boxes on a table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from impact_control.errors import InvalidInputError
from impact_control.impacts import ExponentialHuntCrossley
from impact_control.robots import RobotDescription
from impact_control.scenario import ActualObject, Contact, SceneScenario
from impact_control.simulation.build import make_gate, make_sensors, make_touch, plant_options
from impact_control.simulation.command_gate import CommandGate
from impact_control.simulation.objects import Arm, Box
from impact_control.simulation.scene import Scene
from impact_control.simulation.scene_bodies import SimulatedArm, SimulatedBox
from impact_control.simulation.sensors import Sensors
from impact_control.simulation.surface import Surface
from impact_control.types import Vector

_STEP_SAFETY = 2.0
"""Two thirds of the stability limit: halves the work of a grab and moves no velocity of its object by 1e-5 m/s."""


_STIFF_FRICTION = 4.0
"""What a hand holds by friction would take ten times the steps, for the same motion."""


@dataclass(frozen=True, eq=False)
class SceneSimulation:
    """Plant A of a scene, and what lies between it and the controllers; all but the plant by name."""

    plant: Scene
    arms: Mapping[str, SimulatedArm]
    objects: Mapping[str, SimulatedBox]
    sensors: Mapping[str, Sensors]
    gates: Mapping[str, CommandGate]


def build_scene_simulation(
    scene: SceneScenario, robots: Mapping[str, RobotDescription], starts: Mapping[str, Vector]
) -> SceneSimulation:
    """Return the simulation of a scene's actual environment.

    robots: of the arms at their places, by name: they may differ from those that the controllers believe in. starts:
    where each arm is at rest (n,) [rad]. Raises InvalidInputError, also when an object has no contact law and the
    end-effector no cover to take it from.
    """
    actual = scene.actual_environment
    there = {name: box for name, box in actual.objects.items() if box is not None}
    cover = next(iter(robots.values())).end_effector.cover
    fallback = None if cover is None else ExponentialHuntCrossley(cover.stiffness, cover.damping, cover.exponent)
    table = actual.table
    surfaces = [] if table is None else [Surface(table.point, table.normal, _law(table.contact), table.friction)]
    touches = {name: tuple(make_touch(touch) for touch in actual.touches if touch.arm == name) for name in robots}
    plant = Scene(
        [Arm(robot, starts[name], touches[name]) for name, robot in robots.items()],
        [_box(name, box, fallback) for name, box in there.items()],
        surfaces=surfaces,
        options=replace(plant_options(scene), step_safety=_STEP_SAFETY, stiff_friction=_STIFF_FRICTION),
    )
    return SceneSimulation(
        plant=plant,
        arms=dict(zip(robots, plant.arms, strict=True)),
        objects=dict(zip(there, plant.boxes, strict=True)),
        sensors={name: make_sensors(scene, robot, k) for k, (name, robot) in enumerate(robots.items())},
        gates={name: make_gate(scene, robot) for name, robot in robots.items()},
    )


def _law(contact: Contact) -> ExponentialHuntCrossley:
    return ExponentialHuntCrossley(contact.stiffness, contact.damping, contact.exponent)


def _box(name: str, box: ActualObject, cover: ExponentialHuntCrossley | None) -> Box:
    law = cover if box.contact is None else _law(box.contact)
    if law is None:
        raise InvalidInputError(f"contact of {name}", None, "a contact law, or an end-effector with a cover")
    return Box(
        mass=box.mass,
        size=box.size,
        law=law,
        friction=box.friction,
        position=box.centre,
        orientation=np.array([0.0, 0.0, math.sin(0.5 * box.yaw), math.cos(0.5 * box.yaw)]),
    )
