"""What stands behind the robot side: simulated arms by name, their sensors and gates, and the objects around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from impact_control.references import initial_configuration, scene_robots
from impact_control.scenario import Scenario, SceneScenario, arm_scenario
from impact_control.simulation.build import build_simulation
from impact_control.simulation.build_scene import build_scene_simulation
from impact_control.simulation.command_gate import CommandGate
from impact_control.simulation.scene_bodies import SimulatedArm, SimulatedBox
from impact_control.simulation.sensors import Sensors
from impact_control.types import Vector


@dataclass(frozen=True, eq=False)
class World:
    """Plant of a scenario; arms, sensors and gates have the same names, the arm of a one-arm scenario has none: "".

    step: advances one sample period under the torque (n,) [Nm] of each arm, in the order of `arms`.
    """

    arms: Mapping[str, SimulatedArm]
    objects: Mapping[str, SimulatedBox]
    sensors: Mapping[str, Sensors]
    gates: Mapping[str, CommandGate]
    step: Callable[[Sequence[Vector]], None]
    clock: Callable[[], float]

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.clock()


def rehearse(scenario: Scenario | SceneScenario) -> None:
    """Walk through one sample of a world of its own, so that nothing is compiled in the first one that counts.

    Raises what `build_world` raises.
    """
    world = build_world(scenario)
    for name, arm in world.arms.items():
        world.sensors[name].measure(arm)
    world.step([np.zeros(len(arm.robot.joint_names)) for arm in world.arms.values()])


def build_world(scenario: Scenario | SceneScenario) -> World:
    """Return the actual environment of a scenario, every arm at rest where its task starts.

    Raises InvalidInputError, ScenarioError, UnreachableReferenceError.
    """
    if isinstance(scenario, Scenario):
        plant, sensors, gate = build_simulation(scenario)
        return World(
            {"": plant}, {}, {"": sensors}, {"": gate}, lambda torques: plant.step(*torques), lambda: plant.time
        )
    robots = scene_robots(scenario)
    starts = {name: initial_configuration(arm_scenario(scenario, name), robot) for name, robot in robots.items()}
    built = build_scene_simulation(scenario, robots, starts)
    scene = built.plant
    return World(built.arms, built.objects, built.sensors, built.gates, scene.step, lambda: scene.time)
