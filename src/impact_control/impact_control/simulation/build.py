"""From a scenario to a simulated arm."""

from __future__ import annotations

import numpy as np

from impact_control.impacts import ExponentialHuntCrossley
from impact_control.references import initial_configuration
from impact_control.robots import load_robot
from impact_control.scenario import Scenario
from impact_control.simulation.command_gate import CommandGate
from impact_control.simulation.options import Backlash, PlantOptions
from impact_control.simulation.plant import FlexibleJointPlant
from impact_control.simulation.sensors import Sensors
from impact_control.simulation.surface import Surface
from impact_control.simulation.touch import Touch, TouchProfile


def build_simulation(scenario: Scenario) -> tuple[FlexibleJointPlant, Sensors, CommandGate]:
    """Return plant, sensors and command gate of the scenario's actual environment, at its initial configuration."""
    robot = load_robot(scenario.robot.model, scenario.robot.end_effector, scenario.robot.motor_inertia)
    settings = scenario.simulation
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
    options = PlantOptions(
        sample_period=scenario.control.period,
        largest_step=settings.largest_step,
        joint_friction=settings.joint_friction,
        torque_loop=settings.torque_loop,
        torque_filter=settings.torque_filter,
        gravity_compensation=scenario.robot.gravity_compensated_by_robot,
        backlash=Backlash(settings.backlash.gap, settings.backlash.damping, settings.backlash.dry_friction),
    )
    touches = [
        Touch(touch.link, touch.point, touch.force, touch.start, touch.duration, TouchProfile(touch.profile))
        for touch in scenario.actual_environment.touches
    ]
    start = initial_configuration(scenario, robot)
    plant = FlexibleJointPlant(robot, start, surface, options, touches)
    # Once through the kernels, so that nothing is compiled or loaded in the first period.
    plant.step(np.zeros_like(start))
    plant.reset(start, surface)
    delay = round(settings.measurement_delay / scenario.control.period)
    sensors = Sensors(robot.noise, settings.noise, settings.seed, delay)
    gate = CommandGate(robot.limits, settings.command_timeout, settings.lost_command_damping)
    return plant, sensors, gate
