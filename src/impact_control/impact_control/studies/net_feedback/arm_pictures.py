"""Arms and boxes as flat pictures: capsules and faces seen from far away, those in front drawn last."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Polygon

from impact_control.robots import RobotDescription
from impact_control.robots.link_shapes import LinkFrames, load_link_shapes
from impact_control.types import Matrix, Vector

_AROUND = 12
"""Corners of half a circle."""

_ROD_RADIUS = 0.01
"""[m] between flange and plate; for the picture only."""

_PALE, _EDGE_WIDTH = 0.35, 0.8
"""Part of its colour that a face has, and width of its edge [pt]."""

_EDGE_ON = 1e-9
"""Cosine between a face and the viewer up to which it is seen edge-on."""

_NEARER = 0.01
"""Order of drawing over the distance to the viewer [1/m], so small that nothing comes before or behind the axes."""


@dataclass(frozen=True)
class Sight:
    """From where a picture without perspective is taken: azimuth [deg] about z of A from x, elevation [deg]."""

    azimuth: float
    elevation: float

    @property
    def axes(self) -> Matrix:
        """Return the directions to the right, up, and to the viewer as rows (3, 3), axes of A."""
        azimuth, elevation = np.radians([self.azimuth, self.elevation])
        right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
        level = np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
        viewer = np.cos(elevation) * level + np.array([0.0, 0.0, np.sin(elevation)])
        return np.array([right, np.cross(viewer, right), viewer])

    def of(self, points: Matrix) -> Matrix:
        """Return points (k, 3) [m] of A to the right, up, and towards the viewer (k, 3) [m]."""
        seen: Matrix = points @ self.axes.T
        return seen


def outline(start: Vector, end: Vector, radius: float) -> Matrix:
    """Return the outline (k, 2) [m] of a capsule with this radius [m] between the ends (2,) [m] of its segment."""
    along = end - start
    heading = float(np.arctan2(along[1], along[0]))
    half = np.linspace(-0.5 * np.pi, 0.5 * np.pi, _AROUND)
    rounds = [heading + half, heading + np.pi + half]
    arcs = [np.column_stack([np.cos(angle), np.sin(angle)]) for angle in rounds]
    return np.vstack([end + radius * arcs[0], start + radius * arcs[1]])


def draw_arm(axes: Axes, sight: Sight, robot: RobotDescription, position: Vector, color: str) -> None:
    """Draw an arm with a plate at q (n,) [rad]: the capsules of its links, a rod, and the plate."""
    frames = LinkFrames(robot)
    frames.update(position)
    shapes = frames.placed(load_link_shapes(robot))
    for start, end, radius in zip(shapes.start, shapes.end, shapes.radius, strict=True):
        _draw_capsule(axes, sight, np.array([start, end]), float(radius), color)
    contact = robot.pinocchio_model.frames[robot.contact_frame_id].placement
    turn, origin = frames.rotation[-1], frames.position[-1]
    tool = robot.end_effector
    corners = np.array([contact.act(point) for point in tool.contact_points]) @ turn.T + origin
    flange = contact.act(-tool.contact_frame_offset) @ turn.T + origin
    _draw_capsule(axes, sight, np.array([flange, corners.mean(axis=0)]), _ROD_RADIUS, color)
    _draw_face(axes, sight, corners, color, _EDGE_WIDTH + 1.0)


def draw_box(axes: Axes, sight: Sight, size: Vector, position: Vector, rotation: Matrix, color: str) -> None:
    """Draw a box: size (3,), centre (3,) [m], axes as columns of rotation (3, 3); the faces that are seen."""
    for axis in range(3):
        others = [(axis + 1) % 3, (axis + 2) % 3]
        for side in (-1.0, 1.0):
            if side * float(sight.axes[2] @ rotation[:, axis]) > _EDGE_ON:
                corners = np.zeros((4, 3))
                corners[:, axis] = side
                corners[:, others] = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
                _draw_face(axes, sight, position + (0.5 * size * corners) @ rotation.T, color, _EDGE_WIDTH)


def _draw_capsule(axes: Axes, sight: Sight, ends: Matrix, radius: float, color: str) -> None:
    seen = sight.of(ends)
    _add(axes, outline(seen[0, :2], seen[1, :2], radius), float(seen[:, 2].mean()), color, _EDGE_WIDTH)


def _draw_face(axes: Axes, sight: Sight, corners: Matrix, color: str, width: float) -> None:
    seen = sight.of(corners)
    _add(axes, seen[:, :2], float(seen[:, 2].mean()), color, width)


def _add(axes: Axes, corners: Matrix, nearness: float, color: str, width: float) -> None:
    pale = 1.0 - _PALE * (1.0 - np.array(to_rgb(color)))
    order = 2.0 + _NEARER * nearness
    axes.add_patch(Polygon(corners, facecolor=tuple(pale), edgecolor=color, linewidth=width, zorder=order))
