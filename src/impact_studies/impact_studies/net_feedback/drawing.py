"""Pictures like Figs 6 to 9 of van Steen 2024."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from numpy.typing import NDArray

from impact_control.recording.style import ANTE, INK, INTERIM, LIMIT, NEUTRAL, POST, ROW, SERIES, WIDTH, line
from impact_control.robots import RobotDescription
from impact_control.robots.link_shapes import LinkFrames, load_link_shapes
from impact_control.scenario import Scene
from impact_control.util.types import Matrix, Vector
from impact_studies.frame.legend import legend_above
from impact_studies.frame.trials import from_arrays
from impact_studies.net_feedback import published
from impact_studies.net_feedback.outcome import CaseResult, mean_courses
from impact_studies.net_feedback.plan import Poses, SceneCase, impact_configuration, scene_of

_LEGEND = 0.5
"""[inch]"""


def draw_signals(result: CaseResult) -> Figure:
    """Velocity, feedback and its integral, means of the trials with each reference: Figs 6 and 8."""
    figure = Figure(figsize=(WIDTH, 3 * 1.3 * ROW + _LEGEND))
    panels = figure.subplots(3, 1, sharex=True)
    courses = mean_courses(result)
    for course, colour in zip(courses.values(), SERIES, strict=False):
        panels[0].plot(course.time, course.velocity, color=colour)
        after = course.time >= 0.0
        panels[0].plot(course.time[after], course.reference[after], color=colour, linestyle="--", linewidth=0.8)
        panels[1].plot(course.time, course.feedback, color=colour)
        panels[2].plot(course.time, course.added, color=colour)
    for axes in panels:
        axes.axvline(0.0, color=NEUTRAL, linewidth=0.8)
        axes.axhline(0.0, color=NEUTRAL, linewidth=0.5)
    for axes, label in zip(
        panels, ("velocity [m/s]", "feedback [m/s$^2$]", "integral of the feedback [m/s]"), strict=True
    ):
        axes.set_ylabel(label)
    panels[-1].set_xlabel("time after the nominal impact [s]")
    entries = [line(f"{scale:g} v_pred", colour) for scale, colour in zip(courses, SERIES, strict=False)]
    entries.append(line("reference", INK, "--", 0.8))
    legend_above(figure, entries, _LEGEND)
    return figure


def draw_fit(result: CaseResult) -> Figure:
    """Net feedback over the velocity of the reference, its line, the estimate, and the predictions: Figs 7 and 9."""
    figure = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    axes = figure.subplots()
    references, estimate = result.references, result.estimate
    axes.plot(references, result.nets, "o", color=ANTE, markersize=4, label="trials")
    ends = np.array([references.min(), references.max()])
    axes.plot(ends, estimate.slope * (ends - estimate.velocity), color=ANTE, linewidth=1.0, label="linear fit")
    axes.axhline(0.0, color=NEUTRAL, linewidth=0.8)
    axes.axvline(estimate.velocity, color=INK, label="experimental estimate")
    names = (r"nominal prediction ($B_\theta$)", r"prediction with $B_\rho$", r"prediction with $B = 0$")
    styles = ((POST, "-"), (LIMIT, "--"), (SERIES[4], ":"))
    for velocity, name, (colour, style) in zip(result.predicted, names, styles, strict=True):
        axes.axvline(velocity, color=colour, linestyle=style, label=name)
    axes.axvline(
        published.ROWS[result.case].estimate, color=NEUTRAL, linestyle="-.", label="published experimental estimate"
    )
    axes.set(xlabel="velocity with which the reference begins [m/s]", ylabel="net feedback [m/s]")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


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
    frames.compute(position)
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


GRAB_SIGHT, PUSH_SIGHT, ABOVE = Sight(12.0, 14.0), Sight(62.0, 22.0), Sight(90.0, 90.0)

_ARM_COLOURS = (ANTE, POST)
_CASE_COLOURS = (ANTE, LIMIT)

_TABLE = np.array([0.34, 0.44, 0.02])
"""[m] of the table that is drawn; for the picture only."""

_TOP = 0.75
"""[inch] for legend and titles."""


def draw_motion(case: SceneCase, found: Mapping[str, NDArray[Any]]) -> Figure:
    """Fig. 2: both arms and the object at some moments, one a panel; found: by `run_poses`."""
    poses, scene = from_arrays(Poses, found), scene_of(case)
    robots = scene.robots()
    figure = Figure(figsize=(WIDTH, 2.1 * ROW + _TOP))
    panels = figure.subplots(1, poses.time.size, sharex=True, sharey=True)
    for k, axes in enumerate(panels):
        turn = pin.Quaternion(poses.object_orientation[k]).toRotationMatrix()
        _draw_scene(axes, GRAB_SIGHT, scene, poses.object_position[k], turn)
        for robot, position, colour in zip(robots.values(), poses.joint_position, _ARM_COLOURS, strict=True):
            draw_arm(axes, GRAB_SIGHT, robot, position[k], colour)
        axes.set_title(f"{poses.time[k]:+.1f} s" if k != 1 else "nominal impact")
    entries = [line(f"{name} arm", colour, "-", 5.0) for name, colour in zip(robots, _ARM_COLOURS, strict=True)]
    _finish(figure, [*entries, line("object", INTERIM, "-", 5.0)])
    return figure


def draw_configurations(cases: Sequence[SceneCase]) -> Figure:
    """Fig. 5: the arm at the impact in the cases 1 and 2, in case 3, and both seen from above."""
    scene = scene_of(cases[0])
    (box,) = scene.expected_objects.values()
    arms = [impact_configuration(case) for case in (cases[0], cases[-1])]
    figure = Figure(figsize=(WIDTH, 2.7 * ROW + _TOP))
    panels = figure.subplots(1, 3)
    titles = ("cases 1 and 2", "case 3", "both from above")
    shown = ((PUSH_SIGHT, [0]), (PUSH_SIGHT, [1]), (ABOVE, [0, 1]))
    for axes, title, (sight, drawn) in zip(panels, titles, shown, strict=True):
        _draw_scene(axes, sight, scene, box.centre, box.rotation)
        for i in drawn:
            robot, position = arms[i]
            draw_arm(axes, sight, robot, position, _CASE_COLOURS[i])
        axes.set_title(title)
    entries = [line(title, colour, "-", 5.0) for title, colour in zip(titles, _CASE_COLOURS, strict=False)]
    _finish(figure, [*entries, line("object", INTERIM, "-", 5.0)])
    return figure


def _draw_scene(axes: Axes, sight: Sight, scene: Scene, position: Vector, rotation: Matrix) -> None:
    """Draw table and object, its centre (3,) [m] and axes as columns (3, 3)."""
    (box,) = scene.expected_objects.values()
    table = scene.expected_surface
    if table is not None:
        draw_box(axes, sight, _TABLE, table.point - [0.0, 0.0, 0.5 * _TABLE[2]], np.eye(3), NEUTRAL)
    draw_box(axes, sight, box.size, position, rotation, INTERIM)


def _finish(figure: Figure, entries: Sequence[Artist]) -> None:
    """Show nothing but what is drawn, to scale, with a legend above."""
    for axes in figure.axes:
        axes.set(aspect="equal")
        axes.autoscale_view()
        axes.set_axis_off()
    legend_above(figure, entries, _TOP, left=0.1, right=0.99, bottom=0.02, wspace=0.05)
