"""The switch with which commands are kept from an arm: of the simulator, or of the controller manager before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import SetBool

from impact_control.errors import MissingDependencyError
from impact_control.nodes import topics
from impact_control.robot_side import CONTROLLER_MANAGER, EFFORT_CONTROLLER

SWITCH = f"{CONTROLLER_MANAGER}/switch_controller"
"""Service of ros2_control, in the namespace of the arm."""


class SwitchKind(Enum):
    """Who takes the commands; values of the parameter `robot_side`."""

    SIMULATOR = "simulator"
    ROS2_CONTROL = "ros2_control"


@dataclass
class RobotSwitch:
    """One service that keeps commands from an arm, or lets them through.

    request(allow) makes a request; accepted(answer) tells whether it was done.
    """

    client: Any
    request: Callable[[bool], Any]
    accepted: Callable[[Any], bool]
    _asked: Future | None = field(default=None, init=False)

    def ask(self, allow: bool) -> None:
        """Send the request; an answer that is still awaited is so no more."""
        if self._asked is not None and not self._asked.done():
            self.client.remove_pending_request(self._asked)
        self._asked = self.client.call_async(self.request(allow)) if self.client.service_is_ready() else None

    @property
    def done(self) -> bool:
        """Whether the last request was answered, and obeyed."""
        return self._asked is not None and self._asked.done() and self.accepted(self._asked.result())


def switches_of(kind: SwitchKind, arms: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the services that are the switches of all arms, in the namespace of the graph."""
    if kind is SwitchKind.SIMULATOR:
        return (topics.ACCEPT,)
    return tuple(topics.of_arm(arm, SWITCH) for arm in arms)


def robot_switches(node: Node, kind: SwitchKind, arms: Sequence[str]) -> list[RobotSwitch]:
    """Return the switches of all arms, in the namespace of a node.

    Raises MissingDependencyError where ros2_control is not installed.
    """
    names = switches_of(kind, arms)
    if kind is SwitchKind.SIMULATOR:
        return [
            RobotSwitch(
                node.create_client(SetBool, name),
                lambda allow: SetBool.Request(data=allow),
                lambda answer: bool(answer.success),
            )
            for name in names
        ]
    try:
        from controller_manager_msgs.srv import SwitchController
    except ImportError as error:
        raise MissingDependencyError(f"controller_manager_msgs is missing, install ros2_control: {error}") from error

    def request(allow: bool) -> Any:
        which = "activate_controllers" if allow else "deactivate_controllers"
        return SwitchController.Request(**{which: [EFFORT_CONTROLLER]}, strictness=SwitchController.Request.STRICT)

    return [
        RobotSwitch(node.create_client(SwitchController, name), request, lambda answer: bool(answer.ok))
        for name in names
    ]
