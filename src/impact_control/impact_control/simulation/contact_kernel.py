"""Compliant contact between bodies: spheres on planes and on boxes, with the reaction on both sides.

Spheres are fixed to bodies: the contact spheres of an end-effector, and the corners of a box with radius 0. A pair is
a sphere that may touch a plane or a box. All vectors are in axes of the world frame A. `bodies`, `pairs`,
`contacts`, `layout`: see `SceneArrays`.
"""

from __future__ import annotations

import math

from impact_control.compiled import compiled
from impact_control.impacts import contact_damping, contact_stiffness, normal_force, regularised_coulomb_gain
from impact_control.simulation.scene_arrays import (
    BOX,
    CENTRE,
    CLOSING,
    CONTACT_FORCE,
    FIRST_BODY,
    FORCE,
    FRICTION,
    GAP,
    HALF_SIZE,
    KIND,
    LAW,
    LAW_KIND,
    MASS,
    MOBILITY,
    MOMENTS,
    NORMAL,
    NORMAL_FORCE,
    NORMAL_MOBILITY,
    PLANE_NORMAL,
    PLANE_POINT,
    POINT,
    POSITION,
    PUSHER,
    RADIUS,
    ROTATION,
    SECOND_BODY,
    SLIP_SCALE,
    SPIN,
    SURFACE_MOBILITY,
    TORQUE,
    TOUCHED,
    VELOCITY,
    Indices,
)
from impact_control.types import Matrix


@compiled
def distance_to_box(
    x: float, y: float, z: float, half_x: float, half_y: float, half_z: float
) -> tuple[float, float, float, float]:
    """Return the distance [m] of a point to the surface of a box and the outward normal there, axes of the box.

    x, y, z [m]: from the centre of the box; half_x, half_y, half_z [m]: half of its size. Outside, the distance to
    the nearest point of a face, an edge or a corner; inside, minus the distance to the nearest face.
    """
    dx = x - max(-half_x, min(half_x, x))
    dy = y - max(-half_y, min(half_y, y))
    dz = z - max(-half_z, min(half_z, z))
    distance = math.sqrt(dx * dx + dy * dy + dz * dz)
    if distance > 0.0:
        return distance, dx / distance, dy / distance, dz / distance
    depth_x, depth_y, depth_z = half_x - abs(x), half_y - abs(y), half_z - abs(z)
    if depth_x <= depth_y and depth_x <= depth_z:
        return -depth_x, math.copysign(1.0, x), 0.0, 0.0
    if depth_y <= depth_z:
        return -depth_y, 0.0, math.copysign(1.0, y), 0.0
    return -depth_z, 0.0, 0.0, math.copysign(1.0, z)


@compiled
def _find_gap(bodies: Matrix, pairs: Indices, contacts: Matrix, pair: int) -> None:
    """Write gap, normal and contact point of a pair.

    The contact point is where the sphere reaches farthest. It moves along the normal as the centre does, so that
    the gap closes at the speed at which the two material points there approach each other.
    """
    first, second = pairs[pair, FIRST_BODY], pairs[pair, SECOND_BODY]
    for i in range(3):
        centre = bodies[first, POSITION + i]
        for j in range(3):
            centre += bodies[first, ROTATION + 3 * i + j] * contacts[pair, CENTRE + j]
        contacts[pair, POINT + i] = centre
    gap = -contacts[pair, RADIUS]
    if second < 0:
        for i in range(3):
            normal = contacts[pair, PLANE_NORMAL + i]
            contacts[pair, NORMAL + i] = normal
            gap += normal * (contacts[pair, POINT + i] - contacts[pair, PLANE_POINT + i])
    else:
        x = 0.0
        y = 0.0
        z = 0.0
        for i in range(3):
            along = contacts[pair, POINT + i] - bodies[second, POSITION + i]
            x += bodies[second, ROTATION + 3 * i] * along
            y += bodies[second, ROTATION + 3 * i + 1] * along
            z += bodies[second, ROTATION + 3 * i + 2] * along
        distance, nx, ny, nz = distance_to_box(
            x, y, z, bodies[second, HALF_SIZE], bodies[second, HALF_SIZE + 1], bodies[second, HALF_SIZE + 2]
        )
        gap += distance
        for i in range(3):
            row = ROTATION + 3 * i
            contacts[pair, NORMAL + i] = (
                bodies[second, row] * nx + bodies[second, row + 1] * ny + bodies[second, row + 2] * nz
            )
    for i in range(3):
        contacts[pair, POINT + i] -= contacts[pair, RADIUS] * contacts[pair, NORMAL + i]
    contacts[pair, GAP] = gap


