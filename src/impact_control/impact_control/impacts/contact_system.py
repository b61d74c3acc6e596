"""Bodies and the contacts between them, put together into one system: arms, free objects, the fixed environment."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from impact_control.impacts.contact_map import contact_axes
from impact_control.util.checks import require_between, require_not_negative, require_positive
from impact_control.util.compiled import compiled
from impact_control.util.dense import all_finite, couple, dot, factorise, is_symmetric
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

_UNIT_TOLERANCE = 1e-6
_ALLOWED = (
    ("jacobian", "finite numbers, not all of them 0"),
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
    require_positive("mass", mass)
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
        degrees: slice of each body in the vectors of the system.
        inertia: M (N, N), one block on the diagonal per body.
        velocity: before the impact (N,).
        jacobian: J (3 m, N), to the relative velocity of the contacts in their frames: normal, first tangent, second
            tangent of a contact, then the next contact.
        axes: (m, 3, 3) the axes of the contact frames as rows, in the axes of the world frame A.
        friction: mu (m,).
        restitution: e (m,).
        response: J M^-1 (3 m, N): change of the velocities per impulse at a contact.
        delassus: W = J M^-1 J^T (3 m, 3 m) [1/kg]: change of the contact velocities per impulse.
    """

    degrees: dict[str, slice]
    inertia: Matrix
    velocity: Vector
    jacobian: Matrix
    axes: Matrix
    friction: Vector
    restitution: Vector
    response: Matrix
    delassus: Matrix

    def in_world(self, components: Vector) -> Matrix:
        """Return vectors (m, 3) in axes of the world frame A from their components (3 m,) in the contact frames."""
        turned: Matrix = np.matmul(components.reshape(-1, 1, 3), self.axes)[:, 0]
        return turned


def assemble(bodies: Mapping[str, Body], contacts: Sequence[Contact]) -> ContactSystem:
    """Return the system of `bodies`, by name, and the `contacts` between them; see `Body` and `Contact`.

    Raises InvalidInputError with the body or contact that is wrong.
    """
    if not contacts:
        raise InvalidInputError("contacts", contacts, "at least one contact")
    degrees, inertia, velocity = _joined(bodies)
    count, size = len(contacts), velocity.size
    jacobian, normals = np.zeros((3 * count, size)), np.empty((count, 3))
    friction, restitution = np.empty(count), np.empty(count)
    for i, contact in enumerate(contacts):
        rows = slice(3 * i, 3 * i + 3)
        own = jacobian[rows, _degrees_of(contact.body, i, degrees)]
        _write(own, "jacobian of contact", i, contact.jacobian)
        if contact.other is not None and contact.other_jacobian is not None:
            if contact.other == contact.body:
                raise InvalidInputError(f"other of contact {i}", contact.other, "another body than the first")
            other = jacobian[rows, _degrees_of(contact.other, i, degrees)]
            _write(other, "other_jacobian of contact", i, contact.other_jacobian)
            # Not np.negative: numpy 2.4 gets it wrong for one column of eight.
            other *= -1.0
        elif contact.other is not None or contact.other_jacobian is not None:
            raise InvalidInputError(f"other of contact {i}", contact.other, "both or none of other and other_jacobian")
        _write(normals[i], "normal of contact", i, contact.normal)
        try:
            friction[i], restitution[i] = contact.friction, contact.restitution
        except (TypeError, ValueError):
            friction[i] = require_not_negative(f"friction of contact {i}", contact.friction)
            restitution[i] = require_between(f"restitution of contact {i}", contact.restitution, 0.0, 1.0)

    axes = np.empty((count, 3, 3))
    wrong, kind = _turn_into_contact_frames(normals, friction, restitution, axes, jacobian)
    if wrong >= 0:
        name, allowed = _ALLOWED[kind]
        raise InvalidInputError(f"{name} of contact {wrong}", getattr(contacts[wrong], name), allowed)
    response, delassus = np.empty_like(jacobian), np.empty((3 * count, 3 * count))
    if not (_are_numbers(inertia, velocity) and couple(inertia, jacobian, response, delassus)):
        raise _wrong_body(bodies)
    return ContactSystem(degrees, inertia, velocity, jacobian, axes, friction, restitution, response, delassus)


