"""Surfaces of triangles for what is drawn: bodies of revolution, boxes, and files of meshes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from impact_control.util.types import Matrix, Vector

Color = tuple[int, int, int]
"""Red, green, blue, 0 to 255."""

_AROUND = 32
"""Corners of a circle."""

_SIDES = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
"""Corners of the sides of a box, seen from outside against the clock; a corner is 4 x + 2 y + z, each 0 or 1."""

_COLLADA = {"c": "http://www.collada.org/2005/11/COLLADASchema"}


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles: vertices (k, 3) [m], faces (f, 3) with outward normals by the right-hand rule, and their colour.

    Corners that share a vertex are drawn round, others with an edge.
    """

    vertices: Matrix
    faces: NDArray[np.int64]
    color: Color = (200, 200, 200)

    def moved(self, position: Vector, rotation: Matrix) -> Mesh:
        """Return it with its origin at position (3,) [m] and its axes along the columns of rotation (3, 3)."""
        return replace(self, vertices=self.vertices @ rotation.T + position)


def revolved(profile: Matrix, color: Color) -> Mesh:
    """Return the body of revolution about z of a profile (k, 2): radius and height [m], from below to above.

    A point that appears twice in a row is an edge. The ends should have radius 0: there the body is closed.
    """
    angle = np.linspace(0.0, 2.0 * np.pi, _AROUND, endpoint=False)
    radius, height = profile[:, 0], profile[:, 1]
    rings = np.empty((len(profile), _AROUND, 3))
    rings[:, :, 0] = radius[:, None] * np.cos(angle)
    rings[:, :, 1] = radius[:, None] * np.sin(angle)
    rings[:, :, 2] = height[:, None]
    faces = []
    for below in np.flatnonzero(np.any(np.diff(profile, axis=0) != 0.0, axis=1)):
        a = below * _AROUND + np.arange(_AROUND)
        b = below * _AROUND + np.roll(np.arange(_AROUND), -1)
        if radius[below] > 0.0:
            faces.append(np.column_stack([a, b, b + _AROUND]))
        if radius[below + 1] > 0.0:
            faces.append(np.column_stack([a, b + _AROUND, a + _AROUND]))
    return Mesh(rings.reshape(-1, 3), np.vstack(faces), color)


def capsule(start: Vector, end: Vector, radius: float, color: Color) -> Mesh:
    """Return the points within radius [m] of the segment from start to end (3,) [m]; a sphere where they are equal."""
    length = float(np.linalg.norm(end - start))
    tilt = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 18)
    lift = np.where(tilt > 0.0, length, 0.0)
    profile = np.column_stack([radius * np.cos(tilt), radius * np.sin(tilt) + lift])
    profile[[0, -1], 0] = 0.0
    return revolved(profile, color).moved(start, _towards(end - start))


def cylinder(start: Vector, end: Vector, radius: float, color: Color) -> Mesh:
    """Return the cylinder of this radius [m] whose axis goes from start to end (3,) [m]."""
    length = float(np.linalg.norm(end - start))
    profile = np.array([[0.0, 0.0], [radius, 0.0], [radius, 0.0], [radius, length], [radius, length], [0.0, length]])
    return revolved(profile, color).moved(start, _towards(end - start))


def box(lower: Vector, upper: Vector, color: Color) -> Mesh:
    """Return the box between two corners (3,) [m], edges along the axes."""
    corners = np.array([lower, upper])[list(product((0, 1), repeat=3)), range(3)]
    faces = np.arange(_SIDES.size).reshape(-1, 4)[:, [0, 1, 2, 0, 2, 3]]
    return Mesh(corners[_SIDES].reshape(-1, 3), faces.reshape(-1, 3), color)


def read_collada(path: Path, color: Color) -> Mesh:
    """Return all triangles of a COLLADA file as MeshLab writes them."""
    vertices: list[Matrix] = []
    faces: list[NDArray[np.int64]] = []
    count = 0
    for mesh in ElementTree.parse(path).getroot().iterfind(".//c:mesh", _COLLADA):
        place = mesh.find("c:vertices/c:input[@semantic='POSITION']", _COLLADA)
        if place is None:
            continue
        source = mesh.find(f"c:source[@id='{str(place.get('source'))[1:]}']/c:float_array", _COLLADA)
        for triangles in mesh.iterfind("c:triangles", _COLLADA):
            inputs = {
                entry.get("semantic"): int(entry.get("offset", "0")) for entry in triangles if entry.get("source")
            }
            corners = np.array(triangles.findtext("c:p", "", _COLLADA).split(), dtype=np.int64)
            if source is not None and corners.size:
                faces.append(count + corners.reshape(-1, 1 + max(inputs.values()))[:, inputs["VERTEX"]].reshape(-1, 3))
        if source is not None:
            vertices.append(np.array((source.text or "").split(), dtype=float).reshape(-1, 3))
            count += len(vertices[-1])
    return Mesh(np.vstack(vertices), np.vstack(faces), color)


def coarse(mesh: Mesh, cell: float) -> Mesh:
    """Return the mesh with the vertices in each cube of this edge [m] made one, and without what vanishes by that."""
    _, first, cube = np.unique(np.round(mesh.vertices / cell), axis=0, return_index=True, return_inverse=True)
    faces = cube.reshape(-1)[mesh.faces]
    whole = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    return replace(mesh, vertices=mesh.vertices[first], faces=faces[whole])


def with_edges(mesh: Mesh, angle: float) -> Mesh:
    """Return the mesh with vertices of their own for triangles whose normals differ by more than `angle` [rad]."""
    faces = mesh.faces
    corners = mesh.vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    # Every side of a triangle as the numbers of its two corners, 3 f + 0, 1, 2, that at the smaller vertex first.
    first = np.arange(faces.size).reshape(-1, 3)
    sides = np.stack([first, np.roll(first, -1, axis=1)], axis=-1).reshape(-1, 2)
    ends = faces.reshape(-1)[sides]
    sides[ends[:, 0] > ends[:, 1]] = sides[ends[:, 0] > ends[:, 1]][:, ::-1]
    ends.sort(axis=1)
    order = np.lexsort(ends.T)
    here, there = order[:-1], order[1:]
    smooth = (ends[here] == ends[there]).all(axis=1)
    smooth &= np.einsum("ij,ij->i", normals[sides[here, 0] // 3], normals[sides[there, 0] // 3]) > np.cos(angle)
    joined = np.vstack([np.column_stack([sides[here, k], sides[there, k]])[smooth] for k in (0, 1)])
    links = coo_matrix((np.ones(len(joined)), joined.T), shape=(faces.size, faces.size))
    _, group = connected_components(links, directed=False)
    _, representative = np.unique(group, return_index=True)
    return replace(mesh, vertices=mesh.vertices[faces.reshape(-1)[representative]], faces=group.reshape(-1, 3))


def _towards(direction: Vector) -> Matrix:
    """Return a rotation whose third column is along a direction (3,), the axes as they are for none."""
    length = float(np.linalg.norm(direction))
    if length == 0.0:
        return np.eye(3)
    return plane_axes(direction / length)


def plane_axes(normal: Vector) -> Matrix:
    """Return a rotation (3, 3) whose third column is the unit normal (3,), the first as near to x as can be."""
    other = np.array([1.0, 0.0, 0.0]) if abs(normal[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    first = other - (other @ normal) * normal
    first /= np.linalg.norm(first)
    return np.column_stack([first, np.cross(normal, first), normal])
