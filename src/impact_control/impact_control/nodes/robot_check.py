"""Hold what stands behind ros2_control against what the controller is built for, before it takes the arm over.

A process that ends: 0 when all fits, 1 when something does not, which is named with what is needed. It runs when the
effort controller is loaded and not yet active, and the arm rests.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter

import numpy as np
import rclpy
from rcl_interfaces.srv import GetParameters
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from sensor_msgs.msg import JointState

from impact_control.errors import InvalidInputError
from impact_control.nodes import qos, topics
from impact_control.nodes.calls import CALL_PATIENCE, Caller
from impact_control.nodes.inbox import Inbox
from impact_control.nodes.joint_states import JointStateReader
from impact_control.nodes.step import run_step
from impact_control.robot_check import (
    RestingArm,
    check_gravity,
    check_numbers,
    check_publishers,
    check_rate,
    check_rest,
)
from impact_control.robot_side import check_parameters, needed_parameters, scenario_of
from impact_control.robots import Dynamics
from impact_control.scenario import robot_of
from impact_control.types import Vector

WATCH_TIME = 0.5
"""[s] of joint states that are looked at, by their stamps."""

PARAMETERS = {
    "scenario": ("", "name or file of the scenario whose robot and period are needed"),
    "check_gravity": (True, "whether the efforts of the resting arm have to be those that hold it"),
}


def check_robot_side(node: Node) -> None:
    """Look at controllers, topics and joint states, in this order. Raises ImpactControlError for what does not fit."""
    scenario = scenario_of(str(node.get_parameter("scenario").value))
    robot = robot_of(scenario.robot)
    caller = Caller(node, lambda seconds: rclpy.spin_once(node, timeout_sec=seconds))
    needed = needed_parameters(robot.joint_names, scenario.control.period)
    check_parameters(read_parameters(caller, needed), needed)
    listening = f"a subscriber of {topics.COMMANDS}"
    caller.wait(lambda: node.count_subscribers(topics.COMMANDS) > 0, CALL_PATIENCE, listening)
    arm = watch(node, caller, robot.joint_names)
    publishers = node.get_publishers_info_by_topic(topics.JOINT_STATES)
    check_publishers(topics.JOINT_STATES, sorted(publisher.node_name for publisher in publishers))
    check_numbers(arm, robot.joint_names)
    check_rate(arm, scenario.control.period)
    check_rest(arm, robot.joint_names)
    said = "not looked at"
    if node.get_parameter("check_gravity").value:
        dynamics = Dynamics(robot)
        dynamics.update(arm.position.mean(axis=0), np.zeros(len(robot.joint_names)))
        effort = arm.effort.mean(axis=0)
        held = check_gravity(effort, dynamics.gravity)
        difference = np.abs(effort - dynamics.gravity).max()
        said = f"{'held' if held else 'too small to tell'}, at most {difference:.1f} Nm from the model's"
    node.get_logger().info(f"the robot side fits {robot.name}, scenario {scenario.name}; weight {said}")


def read_parameters(caller: Caller, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], object]:
    """Ask running nodes for parameters, by node and name; one that is not set is None."""
    found: dict[tuple[str, str], object] = {}
    for server, keys in groupby(sorted(wanted), key=itemgetter(0)):
        names = [name for _, name in keys]
        request = GetParameters.Request(names=names)
        answer = caller.call_until_answered(GetParameters, f"{server}/get_parameters", request)
        # A node that does not know one of them answers with none at all.
        values = [parameter_value_to_python(value) for value in answer.values] or [None] * len(names)
        found |= {(server, name): value for name, value in zip(names, values, strict=True)}
    return found


def watch(node: Node, caller: Caller, joint_names: tuple[str, ...]) -> RestingArm:
    """Return the joint states that come in a while.

    Raises NoAnswerError when too few come, InvalidInputError when they are those of another arm.
    """
    reader = JointStateReader(joint_names)
    inbox = Inbox(node)
    slot = inbox.subscribe(JointState, topics.JOINT_STATES, qos.RECORD, raw=True)
    stamps: list[int] = []
    rows: list[tuple[Vector, Vector, Vector]] = []

    def long_enough() -> bool:
        while (data := slot.take()) is not None:
            if not reader.read(data):
                raise InvalidInputError(topics.JOINT_STATES, reader.reason, f"the joints {', '.join(joint_names)}")
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


if __name__ == "__main__":
    sys.exit(main())
