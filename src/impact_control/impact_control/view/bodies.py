"""Shapes of an arm: its links and its end-effector, in the frames of the links."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np

from impact_control.robots import RobotDescription
from impact_control.robots.link_shapes import load_link_shapes
from impact_control.util.errors import ScenarioError
from impact_control.util.types import Vector
from impact_control.view.shapes import Color, Mesh, box, capsule, coarse, cylinder, read_collada, with_edges

_COVER: Color = (236, 238, 240)
_DARK: Color = (70, 76, 84)
_METAL: Color = (150, 156, 163)
_STEEL: Color = (98, 106, 116)

_MESHES = ("models", "panda_description", "meshes", "visual")
"""Path of the visual meshes of franka_description in pyroboplan, see docs/view.md."""

_LOOKS_LIKE_A_PANDA = ("panda", "fr3")
"""Robots that are drawn with these meshes: the links of both have the same frames and nearly the same covers."""

_EDGE = 0.6
"""[rad] between two triangles of a cover that is drawn as an edge."""

_DETAIL = 0.003
"""[m] of the covers that is kept: a third of the triangles are in what is smaller."""

_ROD, _PLATE = 0.010, 0.010
"""[m] radius of the rod of an end-effector, thickness of a plate; for the drawing only."""


def link_meshes(robot: RobotDescription) -> tuple[tuple[Mesh, ...], ...]:
    """Return the meshes of link 0, the base, to n, in axes of each link: Franka's, else capsules, else bars."""
    directory = mesh_directory()
    if directory is not None and robot.name in _LOOKS_LIKE_A_PANDA:
        links = range(len(robot.joint_names) + 1)
        files = (read_collada(directory / f"link{i}.dae", _COVER) for i in links)
        return tuple((with_edges(coarse(mesh, _DETAIL), _EDGE),) for mesh in files)
    try:
        shapes = load_link_shapes(robot)
    except ScenarioError:
        return _bars(robot)
    base = cylinder(np.zeros(3), _joint_origin(robot, 1) * 0.6, 0.07, _DARK)
    meshes: list[list[Mesh]] = [[base], *([] for _ in robot.joint_names)]
    tool = len(robot.end_effector.contact_points) if robot.end_effector.radius > 0.0 else 0
    for k in range(len(shapes.link) - tool):
        color = _COVER if shapes.link[k] % 2 else _METAL
        meshes[shapes.link[k]].append(capsule(shapes.start[k], shapes.end[k], shapes.radius[k], color))
    return tuple(tuple(link) for link in meshes)


def tool_meshes(robot: RobotDescription) -> tuple[Mesh, ...]:
    """Return the end-effector in axes of the last link: a rod to what its contact points span."""
    tool = robot.end_effector
    contact = robot.pinocchio_model.frames[robot.contact_frame_id].placement
    points, middle = tool.contact_points, tool.contact_points.mean(axis=0)
    meshes = []
    if np.linalg.norm(tool.contact_frame_offset) > 0.0:
        meshes.append(cylinder(-tool.contact_frame_offset, middle, _ROD, _METAL))
    if len(points) > 2:
        lower, upper = points.min(axis=0), points.max(axis=0)
        meshes.append(box(lower - np.array([0.0, 0.0, _PLATE]), upper, _STEEL))
    else:
        meshes.append(capsule(points[0], points[-1], max(tool.radius, 0.5 * _ROD), _STEEL))
    return tuple(mesh.moved(contact.translation, contact.rotation) for mesh in meshes)


def mesh_directory() -> Path | None:
    """Return where the meshes of the Panda are; None when they are not installed. Nothing of their package is run."""
    found = importlib.util.find_spec("pyroboplan")
    if found is None or found.origin is None:
        return None
    directory = Path(found.origin).parent.joinpath(*_MESHES)
    return directory if directory.is_dir() else None


def base_placement(robot: RobotDescription) -> tuple[Vector, Vector]:
    """Return where the base of the robot stands: position (3,) [m] and axes as columns (3, 3), frame A."""
    for frame in robot.pinocchio_model.frames:
        if frame.parentJoint == 0 and frame.name.endswith("link0"):
            return frame.placement.translation.copy(), frame.placement.rotation.copy()
    return np.zeros(3), np.eye(3)


def _bars(robot: RobotDescription) -> tuple[tuple[Mesh, ...], ...]:
    """Return a bar from each joint to the next one, the last to the end-effector."""
    contact = robot.pinocchio_model.frames[robot.contact_frame_id].placement.translation
    ends = [_joint_origin(robot, joint) for joint in range(1, len(robot.joint_names) + 1)]
    ends.append(contact - robot.end_effector.contact_frame_offset)
    return tuple((capsule(np.zeros(3), end, 0.035, _COVER if i % 2 else _DARK),) for i, end in enumerate(ends))


def _joint_origin(robot: RobotDescription, joint: int) -> Vector:
    """Return the origin of a joint (3,) [m] in axes of the link before it; of the first, from the base."""
    place = robot.pinocchio_model.jointPlacements[joint].translation
    position, rotation = base_placement(robot)
    origin: Vector = rotation.T @ (place - position) if joint == 1 else place.copy()
    return origin
