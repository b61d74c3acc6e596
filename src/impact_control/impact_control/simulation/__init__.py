"""Simulated robots: flexible joints, compliant contact, low-level torque loop, sensors; scenes with free boxes."""

from impact_control.simulation.command_gate import CommandGate, CommandState
from impact_control.simulation.objects import Arm, Box, Pusher
from impact_control.simulation.options import PlantOptions
from impact_control.simulation.plant import FlexibleJointPlant
from impact_control.simulation.scene import ScenePlant
from impact_control.simulation.scene_bodies import SimulatedArm, SimulatedBox, SimulatedPusher
from impact_control.simulation.sensors import Measurement, Sensors
from impact_control.simulation.surface import Surface, inclined_plane
from impact_control.simulation.world import World, build_world, plant_options, rehearse

__all__ = [
    "Arm",
    "Box",
    "CommandGate",
    "CommandState",
    "FlexibleJointPlant",
    "Measurement",
    "PlantOptions",
    "Pusher",
    "ScenePlant",
    "Sensors",
    "SimulatedArm",
    "SimulatedBox",
    "SimulatedPusher",
    "Surface",
    "World",
    "build_world",
    "inclined_plane",
    "plant_options",
    "rehearse",
]
