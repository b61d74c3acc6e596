"""Rigid unilateral contact of the points of an end-effector with a plane: geometry, accelerations, drift.

Every contact point carries a small sphere (Proper 2021 (2.25), (2.27)); what touches is its lowest point. Three
numbers per contact point in the axes of the plane: normal, first tangent, second tangent. Of each point a mode says
what it does, `OPEN`, `STICK` or `SLIP`. While the modes last, the contact forces follow from the accelerations
(Proper 2021 (2.57)-(2.60)), but never pull, and stay in the friction cone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from impact_control.compiled import compiled
from impact_control.errors import InvalidInputError
from impact_control.robots import EndEffector
from impact_control.simulation.chain_dynamics import (
    ChainTerms,
    Triple,
    point_bias_acceleration,
    point_jacobian,
    point_velocity,
)
from impact_control.simulation.surface import require_numbers
from impact_control.types import Matrix, Vector

Indices: TypeAlias = NDArray[np.int64]
"""Indices of contact points, or numbers that name what they do."""

OPEN, STICK, SLIP = 0, 1, 2
"""Modes of a contact point. Without friction a closed contact is in `SLIP`, also at rest."""

SMALLEST_SLIP = 1e-9
"""Speed along the surface [m/s] below which a closed contact counts as resting after an impact."""

SHORTEST_STEP = 1e-6
"""[s] To which the integration step is cut where friction turns the slip of a point quickly."""

_RELATIVE_TOLERANCE = 1e-9
_PROXIMAL = 1e-9
_PIVOTS = 6


@dataclass(frozen=True, eq=False)
class RigidSurface:
    """A rigid plane the end-effector may touch.

    point (3,) [m] and normal (3,) unit, out of the material, world frame A. friction mu [-] of Coulomb's law, at
    least 0. restitution e [-] of Newton's law, 0 to 1. Raises InvalidInputError.
    """

    point: Vector
    normal: Vector
    friction: float = 0.0
    restitution: float = 0.0

    def __post_init__(self) -> None:
        for name in ("point", "normal"):
            object.__setattr__(self, name, require_numbers(f"surface {name}", getattr(self, name), (3,)))
        if abs(float(np.linalg.norm(self.normal)) - 1.0) > 1e-6:
            raise InvalidInputError("surface normal", self.normal, "a vector of length 1")
        if not (math.isfinite(self.friction) and self.friction >= 0.0):
            raise InvalidInputError("surface friction", self.friction, "a finite number of at least 0")
        if not 0.0 <= self.restitution <= 1.0:
            raise InvalidInputError("surface restitution", self.restitution, "a number from 0 to 1")


class ContactGeometry(NamedTuple):
    """The plane and the points that may touch it.

    points (n_c, 3) [m], axes and origin of the contact frame E. axes (3, 3): rows normal, first tangent, second
    tangent, world frame A. plane (5,): a point of it (3) [m], radius of the points [m], friction [-].
    """

    points: Matrix
    axes: Matrix
    plane: Vector


class ContactState(NamedTuple):
    """What is known of the n_c points between two moments.

    mode (n_c,): OPEN, STICK or SLIP. direction (n_c, 2): unit vector along the tangents in which a point in SLIP
    moves, or is about to. force (3 n_c,) [N], on the robot.
    """

    mode: Indices
    direction: Matrix
    force: Vector


def contact_geometry(surface: RigidSurface | None, tool: EndEffector) -> ContactGeometry:
    """Return the geometry of `tool` against `surface`; without a surface, there are no points."""
    if surface is None:
        return ContactGeometry(np.zeros((0, 3)), np.eye(3), np.zeros(5))
    normal = surface.normal / np.linalg.norm(surface.normal)
    # The world axis farthest from the normal gives the first tangent.
    first = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    first /= np.linalg.norm(first)
    axes = np.array([normal, first, np.cross(normal, first)])
    plane = np.array([*surface.point, tool.radius, surface.friction])
    return ContactGeometry(np.array(tool.contact_points), axes, plane)


@compiled
def _foot(geometry: ContactGeometry, terms: ChainTerms, i: int) -> tuple[float, Triple, Triple]:
    """Return the gap of point i, the lowest place of the sphere around it, in A, and the way there from the centre."""
    x, y, z = geometry.points[i, 0], geometry.points[i, 1], geometry.points[i, 2]
    plane, R, p = geometry.plane, terms.rotation, terms.position
    n = geometry.axes[0, 0], geometry.axes[0, 1], geometry.axes[0, 2]
    way = -plane[3] * n[0], -plane[3] * n[1], -plane[3] * n[2]
    foot = (
        p[0] + R[0, 0] * x + R[0, 1] * y + R[0, 2] * z + way[0],
        p[1] + R[1, 0] * x + R[1, 1] * y + R[1, 2] * z + way[1],
        p[2] + R[2, 0] * x + R[2, 1] * y + R[2, 2] * z + way[2],
    )
    return n[0] * (foot[0] - plane[0]) + n[1] * (foot[1] - plane[1]) + n[2] * (foot[2] - plane[2]), foot, way


@compiled
def locate_contacts(geometry: ContactGeometry, terms: ChainTerms, gap: Vector, velocity: Vector) -> None:
    """Write the gaps (n_c,) [m], Proper 2021 (2.27), and the velocities (3 n_c,) [m/s] of what would touch."""
    axes = geometry.axes
    for i in range(gap.size):
        gap[i], foot, _ = _foot(geometry, terms, i)
        v = point_velocity(terms, foot)
        for k in range(3):
            velocity[3 * i + k] = axes[k, 0] * v[0] + axes[k, 1] * v[1] + axes[k, 2] * v[2]


@compiled
def contact_rows(geometry: ContactGeometry, terms: ChainTerms, chosen: Indices, jacobian: Matrix, bias: Vector) -> None:
    """Write J (3 m, n) and dJ dq (3 m,) [m/s^2] of the m chosen points, in the axes of the plane.

    chosen (m,): indices of points. J takes joint rates to the velocity of the lowest place of the sphere, which
    moves with the centre: dJ dq is the acceleration of the centre and of the lever below it, without the
    centripetal part of that lever, which does not turn with the body.
    """
    axes, turn = geometry.axes, terms.acceleration
    rows = np.empty((3, jacobian.shape[1]))
    for c in range(chosen.size):
        _, foot, way = _foot(geometry, terms, chosen[c])
        point_jacobian(terms, foot, rows)
        centre = point_bias_acceleration(terms, (foot[0] - way[0], foot[1] - way[1], foot[2] - way[2]))
        below = (
            centre[0] + turn[4] * way[2] - turn[5] * way[1],
            centre[1] + turn[5] * way[0] - turn[3] * way[2],
            centre[2] + turn[3] * way[1] - turn[4] * way[0],
        )
        for k in range(3):
            bias[3 * c + k] = axes[k, 0] * below[0] + axes[k, 1] * below[1] + axes[k, 2] * below[2]
            for j in range(jacobian.shape[1]):
                jacobian[3 * c + k, j] = axes[k, 0] * rows[0, j] + axes[k, 1] * rows[1, j] + axes[k, 2] * rows[2, j]


@compiled
def factorise(inertia: Matrix) -> None:
    """Overwrite the lower half of a positive definite matrix by its Cholesky factor."""
    n = inertia.shape[0]
    for j in range(n):
        for k in range(j):
            inertia[j, j] -= inertia[j, k] * inertia[j, k]
        inertia[j, j] = math.sqrt(inertia[j, j])
        for i in range(j + 1, n):
            for k in range(j):
                inertia[i, j] -= inertia[i, k] * inertia[j, k]
            inertia[i, j] /= inertia[j, j]


@compiled
def solve_factorised(factor: Matrix, right: Matrix, row: int) -> None:
    """Overwrite a row of `right` (m, n) by the solution of the system whose matrix `factorise` factorised."""
    n = right.shape[1]
    for i in range(n):
        for k in range(i):
            right[row, i] -= factor[i, k] * right[row, k]
        right[row, i] /= factor[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            right[row, i] -= factor[k, i] * right[row, k]
        right[row, i] /= factor[i, i]


@compiled
def delassus_matrix(factor: Matrix, jacobian: Matrix, response: Matrix) -> Matrix:
    """Return W = J M^-1 J^T (r, r) [1/kg] for the rows of J (r, n); write J M^-1 (r, n) to `response`."""
    count, n = jacobian.shape
    W = np.empty((count, count))
    for row in range(count):
        for j in range(n):
            response[row, j] = jacobian[row, j]
        solve_factorised(factor, response, row)
        for column in range(row + 1):
            entry = 0.0
            for j in range(n):
                entry += response[row, j] * jacobian[column, j]
            W[row, column] = entry
            W[column, row] = entry
    return W


@compiled
def _eliminate(matrix: Matrix, order: Indices) -> None:
    """Overwrite a small matrix by its LU factors, rows exchanged as `order` (r,) says; LAPACK is slower to call."""
    count = order.size
    for column in range(count):
        pivot = column
        for row in range(column + 1, count):
            if abs(matrix[row, column]) > abs(matrix[pivot, column]):
                pivot = row
        order[column] = pivot
        for k in range(count):
            matrix[column, k], matrix[pivot, k] = matrix[pivot, k], matrix[column, k]
        for row in range(column + 1, count):
            matrix[row, column] /= matrix[column, column]
            for k in range(column + 1, count):
                matrix[row, k] -= matrix[row, column] * matrix[column, k]


@compiled
def _back_substitute(factors: Matrix, order: Indices, right: Vector) -> None:
    """Overwrite `right` (r,) by the solution of the system that `_eliminate` factorised."""
    count = order.size
    for row in range(count):
        right[row], right[order[row]] = right[order[row]], right[row]
    for row in range(count):
        for k in range(row):
            right[row] -= factors[row, k] * right[k]
    for row in range(count - 1, -1, -1):
        for k in range(row + 1, count):
            right[row] -= factors[row, k] * right[k]
        right[row] /= factors[row, row]


@compiled
def _shortest_solution(matrix: Matrix, used: NDArray[np.bool_], right: Vector, solution: Vector) -> None:
    """Write the solution of the system of the used rows and columns, the shortest one of a singular matrix.

    By three proximal steps, as in Pinocchio's constrained dynamics. Where nothing is used, the solution is zero.
    """
    rows = np.empty(used.size, dtype=np.int64)
    count, largest = 0, 0.0
    for row in range(used.size):
        solution[row] = 0.0
        if used[row]:
            rows[count] = row
            count += 1
            largest = max(largest, abs(matrix[row, row]))
    if largest == 0.0:
        return
    damped, order, rest = np.empty((count, count)), np.empty(count, dtype=np.int64), np.empty(count)
    for r in range(count):
        for c in range(count):
            damped[r, c] = matrix[rows[r], rows[c]]
        damped[r, r] += _PROXIMAL * largest
    _eliminate(damped, order)
    for _ in range(3):
        for r in range(count):
            rest[r] = right[rows[r]]
            for c in range(count):
                rest[r] -= matrix[rows[r], rows[c]] * solution[rows[c]]
        _back_substitute(damped, order, rest)
        for r in range(count):
            solution[rows[r]] += rest[r]


@compiled
def _mobility_across(delassus: Matrix, a: int, first: float, second: float) -> float:
    """Return the mobility [1/kg] of the point with the rows a, a+1, a+2 across the direction (first, second)."""
    squares = second * second * delassus[a + 1, a + 1] + first * first * delassus[a + 2, a + 2]
    across: float = squares - 2.0 * first * second * delassus[a + 1, a + 2]
    return across


@compiled
def contact_accelerations(
    jacobian: Matrix,
    response: Matrix,
    delassus: Matrix,
    bias: Vector,
    velocity: Vector,
    chosen: Indices,
    state: ContactState,
    friction: float,
    joint_acceleration: Vector,
    acceleration: Vector,
    slip_direction: Matrix,
) -> tuple[bool, float]:
    """Let the m closed contacts act on the joints, as their modes say; return whether forces were found that can.

    Also returned: the rate [1/s] at which friction can turn the slip, mu f_N over the slip speed times the mobility
    across it; zero where points can only move to and fro, as those of a planar arm.

    jacobian, response, bias: rows of the closed points `chosen` (m,), see `contact_rows`, `delassus_matrix`;
    velocity (3 n_c,): of all points. joint_acceleration: ddq (n,) without contact, overwritten by the one with.
    acceleration (3 n_c,): of the closed contacts, and slip_direction (n_c, 2): against which friction acts on them,
    written. state.force is written. Where no forces were found they are zero.

    The normal forces are at least 0, those of points that would leave are 0, by pivoting: a point that pulls is let
    go, one that goes in is taken back. A point in STICK is held along the surface with whatever force that takes; the
    caller judges it. The friction of a point in SLIP is mu times the normal force against its velocity, which goes
    into the column of the normal force. With more points than are independent, the shortest forces are taken.
    """
    count = chosen.size
    W = delassus.copy()
    free, force = np.empty(3 * count), np.zeros(3 * count)
    direction = np.zeros((count, 2))
    used = np.zeros(3 * count, dtype=np.bool_)
    largest = 0.0
    for c in range(count):
        i, a = chosen[c], 3 * c
        for k in range(3):
            used[a + k] = k == 0 or state.mode[i] == STICK
            free[a + k] = bias[a + k]
            for j in range(joint_acceleration.size):
                free[a + k] += jacobian[a + k, j] * joint_acceleration[j]
            largest = max(largest, abs(free[a + k]))
        if state.mode[i] == SLIP and friction > 0.0:
            first, second = velocity[3 * i + 1], velocity[3 * i + 2]
            speed = math.hypot(first, second)
            forward = first * state.direction[i, 0] + second * state.direction[i, 1] > 0.0
            direction[c, 0], direction[c, 1] = state.direction[i, 0], state.direction[i, 1]
            # The direction is kept past the end of the slip, as the end itself is found as an event, and while the
            # slip is so slow that friction turns it faster than the shortest step can follow.
            if forward and speed > SMALLEST_SLIP:
                turning = friction * state.force[3 * i] * _mobility_across(delassus, a, first / speed, second / speed)
                if speed > turning * SHORTEST_STEP:
                    direction[c, 0], direction[c, 1] = first / speed, second / speed
            for row in range(3 * count):
                along = direction[c, 0] * W[row, a + 1] + direction[c, 1] * W[row, a + 2]
                W[row, a] -= friction * along
            # Painleve: a normal force that presses the point in. If anything it leaves.
            used[a] = W[a, a] > 0.0
    solved = False
    right = -free
    for _ in range(_PIVOTS * count):
        _shortest_solution(W, used, right, force)
        strongest, change = 0.0, -1
        for c in range(count):
            strongest = max(strongest, force[3 * c])
        worst = -_RELATIVE_TOLERANCE * strongest
        for c in range(count):
            if force[3 * c] < worst:
                worst, change = force[3 * c], c
        worst = -_RELATIVE_TOLERANCE * largest
        for c in range(count):
            for k in range(3):
                entry = free[3 * c + k]
                for column in range(3 * count):
                    entry += W[3 * c + k, column] * force[column]
                acceleration[3 * chosen[c] + k] = entry
            if change < 0 and not used[3 * c] and acceleration[3 * chosen[c]] < worst:
                worst, change = acceleration[3 * chosen[c]], c
        if change < 0:
            solved = True
            break
        sticks = state.mode[chosen[change]] == STICK
        used[3 * change] = not used[3 * change]
        used[3 * change + 1] = used[3 * change] and sticks
        used[3 * change + 2] = used[3 * change] and sticks
    rate = 0.0
    for c in range(count):
        i, a = chosen[c], 3 * c
        if not solved:
            for k in range(3):
                force[a + k], acceleration[3 * i + k] = 0.0, free[a + k]
        force[a] = max(force[a], 0.0)
        if state.mode[i] == SLIP:
            first, second = direction[c, 0], direction[c, 1]
            slip_direction[i, 0], slip_direction[i, 1] = first, second
            force[a + 1] = -friction * force[a] * first
            force[a + 2] = -friction * force[a] * second
            turning = friction * force[a] * _mobility_across(delassus, a, first, second)
            speed = math.hypot(velocity[3 * i + 1], velocity[3 * i + 2])
            rate = max(rate, turning / max(speed, SMALLEST_SLIP, turning * SHORTEST_STEP))
        for k in range(3):
            state.force[3 * i + k] = force[a + k]
            for j in range(joint_acceleration.size):
                joint_acceleration[j] += response[a + k, j] * force[a + k]
    return solved, rate


@compiled
def hold_contacts(
    response: Matrix,
    delassus: Matrix,
    gap: Vector,
    velocity: Vector,
    chosen: Indices,
    mode: Indices,
    q: Vector,
    dq: Vector,
) -> None:
    """Take the drift out: close the gaps of the chosen points, and stop what may not move there, in place.

    Along the normal all of them are held, along the surface those in STICK. The changes of q and dq are the least
    in the metric of the inertia, so that kinetic energy can only be lost. response, delassus: see
    `delassus_matrix`; gap (n_c,), velocity (3 n_c,).
    """
    count = 3 * chosen.size
    held = np.zeros(count, dtype=np.bool_)
    depth, speed, multiplier = np.zeros(count), np.zeros(count), np.zeros(count)
    for c in range(chosen.size):
        i, a = chosen[c], 3 * c
        depth[a] = gap[i]
        for k in range(3):
            held[a + k] = k == 0 or mode[i] == STICK
            speed[a + k] = velocity[3 * i + k]
    for errors, target in ((depth, q), (speed, dq)):
        _shortest_solution(delassus, held, errors, multiplier)
        for row in range(count):
            for j in range(q.size):
                target[j] -= response[row, j] * multiplier[row]
