"""Actual environment of a scenario: simulated arms by name, their sensors and command gates, and objects."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from impact_control.impacts import ExponentialHuntCrossley
from impact_control.references import initial_configuration
from impact_control.robots import RobotDescription
from impact_control.scenario import ActualObject, ArmDeviation, Contact, Scene
from impact_control.scenario.robot_side import PlantSettings
from impact_control.scenario.settings import entries
from impact_control.simulation.command_gate import CommandGate, CommandState
from impact_control.simulation.deviating_arm import GravityError, deviating_robot
from impact_control.simulation.objects import Arm, Box
from impact_control.simulation.options import PlantOptions
from impact_control.simulation.scene import ScenePlant
from impact_control.simulation.scene_bodies import SimulatedArm, SimulatedBox
from impact_control.simulation.sensors import Sensors
from impact_control.simulation.surface import Surface
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Vector

_STREAMS = 1_000_003
"""Between the seeds of two arms of one scene: further apart than anyone counts trials."""

STEP_SAFETY = 2.0
"""Near the limit of stability, see `step_control`: halves the work of a grab and moves no velocity of its object by
2e-4 m/s."""

STIFF_FRICTION = 4.0
"""An object that a hand holds by friction would take ten times the steps, for the same motion."""


@dataclass(frozen=True, eq=False)
class World:
    """Plant A of a scenario; arms, sensors and gates by name: "" for the arm of a scenario with one arm.

    gravity_errors: of arms that differ from their models, by name.
    """

    plant: ScenePlant
    arms: Mapping[str, SimulatedArm]
    objects: Mapping[str, SimulatedBox]
    sensors: Mapping[str, Sensors]
    gates: Mapping[str, CommandGate]
    gravity_errors: Mapping[str, GravityError]

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.plant.time

    @property
    def single(self) -> tuple[SimulatedArm, Sensors, CommandGate]:
        """Arm, sensors and gate of a world with one arm."""
        ((name, arm),) = self.arms.items()
        return arm, self.sensors[name], self.gates[name]

    def step(self, torques: Sequence[Vector]) -> None:
        """Advance one sample period under the torque (n,) [Nm] of each arm, in the order of `arms`.

        An arm without commands holds itself exactly, as real ones do: by its position controller or its brakes.
        """
        if not self.gravity_errors:
            self.plant.step(torques)
            return
        self.plant.step(
            [
                torque + self.gravity_errors[name].at(arm.link_position)
                if self.gates[name].state in (CommandState.FRESH, CommandState.HELD)
                else torque
                for torque, (name, arm) in zip(torques, self.arms.items(), strict=True)
            ]
        )


def build_world(
    scenario: Scene,
    robots: Mapping[str, RobotDescription] | None = None,
    starts: Mapping[str, Vector] | None = None,
) -> World:
    """Return the actual environment of a scenario, every arm at rest where its task starts.

    robots: of the arms at their places, by name, where they differ from those that the controllers believe in; from
    them `simulation.arm_deviation` differs. starts: initial configuration of each arm (n,) [rad]; None: they are
    computed. Raises InvalidInputError, also when an object has no contact law and the end-effector no cover to take it
    from; ScenarioError, UnreachableReferenceError.
    """
    known = scenario.robots() if robots is None else robots
    if starts is None:
        starts = {name: initial_configuration(scenario.arm(name), robot) for name, robot in known.items()}
    robots = _real(known, scenario.simulation.arm_deviation)
    options = plant_options(scenario)
    if scenario.expected_objects:
        options = replace(options, step_safety=STEP_SAFETY, stiff_friction=STIFF_FRICTION)
    cover = next(iter(robots.values())).end_effector.cover
    fallback = None if cover is None else ExponentialHuntCrossley(cover.stiffness, cover.damping, cover.exponent)
    real = scenario.actual_surface
    plant = ScenePlant(
        [Arm(robot, starts[name], tuple(scenario.touches_of(name))) for name, robot in robots.items()],
        [_box(name, box, fallback) for name, box in scenario.actual_objects.items()],
        surfaces=[] if real is None else [Surface(real.point, real.normal, _law(real.contact), real.friction)],
        options=options,
    )
    settings, period = scenario.simulation, scenario.control.period
    delay = round(settings.measurement_delay / period)
    return World(
        plant=plant,
        arms=dict(zip(robots, plant.arms, strict=True)),
        objects=dict(zip(scenario.actual_objects, plant.boxes, strict=True)),
        sensors={
            name: Sensors(
                robot.noise,
                settings.noise,
                settings.seed + _STREAMS * k,
                delay,
                settings.repeats,
                correlation=settings.noise_correlation,
                gaps=settings.gaps,
                jitter=settings.jitter,
            )
            for k, (name, robot) in enumerate(robots.items())
        },
        gates={
            name: CommandGate(robot.limits, settings.command_timeout, settings.lost_command_damping)
            for name, robot in robots.items()
        },
        gravity_errors={
            name: GravityError(known[name], robot)
            for name, robot in robots.items()
            if options.gravity_compensation and robot is not known[name]
        },
    )


def _real(known: Mapping[str, RobotDescription], differs: ArmDeviation) -> Mapping[str, RobotDescription]:
    """Return the arms that are there."""
    if differs.inertia == 0.0 and differs.friction == 0.0:
        return known
    return {name: deviating_robot(robot, differs, number) for number, (name, robot) in enumerate(known.items())}


def rehearse(scenario: Scene) -> None:
    """Walk through one sample of a world of its own, so that nothing is compiled in the first one that counts.

    Raises the errors of `build_world`.
    """
    world = build_world(scenario)
    for name, arm in world.arms.items():
        world.sensors[name].measure(arm)
    world.step([np.zeros(len(arm.robot.joint_names)) for arm in world.arms.values()])


def plant_options(scenario: Scene) -> PlantOptions:
    """Return the effects that a scenario leaves out of its plant or adds to it."""
    return PlantOptions.of(
        sample_period=scenario.control.period,
        gravity_compensation=scenario.robot.gravity_compensated_by_robot,
        **{name: getattr(scenario.simulation, name) for name in entries(PlantSettings)},
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
