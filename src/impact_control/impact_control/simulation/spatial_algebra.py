"""Vectors and small matrices as tuples: they stay in registers, where small arrays would be allocated and counted."""

from __future__ import annotations

import math
from typing import TypeAlias

from impact_control.util.compiled import compiled, compiled_in_place
from impact_control.util.types import Vector

Triple: TypeAlias = tuple[float, float, float]
"""A vector in the axes of A, or of a body."""

Nine: TypeAlias = tuple[float, float, float, float, float, float, float, float, float]
"""A matrix (3, 3), row by row."""


@compiled_in_place
def triple(vector: Vector) -> Triple:
    """Return the first three entries of a vector."""
    return vector[0], vector[1], vector[2]


@compiled_in_place
def nine(row: Vector) -> Nine:
    """Return the matrix (3, 3) that a vector (9,) holds row by row."""
    return row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8]


@compiled
def add(a: Triple, b: Triple, factor: float) -> Triple:
    """Return a + factor * b."""
    return a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]


@compiled
def add_nine(A: Nine, B: Nine) -> Nine:
    """Return A + B."""
    first = A[0] + B[0], A[1] + B[1], A[2] + B[2]
    second = A[3] + B[3], A[4] + B[4], A[5] + B[5]
    third = A[6] + B[6], A[7] + B[7], A[8] + B[8]
    return first + second + third


@compiled
def cross(a: Triple, b: Triple) -> Triple:
    """Return a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@compiled
def inner(a: Triple, b: Triple) -> float:
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@compiled
def transform(R: Nine, a: Triple) -> Triple:
    """Return R a."""
    return (
        R[0] * a[0] + R[1] * a[1] + R[2] * a[2],
        R[3] * a[0] + R[4] * a[1] + R[5] * a[2],
        R[6] * a[0] + R[7] * a[1] + R[8] * a[2],
    )


@compiled
def product(A: Nine, B: Nine) -> Nine:
    """Return A B."""
    first = transform(A, (B[0], B[3], B[6]))
    second = transform(A, (B[1], B[4], B[7]))
    third = transform(A, (B[2], B[5], B[8]))
    return first[0], second[0], third[0], first[1], second[1], third[1], first[2], second[2], third[2]


@compiled
def turn(axis: Triple, angle: float) -> Nine:
    """Return the rotation about a unit axis by an angle [rad], by Rodrigues; about a zero axis there is none."""
    x, y, z = axis
    sine, rest = math.sin(angle), 1.0 - math.cos(angle)
    first = 1.0 - rest * (y * y + z * z), rest * x * y - sine * z, rest * x * z + sine * y
    second = rest * x * y + sine * z, 1.0 - rest * (x * x + z * z), rest * y * z - sine * x
    third = rest * x * z - sine * y, rest * y * z + sine * x, 1.0 - rest * (x * x + y * y)
    return first + second + third


@compiled
def inertia_about_origin(mass: float, centre: Triple, inertia: Nine, turned: Nine) -> Nine:
    """Return the inertia about the origin of A of a body with its centre there; `inertia` about it, body axes."""
    x, y, z = centre
    transposed = turned[0], turned[3], turned[6], turned[1], turned[4], turned[7], turned[2], turned[5], turned[8]
    own = product(product(turned, inertia), transposed)
    first = own[0] + mass * (y * y + z * z), own[1] - mass * x * y, own[2] - mass * x * z
    second = own[3] - mass * x * y, own[4] + mass * (x * x + z * z), own[5] - mass * y * z
    third = own[6] - mass * x * z, own[7] - mass * y * z, own[8] + mass * (x * x + y * y)
    return first + second + third


@compiled
def momentum(mass: float, moment: Triple, inertia: Nine, linear: Triple, angular: Triple) -> tuple[Triple, Triple]:
    """Return the momentum, linear and about the origin, of a body with first moment and inertia about the origin."""
    turning = cross(angular, moment)
    pushing = mass * linear[0] + turning[0], mass * linear[1] + turning[1], mass * linear[2] + turning[2]
    return pushing, add(transform(inertia, angular), cross(moment, linear), 1.0)
