"""Rigid unilateral contact of the points of an end-effector with a plane: geometry, accelerations, drift.

Every contact point carries a small sphere (Proper 2021 (2.25), (2.27)); what touches is its lowest point. Three
numbers per contact point in the axes of the plane: normal, first tangent, second tangent. Each point has a mode,
`OPEN`, `STICK` or `SLIP`. The forces are in `forces`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from impact_control.robots import EndEffector
from impact_control.simulation.chain_dynamics import (
    ChainTerms,
    point_bias_acceleration,
    point_jacobian,
    point_velocity,
)
from impact_control.simulation.spatial_algebra import Triple
from impact_control.util.checks import freeze, require_between, require_not_negative, unit_vector
from impact_control.util.compiled import compiled, compiled_in_place
from impact_control.util.dense import couple_factorised, take
from impact_control.util.types import Matrix, Vector

Indices: TypeAlias = NDArray[np.int64]
"""Indices of contact points, or numbers that name what they do."""

OPEN, STICK, SLIP = 0, 1, 2
"""Modes of a contact point. Without friction a closed contact is in `SLIP`, also at rest."""

SMALLEST_SLIP = 1e-9
"""Speed along the surface [m/s] below which a closed contact counts as resting after an impact."""


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
        freeze(self, (3,), "point", "normal", owner="surface")
        unit_vector("surface normal", self.normal)
        require_not_negative("surface friction", self.friction)
        require_between("surface restitution", self.restitution, 0.0, 1.0)


class ContactGeometry(NamedTuple):
    """The plane and the points that may touch it.

    points (n_c, 3) [m], axes and origin of the contact frame E. axes (3, 3): rows normal, first tangent, second
    tangent, world frame A. origin (3,) [m]: a point of the plane. radius [m] of the points. friction [-].
    """

    points: Matrix
    axes: Matrix
    origin: Vector
    radius: float
    friction: float


class ContactState(NamedTuple):
    """State of the n_c points.

    mode (n_c,): OPEN, STICK or SLIP. event (n_c,): due now, see `system`. direction (n_c, 2): unit
    vector along the tangents in which a point in SLIP moves, or is about to. gap (n_c,) [m]. velocity (3 n_c,) [m/s].
    acceleration (3 n_c,) [m/s^2], of the closed points. force (3 n_c,) [N], on the robot.
    """

    mode: Indices
    event: Indices
    direction: Matrix
    gap: Vector
    velocity: Vector
    acceleration: Vector
    force: Vector


class ContactWork(NamedTuple):
    """Workspace for up to n_c closed points of an arm of n joints; of m closed ones the first 3 m rows are used.

    chosen (n_c,): the closed points. jacobian J, response J M^-1 (3 n_c, n), bias dJ dq (3 n_c,) [m/s^2], delassus
    W = J M^-1 J^T (3 n_c, 3 n_c) [1/kg], see `update_closed`. slip_direction (n_c, 2): against which friction acts.
    The rest is scratch of `forces`.
    """

    chosen: Indices
    jacobian: Matrix
    response: Matrix
    bias: Vector
    delassus: Matrix
    slip_direction: Matrix
    shaped: Matrix
    free: Vector
    result: Vector
    used: NDArray[np.bool_]
    rows: Indices
    damped: Vector
    rest: Vector
    share: Vector


def contact_geometry(surface: RigidSurface | None, tool: EndEffector) -> ContactGeometry:
    """Return the geometry of `tool` against `surface`; without a surface, there are no points."""
    if surface is None:
        return ContactGeometry(np.zeros((0, 3)), np.eye(3), np.zeros(3), 0.0, 0.0)
    normal = surface.normal / np.linalg.norm(surface.normal)
    # The world axis farthest from the normal gives the first tangent.
    first = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    first /= np.linalg.norm(first)
    axes = np.array([normal, first, np.cross(normal, first)])
    points, origin = np.array(tool.contact_points), np.array(surface.point)
    return ContactGeometry(points, axes, origin, float(tool.radius), float(surface.friction))


def contact_state(count: int) -> ContactState:
    """Return the state of `count` points that are open, their gaps not known yet."""
    return ContactState(
        np.zeros(count, dtype=np.int64),
        np.zeros(count, dtype=np.int64),
        np.zeros((count, 2)),
        np.full(count, math.inf),
        np.zeros(3 * count),
        np.zeros(3 * count),
        np.zeros(3 * count),
    )


@compiled
def work_length(count: int, joints: int) -> int:
    """Return how many numbers the workspace for `count` points and `joints` joints has, without the indices."""
    return count * (6 * joints + 27 * count + 17)


@compiled
def work_in(memory: Vector, count: int, joints: int) -> ContactWork:
    """Return the workspace for `count` points and `joints` joints as views of `memory` (work_length(count, joints),).

    The indices, and which rows are used, are new arrays.
    """
    size = 3 * count
    jacobian, rest = take(memory, size, joints)
    response, rest = take(rest, size, joints)
    delassus, rest = take(rest, size, size)
    shaped, rest = take(rest, size, size)
    slip_direction, rest = take(rest, count, 2)
    damped, rest = rest[: size * size], rest[size * size :]
    return ContactWork(
        np.empty(count, dtype=np.int64),
        jacobian,
        response,
        rest[:size],
        delassus,
        slip_direction,
        shaped,
        rest[size : 2 * size],
        rest[2 * size : 3 * size],
        np.empty(size, dtype=np.bool_),
        np.empty(size, dtype=np.int64),
        damped,
        rest[3 * size : 4 * size],
        rest[4 * size : 5 * size],
    )


@compiled_in_place
def _foot(geometry: ContactGeometry, terms: ChainTerms, i: int) -> tuple[float, Triple, Triple]:
    """Return the gap of point i, the lowest place of the sphere around it, in A, and the way there from the centre."""
    x, y, z = geometry.points[i, 0], geometry.points[i, 1], geometry.points[i, 2]
    origin, radius, R, p = geometry.origin, geometry.radius, terms.rotation, terms.position
    n = geometry.axes[0, 0], geometry.axes[0, 1], geometry.axes[0, 2]
    way = -radius * n[0], -radius * n[1], -radius * n[2]
    foot = (
        p[0] + R[0, 0] * x + R[0, 1] * y + R[0, 2] * z + way[0],
        p[1] + R[1, 0] * x + R[1, 1] * y + R[1, 2] * z + way[1],
        p[2] + R[2, 0] * x + R[2, 1] * y + R[2, 2] * z + way[2],
    )
    return n[0] * (foot[0] - origin[0]) + n[1] * (foot[1] - origin[1]) + n[2] * (foot[2] - origin[2]), foot, way


@compiled_in_place
def locate_contacts(geometry: ContactGeometry, terms: ChainTerms, gap: Vector, velocity: Vector) -> None:
    """Write the gaps (n_c,) [m], Proper 2021 (2.27), and the velocities (3 n_c,) [m/s] of what would touch."""
    axes = geometry.axes
    for i in range(gap.size):
        gap[i], foot, _ = _foot(geometry, terms, i)
        v = point_velocity(terms, foot)
        for k in range(3):
            velocity[3 * i + k] = axes[k, 0] * v[0] + axes[k, 1] * v[1] + axes[k, 2] * v[2]


@compiled_in_place
def update_closed(geometry: ContactGeometry, terms: ChainTerms, factor: Matrix, work: ContactWork, count: int) -> None:
    """Write jacobian, bias, response and delassus of the first `count` points `chosen`, in the axes of the plane.

    factor (n, n): Cholesky factor of the inertia. J takes joint rates to the velocity of the lowest place of the
    sphere, which moves with the centre: dJ dq is the acceleration of the centre and of the lever below it, without
    the centripetal part of that lever, which does not turn with the body.
    """
    axes, turn, jacobian, response = geometry.axes, terms.acceleration, work.jacobian, work.response
    # Scratch before it is filled with what is asked for.
    rows = response
    for c in range(count):
        _, foot, way = _foot(geometry, terms, work.chosen[c])
        point_jacobian(terms, foot, rows)
        centre = point_bias_acceleration(terms, (foot[0] - way[0], foot[1] - way[1], foot[2] - way[2]))
        below = (
            centre[0] + turn[4] * way[2] - turn[5] * way[1],
            centre[1] + turn[5] * way[0] - turn[3] * way[2],
            centre[2] + turn[3] * way[1] - turn[4] * way[0],
        )
        for k in range(3):
            work.bias[3 * c + k] = axes[k, 0] * below[0] + axes[k, 1] * below[1] + axes[k, 2] * below[2]
            for j in range(jacobian.shape[1]):
                jacobian[3 * c + k, j] = axes[k, 0] * rows[0, j] + axes[k, 1] * rows[1, j] + axes[k, 2] * rows[2, j]
    size = 3 * count
    couple_factorised(factor, jacobian[:size], response[:size], work.delassus)
