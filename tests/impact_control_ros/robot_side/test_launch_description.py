"""The description that xacro makes for a robot side: the arm that the controller knows, and hardware for its joints."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
import pytest
import xacro

from impact_control.references import initial_configuration
from impact_control.robots import load_robot
from impact_control.scenario import load_scenario, robot_of
from impact_control.util.errors import InvalidInputError
from impact_control_ros.robot_side.files import SIDES, ros_directory, xacro_arguments

PLUGINS = {
    "shared": "impact_sim_hardware/SimHardware",
    "topics": "topic_based_ros2_control/TopicBasedSystem",
    "mock": "mock_components/GenericSystem",
    "gazebo": "franka_gazebo_hardware/GazeboGravityCompensationSystem",
    "franka": "franka_hardware/FrankaHardwareInterface",
}


def expanded(side="mock", robot="panda", tool="sphere", **more):
    """The description as text, and the scenario it was made for."""
    overrides = {"robot.model": robot, "robot.end_effector": tool}
    scenario = load_scenario("tabletop").with_overrides(overrides)
    mappings = xacro_arguments(scenario, robot_of(scenario.robot), side, **more)
    return xacro.process_file(str(ros_directory("urdf") / "arm.urdf.xacro"), mappings=mappings).toxml(), scenario


@pytest.mark.parametrize("robot", ["panda", "fr3"])
@pytest.mark.parametrize("tool", ["sphere", "edge", "plate"])
def test_the_arm_with_its_end_effector_is_the_one_the_controller_knows(robot, tool):
    text, scenario = expanded(robot=robot, tool=tool)
    model, known = pin.buildModelFromXML(text), robot_of(scenario.robot)
    assert tuple(model.names[1:]) == known.joint_names
    np.testing.assert_array_equal(model.effortLimit, known.limits.torque)
    np.testing.assert_array_equal(model.upperPositionLimit, known.limits.position_upper)
    rng = np.random.default_rng(3)
    for _ in range(5):
        q = rng.uniform(known.limits.position_lower, known.limits.position_upper)
        data, expected = model.createData(), known.pinocchio_model.createData()
        mass = pin.crba(model, data, q)
        np.testing.assert_allclose(mass, pin.crba(known.pinocchio_model, expected, q), rtol=0.0, atol=1e-9)
        pin.framesForwardKinematics(model, data, q)
        pin.framesForwardKinematics(known.pinocchio_model, expected, q)
        contact = data.oMf[model.getFrameId("contact")]
        assert contact.isApprox(expected.oMf[known.contact_frame_id], 1e-12)


@pytest.mark.parametrize("tool", ["sphere", "edge", "plate"])
def test_there_is_a_ball_at_each_contact_point(tool):
    text, scenario = expanded(tool=tool)
    (link,) = (link for link in ElementTree.fromstring(text).iter("link") if link.get("name") == "end_effector")
    end_effector = robot_of(scenario.robot).end_effector
    expected = end_effector.contact_points + end_effector.contact_frame_offset
    for kind in ("visual", "collision"):
        origins = [element.find("origin").get("xyz").split() for element in link.iter(kind)]
        np.testing.assert_allclose(np.array(origins, dtype=float), expected, rtol=0.0, atol=1e-12)
        radii = [float(sphere.get("radius")) for element in link.iter(kind) for sphere in element.iter("sphere")]
        assert radii == [max(end_effector.radius, 0.001)] * len(expected)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("robot", ["panda", "fr3"])
def test_the_hardware_takes_effort_and_gives_all_states_of_the_joints_in_their_order(side, robot):
    text, scenario = expanded(side, robot, robot_ip="10.0.0.7", arm_prefix="left", shared_memory="/sim")
    (hardware,) = ElementTree.fromstring(text).iter("ros2_control")
    assert hardware.findtext("hardware/plugin") == PLUGINS[side]
    joints = hardware.findall("joint")
    assert tuple(joint.get("name") for joint in joints) == load_robot(robot).joint_names
    start = []
    for joint in joints:
        assert [command.get("name") for command in joint.findall("command_interface")] == ["effort"]
        states = {state.get("name"): state.findtext("param") for state in joint.findall("state_interface")}
        assert list(states) == ["position", "velocity", "effort"]
        start.append(float(states["position"]))
    np.testing.assert_allclose(start, initial_configuration(scenario, robot_of(scenario.robot)), rtol=1e-8, atol=0.0)
    parameters = {param.get("name"): param.text for param in hardware.findall("hardware/param")}
    if side == "franka":
        assert parameters == {"version": "1.1.0", "robot_type": robot, "robot_ip": "10.0.0.7", "prefix": "left_"}
    if side == "shared":
        assert parameters == {"shared_memory": "/sim", "timeout": "1.0"}
    if side == "topics":
        # Zero would send no command at all: it compares positions, and there are no position commands.
        assert float(parameters["trigger_joint_command_threshold"]) < 0.0


def test_only_gazebo_fixes_the_base_and_has_a_controller_manager_inside():
    for side in SIDES:
        text, _ = expanded(side, controllers="/some/panda.yaml", namespace="left")
        root = ElementTree.fromstring(text)
        assert [joint.get("name") for joint in root.iter("joint") if joint.get("name") == "world_joint"] == (
            ["world_joint"] if side == "gazebo" else []
        )
        assert [plugin.findtext("parameters") for plugin in root.findall("gazebo/plugin")] == (
            ["/some/panda.yaml"] if side == "gazebo" else []
        )
        assert all(plugin.findtext("ros/namespace") == "left" for plugin in root.findall("gazebo/plugin"))


def test_a_side_that_does_not_exist_is_refused():
    with pytest.raises(InvalidInputError, match="shared, topics, mock, gazebo, franka"):
        expanded("mujoco")
