"""Random systems with contacts: arms without geometry, plates on the ground, a box between two arms."""

from __future__ import annotations

import numpy as np

from impact_control.impacts import Body, Contact, ContactSolverError, free_object, solve_contacts
from impact_control.impacts.contact_solver import ITERATIONS, RELATIVE_TOLERANCE
from impact_control.robots import contact_point_jacobian


def contact_impulses(delassus, free_velocity, friction):
    """Impulses of contacts, to rounding; raises ContactSolverError where none are found."""
    impulse, tolerance = np.zeros_like(free_velocity), RELATIVE_TOLERANCE * np.abs(free_velocity).max()
    residual, made = solve_contacts(delassus, free_velocity, friction, impulse, tolerance, ITERATIONS)
    if not residual <= tolerance:
        raise ContactSolverError(residual, tolerance, made, impulse)
    return impulse


def random_inertia(random: np.random.Generator, size: int) -> np.ndarray:
    root = random.normal(size=(size, size))
    return 0.3 * root @ root.T + np.diag(random.uniform(0.2, 1.0, size))


def random_rotation(random: np.random.Generator) -> np.ndarray:
    q, _ = np.linalg.qr(random.normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


def random_box(random: np.random.Generator, velocity: np.ndarray) -> Body:
    mass = random.uniform(0.5, 5.0)
    turned = random_rotation(random)
    return free_object(mass, turned @ np.diag(random.uniform(0.5, 1.0, 3)) @ turned.T * mass * 0.01, velocity)


def point_of_free_object(offset) -> np.ndarray:
    return contact_point_jacobian(np.eye(6), np.asarray(offset))


def arm_without_geometry(random, friction, restitution):
    """One body, one to eight contacts with any Jacobians and normals; possibly more than it has freedoms."""
    count = int(random.integers(1, 9))
    size = int(random.integers(3, 3 * count + 3))
    normals = random.normal(size=(count, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    contacts = [
        Contact("arm", random.normal(size=(3, size)), n, random.uniform(0, friction), random.uniform(0, restitution))
        for n in normals
    ]
    return {"arm": Body(random_inertia(random, size), random.normal(size=size))}, contacts


def plate_on_the_ground(random, friction, restitution):
    """A free plate that hits the ground with one to eight points of its lower face."""
    velocity = random.normal(size=6) * np.array([0.3, 0.3, 1.0, 1.0, 1.0, 1.0])
    velocity[2] = -abs(velocity[2])
    contacts = [
        Contact(
            "plate",
            point_of_free_object([*random.uniform(-0.1, 0.1, 2), -0.05]),
            np.array([0.0, 0.0, 1.0]),
            random.uniform(0, friction),
            random.uniform(0, restitution),
        )
        for _ in range(int(random.integers(1, 9)))
    ]
    return {"plate": random_box(random, velocity)}, contacts


def box_between_arms(random, friction, restitution):
    """A free box, on two opposite faces the four corners of the plate of an arm each."""
    bodies = {"box": random_box(random, random.normal(size=6))}
    contacts = []
    for name, side in (("left", -1.0), ("right", 1.0)):
        bodies[name] = Body(random_inertia(random, 7), random.normal(size=7))
        plate = random.normal(size=(6, 7)) * np.array([[0.4], [0.4], [0.4], [1.0], [1.0], [1.0]])
        mu, e = random.uniform(0, friction), random.uniform(0, restitution)
        contacts += [
            Contact(
                "box",
                point_of_free_object([0.1 * side, y, z]),
                np.array([-side, 0.0, 0.0]),
                mu,
                e,
                name,
                contact_point_jacobian(plate, np.array([0.0, y, z])),
            )
            for y in (-0.05, 0.05)
            for z in (-0.08, 0.08)
        ]
    return bodies, contacts


FAMILIES = (arm_without_geometry, plate_on_the_ground, box_between_arms)
