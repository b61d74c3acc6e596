"""The switch with which commands are kept from an arm: of the simulator, or of the controller manager before it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any

from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import SetBool

from impact_control.errors import MissingDependencyError
from impact_control.nodes import topics
from impact_control.robot_side import CONTROLLER_MANAGER, EFFORT_CONTROLLER

SWITCH = f"{CONTROLLER_MANAGER}/switch_controller"
STATES = f"{CONTROLLER_MANAGER}/list_controllers"
"""Services of ros2_control, in the namespace of the arm."""

AWAITED = 100
"""Answers that are awaited at most: a service that hangs may be asked for days."""


class SwitchKind(Enum):
    """Who takes the commands; values of the parameter `robot_side`."""

    SIMULATOR = "simulator"
    ROS2_CONTROL = "ros2_control"


@dataclass(frozen=True)
class Step:
    """A service to ask. request(allow) makes a request; accepted(answer, allow): whether it says what is wanted."""

    client: Any
    request: Callable[[bool], Any]
    accepted: Callable[[Any, bool], bool]


@dataclass
class Order:
    """What a switch is to do; done: whether all steps, each asked when the one before has accepted, have accepted.

    Requests and answers may get lost or be late: it may be sent again, and an answer to any of its requests counts.
    """

    steps: Sequence[Step]
    allow: bool
    done: bool = field(default=False, init=False)
    _awaited: deque[tuple[Any, Future]] = field(default_factory=deque, init=False)

    def send(self, number: int = 0) -> None:
        """Ask from a step on."""
        step = self.steps[number]
        if not step.client.service_is_ready():
            return
        answer = step.client.call_async(step.request(self.allow))
        self._awaited.append((step.client, answer))
        if len(self._awaited) > AWAITED:
            self._forget_oldest()
        answer.add_done_callback(partial(self._take, number))

    def _take(self, number: int, answer: Future) -> None:
        if self.done or not self.steps[number].accepted(answer.result(), self.allow):
            return
        if number + 1 < len(self.steps):
            self.send(number + 1)
        else:
            self.done = True

    def _forget_oldest(self) -> None:
        client, answer = self._awaited.popleft()
        client.remove_pending_request(answer)

    def drop(self) -> None:
        """Wait for no answer any more."""
        while self._awaited:
            self._forget_oldest()


@dataclass
class RobotSwitch:
    """What keeps commands from an arm, or lets them through, by the services of its steps."""

    steps: Sequence[Step]
    _order: Order | None = field(default=None, init=False)

    def ask(self, allow: bool) -> None:
        """Ask for it, once more where it is not done yet. An answer to the opposite does not count from now on."""
        if self._order is None or self._order.allow is not allow:
            if self._order is not None:
                self._order.drop()
            self._order = Order(self.steps, allow)
        if not self._order.done:
            self._order.send()

    @property
    def done(self) -> bool:
        """Whether the robot side has done what it was asked for last."""
        return self._order is not None and self._order.done


def switches_of(kind: SwitchKind, arms: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the services that are asked for the switches of all arms, in the namespace of the graph."""
    if kind is SwitchKind.SIMULATOR:
        return (topics.ACCEPT,)
    return tuple(topics.of_arm(arm, name) for arm in arms for name in (SWITCH, STATES))


def robot_switches(node: Node, kind: SwitchKind, arms: Sequence[str]) -> list[RobotSwitch]:
    """Return the switches of all arms, in the namespace of a node.

    Raises MissingDependencyError where ros2_control is not installed.
    """
    if kind is SwitchKind.SIMULATOR:
        client = node.create_client(SetBool, topics.ACCEPT)
        accept = Step(client, lambda allow: SetBool.Request(data=allow), lambda answer, allow: bool(answer.success))
        return [RobotSwitch([accept])]
    try:
        from controller_manager_msgs.srv import ListControllers, SwitchController
    except ImportError as error:
        raise MissingDependencyError(f"controller_manager_msgs is missing, install ros2_control: {error}") from error

    def request(allow: bool) -> Any:
        which = "activate_controllers" if allow else "deactivate_controllers"
        # STRICT refuses what is so already: asked again after a lost answer it would never be done.
        strictness = SwitchController.Request.BEST_EFFORT
        return SwitchController.Request(**{which: [EFFORT_CONTROLLER]}, strictness=strictness)

    def is_so(answer: Any, allow: bool) -> bool:
        states = {controller.name: controller.state for controller in answer.controller}
        return EFFORT_CONTROLLER in states and (states[EFFORT_CONTROLLER] == "active") is allow

    def switch(arm: str) -> RobotSwitch:
        switcher = node.create_client(SwitchController, topics.of_arm(arm, SWITCH))
        lister = node.create_client(ListControllers, topics.of_arm(arm, STATES))
        # BEST_EFFORT is content with a controller that cannot be switched, too: what it did is told by the states.
        return RobotSwitch(
            [
                Step(switcher, request, lambda answer, allow: bool(answer.ok)),
                Step(lister, lambda allow: ListControllers.Request(), is_so),
            ]
        )

    return [switch(arm) for arm in arms]
