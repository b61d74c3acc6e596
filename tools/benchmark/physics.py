"""Impact maps and plants. The plants are timed as a study uses them: 1.5 s with an impact, start-up included."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import pinocchio as pin

from benchmark.course import HOMES
from benchmark.figure import Figure, Pass, figure_beside, timed
from benchmark.peers import Peers
from benchmark.yardstick import YARDSTICK, yardstick_pass
from impact_control.impacts import (
    Body,
    Contact,
    ExponentialHuntCrossley,
    free_object,
    predict_multi_contact_impact,
    predict_post_impact_velocity,
)
from impact_control.robots import Dynamics, InertiaModel, RobotDescription, contact_point_jacobian, load_robot
from impact_control.simulation import FlexibleJointPlant, PlantOptions, Surface
from impact_control.util.errors import ImpactControlError
from impact_control.util.types import Matrix, Vector
from impact_studies.models.rigid_contact.contact import RigidSurface
from impact_studies.models.rigid_contact.plant import RigidJointRigidContactPlant

SINGLE_MAP_TARGET = 20e-6
EIGHT_CONTACTS_TARGET = 300e-6
PLANAR_A_TARGET = 0.15
PANDA_A_TARGET = 1.5
PLANAR_C_TARGET = 0.05

DURATION = 1500
"""Samples of 1 ms of a plant's run."""

ROUNDS = 10
"""In turns with the peers."""

UP = np.array([0.0, 0.0, 1.0])


