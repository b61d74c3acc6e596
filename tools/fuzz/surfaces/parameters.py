"""Parameters: any value for any declared parameter. Refused with a reason, or taken and then inside its range.

Those of the loop are set in a running task, as the gains may be: its commands keep the limits all the while.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter
from source import Source, chance, choice, number

from impact_control.planning.assignment import assigned
from impact_control_ros.bridge.control_loop import GAINS
from impact_control_ros.bridge.impact_task import PreparedTask
from impact_control_ros.bridge.loop_output import ClassificationWriter
from impact_control_ros.nodes.classifier import ClassifierNode
from impact_control_ros.nodes.controller import ControllerNode
from impact_control_ros.nodes.predictor import PredictorNode
from impact_control_ros.nodes.recorder import RecorderNode
from impact_control_ros.nodes.simulator import SimulatorNode
from impact_control_ros.nodes.supervisor import SupervisorNode
from surfaces import BrokenPromiseError
from surfaces.command_watch import CommandWatch
from surfaces.graph import EPOCH, MILLISECOND, GraphTarget, JointStates
from surfaces.watched_loop import WatchedLoop

OTHERS = ("use_sim_time",)
"""Parameters that rclpy declares for every node."""

WORDS = ("", "tabletop", "push_catfood_1", "arm_1", "simulator", "ros2_control", ",", "a,b", "a b", "/", "~")

EDGE = 1e-6
"""Part of a bound by which rclpy lets a value be outside of it."""

FINAL = (TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE)


class Parameters(GraphTarget):
    """Nodes before and after their configuration, set through the handler of `set_parameters`."""

    def __init__(self) -> None:
        super().__init__()
        graph = self._graph
        self._loop = graph.add_loop("impact_loop")
        self._configured: list[Any] = [self._loop]
        task = assigned("tabletop")
        plan = task.plan()
        self._task = PreparedTask(plan, ClassificationWriter(task.scenario, 7), 0)
        self._watched = WatchedLoop(graph, self._loop, CommandWatch(task.robot, task.scenario.control.period))
        self._names, self._start = task.robot.joint_names, plan.reference.initial_configuration
        kinds = (ControllerNode, SimulatorNode, RecorderNode, SupervisorNode, PredictorNode, ClassifierNode)
        self._fresh: list[Any] = [graph.add(kind) for kind in kinds]
        self._handlers = {node: handler_of(node) for node in (*self._configured, *self._fresh)}
        self._defaults = {node: self._values(node) for node in (*self._configured, *self._fresh)}

    def __call__(self, source: Source) -> bool:
        """Set a few parameters of one node, configure it at times, and put everything back."""
        node = choice(source, (*self._configured, *self._fresh))
        accepted = 0
        request = SetParameters.Request()
        request.parameters = [self._setting(source, node) for _ in range(source.integer(1, 4))]
        try:
            if node is self._loop:
                answer = self._set_in_task(source, request)
            else:
                answer = self._handlers[node](request, SetParameters.Response())
            for setting, result in zip(request.parameters, answer.results, strict=True):
                if not result.successful and not result.reason:
                    raise BrokenPromiseError(f"{setting.name} = {setting.value} was refused without a reason")
                accepted += result.successful
            self._require_ranges(node)
            if chance(source, 256):
                self._configure(node)
        finally:
            self._put_back(node)
        return accepted > 0

    def _set_in_task(self, source: Source, request: SetParameters.Request) -> SetParameters.Response:
        """Set parameters of the loop between two samples of a task in which the arm is away from its reference."""
        loop, watched = self._loop, self._watched
        away = self._start + 1e-3 * np.array([source.integer(-100, 100) for _ in self._start])
        at_start, elsewhere = JointStates(self._names, self._start), JointStates(self._names, away)
        if chance(source, 2):
            request.parameters[0] = self._gain(source)
        before, after = source.integer(0, 5), source.integer(5, 10)
        watched.renew()
        watched.sample(at_start.good(EPOCH))
        if refused := loop.built.start_task(self._task):
            raise BrokenPromiseError(f"the task was not begun: {refused}")

        def sample(k: int) -> None:
            watched.sample(elsewhere.good(EPOCH + k * MILLISECOND))

        for k in range(1, 1 + before):
            sample(k)
        answer: SetParameters.Response = self._handlers[loop](request, SetParameters.Response())
        for k in range(1 + before, 1 + before + after):
            sample(k)
            if chance(source, 16):
                loop.built._on_slow_timer()
        loop.on_deactivate(None)
        return answer

    def _gain(self, source: Source) -> ParameterMessage:
        """Return a gain of any size that it may have."""
        value = source.integer(0, 1000) * 1e-3 * self._loop.built.largest_gain
        return Parameter(f"gains.{choice(source, GAINS)}", value=value).to_parameter_msg()

    def _configure(self, node: Any) -> None:
        """Take the node through a configuration and back."""
        if node in self._configured:
            node.on_activate(None)
            node.on_deactivate(None)
        elif (made := node.on_configure(None)) not in FINAL:
            raise BrokenPromiseError(f"the configuration ended with {made}")
        elif made is TransitionCallbackReturn.SUCCESS:
            node.on_cleanup(None)

    def _setting(self, source: Source, node: Any) -> ParameterMessage:
        names = tuple(self._defaults[node])
        name = choice(source, names) if not chance(source, 16) else source.text(12)
        value = ParameterValue(type=source.integer(0, 9 if not chance(source, 16) else 255))
        if chance(source, 2) and name in names:
            value.type = self._defaults[node][name].type_.value
        value.bool_value = chance(source, 2)
        value.integer_value = source.integer(-(2**63), 2**63 - 1) if chance(source, 4) else source.integer(-10, 10)
        value.double_value = number(source)
        value.string_value = choice(source, WORDS) if chance(source, 2) else source.text(12)
        if value.type >= ParameterType.PARAMETER_BYTE_ARRAY:
            count = source.integer(0, 3)
            value.byte_array_value = [bytes([source.integer(0, 255)]) for _ in range(count)]
            value.bool_array_value = [chance(source, 2) for _ in range(count)]
            value.integer_array_value = [source.integer(-10, 10) for _ in range(count)]
            value.double_array_value = [number(source) for _ in range(count)]
            value.string_array_value = [source.text(6) for _ in range(count)]
        return ParameterMessage(name=name, value=value)

    def _require_ranges(self, node: Any) -> None:
        """Raise BrokenPromiseError for a number outside the range its node declares, or of another type than before."""
        for name, default in self._defaults[node].items():
            now, described = node.get_parameter(name), node.describe_parameter(name)
            if now.type_ is not default.type_:
                raise BrokenPromiseError(f"{name} has become {now.type_}")
            for span in (*described.floating_point_range, *described.integer_range):
                low, high = span.from_value - EDGE * abs(span.from_value), span.to_value + EDGE * abs(span.to_value)
                if not low <= now.value <= high:
                    raise BrokenPromiseError(
                        f"{name} = {now.value} was accepted outside {span.from_value} to {span.to_value}"
                    )

    def _put_back(self, node: Any) -> None:
        for name, default in self._defaults[node].items():
            if node.get_parameter(name).value != default.value:
                (result,) = node.set_parameters([default])
                if not result.successful:
                    raise BrokenPromiseError(f"{name} cannot be put back: {result.reason}")

    def _values(self, node: Any) -> dict[str, Parameter]:
        return {
            name: value
            for name, value in node.get_parameters_by_prefix("").items()
            if name not in OTHERS
            and not name.startswith("qos_overrides")
            and not node.describe_parameter(name).read_only
        }


def handler_of(node: Any) -> Any:
    """Return what answers `set_parameters` of a node."""
    (service,) = (service for service in node.services if service.srv_type is SetParameters)
    return service.callback
