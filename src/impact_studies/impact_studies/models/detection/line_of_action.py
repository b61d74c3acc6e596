"""The line along which a single force acts, and where it enters the surface of a link."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from impact_control.util.types import Matrix, Vector


class Surfaces(Protocol):
    """Capsules in the world frame A, see `robots.link_shapes.Capsules`: on which link, and where."""

    @property
    def link(self) -> NDArray[np.int64]:
        """(k,) 1..n."""

    @property
    def start(self) -> Matrix:
        """(k, 3) [m]."""

    @property
    def end(self) -> Matrix:
        """(k, 3) [m]."""

    @property
    def radius(self) -> Vector:
        """(k,) [m]."""


def lines_of_action(wrenches: Matrix, origin: Vector) -> tuple[Matrix, Matrix]:
    """Return points (k, 3) [m] on the lines of the forces and their directions (k, 3), of length 1; frame A.

    wrenches (k, 6) [N, Nm]: force and its moment about origin (3,) [m], axes of A. A single force F at p has the
    moment (p - origin) x F; of all p with this moment F x m / |F|^2 is nearest to the origin. What of the moment is
    along the force no force can make, and is left out. Without force there is no line: NaN.
    """
    force, moment = wrenches[:, :3], wrenches[:, 3:]
    square = np.sum(force**2, axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        point: Matrix = origin + np.cross(force, moment) / square
        direction: Matrix = force / np.sqrt(square)
    return point, direction


def first_entries(point: Matrix, direction: Matrix, surfaces: Surfaces, link: int) -> tuple[Matrix, Vector]:
    """Return where lines enter a link and how far they pass from it.

    A force can push the surface but not pull it: of all points of the surface on the line, the one that comes first
    in the direction of the force is the one it acts at.

    point, direction (k, 3): of the lines, frame A, length 1. link: 1..n.
    Returns the entries (k, 3) [m], and the distances (k,) [m] of the lines to the surface, 0 for a line that meets it.
    Of a line that misses the entry is the point of the surface nearest to it. All NaN for a line of NaN, or a link
    without a surface.
    """
    count = len(point)
    best, entry, miss = np.full(count, np.inf), np.full((count, 3), np.nan), np.full(count, np.nan)
    for i in np.flatnonzero(surfaces.link == link):
        start, end, radius = surfaces.start[i], surfaces.end[i], float(surfaces.radius[i])
        along, foot = _nearest_on_segment(point, direction, start, end)
        gap = np.linalg.norm(point + along[:, None] * direction - foot, axis=1) - radius
        hit = gap <= 0.0
        way = _way_to_capsule(point, direction, start, end, radius)
        outward = point + along[:, None] * direction - foot
        with np.errstate(divide="ignore", invalid="ignore"):
            nearest = foot + radius * outward / np.linalg.norm(outward, axis=1, keepdims=True)
        here = np.where(hit[:, None], point + np.where(hit, way, 0.0)[:, None] * direction, nearest)
        distance = np.maximum(gap, 0.0)
        # A line that meets any part is taken at its first meeting, one that meets none at its nearest part.
        better = np.isnan(miss) | (distance < miss) | ((distance == 0.0) & (miss == 0.0) & (way < best))
        better &= np.isfinite(distance)
        best = np.where(better & hit, way, best)
        entry[better], miss[better] = here[better], distance[better]
    return entry, miss


def _nearest_on_segment(point: Matrix, direction: Matrix, start: Vector, end: Vector) -> tuple[Vector, Matrix]:
    """Return the parameter (k,) [m] on each line and the point (k, 3) of the segment where they are nearest."""
    axis = end - start
    across = axis - np.outer(direction @ axis, np.ones(3)) * direction  # what of the axis the line does not see
    offset = point - start
    across_offset = offset - np.sum(offset * direction, axis=1, keepdims=True) * direction
    length = np.sum(across**2, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.sum(across * across_offset, axis=1) / length
    share = np.clip(np.where(length > 1e-12 * max(float(axis @ axis), 1e-12), share, 0.5), 0.0, 1.0)
    foot = start + share[:, None] * axis
    return np.sum((foot - point) * direction, axis=1), foot


def _way_to_capsule(point: Matrix, direction: Matrix, start: Vector, end: Vector, radius: float) -> Vector:
    """Return the smallest parameter (k,) [m] at which each line meets the capsule; NaN or infinite when it does not."""
    ways = [_way_to_sphere(point, direction, centre, radius) for centre in (start, end)]
    length = float(np.linalg.norm(end - start))
    if length > 0.0:
        axis = (end - start) / length
        offset = point - start
        slant = direction @ axis
        across = direction - slant[:, None] * axis
        across_offset = offset - (offset @ axis)[:, None] * axis
        a, b = np.sum(across**2, axis=1), np.sum(across * across_offset, axis=1)
        c = np.sum(across_offset**2, axis=1) - radius**2
        with np.errstate(divide="ignore", invalid="ignore"):
            way = (-b - np.sqrt(b**2 - a * c)) / a
        height = offset @ axis + way * slant
        with np.errstate(invalid="ignore"):
            ways.append(np.where((height >= 0.0) & (height <= length), way, np.inf))
    smallest: Vector = np.fmin.reduce(ways)
    return smallest


def _way_to_sphere(point: Matrix, direction: Matrix, centre: Vector, radius: float) -> Vector:
    offset = point - centre
    b = np.sum(offset * direction, axis=1)
    with np.errstate(invalid="ignore"):
        way: Vector = -b - np.sqrt(b**2 - (np.sum(offset**2, axis=1) - radius**2))
    return way
