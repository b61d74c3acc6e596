"""The layouts for other programs name topics and fields that there are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from impact_control.recording.messages import message_definition, parse_definition, short_name
from impact_control.robots import load_robot
from impact_control.robots.frame_tree import FrameTree
from impact_control.robots.urdf import WORLD, urdf_text
from recorded_frames import shown_in_3d

ROOT = Path(__file__).parents[3]
TYPES = {
    "/joint_states": "sensor_msgs/JointState",
    "/controller/reference": "impact_msgs/ControllerReference",
    "/impact/external_torque": "impact_msgs/ExternalTorque",
    "/impact/classification": "impact_msgs/ImpactClassification",
    "/simulation/truth": "impact_msgs/GroundTruth",
}


def has_field(prefix, topic, fields):
    """Whether a message of the topic has a field at the end of this path."""
    name = short_name(TYPES[topic])
    types = parse_definition(name, message_definition(name, [prefix]))
    for part in fields:
        found = {field.name: field for field in types[name].fields}.get(part.split("[")[0])
        if found is None or ("[" in part) != found.is_array:
            return False
        name = found.type
    return True


def test_the_paths_of_the_foxglove_layout(prefix):
    layout = json.loads((ROOT / "config" / "view" / "foxglove.json").read_text())
    paths = [path["value"] for panel in layout["configById"].values() for path in panel.get("paths", ())]
    paths += [panel["topicPath"] for panel in layout["configById"].values() if "topicPath" in panel]
    assert len(paths) > 20
    for path in paths:
        topic, *fields = path.split(".")
        assert has_field(prefix, topic, fields), path
    shown = re.findall(r'"(\w+!\w+)"', json.dumps(layout["layout"]))
    assert sorted(shown) == sorted(layout["configById"])


@pytest.mark.parametrize("robot", ["panda", "fr3"])
def test_the_foxglove_layout_shows_the_arm_and_its_end_effector(robot):
    topics, frames = shown_in_3d()
    assert topics == {"/robot_description": "foxglove.Urdf", "/end_effector/pose": "axis"}
    recorded = {name for pair in FrameTree(urdf_text(load_robot(robot))).links for name in pair}
    assert frames == {WORLD} <= recorded


def test_the_curves_of_the_plotjuggler_layout(prefix):
    tree = ElementTree.parse(ROOT / "config" / "view" / "plotjuggler.xml")
    names = [curve.get("name") for curve in tree.iter("curve")]
    assert len(names) > 10
    for name in names:
        topic = next(topic for topic in TYPES if name.startswith(topic + "/"))
        fields = name.removeprefix(topic + "/").split("/")
        if topic == "/joint_states":  # PlotJuggler takes the names of the joints apart
            joint, field = fields
            assert re.fullmatch(r"panda_joint[1-7]", joint)
            fields = [f"{field}[0]"]
        assert has_field(prefix, topic, fields), name
