"""Compliant contact between bodies: spheres on planes and on boxes, with the reaction on both sides.

Spheres are fixed to bodies: the contact spheres of an end-effector, and the corners of a box with radius 0. A pair is
a sphere that may touch a plane or a box. All vectors are in axes of the world frame A. `bodies`, `contact`: records of
`scene_arrays`.
"""

from __future__ import annotations

import math

import numpy as np

from impact_control.impacts import contact_damping, contact_stiffness, normal_force, regularised_coulomb_gain
from impact_control.simulation.scene_arrays import BOX, PUSHER
from impact_control.util.compiled import compiled_in_place
from impact_control.util.types import Records


@compiled_in_place
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


@compiled_in_place
def _find_gap(bodies: Records, contact: np.record) -> None:
    """Write gap, normal and contact point of a pair.

    The contact point is where the sphere reaches farthest. It moves along the normal as the centre does, so that
    the gap closes at the speed at which the two material points there approach each other.
    """
    first, point, normal = bodies[contact.first_body], contact.point, contact.normal
    for i in range(3):
        centre = first.position[i]
        for j in range(3):
            centre += first.rotation[i, j] * contact.centre[j]
        point[i] = centre
    gap = -contact.radius
    if contact.second_body < 0:
        for i in range(3):
            normal[i] = contact.plane_normal[i]
            gap += normal[i] * (point[i] - contact.plane_point[i])
    else:
        box = bodies[contact.second_body]
        R, half = box.rotation, box.half_size
        x = 0.0
        y = 0.0
        z = 0.0
        for i in range(3):
            along = point[i] - box.position[i]
            x += R[i, 0] * along
            y += R[i, 1] * along
            z += R[i, 2] * along
        distance, nx, ny, nz = distance_to_box(x, y, z, half[0], half[1], half[2])
        gap += distance
        for i in range(3):
            normal[i] = R[i, 0] * nx + R[i, 1] * ny + R[i, 2] * nz
    for i in range(3):
        point[i] -= contact.radius * normal[i]
    contact.gap = gap


@compiled_in_place
def _lever(body: np.record, contact: np.record) -> tuple[float, float, float]:
    """Return the contact point from the reference point of a body (3,) [m]."""
    point, position = contact.point, body.position
    return point[0] - position[0], point[1] - position[1], point[2] - position[2]


@compiled_in_place
def _velocity_at_contact(body: np.record, contact: np.record) -> tuple[float, float, float]:
    """Return the velocity (3,) [m/s] of the material point of a body at the contact point."""
    x, y, z = _lever(body, contact)
    v, (wx, wy, wz) = body.velocity, (body.spin[0], body.spin[1], body.spin[2])
    return v[0] + wy * z - wz * y, v[1] + wz * x - wx * z, v[2] + wx * y - wy * x


@compiled_in_place
def _apply(body: np.record, contact: np.record, sign: float) -> None:
    """Add the contact force, times sign, to the wrench on a body."""
    x, y, z = _lever(body, contact)
    fx, fy, fz = sign * contact.force[0], sign * contact.force[1], sign * contact.force[2]
    body.force[0] += fx
    body.force[1] += fy
    body.force[2] += fz
    body.torque[0] += y * fz - z * fy
    body.torque[1] += z * fx - x * fz
    body.torque[2] += x * fy - y * fx
    body.touched = True


