"""Frames of a recorded bag as another program finds them, and what the layout of Foxglove takes of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

from impact_control.recording.bag import storage_files
from impact_control.recording.messages import message_definition, parse_definition, short_name
from impact_control.robots import Dynamics, RobotDescription

LAYOUT = Path(__file__).parents[2] / "config" / "view" / "foxglove.json"

Tree = dict[str, tuple[str, pin.SE3]]
"""Parent of each frame, and its pose in that parent."""


def recorded(bag: Path, topic: str) -> Iterator[Any]:
    """Messages of a topic, decoded by `mcap_ros2` with the definitions in the bag."""
    for file in storage_files(bag):
        with file.open("rb") as stream:
            reader = make_reader(stream, decoder_factories=[DecoderFactory()])
            for _, _, _, message in reader.iter_decoded_messages([topic]):
                yield message


def stamp_of(header: Any) -> int:
    """Stamp [ns] of a header."""
    return int(header.stamp.sec) * 1_000_000_000 + int(header.stamp.nanosec)


def trees(bag: Path) -> list[tuple[int, Tree]]:
    """Stamp [ns] and frames of each message of `/tf`: each frame has one parent in it."""
    found = []
    for message in recorded(bag, "/tf"):
        tree: Tree = {}
        for transform in message.transforms:
            assert transform.child_frame_id not in tree
            place, turn = transform.transform.translation, transform.transform.rotation
            pose = pin.XYZQUATToSE3(np.array([place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w]))
            tree[transform.child_frame_id] = (transform.header.frame_id, pose)
        (stamp,) = {stamp_of(transform.header) for transform in message.transforms}
        found.append((stamp, tree))
    return found


def in_root(tree: Tree, frame: str) -> tuple[str, pin.SE3]:
    """Root above a frame, and the pose of the frame in it."""
    pose = pin.SE3.Identity()
    for _ in range(len(tree) + 1):
        if frame not in tree:
            return frame, pose
        frame, step = tree[frame]
        pose = step * pose
    raise AssertionError(f"a ring of frames through {frame}")


def links_of(description: str) -> set[str]:
    """Names of the links of a URDF."""
    return {str(link.get("name")) for link in ElementTree.fromstring(description).iter("link")}


def check_frames(bag: Path, robot: RobotDescription, arm: str = "") -> None:
    """Frames of an arm: all links of its description below the world, E where states and poses have it, at 50 Hz."""
    space, contact = (f"/{arm}", f"{arm}_contact") if arm else ("", "contact")
    (description,) = recorded(bag, f"{space}/robot_description")
    links = links_of(description.data)
    own = {stamp: tree for stamp, tree in trees(bag) if contact in tree}
    np.testing.assert_allclose(np.diff(list(own)), 20_000_000, atol=1_000_000)
    for tree in own.values():
        assert {"world", *tree} == links
        assert {in_root(tree, link)[0] for link in links} == {"world"}

    found = {stamp: in_root(tree, contact)[1] for stamp, tree in own.items()}
    states = {stamp_of(state.header): state for state in recorded(bag, f"{space}/joint_states")}
    dynamics = Dynamics(robot)
    for stamp, pose in found.items():
        dynamics.compute(np.array(states[stamp].position), np.zeros(len(robot.joint_names)))
        np.testing.assert_allclose(pose.translation, dynamics.position, atol=1e-8)
        np.testing.assert_allclose(pose.rotation, dynamics.rotation, atol=1e-8)

    poses = list(recorded(bag, f"{space}/end_effector/pose"))
    assert {pose.header.frame_id for pose in poses} == {"world"}
    stamps = np.array([stamp_of(pose.header) for pose in poses])
    places = np.array([[getattr(pose.pose.position, axis) for axis in "xyz"] for pose in poses])
    inside = [stamp for stamp in found if stamps[0] <= stamp <= stamps[-1]]
    assert len(inside) > 10
    for axis in range(3):  # between two poses, 10 ms apart, the arm may have hit something
        between = np.interp(inside, stamps, places[:, axis])
        np.testing.assert_allclose([found[stamp].translation[axis] for stamp in inside], between, atol=2e-3)
    assert {message.header.frame_id for message in recorded(bag, f"{space}/end_effector/external_wrench")} == {contact}


def check_cartesian_headers(bag: Path, topics: dict[str, str]) -> None:
    """Messages with a header name a frame if they have Cartesian fields, and none otherwise. topics: types by name."""
    for topic, type_name in topics.items():
        types = parse_definition(type_name, message_definition(type_name))
        fields = types[short_name(type_name)].fields
        frames = {message.header.frame_id for message in recorded(bag, topic)} if fields[0].name == "header" else set()
        if frames:
            cartesian = any(field.type.startswith("geometry_msgs/") for field in fields)
            assert ("" not in frames) == cartesian, f"{topic}: {frames}"


def shown_in_3d() -> tuple[dict[str, str], set[str]]:
    """Topics that the 3D panels of the layout show, with the way in which they do, and the frames that they name."""
    layout = json.loads(LAYOUT.read_text())
    topics: dict[str, str] = {}
    frames: set[str] = set()
    for name, panel in layout["configById"].items():
        if name.startswith("3D!"):
            layers = panel["layers"].values()
            topics |= {layer["topic"]: layer["layerId"] for layer in layers if layer.get("sourceType") == "topic"}
            topics |= {topic: shown["type"] for topic, shown in panel["topics"].items() if shown["visible"]}
            frames |= {panel["followTf"], *(layer["frameId"] for layer in layers if "frameId" in layer)}
    return topics, frames