def _joined(bodies: Mapping[str, Body]) -> tuple[dict[str, slice], Matrix, Vector]:
    """Return the slice of each body, and inertia and velocity of all."""
    degrees: dict[str, slice] = {}
    size = 0
    for name, body in bodies.items():
        degrees[name] = slice(size, size + np.size(body.velocity))
        size = degrees[name].stop
    inertia, velocity = np.zeros((size, size)), np.empty(size)
    for name, body in bodies.items():
        part = degrees[name]
        _write(velocity[part], "velocity of", name, body.velocity)
        _write(inertia[part, part], "inertia of", name, body.inertia)
    return degrees, inertia, velocity


def _degrees_of(body: str, contact: int, degrees: dict[str, slice]) -> slice:
    """Return the slice of a body."""
    if body not in degrees:
        raise InvalidInputError(f"body of contact {contact}", body, f"one of {', '.join(degrees)}")
    return degrees[body]


def _write(target: Matrix, what: str, which: str | int, value: Matrix) -> None:
    """Write numbers of the shape of `target` to it. Raises InvalidInputError."""
    try:
        if np.shape(value) == target.shape:
            target[...] = value
            return
    except (TypeError, ValueError):
        # No numbers, or rows of unequal length: refused below, as is another shape.
        pass
    # The name is put together only when it is needed: this runs for every array of a system.
    raise InvalidInputError(f"{what} {which}", value, f"finite numbers of shape {target.shape}")


@compiled
def _are_numbers(inertia: Matrix, velocity: Vector) -> bool:
    """Return whether all is finite and the inertia symmetric."""
    return all_finite(velocity) and all_finite(inertia) and is_symmetric(inertia)


def _wrong_body(bodies: Mapping[str, Body]) -> InvalidInputError:
    """Return the error of the first body that is not allowed; the whole system was found not to be."""
    for name, body in bodies.items():
        for what, value in (("velocity", body.velocity), ("inertia", body.inertia)):
            if not np.isfinite(value).all():
                return InvalidInputError(f"{what} of {name}", value, "finite numbers")
        if not is_symmetric(np.array(body.inertia, dtype=np.float64)):
            return InvalidInputError(f"inertia of {name}", body.inertia, "a symmetric matrix")
        if not factorise(np.array(body.inertia, dtype=np.float64)):
            return InvalidInputError(f"inertia of {name}", body.inertia, "a positive definite matrix")
    return InvalidInputError("bodies", bodies, "symmetric positive definite inertias")


@compiled
def _turn_into_contact_frames(
    normals: Matrix, friction: Vector, restitution: Vector, axes: Matrix, jacobian: Matrix
) -> tuple[int, int]:
    """Write the axes of the contact frames, and turn the rows of the Jacobian into them, in place.

    The tangents are any: friction does not depend on them.
    Returns the first contact that is not allowed and the index in `_ALLOWED` of why; -1, -1 if all are.
    """
    at_rest = np.zeros(3)
    for i in range(normals.shape[0]):
        rows = jacobian[3 * i : 3 * i + 3]
        if not (all_finite(rows) and _moves(rows)):
            return i, 0
        if not abs(math.sqrt(dot(normals[i], normals[i])) - 1.0) <= _UNIT_TOLERANCE:
            return i, 1
        if not (friction[i] >= 0.0 and math.isfinite(friction[i])):
            return i, 2
        if not 0.0 <= restitution[i] <= 1.0:
            return i, 3
        contact_axes(normals[i], at_rest, axes[i])
        for column in range(jacobian.shape[1]):
            x, y, z = rows[0, column], rows[1, column], rows[2, column]
            for k in range(3):
                rows[k, column] = axes[i, k, 0] * x + axes[i, k, 1] * y + axes[i, k, 2] * z
    return -1, -1


@compiled
def _moves(rows: Matrix) -> bool:
    """Return whether the contact moves with any body: not all entries are zero."""
    for value in rows.flat:  # noqa: SIM110, a generator does not compile
        if value != 0.0:
            return True
    return False