@compiled_in_place
def resolve_contact(bodies: Records, contact: np.record) -> None:
    """Write gap, closing speed and force of a pair, and add the force to the wrenches on the bodies.

    Along the normal any law without memory of `impacts.contact_laws`; along the surface Coulomb friction smoothed
    at low speed, opposite to the slip. Force and reaction act at the same point: momentum is conserved.
    """
    _find_gap(bodies, contact)
    first = bodies[contact.first_body]
    vx, vy, vz = _velocity_at_contact(first, contact)
    if contact.second_body >= 0:
        ux, uy, uz = _velocity_at_contact(bodies[contact.second_body], contact)
        vx, vy, vz = vx - ux, vy - uy, vz - uz
    nx, ny, nz = contact.normal[0], contact.normal[1], contact.normal[2]
    closing = -(vx * nx + vy * ny + vz * nz)
    contact.closing = closing
    contact.normal_force = 0.0
    for i in range(3):
        contact.force[i] = 0.0
    if contact.gap < 0.0:
        along_normal = normal_force(contact.law_kind, contact.law, -contact.gap, closing)
        sx, sy, sz = vx + closing * nx, vy + closing * ny, vz + closing * nz
        slip_speed = math.sqrt(sx * sx + sy * sy + sz * sz)
        gain = regularised_coulomb_gain(slip_speed, contact.friction, contact.slip_scale)
        # A law that pulls when torn off presses nothing: no friction then.
        drag = max(along_normal, 0.0) * gain
        contact.normal_force = along_normal
        contact.force[0] = along_normal * nx - drag * sx
        contact.force[1] = along_normal * ny - drag * sy
        contact.force[2] = along_normal * nz - drag * sz
        _apply(first, contact, 1.0)
        if contact.second_body >= 0:
            _apply(bodies[contact.second_body], contact, -1.0)


@compiled_in_place
def _mobility(body: np.record, contact: np.record, direction: tuple[float, float, float]) -> float:
    """Return the speed of a body at a contact point along a unit vector per impulse along it [1/kg]."""
    mobility: float = 0.0
    if body.kind == PUSHER:
        return mobility
    x, y, z = _lever(body, contact)
    dx, dy, dz = direction
    a, b, c = y * dz - z * dy, z * dx - x * dz, x * dy - y * dx
    if body.kind == BOX:
        mobility = 1.0 / body.mass
        for i in range(3):
            turn = body.rotation[0, i] * a + body.rotation[1, i] * b + body.rotation[2, i] * c
            mobility += turn * turn / body.moments[i]
        return mobility
    wrench = (dx, dy, dz, a, b, c)
    for i in range(6):
        for j in range(6):
            mobility += wrench[i] * body.mobility[i, j] * wrench[j]
    return mobility


@compiled_in_place
def find_mobility(bodies: Records, contact: np.record) -> None:
    """Write the response of the two bodies of a pair to an impulse at the contact point: along the normal, and along
    the surface its trace. A bound for the steps: it is found once an interval.
    """
    normal = (contact.normal[0], contact.normal[1], contact.normal[2])
    along_normal = 0.0
    trace = 0.0
    for index in (contact.first_body, contact.second_body):
        if index >= 0:
            body = bodies[index]
            along_normal += _mobility(body, contact, normal)
            trace += _mobility(body, contact, (1.0, 0.0, 0.0))
            trace += _mobility(body, contact, (0.0, 1.0, 0.0))
            trace += _mobility(body, contact, (0.0, 0.0, 1.0))
    contact.normal_mobility = along_normal
    contact.surface_mobility = trace - along_normal


@compiled_in_place
def contact_rates(contact: np.record, depth: float, force: float) -> tuple[float, float, float]:
    """Return the rates of a touching pair: damping [1/s], stiffness [1/s^2], friction [1/s].

    depth [m] and normal force [N]: where the rates are taken, at the present closing speed. Along the normal damping
    and stiffness act, along the surface the smoothed friction. The damping of a law that is weaker going out is taken
    as going in.
    """
    damping = contact_damping(contact.law_kind, contact.law, depth, max(contact.closing, 0.0))
    stiffness = max(contact_stiffness(contact.law_kind, contact.law, depth, contact.closing), 0.0)
    drag = max(force, 0.0) * contact.friction / contact.slip_scale
    mobility = contact.normal_mobility
    return damping * mobility, stiffness * mobility, drag * contact.surface_mobility


@compiled_in_place
def landing_rate(contact: np.record, depth: float) -> float:
    """Return the rate [1/s] of a closing pair once it is depth [m] deep."""
    force = normal_force(contact.law_kind, contact.law, depth, contact.closing)
    damping, stiffness, friction = contact_rates(contact, depth, force)
    return damping + math.sqrt(stiffness) + friction
