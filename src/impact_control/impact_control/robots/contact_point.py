"""Positions and velocities of the contact points of an end-effector."""

from __future__ import annotations

import numpy as np

from impact_control.util.types import Matrix, Vector


def contact_point_jacobian(jacobian: Matrix, offset: Vector) -> Matrix:
    """Return J_v - [r]x J_w (3, n), rad/s -> m/s: linear velocity of the material point at r from the frame.

    jacobian (6, n): of the frame, mixed frame E[A], linear part first. offset r (3,) [m]: from the frame's
    origin to the point, axes of A. The point moves with the body: v_P = v_E + omega x r. Proper 2021 (2.23).
    """
    x, y, z = offset
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    point_jacobian: Matrix = jacobian[:3] - cross @ jacobian[3:]
    return point_jacobian


def lowest_points(points: Matrix, radius: float, rotation: Matrix, normal: Vector) -> Matrix:
    """Return the offsets (n_c, 3) [m] from the origin of E, axes of A, of the points that touch a plane first.

    points (n_c, 3) [m]: centres of the spheres, axes of E. radius [m]: of each. rotation (3, 3): axes of E as
    columns in A. normal (3,): unit, out of the surface, axes of A. Proper 2021 (2.25), (2.27): the gap of point
    i is normal . (origin of E + offset_i - point of the plane). Along the normal the point moves as the centre
    of its sphere does; along the surface it is the material point of the body at this instant.
    """
    offsets: Matrix = points @ rotation.T - radius * normal
    return offsets


def contact_jacobians(jacobian: Matrix, offsets: Matrix) -> Matrix:
    """Return the Jacobians (n_c, 3, n), rad/s -> m/s, of the points at `offsets` (n_c, 3) [m], axes of A.

    jacobian (6, n): of E, mixed frame E[A], linear part first. See `contact_point_jacobian`.
    """
    return np.array([contact_point_jacobian(jacobian, offset) for offset in offsets])
