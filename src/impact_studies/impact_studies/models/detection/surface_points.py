"""Points spread evenly over the surface of the links, where something from outside could touch it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from impact_control.util.checks import require_positive
from impact_control.util.types import Matrix, Vector
from impact_studies.models.detection.line_of_action import Surfaces

_GOLDEN_ANGLE = math.pi * (3.0 - math.sqrt(5.0))


@dataclass(frozen=True, eq=False)
class SurfacePoints:
    """k points of the links' surface, frame A.

    link (k,): 1..n. point (k, 3) [m]. normal (k, 3): outwards, of length 1. area (k,) [m^2] for which each stands.
    foot (k, 3) [m]: the point of the capsule's segment that is nearest; axis (k, 3): direction of the segment, of
    length 1, or 0 for a sphere.
    """

    link: NDArray[np.int64]
    point: Matrix
    normal: Matrix
    area: Vector
    foot: Matrix
    axis: Matrix


def surface_points(surfaces: Surfaces, spacing: float) -> SurfacePoints:
    """Return points about `spacing` [m] apart; those that lie inside another capsule are left out.

    A spiral of equal steps in height and by the golden angle around covers a sphere with equal areas, by Archimedes'
    theorem, and a cylinder as well; the spiral of a capsule goes through cap, cylinder and cap.
    Raises InvalidInputError when spacing is not above 0.
    """
    require_positive("spacing", spacing)
    parts = []
    for i in range(surfaces.link.size):
        foot, normal, area = _spiral(surfaces.start[i], surfaces.end[i], float(surfaces.radius[i]), spacing)
        point = foot + surfaces.radius[i] * normal
        outside = np.ones(len(point), dtype=bool)
        for j in range(surfaces.link.size):
            if j != i:
                outside &= _distance(point, surfaces.start[j], surfaces.end[j]) >= surfaces.radius[j]
        along = surfaces.end[i] - surfaces.start[i]
        axis = np.tile(along / max(float(np.linalg.norm(along)), 1e-12), (len(point), 1))
        link = np.full(len(point), surfaces.link[i])
        parts.append([column[outside] for column in (link, point, normal, area, foot, axis)])
    return SurfacePoints(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _spiral(start: Vector, end: Vector, radius: float, spacing: float) -> tuple[Matrix, Matrix, Vector]:
    """Return for each point of a capsule the foot on its segment (k, 3) [m], the normal (k, 3) and the area (k,)."""
    length = float(np.linalg.norm(end - start))
    axis = (end - start) / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    side = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    side /= np.linalg.norm(side)
    total = 2.0 * math.pi * radius * (length + 2.0 * radius)
    count = max(8, math.ceil(total / spacing**2))
    height = (np.arange(count) + 0.5) / count * (length + 2.0 * radius) - radius  # from start, along the axis
    along = np.clip(height, 0.0, length)
    polar = (height - along) / radius  # cosine of the angle between normal and axis; 0 on the cylinder
    angle = _GOLDEN_ANGLE * np.arange(count)
    around = np.outer(np.cos(angle), side) + np.outer(np.sin(angle), np.cross(axis, side))
    normal = polar[:, None] * axis + np.sqrt(1.0 - polar**2)[:, None] * around
    return start + along[:, None] * axis, normal, np.full(count, total / count)


def _distance(point: Matrix, start: Vector, end: Vector) -> Vector:
    """Return the distance (k,) [m] of points from a segment."""
    axis = end - start
    square = float(axis @ axis)
    share = np.clip((point - start) @ axis / square, 0.0, 1.0) if square > 0.0 else np.zeros(len(point))
    distance: Vector = np.linalg.norm(point - start - share[:, None] * axis, axis=1)
    return distance
