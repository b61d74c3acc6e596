"""Impact maps and plants. The plants are timed as a study uses them: 1.5 s with an impact, start-up included."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from impact_control.benchmark.figure import Figure, figure_of, timed
from impact_control.errors import ImpactControlError
from impact_control.impacts import (
    Body,
    Contact,
    ExponentialHuntCrossley,
    free_object,
    predict_multi_contact_impact,
    predict_post_impact_velocity,
)
from impact_control.robots import Dynamics, InertiaModel, contact_point_jacobian, load_robot
from impact_control.simulation import FlexibleJointPlant, PlantOptions, Surface
from impact_control.simulation.rigid_contact import RigidSurface
from impact_control.simulation.rigid_joint_rigid_contact import RigidJointRigidContactPlant
from impact_control.types import Vector

SINGLE_MAP_TARGET = 20e-6
EIGHT_CONTACTS_TARGET = 300e-6
PLANAR_A_TARGET = 0.15
PANDA_A_TARGET = 1.5
PLANAR_C_TARGET = 0.05

DURATION = 1500
"""Samples of 1 ms of a plant's run."""

UP = np.array([0.0, 0.0, 1.0])
PANDA_HOME = np.array([0.0, -0.6, 0.0, -2.3, 0.0, 1.8, 0.8])
PLANAR_HOME = np.radians([45.0, -90.0, -45.0])


def physics_figures() -> list[Figure]:
    """Measure impact maps and plants."""
    return [
        figure_of("impact map, one contact, validated", timed(single_contact(), 3000), SINGLE_MAP_TARGET),
        figure_of("impact map, 8 contacts, free box", timed(eight_contacts(), 1000), EIGHT_CONTACTS_TARGET),
        _flexible_plant("planar_rrr", PLANAR_HOME, PLANAR_A_TARGET, "plant A, planar arm, 1.5 s"),
        _flexible_plant("panda", PANDA_HOME, PANDA_A_TARGET, "plant A, Panda, 1.5 s"),
        _rigid_plant(),
    ]


def single_contact() -> Callable[[], object]:
    """Return the impact of a Panda's sphere on a table with friction, ready to be predicted."""
    robot = load_robot()
    dynamics = Dynamics(robot)
    velocity = np.linspace(-0.3, 0.3, 7)
    dynamics.update(PANDA_HOME, velocity)
    jacobian = contact_point_jacobian(dynamics.jacobian, np.array([0.0, 0.0, -robot.end_effector.radius]))
    if jacobian[2] @ velocity >= 0.0:
        velocity = -velocity
    inertia = dynamics.inertia(InertiaModel.REDUCED_MOTORS)
    return partial(predict_post_impact_velocity, inertia, jacobian, UP, velocity, 0.1)


def eight_contacts() -> Callable[[], object]:
    """Return a box that lands with four corners while an arm's plate meets its top, ready to be predicted."""
    robot = load_robot("panda", "plate")
    dynamics = Dynamics(robot)
    velocity = np.zeros(7)
    dynamics.update(PANDA_HOME, velocity)
    velocity[:] = np.linalg.pinv(dynamics.jacobian) @ np.array([0.05, 0.0, -0.2, 0.0, 0.0, 0.0])
    mass, half = 1.3, np.array([0.1, 0.1, 0.05])
    inertia = (
        mass / 3.0 * np.diag([half[1] ** 2 + half[2] ** 2, half[0] ** 2 + half[2] ** 2, half[0] ** 2 + half[1] ** 2])
    )
    box = free_object(mass, inertia, np.array([0.0, 0.0, -0.1, 0.0, 0.0, 0.0]))
    rigid = np.eye(6)
    corners = [np.array([x, y, 0.0]) * half for x in (-1, 1) for y in (-1, 1)]
    contacts = [
        Contact("box", contact_point_jacobian(rigid, corner - UP * half[2]), UP, friction=0.4) for corner in corners
    ]
    contacts += [
        Contact(
            "arm",
            contact_point_jacobian(dynamics.jacobian, 0.5 * corner),
            UP,
            friction=0.4,
            other="box",
            other_jacobian=contact_point_jacobian(rigid, 0.5 * corner + UP * half[2]),
        )
        for corner in corners
    ]
    bodies = {"arm": Body(dynamics.inertia(InertiaModel.REDUCED_MOTORS), velocity), "box": box}
    return partial(predict_multi_contact_impact, bodies, contacts)


def _flexible_plant(name: str, home: Vector, target: float, title: str) -> Figure:
    robot = load_robot(name)
    dynamics = Dynamics(robot)
    dynamics.update(home, np.zeros_like(home))
    floor = dynamics.position - (robot.end_effector.radius + 0.02) * UP
    surface = Surface(floor, UP, ExponentialHuntCrossley(3.2e9, 3.2e12, 1.5), friction=0.1)
    push = -dynamics.jacobian[2] * 5.0

    def act() -> None:
        plant = FlexibleJointPlant(robot, home, surface, PlantOptions(joint_friction=False))
        for _ in range(DURATION):
            plant.step(push)
        if np.isnan(plant.first_contact_time):
            raise ImpactControlError(f"{title}: no impact")

    return figure_of(title, timed(act, 5), target)


def _rigid_plant() -> Figure:
    robot = load_robot("planar_rrr")
    dynamics = Dynamics(robot)
    dynamics.update(PLANAR_HOME, np.zeros(3))
    floor = dynamics.position - (robot.end_effector.radius + 0.02) * UP
    push = -dynamics.jacobian[2] * 5.0

    def act() -> None:
        plant = RigidJointRigidContactPlant(robot, PLANAR_HOME, RigidSurface(floor, UP))
        for _ in range(DURATION):
            plant.step(push)
        if not plant.impacts:
            raise ImpactControlError("plant C: no impact")

    return figure_of("plant C, planar arm, 1.5 s", timed(act, 5), PLANAR_C_TARGET)
