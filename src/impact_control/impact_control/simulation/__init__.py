"""Simulated robots: flexible joints, compliant contact, low-level torque loop, sensors."""

from impact_control.simulation.build import build_simulation
from impact_control.simulation.command_gate import CommandGate, CommandState
from impact_control.simulation.plant import FlexibleJointPlant, PlantOptions, Surface
from impact_control.simulation.sensors import Measurement, Sensors

__all__ = [
    "CommandGate",
    "CommandState",
    "FlexibleJointPlant",
    "Measurement",
    "PlantOptions",
    "Sensors",
    "Surface",
    "build_simulation",
]
