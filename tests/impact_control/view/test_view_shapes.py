"""Drawn surfaces are closed and the right way round: their volume, by the divergence theorem, is that of the body."""

from __future__ import annotations

import math

import numpy as np
import pytest

from impact_control.robots import load_robot
from impact_control.view.bodies import link_meshes, mesh_directory, tool_meshes
from impact_control.view.shapes import box, capsule, coarse, cylinder, plane_axes, read_collada, with_edges

GRAY = (128, 128, 128)
START, END = np.array([0.1, -0.2, 0.3]), np.array([-0.3, 0.1, 0.25])
LENGTH = float(np.linalg.norm(END - START))
POLYGON = 32 / (2.0 * math.pi) * math.sin(2.0 * math.pi / 32)
"""Area of the polygon that stands for a circle, relative to it."""


def volume(mesh):
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c))) / 6.0


def open_sides(mesh):
    """Sides of triangles without one that goes the other way, at the same place."""
    points = np.unique(mesh.vertices.round(9), axis=0, return_inverse=True)[1].reshape(-1)[mesh.faces]
    sides = {}
    for triangle in points:
        for k in range(3):
            a, b = int(triangle[k]), int(triangle[(k + 1) % 3])
            if a != b:
                sides[a, b] = sides.get((a, b), 0) + 1
    return [side for side, count in sides.items() if sides.get(side[::-1], 0) != count]


@pytest.mark.parametrize(
    ("mesh", "expected", "rel"),
    [
        (cylinder(START, END, 0.05, GRAY), POLYGON * math.pi * 0.05**2 * LENGTH, 1e-9),
        (box(np.array([-0.1, 0.2, 0.0]), np.array([0.1, 0.5, 0.3]), GRAY), 0.2 * 0.3 * 0.3, 1e-9),
        (capsule(START, END, 0.05, GRAY), math.pi * 0.05**2 * (LENGTH + 4 / 3 * 0.05), 0.02),
        (capsule(START, START, 0.05, GRAY), 4 / 3 * math.pi * 0.05**3, 0.02),
    ],
)
def test_bodies_are_closed_and_of_their_volume(mesh, expected, rel):
    assert volume(mesh) == pytest.approx(expected, rel=rel)
    assert not open_sides(mesh)


def test_a_capsule_reaches_from_end_to_end():
    mesh = capsule(START, END, 0.05, GRAY)
    along = (mesh.vertices - START) @ (END - START) / LENGTH
    assert along.min() == pytest.approx(-0.05) and along.max() == pytest.approx(LENGTH + 0.05)


def test_sharp_sides_get_vertices_of_their_own_and_round_ones_do_not():
    cube = box(np.zeros(3), np.ones(3), GRAY)
    points, index = np.unique(cube.vertices, axis=0, return_inverse=True)
    joined = type(cube)(points, index.reshape(-1)[cube.faces], GRAY)
    assert len(joined.vertices) == 8
    split = with_edges(joined, 0.6)
    assert len(split.vertices) == 24 and volume(split) == pytest.approx(1.0)
    assert len(with_edges(joined, 1.6).vertices) == 8
    ball = capsule(START, START, 0.05, GRAY)
    assert len(with_edges(ball, 0.6).vertices) <= len(ball.vertices)


def test_a_coarser_mesh_has_fewer_triangles_and_about_the_same_volume():
    ball = capsule(np.zeros(3), np.zeros(3), 0.05, GRAY)
    rough = coarse(ball, 0.01)
    assert len(rough.faces) < 0.7 * len(ball.faces)
    assert volume(rough) == pytest.approx(volume(ball), rel=0.1)


@pytest.mark.parametrize("normal", [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [-0.1391731, 0.0, 0.9902681], [0.6, -0.8, 0.0]])
def test_the_axes_of_a_plane_are_a_rotation_with_its_normal(normal):
    axes = plane_axes(np.array(normal))
    np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=1e-6)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    np.testing.assert_array_equal(axes[:, 2], normal)


COLLADA = """<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema"><library_geometries>
<geometry><mesh><source id="p"><float_array count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array></source>
<source id="n"><float_array count="3">0 0 1</float_array></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="4"><input offset="0" semantic="VERTEX" source="#v"/><input offset="1" semantic="NORMAL" source="#n"/>
<p>0 0 2 0 1 0  0 0 1 0 3 0  0 0 3 0 2 0  1 0 2 0 3 0</p></triangles></mesh></geometry>
</library_geometries></COLLADA>"""


def test_a_file_of_meshes_is_read(tmp_path):
    (tmp_path / "corner.dae").write_text(COLLADA)
    mesh = read_collada(tmp_path / "corner.dae", GRAY)
    assert volume(mesh) == pytest.approx(1.0 / 6.0)
    assert not open_sides(mesh)


@pytest.mark.parametrize(
    ("robot", "tool"), [("panda", "sphere"), ("fr3", "plate"), ("panda", "edge"), ("planar_rrr", "planar_edge")]
)
def test_every_arm_has_a_base_its_links_and_an_end_effector(robot, tool):
    arm = load_robot(robot, tool)
    links = link_meshes(arm)
    assert len(links) == len(arm.joint_names) + 1
    assert all(len(mesh.faces) for link in links for mesh in link)
    assert links[0] and (mesh_directory() is not None or links[-1])
    contact = arm.pinocchio_model.frames[arm.contact_frame_id].placement
    vertices = np.vstack([mesh.vertices for mesh in tool_meshes(arm)])
    in_contact_frame = (vertices - contact.translation) @ contact.rotation
    lowest = arm.end_effector.contact_points[:, 2].max() + arm.end_effector.radius
    assert in_contact_frame[:, 2].max() == pytest.approx(lowest, abs=6e-3)
