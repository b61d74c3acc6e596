"""Parameter files of the launch files, read by the real parser of ROS for nodes in any namespace."""

from __future__ import annotations

import pytest
import rclpy

from impact_control.scenario import config_directory

DIRECTORY = config_directory() / "controllers"


def read(name, node, namespace):
    """What a node of that name finds in a parameter file."""
    context = rclpy.Context()
    rclpy.init(context=context, args=["--ros-args", "--params-file", str(DIRECTORY / f"{name}.yaml")])
    try:
        made = rclpy.create_node(
            node, context=context, namespace=namespace, automatically_declare_parameters_from_overrides=True
        )
        found = {key: value.value for key, value in made.get_parameters_by_prefix("").items()}
        made.destroy_node()
    finally:
        context.try_shutdown()
    return found


@pytest.mark.parametrize("namespace", ["", "left", "cell/left"])
@pytest.mark.parametrize("robot", ["panda", "fr3"])
def test_manager_and_controllers_find_theirs_in_any_namespace(robot, namespace):
    manager = read(robot, "controller_manager", namespace)
    assert manager["update_rate"] == 1000 and manager["enforce_command_limits"] is False
    assert manager["effort_controller.type"] == "effort_controllers/JointGroupEffortController"
    joints = [f"{robot}_joint{i}" for i in range(1, 8)]
    effort = read(robot, "effort_controller", namespace)
    assert list(effort["joints"]) == joints
    states = read(robot, "joint_state_broadcaster", namespace)
    assert list(states["joints"]) == joints and list(states["interfaces"]) == ["position", "velocity", "effort"]


def test_the_arm_adds_to_the_manager_and_gives_thresholds():
    assert read("franka", "controller_manager", "left")["thread_priority"] == 98
    thresholds = read("collision_behavior", "collision_behavior", "left")
    assert len(thresholds["torque"]) == 7 and len(thresholds["force"]) == 6
