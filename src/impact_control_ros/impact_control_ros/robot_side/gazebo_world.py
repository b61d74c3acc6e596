"""The world of a scenario for Gazebo."""

from __future__ import annotations

import math

import numpy as np

from impact_control.scenario import Scenario
from impact_control.util.types import Vector

SLAB = (0.8, 1.0, 0.04)
"""Length, width, height [m] of the surface."""

BOX = (0.1, 0.1, 0.1)
BOX_MASS = 1.0
"""Size [m] and mass [kg] of the free box."""

BESIDE = np.array([0.0, 0.25, 0.0])
"""From the point of impact to the box [m], world frame A, before it is put on the surface."""

_WORLD = """<?xml version="1.0"?>
<sdf version="1.9">
  <world name="impact">
    <physics name="one_millisecond" type="ignored">
      <max_step_size>0.001</max_step_size>
      <real_time_factor>1.0</real_time_factor>
    </physics>
    <plugin filename="gz-sim-physics-system" name="gz::sim::systems::Physics"/>
    <plugin filename="gz-sim-user-commands-system" name="gz::sim::systems::UserCommands"/>
    <plugin filename="gz-sim-scene-broadcaster-system" name="gz::sim::systems::SceneBroadcaster"/>
    <gravity>0 0 -9.81</gravity>
    <light type="directional" name="sun">
      <pose>0 0 10 0 0 0</pose>
      <direction>-0.5 0.1 -0.9</direction>
    </light>
{models}  </world>
</sdf>
"""

_MODEL = """    <model name="{name}">
      <static>{static}</static>
      <pose>{pose}</pose>
      <link name="body">
{inertial}        <collision name="collision">
          <geometry><box><size>{size}</size></box></geometry>
          <surface><friction><ode><mu>{friction}</mu><mu2>{friction}</mu2></ode></friction></surface>
        </collision>
        <visual name="visual">
          <geometry><box><size>{size}</size></box></geometry>
        </visual>
      </link>
    </model>
"""

_INERTIAL = """        <inertial>
          <mass>{mass}</mass>
          <inertia><ixx>{ixx}</ixx><iyy>{iyy}</iyy><izz>{izz}</izz><ixy>0</ixy><ixz>0</ixz><iyz>0</iyz></inertia>
        </inertial>
"""


def gazebo_world(scenario: Scenario) -> str:
    """Return the world of a scenario as SDF 1.9: the surface that is really there, and a free box on it.

    The surface is a static slab whose upper face lies in its plane. The box stands beside the path of the
    end-effector. Origin and axes are those of frame A, the base of the arm. Contact is Gazebo's own, with the friction
    of the surface; the contact law of the scenario is not used. Without a surface the world is empty.
    """
    surface = scenario.actual_environment.surface
    if surface is None:
        return _WORLD.format(models="")
    slab = _model("surface", SLAB, surface.point - 0.5 * SLAB[2] * surface.normal, surface.normal, surface.friction)
    beside = scenario.task.impact.position + BESIDE
    foot = beside - ((beside - surface.point) @ surface.normal) * surface.normal
    box = _model("box", BOX, foot + 0.5 * BOX[2] * surface.normal, surface.normal, surface.friction, BOX_MASS)
    return _WORLD.format(models=slab + box)


def _model(
    name: str, size: tuple[float, ...], centre: Vector, normal: Vector, friction: float, mass: float = 0.0
) -> str:
    """Return a box of a size [m] at a centre (3,) [m], its third axis along a normal (3,); mass [kg] 0: static."""
    # R = Ry(pitch) Rx(roll) turns the third axis to (cos roll sin pitch, -sin roll, cos roll cos pitch).
    roll, pitch = -math.asin(float(np.clip(normal[1], -1.0, 1.0))), math.atan2(normal[0], normal[2])
    x, y, z = size
    moments = {"ixx": y * y + z * z, "iyy": x * x + z * z, "izz": x * x + y * y}
    inertia = {key: _text(mass / 12.0 * value) for key, value in moments.items()}
    return _MODEL.format(
        name=name,
        static="false" if mass else "true",
        pose=_text(*centre, roll, pitch, 0.0),
        size=_text(*size),
        friction=_text(friction),
        inertial=_INERTIAL.format(mass=_text(mass), **inertia) if mass else "",
    )


def _text(*numbers: float) -> str:
    return " ".join(f"{number:.9g}" for number in numbers)
