"""The arm as URDF text with a visible surface, for programs that draw it: Foxglove, RViz."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin

from impact_control.robots.description import CONTACT_FRAME, RobotDescription
from impact_control.robots.link_shapes import load_link_shapes
from impact_control.util.errors import ScenarioError
from impact_control.util.types import Vector

WORLD = "world"
"""Name of the root link: the world frame A, in which the base stands."""


def link_name(arm: str, link: str) -> str:
    """Return the name of a link of an arm among the frames of its scene, which share `WORLD`; arm "": the only one."""
    return f"{arm}_{link}" if arm and link != WORLD else link


def urdf_text(robot: RobotDescription, arm: str = "") -> str:
    """Return the URDF of the robot below a link `WORLD`, with a link `CONTACT_FRAME`, the frame E of the controller.

    Links show as capsules where the file gives them no look of its own: those of `load_link_shapes`, with the contact
    spheres of the end-effector on the last link. arm: its name in a scene, which is in the names of its links, see
    `link_name`; joints keep theirs.
    """
    tree = ElementTree.parse(robot.urdf).getroot()
    links = {link.get("name"): link for link in tree.iter("link")}
    child_of = {_attribute(joint, ".", "name"): _attribute(joint, "child", "link") for joint in tree.iter("joint")}
    model = robot.pinocchio_model
    root, place = _base_in(tree, robot)
    ElementTree.SubElement(tree, "link", name=WORLD)
    _fix(tree, WORLD, root, place)
    ElementTree.SubElement(tree, "link", name=CONTACT_FRAME)
    _fix(tree, child_of[robot.joint_names[-1]], CONTACT_FRAME, model.frames[robot.contact_frame_id].placement)
    if tree.find("*/visual") is None:
        for link, start, end, radius in _capsules(robot):
            _show_capsule(links[child_of[robot.joint_names[link - 1]]], start, end, radius)
    for kind, name in (("link", "name"), ("parent", "link"), ("child", "link")):
        for element in tree.iter(kind):
            element.set(name, link_name(arm, str(element.get(name))))
    return ElementTree.tostring(tree, encoding="unicode")


def base_placement(robot: RobotDescription) -> tuple[str, pin.SE3]:
    """Return the root link of the robot, and where it is fixed in `WORLD`."""
    return _base_in(ElementTree.parse(robot.urdf).getroot(), robot)


def _base_in(tree: ElementTree.Element, robot: RobotDescription) -> tuple[str, pin.SE3]:
    children = {_attribute(joint, "child", "link") for joint in tree.iter("joint")}
    root = next(name for link in tree.iter("link") if (name := str(link.get("name"))) not in children)
    model = robot.pinocchio_model
    return root, model.frames[model.getFrameId(root)].placement


def _fix(tree: ElementTree.Element, parent: str, child: str, place: pin.SE3) -> None:
    """Add a fixed joint between two links."""
    joint = ElementTree.SubElement(tree, "joint", name=f"{child}_fixed", type="fixed")
    ElementTree.SubElement(joint, "parent", link=parent)
    ElementTree.SubElement(joint, "child", link=child)
    angles = pin.rpy.matrixToRpy(place.rotation)
    ElementTree.SubElement(joint, "origin", xyz=_text(place.translation), rpy=_text(angles))


def _capsules(robot: RobotDescription) -> list[tuple[int, Vector, Vector, float]]:
    try:
        shapes = load_link_shapes(robot)
    except ScenarioError:  # a robot without shapes is shown by its frames
        return []
    return [
        (int(link), start, end, float(radius))
        for link, start, end, radius in zip(shapes.link, shapes.start, shapes.end, shapes.radius, strict=True)
    ]


def _show_capsule(link: ElementTree.Element, start: Vector, end: Vector, radius: float) -> None:
    """Add a cylinder from start to end (3,) [m], axes of the link, and a sphere at each of them."""
    for point in (start, end):
        _geometry(link, point, (0.0, 0.0)).append(ElementTree.Element("sphere", radius=repr(radius)))
    axis = end - start
    length = float(np.linalg.norm(axis))
    if length > 0.0:
        tilt = math.acos(min(max(float(axis[2]) / length, -1.0), 1.0)), math.atan2(float(axis[1]), float(axis[0]))
        shape = ElementTree.Element("cylinder", radius=repr(radius), length=repr(length))
        _geometry(link, 0.5 * (start + end), tilt).append(shape)


def _geometry(link: ElementTree.Element, place: Vector, tilt: tuple[float, float]) -> ElementTree.Element:
    """Return the geometry of a new visual at place (3,) [m], its axis z turned by pitch and then yaw [rad]."""
    visual = ElementTree.SubElement(link, "visual")
    ElementTree.SubElement(visual, "origin", xyz=_text(place), rpy=_text(np.array([0.0, *tilt])))
    return ElementTree.SubElement(visual, "geometry")


def _attribute(element: ElementTree.Element, path: str, name: str) -> str:
    found = element.find(path)
    return "" if found is None else str(found.get(name))


def _text(values: Vector) -> str:
    return " ".join(f"{value:.9g}" for value in values)
