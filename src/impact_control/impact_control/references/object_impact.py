"""The planned impact of a scene with objects: arms, objects and the table in one system, van Steen 2024 section III.

All impacts are inelastic, e = 0, as there. The objects are at rest before and stand on the table with the corners of
their undersides.

One such impact lets some corners of a flat end-effector open when it moves along the face too: the arm turns about the
others. Pressed on the object it comes back at once, in further impacts that end when it lies flat. What is left of
the motion of its contacts against the object is taken out together: along the normal always, along the face unless
the arm slips. Both steps lose energy, and momentum stays what it was. A single impact would leave two arms that grab
a heavy box up to a quarter less of their speed than they have with it once they hold it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from impact_control.impacts import (
    Body,
    Contact,
    ContactMode,
    ContactSystem,
    SlipOutcome,
    assemble,
    free_object,
    predict_multi_contact_impact,
    slip_of_contacts,
)
from impact_control.references.approach import Approach
from impact_control.robots import Dynamics, InertiaModel, RobotDescription, contact_jacobians, contact_point_jacobian
from impact_control.scenario import ExpectedObject, Scene, Surface, Target
from impact_control.util.types import Matrix, Vector

_DEPENDENT = 1e-9
"""Singular values below this part of the largest belong to rows that depend on the others."""

_ROUNDING = 1e-9
"""[m/s] A corner that goes into the table more slowly does not."""


@dataclass(frozen=True, eq=False)
class ArmImpactPrediction:
    """Prediction of the impact for one arm.

    Attributes:
        joint_velocity: dq^+ (n,) [rad/s].
        velocity_before, velocity: of the origin of E (3,) [m/s], frame A.
        angular_velocity: of E after the impact (3,) [rad/s], frame A.
        impulse: sum of those of its contacts, on the arm (3,) [Ns], frame A.
        modes: what each of its contacts does in the first of the impacts, see this module.
        slip: of its contacts along the object, after all of the impacts.
    """

    joint_velocity: Vector
    velocity_before: Vector
    velocity: Vector
    angular_velocity: Vector
    impulse: Vector
    modes: tuple[ContactMode, ...]
    slip: SlipOutcome


@dataclass(frozen=True, eq=False)
class ObjectImpact:
    """Prediction of the planned impact of arms on objects; empty in a scene without objects.

    Attributes:
        arms: by name.
        objects: velocity (6,) after it, of the centre [m/s] and angular [rad/s], frame A, by name.
        table_impulse: sum on all objects (3,) [Ns], frame A.
        kinetic_energy_change: of the whole system [J], at most 0.
    """

    arms: Mapping[str, ArmImpactPrediction]
    objects: Mapping[str, Vector]
    table_impulse: Vector
    kinetic_energy_change: float


NO_OBJECTS = ObjectImpact({}, {}, np.zeros(3), 0.0)
"""Object impact of a scene whose arms hit no object."""


def predict_object_impact(
    scene: Scene,
    robots: Mapping[str, RobotDescription],
    approaches: Mapping[str, Approach],
    model: InertiaModel | None = None,
) -> ObjectImpact:
    """Return what the planned impact of a scene does, nothing where no arm hits an object.

    robots: of the arms, by name, at their places. approaches: how the arms meet the impact. model: inertia of the
    arms, by default that of the scene. Raises InvalidInputError, ContactSolverError.
    """
    targets = {name: target for name in approaches if (target := scene.arm(name).target) is not None}
    if not targets:
        return NO_OBJECTS
    approaches = {name: approaches[name] for name in targets}
    chosen = scene.inertia_model if model is None else model
    bodies: dict[str, Body] = {}
    contacts: list[Contact] = []
    jacobians: dict[str, Matrix] = {}
    for name, box in scene.expected_objects.items():
        bodies[_object(name)] = free_object(box.mass, rotational_inertia(box), np.zeros(6))
    for name, approach in approaches.items():
        dynamics = Dynamics(robots[name])
        dynamics.compute(approach.impact_configuration, approach.ante_impact_velocity)
        bodies[_arm(name)] = Body(dynamics.inertia(chosen), approach.ante_impact_velocity)
        jacobians[name] = dynamics.jacobian.copy()
        contacts += _contacts_of_arm(name, targets[name], approach, jacobians[name])
    on_arms = len(contacts)
    contacts += _contacts_with_table(scene.expected_surface, scene.expected_objects)
    first = predict_multi_contact_impact(bodies, contacts)
    system = assemble(bodies, contacts)
    velocity, closing = _settle(system, first.velocities, _held(approaches, first.modes), on_arms)
    impulses = first.impulses + closing
    contact_velocities = system.in_world(system.jacobian @ velocity)
    arms, row = {}, 0
    for name, approach in approaches.items():
        rows = slice(row, row + len(approach.geometry.contact_offsets))
        after = velocity[system.degrees[_arm(name)]]
        twist = jacobians[name] @ after
        arms[name] = ArmImpactPrediction(
            joint_velocity=after,
            velocity_before=jacobians[name][:3] @ approach.ante_impact_velocity,
            velocity=twist[:3],
            angular_velocity=twist[3:],
            impulse=impulses[rows].sum(axis=0),
            modes=first.modes[rows],
            slip=slip_of_contacts(
                first.contact_velocities_before[rows], contact_velocities[rows], approach.geometry.normal
            ),
        )
        row = rows.stop
    return ObjectImpact(
        arms=arms,
        objects={name: velocity[system.degrees[_object(name)]] for name in scene.expected_objects},
        table_impulse=impulses[on_arms:].sum(axis=0),
        kinetic_energy_change=_energy(system, velocity) - _energy(system, system.velocity),
    )


def _held(approaches: Mapping[str, Approach], modes: tuple[ContactMode, ...]) -> list[int]:
    """Return the rows of the contact velocities in which the arms do not move against their objects after the impact.

    Those along the normal, and those along the face of an arm of which no contact slips; none of an arm that takes no
    impulse.
    """
    rows, first = [], 0
    for approach in approaches.values():
        contacts = range(first, first + len(approach.geometry.contact_offsets))
        first = contacts.stop
        found = {modes[i] for i in contacts}
        if found != {ContactMode.SEPARATES}:
            width = 1 if ContactMode.SLIPS in found else 3
            rows += [3 * i + k for i in contacts for k in range(width)]
    return rows


def _settle(
    system: ContactSystem, velocities: Mapping[str, Vector], held: list[int], on_arms: int
) -> tuple[Vector, Matrix]:
    """Return the velocity (N,) at which nothing moves in the rows `held`, and the impulses (m, 3) of it, frame A.

    A corner of an object that would go into the table stays on it instead.
    """
    start = np.concatenate(list(velocities.values()))
    table = range(3 * on_arms, system.jacobian.shape[0], 3)
    rows = held
    while True:
        jacobian, response = system.jacobian[rows], system.response[rows]
        along = -np.linalg.lstsq(response @ jacobian.T, jacobian @ start, rcond=_DEPENDENT)[0]
        velocity = start + along @ response
        entering = [i for i in table if i not in rows and system.jacobian[i] @ velocity < -_ROUNDING]
        if not entering:
            break
        rows = [*rows, *entering]
    impulse = np.zeros(system.jacobian.shape[0])
    impulse[rows] = along
    return velocity, system.in_world(impulse)


def _energy(system: ContactSystem, velocity: Vector) -> float:
    return 0.5 * float(velocity @ system.inertia @ velocity)


def rotational_inertia(box: ExpectedObject) -> Matrix:
    """Return the inertia (3, 3) [kg m^2] of a homogeneous box about its centre, axes of A."""
    squares = box.size**2
    inertia: Matrix = box.rotation @ np.diag(box.mass / 12.0 * (squares.sum() - squares)) @ box.rotation.T
    return inertia


def _arm(name: str) -> str:
    return f"arm {name}"


def _object(name: str) -> str:
    return f"object {name}"


def _contacts_of_arm(name: str, target: Target, approach: Approach, jacobian: Matrix) -> list[Contact]:
    """Return the contacts between the end-effector of an arm and the object it hits."""
    geometry = approach.geometry
    own_jacobians = contact_jacobians(jacobian, geometry.contact_offsets)
    return [
        Contact(
            body=_arm(name),
            jacobian=own,
            normal=geometry.normal,
            friction=target.box.friction,
            other=_object(target.name),
            other_jacobian=contact_point_jacobian(np.eye(6), geometry.impact_position + offset - target.box.centre),
        )
        for own, offset in zip(own_jacobians, geometry.contact_offsets, strict=True)
    ]


def _contacts_with_table(table: Surface | None, objects: Mapping[str, ExpectedObject]) -> list[Contact]:
    """Return the contacts between the corners of the undersides of the objects and the table."""
    if table is None:
        return []
    return [
        Contact(
            body=_object(name),
            jacobian=contact_point_jacobian(np.eye(6), target.rotation @ (0.5 * target.size * [x, y, -1.0])),
            normal=table.normal,
            friction=table.friction,
        )
        for name, target in objects.items()
        for x, y in product((-1.0, 1.0), repeat=2)
    ]
