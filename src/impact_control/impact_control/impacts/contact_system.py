"""Bodies and the contacts between them, put together into one system: arms, free objects, the fixed environment."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from impact_control.compiled import compiled
from impact_control.errors import InvalidInputError
from impact_control.types import Matrix, Vector

_UNIT_TOLERANCE = 1e-6
_SYMMETRY_TOLERANCE = 1e-9
_ALLOWED = (
    ("jacobian", "finite numbers"),
    ("normal", "a vector of length 1"),
    ("friction", "a finite number of at least 0"),
    ("restitution", "a number from 0 to 1"),
)


@dataclass(frozen=True, eq=False)
class Body:
    """A robot or a free object: one block of the generalised inertia, and its velocity before the impact.

    inertia: (n, n) [kg m^2] and [kg], symmetric positive definite. Of an arm the inertia that its control mode gives
        it, see robots.InertiaModel; of a free object see `free_object`.
    velocity: (n,) [rad/s] and [m/s].
    """

    inertia: Matrix
    velocity: Vector


def free_object(mass: float, rotational_inertia: Matrix, velocity: Vector) -> Body:
    """Return a free rigid object as a body of six degrees of freedom.

    mass [kg], above 0; rotational_inertia (3, 3) [kg m^2], about the centre of mass; velocity (6,): linear [m/s] of
    the centre of mass, then angular [rad/s]. All in the axes of the world frame A. The Jacobian of a point at r (3,)
    from the centre of mass is robots.contact_point_jacobian(I, r) with the identity I (6, 6). Raises
    InvalidInputError; `predict_multi_contact_impact` refuses a rotational inertia that is not positive definite.
    """
    if not (np.isfinite(mass) and mass > 0.0):
        raise InvalidInputError("mass", mass, "a finite number above 0")
    if np.shape(rotational_inertia) != (3, 3):
        raise InvalidInputError("rotational_inertia", rotational_inertia, "finite numbers of shape (3, 3)")
    inertia = np.zeros((6, 6))
    inertia[:3, :3] = mass * np.eye(3)
    inertia[3:, 3:] = rotational_inertia
    return Body(inertia, velocity)


@dataclass(frozen=True, eq=False)
class Contact:
    """A point where a body touches the environment or another body. An edge or a plate is several of them.

    body: name of the body.
    jacobian: (3, n), rad/s -> m/s, linear velocity of the contact point as a point of the body, in the axes of the
        world frame A.
    normal: n (3,), unit normal of the contact, from the environment or the other body to the body, same axes.
    friction: mu, Coulomb's coefficient, at least 0.
    restitution: e of Newton's law, in [0, 1].
    other: name of the other body; None for the environment, which is at rest.
    other_jacobian: (3, n'), like jacobian, of the same point as a point of the other body.
    """

    body: str
    jacobian: Matrix
    normal: Vector
    friction: float = 0.0
    restitution: float = 0.0
    other: str | None = None
    other_jacobian: Matrix | None = None


@dataclass(frozen=True, eq=False)
class ContactSystem:
    """N degrees of freedom with m contacts, as `assemble` puts them together.

    Attributes:
        degrees: where the degrees of freedom of each body lie in the vectors of the system.
        inertia: M (N, N), one block on the diagonal per body.
        velocity: before the impact (N,).
        jacobian: J (3 m, N), to the relative velocity of the contacts in their frames: normal, first tangent, second
            tangent of a contact, then the next contact.
        axes: (m, 3, 3) the axes of the contact frames as rows, in the axes of the world frame A.
        friction: mu (m,).
        restitution: e (m,).
    """

    degrees: dict[str, slice]
    inertia: Matrix
    velocity: Vector
    jacobian: Matrix
    axes: Matrix
    friction: Vector
    restitution: Vector


def assemble(bodies: Mapping[str, Body], contacts: Sequence[Contact]) -> ContactSystem:
    """Return the system of `bodies`, by name, and the `contacts` between them; see `Body` and `Contact`.

    Raises InvalidInputError with the body or contact that is wrong.
    """
    if not contacts:
        raise InvalidInputError("contacts", contacts, "at least one contact")
    degrees: dict[str, slice] = {}
    size = 0
    for name, body in bodies.items():
        degrees[name] = slice(size, size + np.size(body.velocity))
        size = degrees[name].stop
    inertia, velocity = np.zeros((size, size)), np.empty(size)
    for name, body in bodies.items():
        part = degrees[name]
        width = part.stop - part.start
        velocity[part] = _shaped("velocity of", name, body.velocity, (width,))
        inertia[part, part] = _shaped("inertia of", name, body.inertia, (width, width))

    count = len(contacts)
    jacobian, normals = np.zeros((count, 3, size)), np.empty((count, 3))
    for i, contact in enumerate(contacts):
        normals[i] = _shaped("normal of contact", i, contact.normal, (3,))
        part = _degrees_of(contact.body, i, degrees)
        jacobian[i, :, part] = _shaped("jacobian of contact", i, contact.jacobian, (3, part.stop - part.start))
        if contact.other is not None and contact.other_jacobian is not None:
            if contact.other == contact.body:
                raise InvalidInputError(f"other of contact {i}", contact.other, "another body than the first")
            part = _degrees_of(contact.other, i, degrees)
            shape = (3, part.stop - part.start)
            jacobian[i, :, part] -= _shaped("other_jacobian of contact", i, contact.other_jacobian, shape)
        elif contact.other is not None or contact.other_jacobian is not None:
            raise InvalidInputError(f"other of contact {i}", contact.other, "both or none of other and other_jacobian")
    friction = np.array([contact.friction for contact in contacts], dtype=np.float64)
    restitution = np.array([contact.restitution for contact in contacts], dtype=np.float64)

    _require_bodies(inertia, velocity, bodies)
    wrong, kind = _first_wrong(jacobian, normals, friction, restitution)
    if wrong >= 0:
        name, allowed = _ALLOWED[kind]
        raise InvalidInputError(f"{name} of contact {wrong}", getattr(contacts[wrong], name), allowed)
    axes = np.empty((count, 3, 3))
    rows = jacobian.reshape(3 * count, size)
    _turn_into_contact_frames(normals, axes, rows)
    return ContactSystem(degrees, inertia, velocity, rows, axes, friction, restitution)


def _degrees_of(body: str, contact: int, degrees: dict[str, slice]) -> slice:
    if body not in degrees:
        raise InvalidInputError(f"body of contact {contact}", body, f"one of {', '.join(degrees)}")
    return degrees[body]


def _shaped(what: str, which: str | int, value: Matrix, shape: tuple[int, ...]) -> Matrix:
    # The name is put together only when it is needed: this runs for every array of a system.
    if np.shape(value) != shape:
        raise InvalidInputError(f"{what} {which}", value, f"finite numbers of shape {shape}")
    return value


# The checks below look at the whole system at once, and at its parts only to say which one is wrong.


def _require_bodies(inertia: Matrix, velocity: Vector, bodies: Mapping[str, Body]) -> None:
    if np.isfinite(velocity).all() and np.isfinite(inertia).all() and _is_symmetric(inertia):
        try:
            np.linalg.cholesky(inertia)
            return
        except np.linalg.LinAlgError:
            pass
    for name, body in bodies.items():
        for what, value in (("velocity", body.velocity), ("inertia", body.inertia)):
            if not np.isfinite(value).all():
                raise InvalidInputError(f"{what} of {name}", value, "finite numbers")
        if not _is_symmetric(body.inertia):
            raise InvalidInputError(f"inertia of {name}", body.inertia, "a symmetric matrix")
        try:
            np.linalg.cholesky(body.inertia)
        except np.linalg.LinAlgError as error:
            raise InvalidInputError(f"inertia of {name}", body.inertia, "a positive definite matrix") from error


def _is_symmetric(matrix: Matrix) -> bool:
    if (matrix == np.transpose(matrix)).all():
        return True
    # Bodies may be of very different weight: entries are compared with their diagonals.
    scale = np.sqrt(np.abs(np.diagonal(matrix)))
    difference = np.abs(matrix - np.transpose(matrix))
    return bool((difference <= _SYMMETRY_TOLERANCE * np.multiply.outer(scale, scale)).all())


@compiled
def _first_wrong(jacobian: Matrix, normals: Matrix, friction: Vector, restitution: Vector) -> tuple[int, int]:
    """Return the first contact that is not allowed and the index in `_ALLOWED` of why; -1, -1 if all are."""
    for i in range(friction.size):
        for row in range(3):
            for column in range(jacobian.shape[2]):
                if not math.isfinite(jacobian[i, row, column]):
                    return i, 0
        squared = normals[i, 0] ** 2 + normals[i, 1] ** 2 + normals[i, 2] ** 2
        if not abs(squared - 1.0) <= 2.0 * _UNIT_TOLERANCE:
            return i, 1
        if not (friction[i] >= 0.0 and math.isfinite(friction[i])):
            return i, 2
        if not 0.0 <= restitution[i] <= 1.0:
            return i, 3
    return -1, -1


@compiled
def _turn_into_contact_frames(normals: Matrix, axes: Matrix, jacobian: Matrix) -> None:
    """Write the axes of the contact frames, and turn the rows of the Jacobian into them, in place.

    The first tangent starts from the world axis that is furthest from the normal; friction does not depend on it.
    """
    for i in range(normals.shape[0]):
        n, first, second = axes[i, 0], axes[i, 1], axes[i, 2]
        n[:] = normals[i] / np.sqrt(np.sum(normals[i] ** 2))
        furthest = np.argmin(np.abs(n))
        first[:] = -n[furthest] * n
        first[furthest] += 1.0
        first /= np.sqrt(np.sum(first**2))
        second[0] = n[1] * first[2] - n[2] * first[1]
        second[1] = n[2] * first[0] - n[0] * first[2]
        second[2] = n[0] * first[1] - n[1] * first[0]
        for column in range(jacobian.shape[1]):
            x, y, z = jacobian[3 * i, column], jacobian[3 * i + 1, column], jacobian[3 * i + 2, column]
            for row in range(3):
                jacobian[3 * i + row, column] = axes[i, row, 0] * x + axes[i, row, 1] * y + axes[i, row, 2] * z
