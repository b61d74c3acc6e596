"""Pictures of arms like Figs 2 and 5 of van Steen 2024."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pinocchio as pin
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from impact_control.recording.figures.panels import ROW, WIDTH
from impact_control.recording.style import ANTE, INTERIM, LIMIT, NEUTRAL, POST, line
from impact_control.references import scene_robots
from impact_control.scenario import SceneScenario, load_scene
from impact_control.studies.net_feedback.arm_pictures import Sight, draw_arm, draw_box
from impact_control.studies.net_feedback.plan import SceneCase
from impact_control.studies.net_feedback.poses import Poses, impact_configuration
from impact_control.studies.trials import from_arrays
from impact_control.types import Matrix, Vector

GRAB_SIGHT, PUSH_SIGHT, ABOVE = Sight(12.0, 14.0), Sight(62.0, 22.0), Sight(90.0, 90.0)

_ARM_COLOURS = (ANTE, POST)
_CASE_COLOURS = (ANTE, LIMIT)

_TABLE = np.array([0.34, 0.44, 0.02])
"""[m] of the table that is drawn; for the picture only."""

_TOP = 0.75
"""[inch] for legend and titles."""


def draw_motion(case: SceneCase, found: Mapping[str, NDArray[Any]]) -> Figure:
    """Fig. 2: both arms and the object at some moments, one a panel; found: by `run_poses`."""
    poses, scene = from_arrays(Poses, found), load_scene(case.name)
    robots = scene_robots(scene)
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
    scene = load_scene(cases[0].name)
    (box,) = scene.expected_environment.objects.values()
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


def _draw_scene(axes: Axes, sight: Sight, scene: SceneScenario, position: Vector, rotation: Matrix) -> None:
    """Draw table and object, its centre (3,) [m] and axes as columns (3, 3)."""
    (box,) = scene.expected_environment.objects.values()
    table = scene.expected_environment.table
    if table is not None:
        draw_box(axes, sight, _TABLE, table.point - [0.0, 0.0, 0.5 * _TABLE[2]], np.eye(3), NEUTRAL)
    draw_box(axes, sight, box.size, position, rotation, INTERIM)


def _finish(figure: Figure, entries: Sequence[Artist]) -> None:
    """Show nothing but what is drawn, to scale, with a legend above."""
    for axes in figure.axes:
        axes.set(aspect="equal")
        axes.autoscale_view()
        axes.set_axis_off()
    height = float(figure.get_size_inches()[1])
    figure.legend(handles=list(entries), loc="upper center", ncols=len(entries), bbox_to_anchor=(0.5, 1.0))
    figure.subplots_adjust(left=0.01, right=0.99, bottom=0.02, top=1.0 - _TOP / height, wspace=0.05)
