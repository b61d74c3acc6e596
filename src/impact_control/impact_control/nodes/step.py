"""A process that does one thing before our nodes start, and ends: with 0 when it is done, with 1 when it cannot be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import rclpy
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node

from impact_control.errors import ImpactControlError


def run_step(name: str, parameters: Mapping[str, tuple[Any, str]], work: Callable[[Node], None]) -> int:
    """Do some work with a node of its own; return the exit code. What it refuses is in the log.

    parameters: default value and description of each.
    """
    rclpy.init()
    node = Node(name)
    for parameter, (default, description) in parameters.items():
        node.declare_parameter(parameter, default, ParameterDescriptor(description=description))
    try:
        work(node)
    except ImpactControlError as error:
        node.get_logger().error(str(error))
        return 1
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return 0
