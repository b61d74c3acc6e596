"""Rigid-body terms of a serial chain, compiled: those of `robots.Dynamics`, callable inside a compiled loop.

A plant that evaluates the rigid-body terms in every stage of its integration scheme spends most of its time on the
way into Pinocchio and back; these kernels stay in machine code. All twists, momenta and inertias are taken at the
origin of the world frame A in its axes, linear part first: then a Jacobian column is the twist of its joint at unit
rate, and what a chain accumulates is a sum without transformations (Featherstone, Rigid Body Dynamics Algorithms,
chapters 5 and 6). `robots.Dynamics` is the reference: tests/impact_control/simulation/test_simulation_rigid_chain.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from impact_control.robots import RobotDescription
from impact_control.simulation.spatial_algebra import (
    Triple,
    add,
    add_nine,
    cross,
    inertia_about_origin,
    inner,
    momentum,
    nine,
    product,
    transform,
    triple,
    turn,
)
from impact_control.util.compiled import compiled, compiled_in_place, record_type
from impact_control.util.dense import take
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Records, Vector

LINK = record_type(
    ("rotation inertia", (float, 9)),
    ("translation sliding turning centre", (float, 3)),
    ("mass", float),
)
"""A link with the joint it hangs on, in axes of the joint.

rotation and translation [m] of the joint's frame in the frame of the joint before, at q = 0; unit axis of a prismatic
joint, sliding, and of a revolute joint, turning, the other zero; mass [kg], centre [m] and inertia about it [kg m^2].
"""

CHAIN_END = record_type(
    ("rotation", (float, 9)),
    ("translation gravity", (float, 3)),
)
"""rotation and translation [m] of the contact frame E in the frame of the last joint; gravity [m/s^2], frame A."""


class SerialChain(NamedTuple):
    """Constants of a chain of n revolute or prismatic joints: links (n,) of LINK, ends (1,) of CHAIN_END."""

    links: Records
    ends: Records


class ChainTerms(NamedTuple):
    """Results of `update_chain`. Twists and forces at the origin of A, axes of A, linear part first.

    twist_columns (n, 6): twist of the last link at unit rate of each joint, the columns of its Jacobian.
    velocity (6,): twist of the last link. acceleration (6,): its spatial acceleration at ddq = 0, without gravity.
    mass_matrix: M (n, n) [kg m^2]. nonlinear: h = C dq + g (n,) [Nm]. gravity: g (n,) [Nm].
    rotation (3, 3): axes of E as columns. position (3,): origin of E [m].
    moments (n, 3), inertias (n, 9), forces, torques (n, 3): of each link about the origin of A, scratch.
    """

    twist_columns: Matrix
    velocity: Vector
    acceleration: Vector
    mass_matrix: Matrix
    nonlinear: Vector
    gravity: Vector
    rotation: Matrix
    position: Vector
    moments: Matrix
    inertias: Matrix
    forces: Matrix
    torques: Matrix


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
    links, ends = np.zeros(n, LINK), np.zeros(1, CHAIN_END)
    for i, link in enumerate(links, start=1):
        axis = np.asarray(data.joints[i].S).reshape(2, 3)
        if sorted(np.linalg.norm(axis, axis=1).round(9)) != [0.0, 1.0]:
            raise InvalidInputError("joint", model.names[i], "a revolute or a prismatic joint")
        placement, body = model.jointPlacements[i], model.inertias[i]
        link.rotation, link.translation = placement.rotation.ravel(), placement.translation
        link.sliding, link.turning = axis
        link.mass, link.centre, link.inertia = body.mass, body.lever, body.inertia.ravel()
    ends[0].rotation, ends[0].translation = frame.placement.rotation.ravel(), frame.placement.translation
    ends[0].gravity = model.gravity.linear
    return SerialChain(links, ends)


@compiled
def terms_length(size: int) -> int:
    """Return how many numbers the workspace of a chain of `size` joints has."""
    return size * (size + 26) + 24


@compiled
def terms_in(memory: Vector, size: int) -> ChainTerms:
    """Return the workspace of a chain of `size` joints as views of `memory` (terms_length(size),)."""
    twist_columns, rest = take(memory, size, 6)
    mass_matrix, rest = take(rest, size, size)
    inertias, rest = take(rest, size, 9)
    moments, rest = take(rest, size, 3)
    forces, rest = take(rest, size, 3)
    torques, rest = take(rest, size, 3)
    rotation, rest = take(rest, 3, 3)
    nonlinear, gravity, rest = rest[:size], rest[size : 2 * size], rest[2 * size :]
    return ChainTerms(
        twist_columns,
        rest[:6],
        rest[6:12],
        mass_matrix,
        nonlinear,
        gravity,
        rotation,
        rest[12:15],
        moments,
        inertias,
        forces,
        torques,
    )


@compiled
def chain_terms(size: int) -> ChainTerms:
    """Return a new workspace of a chain of `size` joints, not filled."""
    return terms_in(np.empty(terms_length(size)), size)


@compiled_in_place
def _forward(chain: SerialChain, q: Vector, dq: Vector, terms: ChainTerms) -> None:
    """Place the links; write their twists at unit rate, inertias, and the forces that move them at ddq = 0."""
    end = chain.ends[0]
    origin = spin = turning = linear = (0.0, 0.0, 0.0)
    turned = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    gravity = triple(end.gravity)
    # A frame that accelerates against gravity feels it: the forces below then contain the weights.
    speeding = add((0.0, 0.0, 0.0), gravity, -1.0)
    for j in range(q.shape[0]):
        link = chain.links[j]
        origin = add(origin, transform(turned, triple(link.translation)), 1.0)
        turned = product(turned, nine(link.rotation))
        axis = triple(link.turning)
        along, about = transform(turned, triple(link.sliding)), transform(turned, axis)
        origin = add(origin, along, q[j])
        turned = product(turned, turn(axis, q[j]))
        # Twist at unit rate, taken at the origin of A; then V x S dq, what turning the axis along adds.
        along = add(along, cross(origin, about), 1.0)
        speeding = add(add(speeding, cross(spin, along), dq[j]), cross(linear, about), dq[j])
        turning = add(turning, cross(spin, about), dq[j])
        linear, spin = add(linear, along, dq[j]), add(spin, about, dq[j])
        mass = link.mass
        centre = add(origin, transform(turned, triple(link.centre)), 1.0)
        moment = mass * centre[0], mass * centre[1], mass * centre[2]
        inertia = inertia_about_origin(mass, centre, nine(link.inertia), turned)
        # Rate of change of the momentum: I A + V x* (I V).
        force, torque = momentum(mass, moment, inertia, speeding, turning)
        pushing, swinging = momentum(mass, moment, inertia, linear, spin)
        force = add(force, cross(spin, pushing), 1.0)
        torque = add(add(torque, cross(spin, swinging), 1.0), cross(linear, pushing), 1.0)
        for i in range(3):
            terms.twist_columns[j, i], terms.twist_columns[j, 3 + i] = along[i], about[i]
            terms.moments[j, i] = moment[i]
            terms.forces[j, i], terms.torques[j, i] = force[i], torque[i]
        for i in range(9):
            terms.inertias[j, i] = inertia[i]
    origin = add(origin, transform(turned, triple(end.translation)), 1.0)
    turned = product(turned, nine(end.rotation))
    for i in range(3):
        terms.velocity[i], terms.velocity[3 + i] = linear[i], spin[i]
        terms.acceleration[i], terms.acceleration[3 + i] = speeding[i] + gravity[i], turning[i]
        terms.position[i] = origin[i]
        for k in range(3):
            terms.rotation[i, k] = turned[3 * i + k]


@compiled_in_place
def _backward(chain: SerialChain, terms: ChainTerms) -> None:
    """Write mass matrix, nonlinear torques and gravity torques from the composite inertia beyond each joint."""
    mass, moment = 0.0, (0.0, 0.0, 0.0)
    inertia = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    force = torque = (0.0, 0.0, 0.0)
    gravity = triple(chain.ends[0].gravity)
    columns = terms.twist_columns
    for j in range(columns.shape[0] - 1, -1, -1):
        along, about = triple(columns[j, :3]), triple(columns[j, 3:])
        mass += chain.links[j].mass
        moment = add(moment, triple(terms.moments[j]), 1.0)
        inertia = add_nine(inertia, nine(terms.inertias[j]))
        force = add(force, triple(terms.forces[j]), 1.0)
        torque = add(torque, triple(terms.torques[j]), 1.0)
        terms.nonlinear[j] = inner(along, force) + inner(about, torque)
        terms.gravity[j] = -mass * inner(along, gravity) - inner(about, cross(moment, gravity))
        pushing, swinging = momentum(mass, moment, inertia, along, about)
        for k in range(j + 1):
            entry = inner(triple(columns[k, :3]), pushing) + inner(triple(columns[k, 3:]), swinging)
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
        turning = cross(triple(columns[j, 3:]), point)
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
