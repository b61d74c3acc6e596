"""Switches that keep commands from an arm: of the simulator, or of the controller manager."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

from rclpy.task import Future
from std_srvs.srv import SetBool

from impact_control.util.errors import MissingDependencyError
from impact_control_ros.bridge import topics
from impact_control_ros.bridge.settings import CONTROLLER_MANAGER
from impact_control_ros.robot_side.files import EFFORT_CONTROLLER

if TYPE_CHECKING:  # launch files import this module, and need no lifecycle node
    from impact_control_ros.bridge.lifecycle import Configuration

SWITCH = f"{CONTROLLER_MANAGER}/switch_controller"
STATES = f"{CONTROLLER_MANAGER}/list_controllers"
"""Services of ros2_control, in the namespace of the arm."""

AWAITED = 100
"""Limit of pending answers: a service that hangs may be asked for days."""


class SwitchKind(Enum):
    """Receiver of the commands; values of the parameter `robot_side`.

    SIMULATOR_ON_TOPICS: behind ros2_control, whose topic hardware sends zeros while no controller is active.
    """

    SIMULATOR = "simulator"
    ROS2_CONTROL = "ros2_control"
    SIMULATOR_ON_TOPICS = "simulator_on_topics"


@dataclass(frozen=True)
class Step:
    """One service of a switch. request(allow) makes a request; accepted(answer, allow) is True for success."""

    client: Any
    request: Callable[[bool], Any]
    accepted: Callable[[Any, bool], bool]


@dataclass
class RobotSwitch:
    """Switch that keeps commands from an arm, or lets them through, by steps, each after the success of the last.

    Requests and answers may get lost or be late: it may be asked again, and an answer to any of its requests counts.

    Attribute: done, True when the robot side has done what it was asked for last.
    """

    steps: Sequence[Step]
    done: bool = field(default=False, init=False)
    _allow: bool | None = field(default=None, init=False)
    _awaited: deque[tuple[Any, Future]] = field(default_factory=deque, init=False)

    def ask(self, allow: bool) -> None:
        """Ask for it, once more where it is not done yet. An answer to the opposite does not count from now on."""
        if self._allow is not allow:
            self._forget_all_but(0)
            self._allow, self.done = allow, False
        if not self.done:
            self._send(0, allow)

    def _send(self, number: int, allow: bool) -> None:
        """Send the request of a step."""
        step = self.steps[number]
        if not step.client.service_is_ready():
            return
        answer = step.client.call_async(step.request(allow))
        self._awaited.append((step.client, answer))
        self._forget_all_but(AWAITED)
        answer.add_done_callback(partial(self._take, number, allow))

    def _take(self, number: int, allow: bool, answer: Future) -> None:
        awaited = any(answer is one for _, one in self._awaited)
        if self.done or not awaited or not self.steps[number].accepted(answer.result(), allow):
            return
        if number + 1 < len(self.steps):
            self._send(number + 1, allow)
        else:
            self.done = True

    def _forget_all_but(self, newest: int) -> None:
        """Await the newest answers only."""
        while len(self._awaited) > newest:
            client, answer = self._awaited.popleft()
            client.remove_pending_request(answer)


def switches_of(kind: SwitchKind, arms: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the services that are asked for the switches of all arms, in the namespace of the graph."""
    simulator = () if kind is SwitchKind.ROS2_CONTROL else (topics.ACCEPT,)
    managed = () if kind is SwitchKind.SIMULATOR else arms
    return (*simulator, *(topics.of_arm(arm, name) for arm in managed for name in (SWITCH, STATES)))


def robot_switches(configuration: Configuration, kind: SwitchKind, arms: Sequence[str]) -> list[RobotSwitch]:
    """Return the switches of all arms, in the namespace of the node; a simulator has one for all of its arms.

    Raises MissingDependencyError where ros2_control is not installed.
    """
    switches: list[RobotSwitch] = []
    if kind is not SwitchKind.ROS2_CONTROL:
        client = configuration.client(SetBool, topics.ACCEPT)
        accept = Step(client, lambda allow: SetBool.Request(data=allow), lambda answer, allow: bool(answer.success))
        switches.append(RobotSwitch([accept]))
    if kind is SwitchKind.SIMULATOR:
        return switches
    try:
        from controller_manager_msgs.srv import ListControllers, SwitchController
    except ImportError as error:
        raise MissingDependencyError(f"controller_manager_msgs is missing, install ros2_control: {error}") from error

    def request(allow: bool) -> Any:
        which = "activate_controllers" if allow else "deactivate_controllers"
        # STRICT refuses a state that is reached already: a repeated request, after a lost answer, would never succeed.
        strictness = SwitchController.Request.BEST_EFFORT
        return SwitchController.Request(**{which: [EFFORT_CONTROLLER]}, strictness=strictness)

    def is_so(answer: Any, allow: bool) -> bool:
        states = {controller.name: controller.state for controller in answer.controller}
        return EFFORT_CONTROLLER in states and (states[EFFORT_CONTROLLER] == "active") is allow

    def switch(arm: str) -> RobotSwitch:
        switcher = configuration.client(SwitchController, topics.of_arm(arm, SWITCH))
        lister = configuration.client(ListControllers, topics.of_arm(arm, STATES))
        # BEST_EFFORT is content with a controller that cannot be switched, too: only the states show its effect.
        return RobotSwitch(
            [
                Step(switcher, request, lambda answer, allow: bool(answer.ok)),
                Step(lister, lambda allow: ListControllers.Request(), is_so),
            ]
        )

    return [*switches, *(switch(arm) for arm in arms)]
