"""The URDF that a recording carries: the same kinematics as the model, and the capsules where the surface is."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
import pytest

from impact_control.robots import CONTACT_FRAME, known_names, load_robot
from impact_control.robots.frame_tree import FrameTree
from impact_control.robots.link_shapes import LinkFrames, load_link_shapes
from impact_control.robots.urdf import WORLD, urdf_text
from impact_control.scenario import load_scenario
from impact_control.util.errors import ScenarioError
from recorded_frames import in_root


def arms():
    yield from ((name, load_robot(name)) for name in known_names())
    yield from load_scenario("grab_parcel_1").robots().items()


ARMS = dict(arms())


@pytest.mark.parametrize("name", ARMS)
def test_the_contact_frame_is_where_the_model_has_it(name):
    robot = ARMS[name]
    model = pin.buildModelFromXML(urdf_text(robot))
    assert tuple(model.names[1:]) == robot.joint_names
    assert model.existFrame(WORLD)
    data, own = model.createData(), robot.pinocchio_model.createData()
    random = np.random.default_rng(5)
    for _ in range(20):
        q = random.uniform(robot.limits.position_lower, robot.limits.position_upper)
        pin.framesForwardKinematics(model, data, q)
        pin.framesForwardKinematics(robot.pinocchio_model, own, q)
        found, expected = data.oMf[model.getFrameId(CONTACT_FRAME)], own.oMf[robot.contact_frame_id]
        np.testing.assert_allclose(found.homogeneous, expected.homogeneous, atol=1e-8)


@pytest.mark.parametrize("name", ARMS)
def test_the_links_show_where_their_surface_is(name):
    """Each capsule is two balls and a cylinder: ends and axes of these against `LinkFrames.placed`."""
    robot = ARMS[name]
    try:
        shapes = load_link_shapes(robot)
    except ScenarioError:
        assert "<visual>" not in urdf_text(robot)
        return
    text = urdf_text(robot)
    model = pin.buildModelFromXML(text)
    shown = pin.buildGeomFromUrdfString(model, text, pin.GeometryType.VISUAL)
    q = np.random.default_rng(6).uniform(robot.limits.position_lower, robot.limits.position_upper)
    data, places = model.createData(), shown.createData()
    pin.forwardKinematics(model, data, q)
    pin.updateGeometryPlacements(model, data, shown, places, q)
    frames = LinkFrames(robot)
    frames.compute(q)
    placed = frames.placed(shapes)
    centres = np.array([place.translation for place in places.oMg])
    for start, end, radius in zip(placed.start, placed.end, placed.radius, strict=True):
        for point in (start, end, 0.5 * (start + end)):
            assert np.min(np.linalg.norm(centres - point, axis=1)) < 1e-7
        length = np.linalg.norm(end - start)
        if length > 0.0:
            cylinder = int(np.argmin(np.linalg.norm(centres - 0.5 * (start + end), axis=1)))
            geometry = shown.geometryObjects[cylinder].geometry
            assert (geometry.radius, 2.0 * geometry.halfLength) == pytest.approx((radius, length))
            assert abs(places.oMg[cylinder].rotation[:, 2] @ (end - start)) == pytest.approx(length)


@pytest.mark.parametrize("arm", ["", "left"])
@pytest.mark.parametrize("name", ARMS)
def test_the_frames_are_those_of_the_joints_in_the_urdf(name, arm):
    robot, text = ARMS[name], urdf_text(ARMS[name], arm)
    joints = ElementTree.fromstring(text).findall("joint")
    frames = FrameTree(text)
    assert sorted(frames.links) == sorted((j.find("parent").get("link"), j.find("child").get("link")) for j in joints)
    assert {link.startswith("left_") for _, link in frames.links} == {arm == "left"}
    model = robot.pinocchio_model
    data, random = model.createData(), np.random.default_rng(7)
    for _ in range(5):
        q = random.uniform(robot.limits.position_lower, robot.limits.position_upper)
        frames.compute(q)
        pin.framesForwardKinematics(model, data, q)
        tree = {
            child: (parent, pin.XYZQUATToSE3(pose))
            for (parent, child), pose in zip(frames.links, frames.poses, strict=True)
        }
        for link in tree:
            root, found = in_root(tree, link)
            expected = data.oMf[model.getFrameId(link.removeprefix("left_"))]
            assert root == WORLD
            np.testing.assert_allclose(found.homogeneous, expected.homogeneous, atol=1e-8)


def test_the_arms_of_a_scene_share_the_world_and_no_other_frame():
    left, right = (
        {name for pair in FrameTree(urdf_text(robot, arm)).links for name in pair}
        for arm, robot in load_scenario("grab_parcel_1").robots().items()
    )
    assert left & right == {WORLD}