@compiled
def _lever(bodies: Matrix, contacts: Matrix, body: int, pair: int) -> tuple[float, float, float]:
    """Return the contact point of a pair from the reference point of a body (3,) [m]."""
    return (
        contacts[pair, POINT] - bodies[body, POSITION],
        contacts[pair, POINT + 1] - bodies[body, POSITION + 1],
        contacts[pair, POINT + 2] - bodies[body, POSITION + 2],
    )


@compiled
def _velocity_at_contact(bodies: Matrix, contacts: Matrix, body: int, pair: int) -> tuple[float, float, float]:
    """Return the velocity (3,) [m/s] of the material point of a body at the contact point of a pair."""
    x, y, z = _lever(bodies, contacts, body, pair)
    wx, wy, wz = bodies[body, SPIN], bodies[body, SPIN + 1], bodies[body, SPIN + 2]
    return (
        bodies[body, VELOCITY] + wy * z - wz * y,
        bodies[body, VELOCITY + 1] + wz * x - wx * z,
        bodies[body, VELOCITY + 2] + wx * y - wy * x,
    )


@compiled
def _apply(bodies: Matrix, contacts: Matrix, body: int, pair: int, sign: float) -> None:
    """Add the contact force of a pair, times sign, to the wrench on a body."""
    x, y, z = _lever(bodies, contacts, body, pair)
    fx = sign * contacts[pair, CONTACT_FORCE]
    fy = sign * contacts[pair, CONTACT_FORCE + 1]
    fz = sign * contacts[pair, CONTACT_FORCE + 2]
    bodies[body, FORCE] += fx
    bodies[body, FORCE + 1] += fy
    bodies[body, FORCE + 2] += fz
    bodies[body, TORQUE] += y * fz - z * fy
    bodies[body, TORQUE + 1] += z * fx - x * fz
    bodies[body, TORQUE + 2] += x * fy - y * fx
    bodies[body, TOUCHED] = 1.0


@compiled
def resolve_contact(bodies: Matrix, pairs: Indices, contacts: Matrix, pair: int) -> None:
    """Write gap, closing speed and force of a pair, and add the force to the wrenches on the bodies.

    Along the normal any law without memory of `impacts.contact_laws`; along the surface Coulomb friction smoothed
    at low speed, opposite to the slip. Force and reaction act at the same point: no momentum is made.
    """
    _find_gap(bodies, pairs, contacts, pair)
    first, second = pairs[pair, FIRST_BODY], pairs[pair, SECOND_BODY]
    vx, vy, vz = _velocity_at_contact(bodies, contacts, first, pair)
    if second >= 0:
        ux, uy, uz = _velocity_at_contact(bodies, contacts, second, pair)
        vx, vy, vz = vx - ux, vy - uy, vz - uz
    nx, ny, nz = contacts[pair, NORMAL], contacts[pair, NORMAL + 1], contacts[pair, NORMAL + 2]
    closing = -(vx * nx + vy * ny + vz * nz)
    contacts[pair, CLOSING] = closing
    contacts[pair, NORMAL_FORCE] = 0.0
    for i in range(3):
        contacts[pair, CONTACT_FORCE + i] = 0.0
    if contacts[pair, GAP] < 0.0:
        along_normal = normal_force(pairs[pair, LAW_KIND], contacts[pair, LAW:], -contacts[pair, GAP], closing)
        sx, sy, sz = vx + closing * nx, vy + closing * ny, vz + closing * nz
        slip_speed = math.sqrt(sx * sx + sy * sy + sz * sz)
        gain = regularised_coulomb_gain(slip_speed, contacts[pair, FRICTION], contacts[pair, SLIP_SCALE])
        # A law that pulls when torn off presses nothing: no friction then.
        drag = max(along_normal, 0.0) * gain
        contacts[pair, NORMAL_FORCE] = along_normal
        contacts[pair, CONTACT_FORCE] = along_normal * nx - drag * sx
        contacts[pair, CONTACT_FORCE + 1] = along_normal * ny - drag * sy
        contacts[pair, CONTACT_FORCE + 2] = along_normal * nz - drag * sz
        _apply(bodies, contacts, first, pair, 1.0)
        if second >= 0:
            _apply(bodies, contacts, second, pair, -1.0)


