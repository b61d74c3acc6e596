"""Rigid-body terms of a serial chain, compiled: what `robots.Dynamics` gives, callable inside a compiled loop.

A plant that evaluates the rigid-body terms in every stage of its integration scheme spends most of its time on the
way into Pinocchio and back; these kernels stay in machine code. All twists, momenta and inertias are taken at the
origin of the world frame A in its axes, linear part first: then a Jacobian column is the twist of its joint at unit
rate, and what a chain accumulates is a sum without transformations (Featherstone, Rigid Body Dynamics Algorithms,
chapters 5 and 6). `robots.Dynamics` is the reference: tests/unit/test_simulation_rigid_chain.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from impact_control.compiled import compiled, compiled_in_place
from impact_control.dense import take
from impact_control.errors import InvalidInputError
from impact_control.robots import RobotDescription
from impact_control.simulation.spatial_algebra import (
    Triple,
    add,
    add_nine,
    cross,
    inertia_about_origin,
    inner,
    momentum,
    nine_at,
    product,
    transform,
    triple_at,
    turn,
)
from impact_control.types import Matrix, Vector

ROTATION, TRANSLATION, SLIDING, TURNING, MASS, CENTRE, INERTIA = 0, 9, 12, 15, 18, 19, 22
LINK_COLUMNS = 31
"""Columns of `SerialChain.links`."""

FRAME_ROTATION, FRAME_TRANSLATION, GRAVITY = 0, 9, 12
END_COLUMNS = 15
"""Columns of `SerialChain.ends`."""

FIRST_MOMENT, ORIGIN_INERTIA, LINK_FORCE, LINK_TORQUE = 0, 3, 12, 15
"""Columns of `ChainTerms.links`."""


class SerialChain(NamedTuple):
    """Constants of a chain of n revolute or prismatic joints, each link with the joint it hangs on.

    links (n, 31), of each in columns: ROTATION (9) and TRANSLATION (3) [m] of the joint's frame in the frame of the
    joint before, at q = 0; unit axis of a prismatic joint, SLIDING (3), and of a revolute joint, TURNING (3), the
    other zero; MASS [kg], CENTRE (3) [m] and INERTIA (9) [kg m^2] about it. Axes of the joint.

    ends (1, 15): FRAME_ROTATION (9) and FRAME_TRANSLATION (3) [m] of the contact frame E in the frame of the last
    joint; GRAVITY (3) [m/s^2], world frame A.
    """

    links: Matrix
    ends: Matrix


class ChainTerms(NamedTuple):
    """What `update_chain` writes. Twists and forces at the origin of A, axes of A, linear part first.

    twist_columns (n, 6): twist of the last link at unit rate of each joint, the columns of its Jacobian.
    velocity (6,): twist of the last link. acceleration (6,): its spatial acceleration at ddq = 0, without gravity.
    mass_matrix: M (n, n) [kg m^2]. nonlinear: h = C dq + g (n,) [Nm]. gravity: g (n,) [Nm].
    rotation (3, 3): axes of E as columns. position (3,): origin of E [m].
    links (n, 18): FIRST_MOMENT (3), ORIGIN_INERTIA (9), LINK_FORCE (3), LINK_TORQUE (3) of each, scratch.
    """

    twist_columns: Matrix
    velocity: Vector
    acceleration: Vector
    mass_matrix: Matrix
    nonlinear: Vector
    gravity: Vector
    rotation: Matrix
    position: Vector
    links: Matrix


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
    links = []
    for i in range(1, n + 1):
        axis = np.asarray(data.joints[i].S).reshape(6)
        if sorted(np.linalg.norm(axis.reshape(2, 3), axis=1).round(9)) != [0.0, 1.0]:
            raise InvalidInputError("joint", model.names[i], "a revolute or a prismatic joint")
        placement, body = model.jointPlacements[i], model.inertias[i]
        links.append(
            [*placement.rotation.flat, *placement.translation, *axis, body.mass, *body.lever, *body.inertia.flat]
        )
    ends = [*frame.placement.rotation.flat, *frame.placement.translation, *model.gravity.linear]
    return SerialChain(np.array(links), np.array([ends]))


@compiled
def terms_length(size: int) -> int:
    """Return how many numbers the workspace of a chain of `size` joints has."""
    return size * (size + LINK_TORQUE + 11) + 24


@compiled
def terms_in(memory: Vector, size: int) -> ChainTerms:
    """Return the workspace of a chain of `size` joints as views of `memory` (terms_length(size),)."""
    twist_columns, rest = take(memory, size, 6)
    mass_matrix, rest = take(rest, size, size)
    links, rest = take(rest, size, LINK_TORQUE + 3)
    rotation, rest = take(rest, 3, 3)
    nonlinear, gravity, rest = rest[:size], rest[size : 2 * size], rest[2 * size :]
    return ChainTerms(
        twist_columns, rest[:6], rest[6:12], mass_matrix, nonlinear, gravity, rotation, rest[12:15], links
    )


@compiled
def chain_terms(size: int) -> ChainTerms:
    """Return a new workspace of a chain of `size` joints, not filled."""
    return terms_in(np.empty(terms_length(size)), size)


@compiled_in_place
def _forward(chain: SerialChain, q: Vector, dq: Vector, terms: ChainTerms) -> None:
    """Place the links; write their twists at unit rate, inertias, and the forces that move them at ddq = 0."""
    links, ends = chain.links, chain.ends
    origin = spin = turning = linear = (0.0, 0.0, 0.0)
    turned = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    gravity = triple_at(ends, 0, GRAVITY)
    # A frame that accelerates against gravity feels it: the forces below then contain the weights.
    speeding = add((0.0, 0.0, 0.0), gravity, -1.0)
    for j in range(q.shape[0]):
        origin = add(origin, transform(turned, triple_at(links, j, TRANSLATION)), 1.0)
        turned = product(turned, nine_at(links, j, ROTATION))
        axis = triple_at(links, j, TURNING)
        along, about = transform(turned, triple_at(links, j, SLIDING)), transform(turned, axis)
        origin = add(origin, along, q[j])
        turned = product(turned, turn(axis, q[j]))
        # Twist at unit rate, taken at the origin of A; then V x S dq, what turning the axis along adds.
        along = add(along, cross(origin, about), 1.0)
        speeding = add(add(speeding, cross(spin, along), dq[j]), cross(linear, about), dq[j])
        turning = add(turning, cross(spin, about), dq[j])
        linear, spin = add(linear, along, dq[j]), add(spin, about, dq[j])
        mass = links[j, MASS]
        centre = add(origin, transform(turned, triple_at(links, j, CENTRE)), 1.0)
        moment = mass * centre[0], mass * centre[1], mass * centre[2]
        inertia = inertia_about_origin(mass, centre, nine_at(links, j, INERTIA), turned)
        # Rate of change of the momentum: I A + V x* (I V).
        force, torque = momentum(mass, moment, inertia, speeding, turning)
        pushing, swinging = momentum(mass, moment, inertia, linear, spin)
        force = add(force, cross(spin, pushing), 1.0)
        torque = add(add(torque, cross(spin, swinging), 1.0), cross(linear, pushing), 1.0)
        for i in range(3):
            terms.twist_columns[j, i], terms.twist_columns[j, 3 + i] = along[i], about[i]
            terms.links[j, FIRST_MOMENT + i] = moment[i]
            terms.links[j, LINK_FORCE + i], terms.links[j, LINK_TORQUE + i] = force[i], torque[i]
        for i in range(9):
            terms.links[j, ORIGIN_INERTIA + i] = inertia[i]
    origin = add(origin, transform(turned, triple_at(ends, 0, FRAME_TRANSLATION)), 1.0)
    turned = product(turned, nine_at(ends, 0, FRAME_ROTATION))
    for i in range(3):
        terms.velocity[i], terms.velocity[3 + i] = linear[i], spin[i]
        terms.acceleration[i], terms.acceleration[3 + i] = speeding[i] + gravity[i], turning[i]
        terms.position[i] = origin[i]
        for k in range(3):
            terms.rotation[i, k] = turned[3 * i + k]


@compiled_in_place
def _backward(chain: SerialChain, terms: ChainTerms) -> None:
    """Write mass matrix, nonlinear torques and gravity torques from what hangs on each joint."""
    mass, moment = 0.0, (0.0, 0.0, 0.0)
    inertia = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    force = torque = (0.0, 0.0, 0.0)
    gravity = triple_at(chain.ends, 0, GRAVITY)
    columns = terms.twist_columns
    for j in range(columns.shape[0] - 1, -1, -1):
        along, about = triple_at(columns, j, 0), triple_at(columns, j, 3)
        mass += chain.links[j, MASS]
        moment = add(moment, triple_at(terms.links, j, FIRST_MOMENT), 1.0)
        inertia = add_nine(inertia, nine_at(terms.links, j, ORIGIN_INERTIA))
        force = add(force, triple_at(terms.links, j, LINK_FORCE), 1.0)
        torque = add(torque, triple_at(terms.links, j, LINK_TORQUE), 1.0)
        terms.nonlinear[j] = inner(along, force) + inner(about, torque)
        terms.gravity[j] = -mass * inner(along, gravity) - inner(about, cross(moment, gravity))
        pushing, swinging = momentum(mass, moment, inertia, along, about)
        for k in range(j + 1):
            entry = inner(triple_at(columns, k, 0), pushing) + inner(triple_at(columns, k, 3), swinging)
            terms.mass_matrix[j, k] = entry
            terms.mass_matrix[k, j] = entry


@compiled_in_place
def update_chain(chain: SerialChain, q: Vector, dq: Vector, terms: ChainTerms) -> None:
    """Compute `terms` at q (n,) [rad, m], dq (n,) [rad/s, m/s]. Checks nothing."""
    _forward(chain, q, dq, terms)
    _backward(chain, terms)


@compiled_in_place
def point_jacobian(terms: ChainTerms, point: Triple, out: Matrix) -> None:
    """Write J (3, n), rad/s -> m/s: velocity of the point [m] of the last link that is at `point` in A now."""
    columns = terms.twist_columns
    for j in range(columns.shape[0]):
        turning = cross(triple_at(columns, j, 3), point)
        for i in range(3):
            out[i, j] = columns[j, i] + turning[i]


@compiled_in_place
def point_velocity(terms: ChainTerms, point: Triple) -> Triple:
    """Return J dq [m/s] of `point_jacobian`."""
    v = terms.velocity
    return add((v[0], v[1], v[2]), cross((v[3], v[4], v[5]), point), 1.0)


@compiled_in_place
def point_bias_acceleration(terms: ChainTerms, point: Triple) -> Triple:
    """Return dJ dq [m/s^2] of the point [m] fixed to the last link: its acceleration at ddq = 0."""
    a, w = terms.acceleration, (terms.velocity[3], terms.velocity[4], terms.velocity[5])
    spatial = add((a[0], a[1], a[2]), cross((a[3], a[4], a[5]), point), 1.0)
    return add(spatial, cross(w, point_velocity(terms, point)), 1.0)
