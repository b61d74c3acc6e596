"""Jacobian of a contact point that is fixed to the body of a frame."""

from __future__ import annotations

import numpy as np

from impact_control.types import Matrix, Vector


def contact_point_jacobian(jacobian: Matrix, offset: Vector) -> Matrix:
    """Return J_v - [r]x J_w (3, n), rad/s -> m/s: linear velocity of the material point at r from the frame.

    jacobian (6, n): of the frame, mixed frame E[A], linear part first. offset r (3,) [m]: from the frame's
    origin to the point, axes of A. The point moves with the body: v_P = v_E + omega x r. Proper 2021 (2.23).
    """
    x, y, z = offset
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    point_jacobian: Matrix = jacobian[:3] - cross @ jacobian[3:]
    return point_jacobian
