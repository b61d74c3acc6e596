"""Set the torques and forces from which a Franka stops by itself, before it makes impacts on purpose.

A process that ends: with 0 once the arm has taken the thresholds, with 1 when it refused, or did not answer.
franka_hardware offers the service; franka_msgs is there where franka_ros2 is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rclpy
from rclpy.node import Node

from impact_control.util.errors import ImpactControlError, InvalidInputError, MissingDependencyError
from impact_control_ros.bridge.calls import Caller
from impact_control_ros.bridge.runtime import run_step

SERVICE = "service_server/set_full_collision_behavior"
"""Service of franka_hardware, in the namespace of its controller manager."""

PARAMETERS = {"torque": ("Nm", 7), "force": ("N and Nm", 6)}
"""Thresholds: unit and how many."""


def fill(request: Any, torque: Sequence[float], force: Sequence[float]) -> Any:
    """Put thresholds of the joints (7,) [Nm] and the end-effector (6,) [N, Nm] into a request.

    The same for contact (lower) and collision (upper), accelerating or not: in between the arm would only report.
    Raises InvalidInputError unless all are above 0 and complete.
    """
    for name, values in (("torque", torque), ("force", force)):
        unit, size = PARAMETERS[name]
        if len(values) != size or not all(value > 0.0 for value in values):
            raise InvalidInputError(name, list(values), f"{size} values above 0 [{unit}]")
        for bound in ("lower", "upper"):
            for phase in ("acceleration", "nominal"):
                setattr(request, f"{bound}_{name}_thresholds_{phase}", [float(value) for value in values])
    return request


def set_thresholds(node: Node) -> None:
    """Ask the arm for the thresholds of the node's parameters. Raises ImpactControlError when it does not take them."""
    try:
        from franka_msgs.srv import SetFullCollisionBehavior
    except ImportError as error:
        raise MissingDependencyError(f"franka_msgs is missing, install franka_ros2: {error}") from error
    values = {name: list(node.get_parameter(name).value) for name in PARAMETERS}
    request = fill(SetFullCollisionBehavior.Request(), **values)
    caller = Caller(node, lambda seconds: rclpy.spin_once(node, timeout_sec=seconds))
    answer = caller.call(SetFullCollisionBehavior, SERVICE, request)
    if not answer.success:
        raise ImpactControlError(f"the arm refused the thresholds {values}: {answer.error}")
    node.get_logger().info(f"collision thresholds set: {values}")


def main() -> int:
    """Entry point of the process."""
    described = {
        name: ([0.0] * size, f"{size} thresholds [{unit}], of contact and of collision")
        for name, (unit, size) in PARAMETERS.items()
    }
    return run_step("collision_behavior", described, set_thresholds)
