"""Arms and boxes as flat pictures: how they are seen, what is drawn, what is in front."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from impact_control.robots import Dynamics, load_robot, mounted_at
from impact_control.robots.link_shapes import load_link_shapes
from impact_studies.net_feedback.drawing import Sight, draw_arm, draw_box, outline

POSTURE = np.array([0.3, -0.2, -0.1, -2.0, 1.6, 1.4, -1.0])


@pytest.mark.parametrize(("azimuth", "elevation"), [(0.0, 0.0), (62.0, 22.0), (-130.0, 90.0)])
def test_a_sight_keeps_lengths_and_its_axes_are_right_handed(azimuth, elevation):
    axes = Sight(azimuth, elevation).axes
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    assert axes[1, 2] >= -1e-12, "up is not down"


def test_what_is_seen_from_the_front_and_from_above():
    point = np.array([[1.0, 2.0, 3.0]])
    np.testing.assert_allclose(Sight(0.0, 0.0).of(point), [[2.0, 3.0, 1.0]], atol=1e-12)
    np.testing.assert_allclose(Sight(0.0, 90.0).of(point), [[2.0, -1.0, 3.0]], atol=1e-12)


def test_an_outline_is_a_radius_away_from_its_segment():
    start, end = np.array([0.1, 0.2]), np.array([0.4, -0.3])
    points, along = outline(start, end, 0.05), end - start
    nearest = start + np.clip((points - start) @ along / (along @ along), 0.0, 1.0)[:, None] * along
    np.testing.assert_allclose(np.linalg.norm(points - nearest, axis=1), 0.05, atol=1e-12)
    # Seen along its axis it is a circle.
    ball = outline(start, start, 0.05)
    np.testing.assert_allclose(np.linalg.norm(ball - start, axis=1), 0.05, atol=1e-12)


def test_an_arm_is_drawn_where_it_stands():
    robot = mounted_at(load_robot("panda", "silicone_plate"), np.array([0.4, -0.2, 0.0]))
    sight, axes = Sight(62.0, 22.0), Figure().subplots()
    draw_arm(axes, sight, robot, POSTURE, "#0072b2")
    *links, rod, plate = axes.patches
    assert len(links) == load_link_shapes(robot).link.size
    dynamics = Dynamics(robot)
    dynamics.compute(POSTURE, np.zeros(7))
    corners = dynamics.position + robot.end_effector.contact_points @ dynamics.rotation.T
    np.testing.assert_allclose(plate.get_xy()[:4], sight.of(corners)[:, :2], atol=1e-9)
    # The first link stands on the ground at the base, the rod ends in the middle of the plate.
    foot, middle = sight.of(np.array([[0.4, -0.2, 0.0], dynamics.position]))[:, :2]
    assert np.linalg.norm(links[0].get_xy() - foot, axis=1).min() == pytest.approx(0.06, abs=1e-3)
    assert np.linalg.norm(rod.get_xy() - middle, axis=1).min() == pytest.approx(0.01, abs=1e-3)


def test_of_a_box_the_faces_that_are_seen_are_drawn_and_what_is_nearer_is_in_front():
    size, turn = np.array([0.2, 0.3, 0.4]), np.eye(3)
    axes = Figure().subplots()
    draw_box(axes, Sight(30.0, 20.0), size, np.zeros(3), turn, "#0072b2")
    assert len(axes.patches) == 3
    front = Figure().subplots()
    sight = Sight(0.0, 0.0)
    for x in (0.5, -0.5):
        draw_box(front, sight, size, np.array([x, 0.0, 1.0]), turn, "#0072b2")
    near, far = front.patches
    assert near.get_zorder() > far.get_zorder()
    corners = near.get_xy()[:4]
    np.testing.assert_allclose([corners.min(axis=0), corners.max(axis=0)], [[-0.15, 0.8], [0.15, 1.2]])
