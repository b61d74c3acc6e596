"""Errors of orientation, compiled: what Pinocchio's exp3 and log3 give, in a tenth of the time."""

from __future__ import annotations

import math

from impact_control.util.compiled import compiled
from impact_control.util.types import Matrix, Vector

_SMALL = 1e-4
"""[rad] below which a Taylor series of second order is exact to rounding."""


@compiled
def _turn(rotation_vector: Vector, matrix: Matrix, out: Matrix) -> None:
    """Write exp(v) matrix to out (3, 3), by the formula of Rodrigues column by column; v (3,) [rad]."""
    x, y, z = rotation_vector[0], rotation_vector[1], rotation_vector[2]
    square = x * x + y * y + z * z
    if square < _SMALL * _SMALL:
        along, twice = 1.0 - square / 6.0, 0.5 - square / 24.0
    else:
        angle = math.sqrt(square)
        along, twice = math.sin(angle) / angle, (1.0 - math.cos(angle)) / square
    for j in range(3):
        a, b, c = matrix[0, j], matrix[1, j], matrix[2, j]
        # v x column, and v x (v x column)
        p, q, r = y * c - z * b, z * a - x * c, x * b - y * a
        out[0, j] = a + along * p + twice * (y * r - z * q)
        out[1, j] = b + along * q + twice * (z * p - x * r)
        out[2, j] = c + along * r + twice * (x * q - y * p)


@compiled
def _logarithm(matrix: Matrix, out: Vector) -> None:
    """Write the rotation vector (3,) [rad] of a rotation matrix, of angle at most pi, to out."""
    trace = matrix[0, 0] + matrix[1, 1] + matrix[2, 2]
    x = 0.5 * (matrix[2, 1] - matrix[1, 2])
    y = 0.5 * (matrix[0, 2] - matrix[2, 0])
    z = 0.5 * (matrix[1, 0] - matrix[0, 1])
    sine = math.sqrt(x * x + y * y + z * z)
    cosine = 0.5 * (trace - 1.0)
    angle = math.atan2(sine, cosine)
    if cosine > -0.9:
        scale = angle / sine if sine > _SMALL else 1.0 + sine * sine / 6.0
        out[0], out[1], out[2] = scale * x, scale * y, scale * z
        return
    # Near half a turn the axis u stands in the symmetric part: (R + R^T) / 2 = cos 1 + (1 - cos) u u^T.
    largest = 0
    for i in range(1, 3):
        if matrix[i, i] > matrix[largest, largest]:
            largest = i
    length = 0.0
    for i in range(3):
        out[i] = 0.5 * (matrix[i, largest] + matrix[largest, i])
    out[largest] -= cosine
    for i in range(3):
        length += out[i] * out[i]
    side = out[0] * x + out[1] * y + out[2] * z
    scale = math.copysign(angle, side) / math.sqrt(length)
    for i in range(3):
        out[i] *= scale


@compiled
def orientation_error(rotation_vector: Vector, nominal: Matrix, rotation: Matrix, work: Matrix, out: Vector) -> None:
    """Write log(exp(phi) R_d R^T) (3,) [rad], the turn from R to exp(phi) R_d in the axes of A, to out.

    rotation_vector phi (3,) [rad], axes of A; nominal R_d and rotation R (3, 3), axes of E as columns; work (2, 3, 3).
    R log(R^T R_ref) is the same vector: van Steen 2024 (16) with the sign and frame of the Errata.
    """
    _turn(rotation_vector, nominal, work[0])
    for i in range(3):
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += work[0, i, k] * rotation[j, k]
            work[1, i, j] = total
    _logarithm(work[1], out)