def physics_figures(peers: Peers) -> list[Figure]:
    """Measure impact maps and plants, each beside its peers."""
    impact = OneImpact()
    eight = timed(eight_contacts(), 100)
    of_one: Mapping[str, Pass | str] = {
        "Pinocchio, impulse dynamics": timed(impact.by_pinocchio, 300),
        "MuJoCo, one step": peers.measurement("MuJoCo, one step"),
    }
    rigid, flexible = rigid_plant("planar_rrr"), {name: flexible_plant(name) for name in HOMES}
    return [
        figure_beside(
            "impact map, one contact, validated", timed(impact.by_map, 300), of_one, ROUNDS, SINGLE_MAP_TARGET
        ),
        figure_beside(
            "impact map, 8 contacts, free box", eight, {YARDSTICK: yardstick_pass(200)}, ROUNDS, EIGHT_CONTACTS_TARGET
        ),
        *(
            figure_beside(f"{title}, 1.5 s", timed(act, 1), {peer: peers.measurement(peer)}, ROUNDS // 2, target)
            for title, act, peer, target in (
                ("plant A, planar arm", flexible["planar_rrr"], "MuJoCo, planar arm", PLANAR_A_TARGET),
                ("plant A, Panda", flexible["panda"], "MuJoCo, Panda", PANDA_A_TARGET),
                ("plant C, planar arm", rigid, "MuJoCo, planar arm", PLANAR_C_TARGET),
            )
        ),
    ]


class OneImpact:
    """The impact of an arm's sphere on a table, ready to be predicted from its mass matrix.

    Attributes: by_map, ours, with friction; by_pinocchio, its impulse dynamics, which stick: both return dq^+.
    """

    def __init__(self, robot: RobotDescription | None = None, q: Vector = HOMES["panda"]) -> None:
        self._robot = robot = robot or load_robot()
        dynamics = Dynamics(robot)
        velocity = np.linspace(-0.3, 0.3, q.size)
        dynamics.compute(q, velocity)
        jacobian = contact_point_jacobian(dynamics.jacobian, np.array([0.0, 0.0, -robot.end_effector.radius]))
        if jacobian[2] @ velocity >= 0.0:
            velocity = -velocity
        inertia = dynamics.inertia(InertiaModel.REDUCED_MOTORS)
        self.by_map: Callable[[], object] = partial(predict_post_impact_velocity, inertia, jacobian, UP, velocity, 0.1)
        # One that sticks, which is what Pinocchio knows; the motors are on the diagonal of its mass matrix.
        model = robot.pinocchio_model.copy()
        model.armature = np.array(robot.transmission.reduced_motor_inertia)
        data = model.createData()
        pin.crba(model, data, q)
        self.by_pinocchio: Callable[[], object] = partial(
            pin.impulseDynamics, model, data, velocity, jacobian, 0.0, 0.0
        )


def eight_contacts() -> Callable[[], object]:
    """Return a box that lands with four corners while an arm's plate meets its top, ready to be predicted."""
    robot = load_robot("panda", "plate")
    dynamics = Dynamics(robot)
    velocity = np.zeros(7)
    dynamics.compute(HOMES["panda"], velocity)
    velocity[:] = np.linalg.pinv(dynamics.jacobian) @ np.array([0.05, 0.0, -0.2, 0.0, 0.0, 0.0])
    half = np.array([0.1, 0.1, 0.05])
    corners = [np.array([x, y, 0.0]) * half for x in (-1, 1) for y in (-1, 1)]
    landing = [Contact("box", point_of_box(corner - UP * half[2]), UP, friction=0.4) for corner in corners]
    pressing = [
        Contact(
            "arm",
            contact_point_jacobian(dynamics.jacobian, 0.5 * corner),
            UP,
            friction=0.4,
            other="box",
            other_jacobian=point_of_box(0.5 * corner + UP * half[2]),
        )
        for corner in corners
    ]
    bodies = {"arm": Body(dynamics.inertia(InertiaModel.REDUCED_MOTORS), velocity), "box": falling_box(half)}
    return partial(predict_multi_contact_impact, bodies, [*landing, *pressing])


def falling_box(half: Vector) -> Body:
    """Return a homogeneous box of 1.3 kg with half edges (3,) [m] that falls at 0.1 m/s."""
    mass = 1.3
    inertia = mass / 3.0 * np.diag((half**2).sum() - half**2)
    return free_object(mass, inertia, np.array([0.0, 0.0, -0.1, 0.0, 0.0, 0.0]))


def point_of_box(offset: Vector) -> Matrix:
    """Return the Jacobian (3, 6) of the point of a free object at offset (3,) [m] from its centre of mass."""
    return contact_point_jacobian(np.eye(6), offset)


def flexible_plant(name: str) -> Callable[[], object]:
    """Return 1.5 s of plant A: the arm `name` is pushed onto steel."""
    robot = load_robot(name)
    floor, push = _course(robot)
    surface = Surface(floor, UP, ExponentialHuntCrossley(3.2e9, 3.2e12, 1.5), friction=0.1)

    def act() -> None:
        plant = FlexibleJointPlant(robot, HOMES[name], surface, PlantOptions.of(joint_friction=False))
        for _ in range(DURATION):
            plant.step(push)
        if np.isnan(plant.first_contact_time):
            raise ImpactControlError(f"plant A, {name}: no impact")

    return act


def rigid_plant(name: str) -> Callable[[], object]:
    """Return 1.5 s of plant C: the arm `name` is pushed onto a rigid plane."""
    robot = load_robot(name)
    floor, push = _course(robot)

    def act() -> None:
        plant = RigidJointRigidContactPlant(robot, HOMES[name], RigidSurface(floor, UP))
        for _ in range(DURATION):
            plant.step(push)
        if not plant.impacts:
            raise ImpactControlError(f"plant C, {name}: no impact")

    return act


def _course(robot: RobotDescription) -> tuple[Vector, Vector]:
    """Return a point (3,) [m] of a surface 2 cm below an arm at home and torques (n,) [Nm] that push the arm there."""
    dynamics = Dynamics(robot)
    dynamics.compute(HOMES[robot.name], np.zeros(HOMES[robot.name].size))
    return dynamics.position - (robot.end_effector.radius + 0.02) * UP, -5.0 * dynamics.jacobian[2]
