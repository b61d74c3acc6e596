"""From a scenario to a simulated arm."""

from __future__ import annotations

import numpy as np

from impact_control.impacts import ExponentialHuntCrossley
from impact_control.references import initial_configuration
from impact_control.robots import RobotDescription
from impact_control.scenario import Scenario, SceneScenario, robot_of
from impact_control.scenario import Touch as TouchSection
from impact_control.simulation.command_gate import CommandGate
from impact_control.simulation.options import Backlash, PlantOptions
from impact_control.simulation.plant import FlexibleJointPlant
from impact_control.simulation.sensors import Sensors
from impact_control.simulation.surface import Surface
from impact_control.simulation.touch import Touch, TouchProfile

_STREAMS = 1_000_003
"""Between the seeds of two arms of one scene: further apart than anyone counts trials."""


def build_simulation(scenario: Scenario) -> tuple[FlexibleJointPlant, Sensors, CommandGate]:
    """Return plant, sensors and command gate of the scenario's actual environment, at its initial configuration."""
    robot = robot_of(scenario.robot)
    real = scenario.actual_environment.surface
    surface = (
        None
        if real is None
        else Surface(
            point=real.point,
            normal=real.normal,
            law=ExponentialHuntCrossley(real.contact.stiffness, real.contact.damping, real.contact.exponent),
            friction=real.friction,
        )
    )
    options = plant_options(scenario)
    touches = [make_touch(touch) for touch in scenario.actual_environment.touches]
    start = initial_configuration(scenario, robot)
    plant = FlexibleJointPlant(robot, start, surface, options, touches)
    # Once through the kernels, so that nothing is compiled or loaded in the first period.
    plant.step(np.zeros_like(start))
    plant.reset(start, surface)
    return plant, make_sensors(scenario, robot), make_gate(scenario, robot)


def make_touch(section: TouchSection) -> Touch:
    """Return a touch as the plant takes it."""
    profile = TouchProfile(section.profile)
    return Touch(section.link, section.point, section.force, section.start, section.duration, profile)


def plant_options(scenario: Scenario | SceneScenario) -> PlantOptions:
    """Return what a scenario leaves out of its plant or adds to it."""
    settings = scenario.simulation
    return PlantOptions(
        sample_period=scenario.control.period,
        largest_step=settings.largest_step,
        joint_friction=settings.joint_friction,
        torque_loop=settings.torque_loop,
        torque_filter=settings.torque_filter,
        gravity_compensation=scenario.robot.gravity_compensated_by_robot,
        backlash=Backlash(settings.backlash.gap, settings.backlash.damping, settings.backlash.dry_friction),
    )


def make_sensors(scenario: Scenario | SceneScenario, robot: RobotDescription, stream: int = 0) -> Sensors:
    """Return the sensors of an arm of a scenario; stream: number of the arm, each has noise of its own."""
    settings = scenario.simulation
    delay = round(settings.measurement_delay / scenario.control.period)
    return Sensors(robot.noise, settings.noise, settings.seed + _STREAMS * stream, delay)


def make_gate(scenario: Scenario | SceneScenario, robot: RobotDescription) -> CommandGate:
    """Return the command gate of an arm of a scenario."""
    settings = scenario.simulation
    return CommandGate(robot.limits, settings.command_timeout, settings.lost_command_damping)
