"""State of a Franka, where franka_msgs is installed: its mode, and the success rate of commands."""

from __future__ import annotations

import math
from typing import Any

from rclpy.serialization import deserialize_message

from impact_control_ros.bridge import qos, topics
from impact_control_ros.bridge.rclpy_internals import Inbox
from impact_control_ros.bridge.supervision import RobotMode

TOPIC = "franka_robot_state_broadcaster/robot_state"
"""Topic of franka_ros2, in the namespace of the arm."""

DECODE_INTERVAL = 0.04
"""[s] between two messages that are decoded: a large one, of which two numbers are used."""


def franka_robot_state() -> Any | None:
    """Return the type franka_msgs/FrankaRobotState, None where franka_ros2 is not installed."""
    try:
        from franka_msgs.msg import FrankaRobotState
    except ImportError:
        return None
    return FrankaRobotState


class FrankaState:
    """The newest franka_msgs/FrankaRobotState of an arm, decoded now and then.

    Attributes: mode, None before the first message; success_rate, part of the commands that reached the arm in time.
    """

    def __init__(self, inbox: Inbox, arm: str, kind: Any) -> None:
        """Subscribe to the state of the arm; "": the only one. kind: of `franka_robot_state`."""
        self._kind = kind
        self._slot = inbox.subscribe(kind, topics.of_arm(arm, TOPIC), qos.STREAM, raw=True)
        self._due = -math.inf
        self.mode: RobotMode | None = None
        self.success_rate = math.nan

    def look(self, now: float) -> RobotMode | None:
        """Read what has arrived by `now` [s]; return the mode."""
        data = self._slot.take()
        if data is not None and now >= self._due:
            self._due = now + DECODE_INTERVAL
            message = deserialize_message(data, self._kind)
            self.mode = RobotMode(message.robot_mode)
            self.success_rate = message.control_command_success_rate
        return self.mode
