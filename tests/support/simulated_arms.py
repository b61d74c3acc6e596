"""Arms on the way to a surface, and what their energy is, for the tests of the plants."""

from __future__ import annotations

import dataclasses
from itertools import product

import numpy as np
import pinocchio as pin

from impact_control.impacts import ExponentialHuntCrossley
from impact_control.robots import Dynamics, load_robot, lowest_points
from impact_control.robots.data_file import DATA_DIRECTORY
from impact_control.robots.loading import known_names
from impact_control.simulation import FlexibleJointPlant, Surface

STEEL = ExponentialHuntCrossley(3.2e9, 3.2e12, 1.5)
"""Rey Arias 2024, Table I."""

HOMES = {
    "panda": np.array([0.0, -0.3, 0.0, -2.2, 0.0, 1.9, 0.785]),
    "fr3": np.array([0.0, -0.3, 0.0, -2.2, 0.0, 1.9, 0.785]),
    "planar_rrr": np.deg2rad([45.0, -90.0, -45.0]),
}

SHIPPED = tuple(product(known_names(), known_names(DATA_DIRECTORY / "end_effectors")))
"""Every arm of the package with every end-effector of the package, by name."""


def state_of(robot, q):
    """Return the Dynamics of a robot at rest at q."""
    dynamics = Dynamics(robot)
    dynamics.compute(q, np.zeros(q.size))
    return dynamics


def surface_below(robot, distance=5e-4, tilt=0.0, law=STEEL, friction=0.3):
    """Return a surface, rising by tilt [rad] along x, whose smallest gap at home is `distance` [m]."""
    dynamics = state_of(robot, HOMES[robot.name])
    normal = np.array([-np.sin(tilt), 0.0, np.cos(tilt)])
    tool = robot.end_effector
    points = dynamics.position + lowest_points(tool.contact_points, tool.radius, dynamics.rotation, normal)
    return Surface(((points @ normal).min() - distance) * normal, normal, law, friction)


def velocity_for(robot, linear, q=None):
    """Return joint velocities at q, or at home, that move E with `linear` [m/s] and do not turn it."""
    jacobian = state_of(robot, HOMES[robot.name] if q is None else q).jacobian
    if len(robot.joint_names) == 3:
        return np.linalg.solve(jacobian[[0, 2, 4]], [linear[0], linear[2], 0.0])
    return np.linalg.solve(np.vstack([jacobian, np.eye(7)[:1]]), [*linear, 0.0, 0.0, 0.0, 0.0])


def moving_plant(robot, surface=None, options=None, linear=(0.05, 0.0, -0.17)):
    """Return a plant at home whose end-effector moves with `linear` [m/s] and does not turn."""
    plant = FlexibleJointPlant(robot, HOMES[robot.name], surface, options)
    plant.link_velocity[:] = velocity_for(robot, linear)
    plant.motor_velocity[:] = plant.link_velocity
    return plant


def undamped(name="panda", gravity=False):
    """Return a robot whose transmissions do not dissipate, with or without gravity."""
    robot = load_robot(name)
    model = robot.pinocchio_model.copy()
    if not gravity:
        model.gravity.linear = np.zeros(3)
    transmission = dataclasses.replace(robot.transmission, damping=np.zeros(model.nv))
    return dataclasses.replace(
        robot, pinocchio_model=model, transmission=transmission, gravity=np.array(model.gravity.linear)
    )


def kinetic_energy(arm):
    """Return the kinetic energy [J] of links and motors."""
    model = arm.robot.pinocchio_model
    links = pin.computeKineticEnergy(model, model.createData(), arm.link_position, arm.link_velocity)
    return links + 0.5 * arm.robot.transmission.motor_inertia @ arm.motor_velocity**2


def energy(arm):
    """Return the energy [J] of links, motors and springs, and in the field of gravity."""
    model = arm.robot.pinocchio_model
    height = pin.computePotentialEnergy(model, model.createData(), arm.link_position)
    springs = 0.5 * arm.joint_torque**2 @ (1.0 / arm.robot.transmission.stiffness)
    return kinetic_energy(arm) + height + springs
