"""Rigid unilateral contact without friction: where the points of an end-effector are, and how the plane pushes them.

Every contact point carries a small sphere (Proper 2021 (2.25), (2.27)), which the plane pushes along its normal and
through the centre. The forces follow from the accelerations (Proper 2021 (2.57)-(2.60)), but unlike there they never
pull: a point that would be held back leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from impact_control.simulation.chain_dynamics import ChainTerms, point_bias_acceleration, point_velocity
from impact_control.simulation.spatial_algebra import Triple, add, cross, inner, triple
from impact_control.util.checks import freeze, unit_vector
from impact_control.util.compiled import compiled_in_place
from impact_control.util.dense import couple_factorised, solve_in_place
from impact_control.util.types import Matrix, Vector

Flags: TypeAlias = NDArray[np.bool_]
Indices: TypeAlias = NDArray[np.int64]

_RELATIVE_TOLERANCE = 1e-9
"""Part of the largest force and acceleration, of at least 1 N and 1 m/s^2, that is rounding."""

_PROXIMAL = 1e-9
_PIVOTS = 6


@dataclass(frozen=True, eq=False)
class RigidSurface:
    """A rigid plane without friction the end-effector may touch: inelastic.

    point (3,) [m] and normal (3,) unit, out of the material, world frame A. Raises InvalidInputError.
    """

    point: Vector
    normal: Vector

    def __post_init__(self) -> None:
        freeze(self, (3,), "point", "normal", owner="surface")
        unit_vector("surface normal", self.normal)


class ContactGeometry(NamedTuple):
    """The plane and the n_c points that may touch it.

    points (n_c, 3) [m], axes and origin of the contact frame E. normal (3,), unit, and origin (3,) [m], a point of the
    plane: world frame A. radius [m] of the points.
    """

    points: Matrix
    normal: Vector
    origin: Vector
    radius: float


class ContactState(NamedTuple):
    """State of the n_c points, all (n_c,): on the surface or not, what is due now, see `motion`, and along the normal.

    gap [m], velocity [m/s], acceleration [m/s^2] of the closed points, force [N] on the robot.
    """

    closed: Flags
    event: Indices
    gap: Vector
    velocity: Vector
    acceleration: Vector
    force: Vector


class ContactWork(NamedTuple):
    """Workspace for up to n_c closed points of an arm of n joints; of m closed ones the first m rows are used.

    chosen (n_c,): the closed points. jacobian J, response J M^-1 (n_c, n), bias dJ dq (n_c,) [m/s^2], delassus
    W = J M^-1 J^T (n_c, n_c) [1/kg], see `update_closed`. free, result (n_c,): see `solve_unilateral`. The rest is its
    scratch.
    """

    chosen: Indices
    jacobian: Matrix
    response: Matrix
    bias: Vector
    delassus: Matrix
    free: Vector
    result: Vector
    used: Flags
    rows: Indices
    damped: Vector
    rest: Vector


def contact_work(count: int, joints: int) -> ContactWork:
    """Return the workspace for `count` points and `joints` joints."""
    indices, flags = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.bool_)
    jacobian, response = np.zeros((2, count, joints))
    bias, free, result, rest = np.zeros((4, count))
    delassus, damped = np.zeros((count, count)), np.zeros(count * count)
    return ContactWork(indices, jacobian, response, bias, delassus, free, result, flags, indices.copy(), damped, rest)


@compiled_in_place
def _centre(geometry: ContactGeometry, terms: ChainTerms, i: int) -> Triple:
    """Return the centre of the sphere of point i in A [m]."""
    x, y, z = geometry.points[i, 0], geometry.points[i, 1], geometry.points[i, 2]
    R, p = terms.rotation, terms.position
    return (
        p[0] + R[0, 0] * x + R[0, 1] * y + R[0, 2] * z,
        p[1] + R[1, 0] * x + R[1, 1] * y + R[1, 2] * z,
        p[2] + R[2, 0] * x + R[2, 1] * y + R[2, 2] * z,
    )


@compiled_in_place
def locate_contacts(geometry: ContactGeometry, terms: ChainTerms, gap: Vector, velocity: Vector) -> None:
    """Write the gaps (n_c,) [m], Proper 2021 (2.27), and their rates (n_c,) [m/s]."""
    normal, origin = triple(geometry.normal), triple(geometry.origin)
    for i in range(gap.size):
        centre = _centre(geometry, terms, i)
        gap[i] = inner(normal, add(centre, origin, -1.0)) - geometry.radius
        velocity[i] = inner(normal, point_velocity(terms, centre))


@compiled_in_place
def update_closed(geometry: ContactGeometry, terms: ChainTerms, factor: Matrix, work: ContactWork, count: int) -> None:
    """Write jacobian, bias, response and delassus of the first `count` points `chosen`, along the normal.

    factor (n, n): Cholesky factor of the inertia. What touches is below the centre along the normal, where a turn adds
    nothing to the motion along it.
    """
    normal, columns = triple(geometry.normal), terms.twist_columns
    for c in range(count):
        centre = _centre(geometry, terms, work.chosen[c])
        lever = cross(centre, normal)
        work.bias[c] = inner(normal, point_bias_acceleration(terms, centre))
        for j in range(columns.shape[0]):
            turning = inner(lever, triple(columns[j, 3:]))
            work.jacobian[c, j] = inner(normal, triple(columns[j, :3])) + turning
    couple_factorised(factor, work.jacobian[:count], work.response[:count], work.delassus)


@compiled_in_place
def _shortest_solution(work: ContactWork, count: int, sign: float) -> bool:
    """Write the x of W x = sign * work.free to work.result; of more points than are independent the shortest.

    Only the used rows and columns count; the other entries of x are zero. By three proximal steps, as in Pinocchio's
    constrained dynamics. Returned: whether there is a solution.
    """
    rows, solution, matrix = work.rows, work.result, work.delassus
    size, largest = 0, 0.0
    for row in range(count):
        solution[row] = 0.0
        if work.used[row]:
            rows[size] = row
            size += 1
            largest = max(largest, matrix[row, row])
    if size == 1:
        solution[rows[0]] = sign * work.free[rows[0]] / matrix[rows[0], rows[0]]
    if size <= 1:
        return True
    rest, damped = work.rest[:size], work.damped[: size * size].reshape((size, size))
    for _ in range(3):
        for r in range(size):
            rest[r] = sign * work.free[rows[r]]
            for c in range(size):
                damped[r, c] = matrix[rows[r], rows[c]]
                rest[r] -= damped[r, c] * solution[rows[c]]
            damped[r, r] += _PROXIMAL * largest
        if not solve_in_place(damped, rest):
            return False
        for r in range(size):
            solution[rows[r]] += rest[r]
    return True


@compiled_in_place
def solve_unilateral(contacts: ContactState, work: ContactWork, count: int) -> bool:
    """Find what the plane does to the `count` closed points so that it pulls none and none goes in.

    In x = work.result: x >= 0 and W x + work.free >= 0, one of them 0 at each point. Forces for accelerations without
    contact, impulses for velocities. W x + work.free is written to contacts.acceleration. By pivoting: a point that
    pulls is let go, one that goes in is taken back. Returned: whether that came to an end.
    """
    used, result = work.used, work.result
    fastest = 1.0
    for row in range(count):
        used[row] = True
        fastest = max(fastest, abs(work.free[row]))
    for _ in range(_PIVOTS * count):
        if not _shortest_solution(work, count, -1.0):
            return False
        strongest, change = 1.0, -1
        for row in range(count):
            strongest = max(strongest, result[row])
        worst = -_RELATIVE_TOLERANCE * strongest
        for row in range(count):
            if result[row] < worst:
                worst, change = result[row], row
        worst = -_RELATIVE_TOLERANCE * fastest
        for row in range(count):
            after = work.free[row]
            for column in range(count):
                after += work.delassus[row, column] * result[column]
            contacts.acceleration[work.chosen[row]] = after
            if change < 0 and not used[row] and after < worst:
                worst, change = after, row
        if change < 0:
            for row in range(count):
                result[row] = max(result[row], 0.0)
            return True
        used[change] = not used[change]
    return False


@compiled_in_place
def push(work: ContactWork, count: int, joint_rates: Vector, factor: float) -> None:
    """Add what the forces or impulses `factor` work.result do to joint accelerations or velocities (n,)."""
    for row in range(count):
        for j in range(joint_rates.size):
            joint_rates[j] += factor * work.response[row, j] * work.result[row]


@compiled_in_place
def contact_accelerations(contacts: ContactState, work: ContactWork, count: int, joint_acceleration: Vector) -> bool:
    """Let the `count` closed contacts act on the joints; return whether forces were found that can.

    joint_acceleration: ddq (n,) without contact, overwritten by the one with. contacts.force and contacts.acceleration
    of the closed points are written.
    """
    for row in range(count):
        work.free[row] = work.bias[row]
        for j in range(joint_acceleration.size):
            work.free[row] += work.jacobian[row, j] * joint_acceleration[j]
    if not solve_unilateral(contacts, work, count):
        return False
    for row in range(count):
        contacts.force[work.chosen[row]] = work.result[row]
    push(work, count, joint_acceleration, 1.0)
    return True


@compiled_in_place
def hold_contacts(contacts: ContactState, work: ContactWork, count: int, state: Matrix) -> None:
    """Take the drift out, in place: close the gaps of the `count` chosen points, and stop them along the normal.

    The changes of q and dq, the first rows of state, are the least in the metric of the inertia, so that kinetic energy
    can only be lost.
    """
    for c in range(count):
        work.used[c] = True
    for row in range(2):
        for c in range(count):
            work.free[c] = contacts.gap[work.chosen[c]] if row == 0 else contacts.velocity[work.chosen[c]]
        _shortest_solution(work, count, 1.0)
        push(work, count, state[row], -1.0)
    for c in range(count):
        i = work.chosen[c]
        contacts.gap[i] = 0.0
        contacts.velocity[i] = 0.0
        for j in range(state.shape[1]):
            contacts.velocity[i] += work.jacobian[c, j] * state[1, j]
