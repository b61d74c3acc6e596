"""Parameter files of the launch files, read by the real parser of ROS for nodes in any namespace."""

from __future__ import annotations

from pathlib import Path

import pytest
import rclpy
from ruamel.yaml import YAML

from impact_control.scenario import config_directory

ROOT = Path(__file__).resolve().parents[3]
DIRECTORY = config_directory() / "controllers"


def guard_parameters():
    """Names of the parameters that the guard declares."""
    declared = ROOT / "src" / "impact_guard" / "src" / "impact_guard_parameters.yaml"
    return YAML(typ="safe").load(declared)["impact_guard"].keys()


def read(name, node, namespace):
    """Return the parameters that a node of that name gets from a file."""
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
    assert manager["effort_controller.type"] == "impact_guard/ImpactGuard"
    joints = [f"{robot}_joint{i}" for i in range(1, 8)]
    effort = read(robot, "effort_controller", namespace)
    assert list(effort["joints"]) == joints
    assert effort.keys() >= guard_parameters() and len(effort["damping"]) == 7
    states = read(robot, "joint_state_broadcaster", namespace)
    assert list(states["joints"]) == joints and list(states["interfaces"]) == ["position", "velocity", "effort"]


def test_the_arm_adds_to_the_manager_and_gives_thresholds():
    manager = read("franka", "controller_manager", "left")
    # By the names under which ros2_control_node 4.46 reads them; memory it locks itself where the kernel is real-time.
    assert manager["thread_priority"] == 98 and manager["overruns.manage"] is False and "lock_memory" not in manager
    thresholds = read("collision_behavior", "collision_behavior", "left")
    assert len(thresholds["torque"]) == 7 and len(thresholds["force"]) == 6