@compiled
def _mobility(
    layout: Indices, bodies: Matrix, contacts: Matrix, body: int, pair: int, dx: float, dy: float, dz: float
) -> float:
    """Return the speed of a body at a contact point along the unit vector (dx, dy, dz) per impulse along it [1/kg]."""
    mobility: float = 0.0
    if layout[body, KIND] == PUSHER:
        return mobility
    x, y, z = _lever(bodies, contacts, body, pair)
    a, b, c = y * dz - z * dy, z * dx - x * dz, x * dy - y * dx
    if layout[body, KIND] == BOX:
        mobility = 1.0 / bodies[body, MASS]
        for i in range(3):
            turn = (
                bodies[body, ROTATION + i] * a + bodies[body, ROTATION + 3 + i] * b + bodies[body, ROTATION + 6 + i] * c
            )
            mobility += turn * turn / bodies[body, MOMENTS + i]
        return mobility
    direction = (dx, dy, dz, a, b, c)
    for i in range(6):
        for j in range(6):
            mobility += direction[i] * bodies[body, MOBILITY + 6 * i + j] * direction[j]
    return mobility


@compiled
def find_mobility(layout: Indices, bodies: Matrix, pairs: Indices, contacts: Matrix, pair: int) -> None:
    """Write how fast the two bodies of a pair answer an impulse at the contact point: along the normal, and along the
    surface the trace of it. A bound for the steps: it is found once an interval.
    """
    nx, ny, nz = contacts[pair, NORMAL], contacts[pair, NORMAL + 1], contacts[pair, NORMAL + 2]
    along_normal = 0.0
    trace = 0.0
    for side in (FIRST_BODY, SECOND_BODY):
        body = pairs[pair, side]
        if body >= 0:
            along_normal += _mobility(layout, bodies, contacts, body, pair, nx, ny, nz)
            trace += _mobility(layout, bodies, contacts, body, pair, 1.0, 0.0, 0.0)
            trace += _mobility(layout, bodies, contacts, body, pair, 0.0, 1.0, 0.0)
            trace += _mobility(layout, bodies, contacts, body, pair, 0.0, 0.0, 1.0)
    contacts[pair, NORMAL_MOBILITY] = along_normal
    contacts[pair, SURFACE_MOBILITY] = trace - along_normal


@compiled
def contact_rates(pairs: Indices, contacts: Matrix, pair: int) -> tuple[float, float, float]:
    """Return what a touching pair adds to the rates of the contacts: damping [1/s], stiffness [1/s^2], friction [1/s].

    Along the normal damping and stiffness act, along the surface the smoothed friction. The damping of a law that is
    weaker going out is taken as going in.
    """
    depth, closing = -contacts[pair, GAP], contacts[pair, CLOSING]
    parameters = contacts[pair, LAW:]
    damping = contact_damping(pairs[pair, LAW_KIND], parameters, depth, max(closing, 0.0))
    stiffness = max(contact_stiffness(pairs[pair, LAW_KIND], parameters, depth, closing), 0.0)
    drag = max(contacts[pair, NORMAL_FORCE], 0.0) * contacts[pair, FRICTION] / contacts[pair, SLIP_SCALE]
    mobility = contacts[pair, NORMAL_MOBILITY]
    return damping * mobility, stiffness * mobility, drag * contacts[pair, SURFACE_MOBILITY]
