"""Rigid-body terms of a serial chain, compiled: what `robots.Dynamics` gives, callable inside a compiled loop.

A plant that evaluates the rigid-body terms in every stage of its integration scheme spends most of its time on the
way into Pinocchio and back; these kernels stay in machine code. All twists, momenta and inertias are taken at the
origin of the world frame A in its axes, linear part first: then a Jacobian column is the twist of its joint at unit
rate, and what a chain accumulates is a sum without transformations (Featherstone, Rigid Body Dynamics Algorithms,
chapters 5 and 6). `robots.Dynamics` is the reference: tests/unit/test_simulation_rigid_chain.py.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np
import pinocchio as pin

from impact_control.compiled import compiled
from impact_control.errors import InvalidInputError
from impact_control.robots import RobotDescription
from impact_control.types import Matrix, Vector

Triple: TypeAlias = tuple[float, float, float]
"""A vector in the axes of A, or of a body."""

Nine: TypeAlias = tuple[float, float, float, float, float, float, float, float, float]
"""A matrix (3, 3), row by row. Tuples stay in registers, where small arrays would be allocated and counted."""


class SerialChain(NamedTuple):
    """Constants of a chain of n revolute or prismatic joints, each link with the joint it hangs on.

    rotation (n, 3, 3), translation (n, 3) [m]: of the joint's frame in the frame of the joint before, at q = 0.
    axis (n, 6): motion of the link at unit rate in axes of the joint, linear part first; one half is a unit vector,
        the other zero.
    mass (n,) [kg]; centre (n, 3) [m], inertia (n, 3, 3) [kg m^2] about it: of the links, axes of the joint.
    frame_rotation (1, 3, 3), frame_translation (1, 3) [m]: of the contact frame E in the frame of the last joint.
    gravity (3,) [m/s^2], world frame A.
    """

    rotation: Matrix
    translation: Matrix
    axis: Matrix
    mass: Vector
    centre: Matrix
    inertia: Matrix
    frame_rotation: Matrix
    frame_translation: Vector
    gravity: Vector


class ChainTerms(NamedTuple):
    """What `update_chain` writes. Twists and forces at the origin of A, axes of A, linear part first.

    twist_columns (n, 6): twist of the last link at unit rate of each joint, the columns of its Jacobian.
    velocity (6,): twist of the last link. acceleration (6,): its spatial acceleration at ddq = 0, without gravity.
    mass_matrix: M (n, n) [kg m^2]. nonlinear: h = C dq + g (n,) [Nm]. gravity: g (n,) [Nm].
    rotation (3, 3): axes of E as columns. position (3,): origin of E [m].
    forces (n, 6), first_moment (n, 3), inertia (n, 3, 3): of the single links, scratch.
    """

    twist_columns: Matrix
    velocity: Vector
    acceleration: Vector
    mass_matrix: Matrix
    nonlinear: Vector
    gravity: Vector
    rotation: Matrix
    position: Vector
    forces: Matrix
    first_moment: Matrix
    inertia: Matrix


def serial_chain(robot: RobotDescription) -> SerialChain:
    """Return the chain of `robot`, with its end-effector and without motors.

    Raises InvalidInputError when the model branches, has a joint that is not revolute or prismatic, or carries its
    contact frame elsewhere than on the last link.
    """
    model = robot.pinocchio_model
    n = int(model.nv)
    data = model.createData()
    frame = model.frames[robot.contact_frame_id]
    if list(model.parents)[1:] != list(range(n)) or int(frame.parentJoint) != n:
        raise InvalidInputError("robot", robot.name, "a serial chain with the contact frame on its last link")
    pin.forwardKinematics(model, data, pin.neutral(model))
    axis = np.array([np.asarray(data.joints[i].S).reshape(6) for i in range(1, n + 1)])
    for name, row in zip(model.names[1:], axis, strict=True):
        if sorted(np.linalg.norm(row.reshape(2, 3), axis=1).round(9)) != [0.0, 1.0]:
            raise InvalidInputError("joint", name, "a revolute or a prismatic joint")
    links = list(model.inertias)[1:]
    return SerialChain(
        rotation=np.array([placement.rotation for placement in list(model.jointPlacements)[1:]]),
        translation=np.array([placement.translation for placement in list(model.jointPlacements)[1:]]),
        axis=axis,
        mass=np.array([link.mass for link in links]),
        centre=np.array([link.lever for link in links]),
        inertia=np.array([link.inertia for link in links]),
        frame_rotation=np.ascontiguousarray(frame.placement.rotation)[None],
        frame_translation=np.array(frame.placement.translation)[None],
        gravity=np.array(robot.gravity),
    )


@compiled
def chain_terms(size: int) -> ChainTerms:
    """Return the workspace of a chain of `size` joints, not filled."""
    return ChainTerms(
        np.empty((size, 6)),
        np.empty(6),
        np.empty(6),
        np.empty((size, size)),
        np.empty(size),
        np.empty(size),
        np.empty((3, 3)),
        np.empty(3),
        np.empty((size, 6)),
        np.empty((size, 3)),
        np.empty((size, 3, 3)),
    )


@compiled
def _vector(array: Matrix, j: int) -> Triple:
    return array[j, 0], array[j, 1], array[j, 2]


@compiled
def _matrix(array: Matrix, j: int) -> Nine:
    return (
        array[j, 0, 0], array[j, 0, 1], array[j, 0, 2],
        array[j, 1, 0], array[j, 1, 1], array[j, 1, 2],
        array[j, 2, 0], array[j, 2, 1], array[j, 2, 2],
    )  # fmt: skip


@compiled
def _add(a: Triple, b: Triple, factor: float) -> Triple:
    """Return a + factor * b."""
    return a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]


@compiled
def _cross(a: Triple, b: Triple) -> Triple:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@compiled
def _dot(a: Triple, b: Triple) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@compiled
def _apply(R: Nine, a: Triple) -> Triple:
    return (
        R[0] * a[0] + R[1] * a[1] + R[2] * a[2],
        R[3] * a[0] + R[4] * a[1] + R[5] * a[2],
        R[6] * a[0] + R[7] * a[1] + R[8] * a[2],
    )


@compiled
def _product(A: Nine, B: Nine) -> Nine:
    first = _apply(A, (B[0], B[3], B[6]))
    second = _apply(A, (B[1], B[4], B[7]))
    third = _apply(A, (B[2], B[5], B[8]))
    return first[0], second[0], third[0], first[1], second[1], third[1], first[2], second[2], third[2]


@compiled
def _turn(axis: Triple, angle: float) -> Nine:
    """Return the rotation about a unit axis by an angle [rad], by Rodrigues; about a zero axis there is none."""
    x, y, z = axis
    sine, rest = math.sin(angle), 1.0 - math.cos(angle)
    return (
        1.0 - rest * (y * y + z * z), rest * x * y - sine * z, rest * x * z + sine * y,
        rest * x * y + sine * z, 1.0 - rest * (x * x + z * z), rest * y * z - sine * x,
        rest * x * z - sine * y, rest * y * z + sine * x, 1.0 - rest * (x * x + y * y),
    )  # fmt: skip


@compiled
def _about_origin(mass: float, centre: Triple, inertia: Nine, turned: Nine) -> Nine:
    """Return the inertia about the origin of A of a body with its centre there; `inertia` about it, body axes."""
    x, y, z = centre
    transposed = turned[0], turned[3], turned[6], turned[1], turned[4], turned[7], turned[2], turned[5], turned[8]
    own = _product(_product(turned, inertia), transposed)
    return (
        own[0] + mass * (y * y + z * z), own[1] - mass * x * y, own[2] - mass * x * z,
        own[3] - mass * x * y, own[4] + mass * (x * x + z * z), own[5] - mass * y * z,
        own[6] - mass * x * z, own[7] - mass * y * z, own[8] + mass * (x * x + y * y),
    )  # fmt: skip


@compiled
def _momentum(mass: float, moment: Triple, inertia: Nine, linear: Triple, angular: Triple) -> tuple[Triple, Triple]:
    """Return the momentum, linear and about the origin, of a body with first moment and inertia about the origin."""
    turning = _cross(angular, moment)
    pushing = mass * linear[0] + turning[0], mass * linear[1] + turning[1], mass * linear[2] + turning[2]
    return pushing, _add(_apply(inertia, angular), _cross(moment, linear), 1.0)


@compiled
def _forward(chain: SerialChain, q: Vector, dq: Vector, terms: ChainTerms) -> None:
    """Place the links; write their twists at unit rate, inertias, and the forces that move them at ddq = 0."""
    origin = spin = turning = linear = (0.0, 0.0, 0.0)
    turned = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    # A frame that accelerates against gravity feels it: the forces below then contain the weights.
    speeding = -chain.gravity[0], -chain.gravity[1], -chain.gravity[2]
    for j in range(q.shape[0]):
        origin = _add(origin, _apply(turned, _vector(chain.translation, j)), 1.0)
        turned = _product(turned, _matrix(chain.rotation, j))
        sliding = chain.axis[j, 0], chain.axis[j, 1], chain.axis[j, 2]
        axis = chain.axis[j, 3], chain.axis[j, 4], chain.axis[j, 5]
        along, about = _apply(turned, sliding), _apply(turned, axis)
        origin = _add(origin, along, q[j])
        turned = _product(turned, _turn(axis, q[j]))
        # Twist at unit rate, taken at the origin of A; then V x S dq, what turning the axis along adds.
        along = _add(along, _cross(origin, about), 1.0)
        speeding = _add(_add(speeding, _cross(spin, along), dq[j]), _cross(linear, about), dq[j])
        turning = _add(turning, _cross(spin, about), dq[j])
        linear, spin = _add(linear, along, dq[j]), _add(spin, about, dq[j])
        mass = chain.mass[j]
        centre = _add(origin, _apply(turned, _vector(chain.centre, j)), 1.0)
        moment = mass * centre[0], mass * centre[1], mass * centre[2]
        inertia = _about_origin(mass, centre, _matrix(chain.inertia, j), turned)
        # Rate of change of the momentum: I A + V x* (I V).
        force, torque = _momentum(mass, moment, inertia, speeding, turning)
        pushing, swinging = _momentum(mass, moment, inertia, linear, spin)
        force = _add(force, _cross(spin, pushing), 1.0)
        torque = _add(_add(torque, _cross(spin, swinging), 1.0), _cross(linear, pushing), 1.0)
        for i in range(3):
            terms.twist_columns[j, i], terms.twist_columns[j, 3 + i] = along[i], about[i]
            terms.forces[j, i], terms.forces[j, 3 + i] = force[i], torque[i]
            terms.first_moment[j, i] = moment[i]
            for k in range(3):
                terms.inertia[j, i, k] = inertia[3 * i + k]
    origin = _add(origin, _apply(turned, _vector(chain.frame_translation, 0)), 1.0)
    turned = _product(turned, _matrix(chain.frame_rotation, 0))
    for i in range(3):
        terms.velocity[i], terms.velocity[3 + i] = linear[i], spin[i]
        terms.acceleration[i], terms.acceleration[3 + i] = speeding[i] + chain.gravity[i], turning[i]
        terms.position[i] = origin[i]
        for k in range(3):
            terms.rotation[i, k] = turned[3 * i + k]


@compiled
def _backward(chain: SerialChain, terms: ChainTerms) -> None:
    """Write mass matrix, nonlinear torques and gravity torques from what hangs on each joint."""
    mass, moment = 0.0, (0.0, 0.0, 0.0)
    inertia = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    force = torque = (0.0, 0.0, 0.0)
    gravity = chain.gravity[0], chain.gravity[1], chain.gravity[2]
    columns = terms.twist_columns
    for j in range(chain.mass.shape[0] - 1, -1, -1):
        along, about = _vector(columns, j), (columns[j, 3], columns[j, 4], columns[j, 5])
        mass += chain.mass[j]
        moment = _add(moment, _vector(terms.first_moment, j), 1.0)
        own = _matrix(terms.inertia, j)
        inertia = (
            inertia[0] + own[0], inertia[1] + own[1], inertia[2] + own[2],
            inertia[3] + own[3], inertia[4] + own[4], inertia[5] + own[5],
            inertia[6] + own[6], inertia[7] + own[7], inertia[8] + own[8],
        )  # fmt: skip
        force = _add(force, _vector(terms.forces, j), 1.0)
        torque = _add(torque, (terms.forces[j, 3], terms.forces[j, 4], terms.forces[j, 5]), 1.0)
        terms.nonlinear[j] = _dot(along, force) + _dot(about, torque)
        terms.gravity[j] = -mass * _dot(along, gravity) - _dot(about, _cross(moment, gravity))
        pushing, swinging = _momentum(mass, moment, inertia, along, about)
        for k in range(j + 1):
            entry = _dot(_vector(columns, k), pushing)
            for i in range(3):
                entry += columns[k, 3 + i] * swinging[i]
            terms.mass_matrix[j, k] = entry
            terms.mass_matrix[k, j] = entry


@compiled
def update_chain(chain: SerialChain, q: Vector, dq: Vector, terms: ChainTerms) -> None:
    """Compute `terms` at q (n,) [rad, m], dq (n,) [rad/s, m/s]. Checks nothing."""
    _forward(chain, q, dq, terms)
    _backward(chain, terms)


@compiled
def point_jacobian(terms: ChainTerms, point: Triple, out: Matrix) -> None:
    """Write J (3, n), rad/s -> m/s: velocity of the point [m] of the last link that is at `point` in A now."""
    columns = terms.twist_columns
    for j in range(columns.shape[0]):
        turning = _cross((columns[j, 3], columns[j, 4], columns[j, 5]), point)
        for i in range(3):
            out[i, j] = columns[j, i] + turning[i]


@compiled
def point_velocity(terms: ChainTerms, point: Triple) -> Triple:
    """Return J dq [m/s] of `point_jacobian`."""
    v = terms.velocity
    return _add((v[0], v[1], v[2]), _cross((v[3], v[4], v[5]), point), 1.0)


@compiled
def point_bias_acceleration(terms: ChainTerms, point: Triple) -> Triple:
    """Return dJ dq [m/s^2] of the point [m] fixed to the last link: its acceleration at ddq = 0."""
    a, w = terms.acceleration, (terms.velocity[3], terms.velocity[4], terms.velocity[5])
    spatial = _add((a[0], a[1], a[2]), _cross((a[3], a[4], a[5]), point), 1.0)
    return _add(spatial, _cross(w, point_velocity(terms, point)), 1.0)
