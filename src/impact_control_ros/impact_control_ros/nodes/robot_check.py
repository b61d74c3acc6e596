"""Check the robot side behind ros2_control against the controller, before that takes the arm over.

A process that ends: with 0 when all fits, with 1 otherwise, naming what was found and what is allowed. It runs when the
effort controller is loaded and not yet active, and the arm rests.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np
import rclpy
from rcl_interfaces.srv import GetParameters
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from sensor_msgs.msg import JointState

from impact_control.planning.assignment import assigned
from impact_control.robots import Dynamics
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Vector
from impact_control_ros.bridge import qos, topics
from impact_control_ros.bridge.calls import CALL_PATIENCE, Caller
from impact_control_ros.bridge.joint_states import JointStateReader
from impact_control_ros.bridge.rclpy_internals import Inbox
from impact_control_ros.bridge.runtime import run_step
from impact_control_ros.robot_side.check import (
    RestingArm,
    check_gravity,
    check_numbers,
    check_publishers,
    check_rate,
    check_rest,
)
from impact_control_ros.robot_side.files import check_parameters

WATCH_TIME = 0.5
"""[s] of joint states that are checked, by their stamps."""

FIRST_STATE_PATIENCE = 5.0
"""[s] in which efforts of exactly zero count as the initial values of interfaces whose hardware has no state yet."""

PARAMETERS = {
    "scenario": ("", "name or file of the scenario whose robot and period are needed"),
    "arm": ("", "name of the arm in a scene; empty for a scenario of one arm"),
    "check_gravity": (True, "check that the efforts of the resting arm are those that hold it"),
}


def check_robot_side(node: Node) -> None:
    """Check controllers, topics and joint states, in this order. Raises ImpactControlError for the first misfit."""
    task = assigned(*(str(node.get_parameter(name).value) for name in ("scenario", "arm")))
    scenario, robot = task.scenario, task.robot
    caller = Caller(node, lambda seconds: rclpy.spin_once(node, timeout_sec=seconds))
    read = partial(read_parameter, caller)
    check_parameters(read, robot, scenario.control.period, scenario.robot.require_guard)
    listening = f"a subscriber of {topics.COMMANDS}"
    caller.wait(lambda: node.count_subscribers(topics.COMMANDS) > 0, CALL_PATIENCE, listening)
    weighs = bool(node.get_parameter("check_gravity").value)
    arm = watch(node, caller, robot.joint_names, weighs=weighs)
    publishers = node.get_publishers_info_by_topic(topics.JOINT_STATES)
    check_publishers(topics.JOINT_STATES, sorted(publisher.node_name for publisher in publishers))
    check_numbers(arm, robot.joint_names)
    check_rate(arm, scenario.control.period)
    check_rest(arm, robot.joint_names)
    weight = "not checked"
    if weighs:
        dynamics = Dynamics(robot)
        dynamics.compute(arm.position.mean(axis=0), np.zeros(len(robot.joint_names)))
        effort = arm.effort.mean(axis=0)
        held = check_gravity(effort, dynamics.gravity)
        difference = np.abs(effort - dynamics.gravity).max()
        weight = f"{'held' if held else 'too small for a verdict'}, at most {difference:.1f} Nm from the model's"
    node.get_logger().info(f"the robot side fits {robot.name}, scenario {scenario.name}; weight {weight}")


def read_parameter(caller: Caller, node: str, name: str) -> object:
    """Ask a running node for a parameter; one that is not set is None."""
    request = GetParameters.Request(names=[name])
    answer = caller.call_until_answered(GetParameters, f"{node}/get_parameters", request)
    # A node that does not know it answers with no value.
    return parameter_value_to_python(answer.values[0]) if answer.values else None


def watch(node: Node, caller: Caller, joint_names: tuple[str, ...], *, weighs: bool) -> RestingArm:
    """Return the joint states of `WATCH_TIME`.

    Until the hardware has its first state, ros2_control publishes the initial values of the description. No arm that
    weighs something measures an effort of exactly zero in all joints: such states are waited out for
    `FIRST_STATE_PATIENCE`. Raises NoAnswerError when too few come, InvalidInputError for those of another arm.
    """
    reader = JointStateReader(joint_names)
    inbox = Inbox(node)
    slot = inbox.subscribe(JointState, topics.JOINT_STATES, qos.RECORD, raw=True)
    stamps: list[int] = []
    rows: list[tuple[Vector, Vector, Vector]] = []
    end = time.monotonic() + (FIRST_STATE_PATIENCE if weighs else 0.0)

    def long_enough() -> bool:
        while (data := slot.take()) is not None:
            if not reader.read(data):
                raise InvalidInputError(topics.JOINT_STATES, reader.reason, f"the joints {', '.join(joint_names)}")
            if not reader.effort.any() and not rows and time.monotonic() < end:
                continue
            stamps.append(reader.stamp)
            rows.append((reader.position.copy(), reader.velocity.copy(), reader.effort.copy()))
        return len(rows) > 1 and stamps[-1] - stamps[0] > WATCH_TIME * 1e9

    try:
        caller.wait(long_enough, CALL_PATIENCE, f"the publisher of {topics.JOINT_STATES}")
    finally:
        inbox.close()
    position, velocity, effort = (np.array(values) for values in zip(*rows, strict=True))
    return RestingArm(np.array(stamps), position, velocity, effort)


def main() -> int:
    """Entry point of the process."""
    return run_step("robot_check", PARAMETERS, check_robot_side)
