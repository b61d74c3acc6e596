"""Classifier as a process of its own: pairs joint states with the controller's reference, judges impacts."""

from __future__ import annotations

import math
import time
from collections import deque
from itertools import chain

import numpy as np
from impact_msgs.msg import ControllerReference, ImpactClassification, ImpactEvent
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from impact_control.control import Mode
from impact_control.pipeline.alone import FollowedSample, JudgeAlone, ObserverAlone
from impact_control.planning.assignment import assigned
from impact_control.references import ExpectedImpact
from impact_control.scenario import scenario_from_text
from impact_control.util.errors import ImpactControlError
from impact_control_ros.bridge import qos, real_time, runtime, topics
from impact_control_ros.bridge.diagnostics import LoopDiagnostics
from impact_control_ros.bridge.joint_states import JointStateReader
from impact_control_ros.bridge.lifecycle import Configuration, ConfiguredNode, declare
from impact_control_ros.bridge.loop_output import ClassificationWriter
from impact_control_ros.bridge.messages import FirstOfEvent, nanoseconds, to_stamp, xyz
from impact_control_ros.bridge.rclpy_internals import rival_publishers
from impact_control_ros.bridge.sample_loop import declare_arm

_MODES = frozenset(Mode)

TASK = "task"
"""Parameter with the scenario of the tasks that are judged."""

LONGEST = 1e6
"""[s] Upper bound of the times of a task."""

LARGEST_DEVIATION = 100.0
"""[rad/s] Upper bound of the deviation of the velocity after an impact, beyond that of any arm."""

PAIRING_DEPTH = 16
"""Joint states kept until the reference computed from them arrives."""


class Classification(Configuration):
    """Judge of the tasks of one arm, fed by topics, with an observer of its own. A task begins as in `JudgeAlone`.

    Joint states wait until the reference that was computed from them arrives: dynamics and residual are then those of
    its sample.
    """

    def __init__(self, node: Node) -> None:
        """Build the judge that the parameters of the node ask for, open the topics."""
        super().__init__(node)
        self.when_closed(real_time.thaw_heap)  # gives the judge back to the collector
        assignment = assigned(node.value("scenario"), node.value("arm"))
        scenario, robot = assignment.scenario, assignment.robot
        self._joints = n = len(robot.joint_names)
        self._reader = JointStateReader(robot.joint_names)
        self._alone = JudgeAlone(scenario, robot)
        self._observing = ObserverAlone(scenario, robot)
        self._writer = ClassificationWriter(scenario, n)
        if text := node.value(TASK):
            self.tune(text)
        self._stamps = [0] * PAIRING_DEPTH
        self._states = np.zeros((PAIRING_DEPTH, 3, n))
        self._is_new = FirstOfEvent()
        self._answered = False
        self._read = self._observed = self._samples = 0
        self._base: int | None = None
        # Events whose sample is still to be judged, and the stamp [ns] up to which samples are.
        self._ahead: deque[ImpactEvent] = deque(maxlen=PAIRING_DEPTH)
        self._judged_until = 0
        self._publisher = self.publisher(ImpactClassification, topics.CLASSIFICATION, qos.EVENT)
        self.subscription(JointState, topics.JOINT_STATES, self._on_state, qos.RECORD, raw=True)
        self.subscription(ControllerReference, topics.REFERENCE, self._on_reference, qos.RECORD)
        self._events = self.subscription(ImpactEvent, topics.EVENTS, self._on_event, qos.EVENT)
        real_time.widen_receive_buffers()
        self._diagnostics = LoopDiagnostics(self, scenario.control.period)
        self.timer(1.0, self._on_timer)

    def tune(self, scenario_yaml: str) -> None:
        """Judge the tasks that come by another scenario for the same loop. Raises ScenarioError."""
        scenario = scenario_from_text(scenario_yaml, TASK).arm(self.node.value("arm"))
        self._alone.judge.tune(scenario)
        self._writer = ClassificationWriter(scenario, self._joints)

    def activate(self) -> None:
        """Start with no task."""
        self._alone.reset()
        self._observing.reset()
        self._read = self._observed = self._samples = self._judged_until = 0
        self._base = None
        self._ahead.clear()
        real_time.still_heap()

    def _on_state(self, data: bytes) -> None:
        reader = self._reader
        if not self.active or not reader.read(data):
            return
        if self._base is None:
            self._base = reader.stamp
        if self._read - self._observed == PAIRING_DEPTH:
            self._observe()
        slot = self._read % PAIRING_DEPTH
        self._stamps[slot] = reader.stamp
        self._states[slot] = reader.position, reader.velocity, reader.effort
        self._read += 1

    def _observe(self) -> bool:
        """Let the observer take the oldest joint state that waits; return whether it could be used."""
        slot = self._observed % PAIRING_DEPTH
        self._observed += 1
        return self._observing.observe(self._seconds(self._stamps[slot]), *self._states[slot])

    def _observe_until(self, stamp: int) -> bool:
        """Let the observer take what waits up to a stamp [ns]; return whether it took the joint state of that stamp."""
        while self._observed < self._read:
            oldest = self._stamps[self._observed % PAIRING_DEPTH]
            if oldest > stamp:
                return False
            if self._observe() and oldest == stamp:
                return True
        return False

    def _seconds(self, stamp: int) -> float:
        """Return a stamp [ns] in seconds on the clock of the samples."""
        return (stamp - (self._base or 0)) * 1e-9

    def _on_reference(self, message: ControllerReference) -> None:
        if not self.active or not self._is_whole(message):
            return
        stamp = nanoseconds(message.header.stamp)
        self._judged_until = stamp
        for _ in range(len(self._ahead)):
            self._take(self._ahead.popleft())
        if not self._observe_until(stamp):
            return
        begin = time.perf_counter()
        alone, sensing = self._alone, self._observing.sensing
        alone.judge.changed = False
        sample = FollowedSample(
            mode=Mode(message.mode),
            task_time=message.task_time,
            impact=ExpectedImpact(
                message.nominal_impact_time,
                np.asarray(message.impact_configuration),
                np.asarray(message.jump_deviation),
                np.asarray(message.friction_deviation),
                np.asarray(message.configuration_deviation),
                message.height_deviation,
            ),
            ante_velocity=np.asarray(message.ante_joint_velocity),
            post_velocity=np.asarray(message.post_joint_velocity),
            force=xyz(message.force),
        )
        if alone.follow(self._seconds(stamp), sample, sensing.dynamics, sensing.observer):
            self._writer.start(message.scenario)
        self._tell(stamp)
        self._samples += 1
        self._diagnostics.sample(stamp, time.perf_counter() - begin)

    def _is_whole(self, message: ControllerReference) -> bool:
        """Return True for a reference of an arm and a controller like ours; others are ignored."""
        deviations = message.jump_deviation, message.friction_deviation, message.configuration_deviation
        motion = message.impact_configuration, message.ante_joint_velocity, message.post_joint_velocity
        times = message.task_time, message.nominal_impact_time
        return (
            message.mode in _MODES
            and all(len(array) == self._joints for array in (*motion, *deviations))
            and all(abs(time) < LONGEST for time in times)
            and all(map(math.isfinite, (*message.impact_configuration, *xyz(message.force))))
            and all(
                0.0 <= deviation < LARGEST_DEVIATION for deviation in chain(*deviations, (message.height_deviation,))
            )
        )

    def _on_event(self, event: ImpactEvent) -> None:
        if not self.active or not self._is_new(event) or len(event.joint_position) != self._joints:
            return
        if rivals := rival_publishers(self.node, self._events, topics.EVENTS):
            self.node.get_logger().error(f"{rivals}; allowed: one. The event is not judged")
            return
        self._take(event)

    def _take(self, event: ImpactEvent) -> None:
        """Judge an impact, or keep it until its sample is: events overtake the samples where these wait for a core."""
        if nanoseconds(event.header.stamp) > self._judged_until:
            self._ahead.append(event)
            return
        # Events from before the task are kept by the publisher for late joiners.
        seconds = self._seconds(nanoseconds(event.impact_time))
        if not seconds >= self._alone.start:
            return
        self._alone.judge.changed = False
        self._alone.impact_detected(seconds, np.asarray(event.joint_position))
        self._tell(nanoseconds(event.header.stamp))

    def _tell(self, stamp: int) -> None:
        """Publish the verdicts if they, or whether they are to be answered, have changed with a stamp [ns]."""
        judge = self._alone.judge
        before, self._answered = self._answered, judge.answered
        if judge.changed or self._answered != before:
            message = self._writer.write(judge)
            to_stamp(stamp, message.header.stamp)
            self._publisher.publish(message)

    def _on_timer(self) -> None:
        if self.active:
            self._diagnostics.publish(0, self._samples)


class ClassifierNode(ConfiguredNode[Classification]):
    """Judges each task that the controller runs, by the configured scenario, or that of the parameter `task`.

    The controller sets it before a task with another `classification` or `expected_environment`.
    """

    FIXED = ("scenario", "arm")

    def __init__(self) -> None:
        super().__init__("classifier", Classification)
        declare_arm(self)
        declare(self, TASK, "", "YAML of the scenario by which tasks are judged from now on; empty: that of `scenario`")

    def _on_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        """Refuse also a text that is no valid scenario."""
        result = super()._on_parameters(parameters)
        if not result.successful or self.configured is None:
            return result
        for text in (one.value for one in parameters if one.name == TASK and one.value):
            try:
                self.configured.tune(text)
            except ImpactControlError as error:
                return SetParametersResult(successful=False, reason=str(error))
        return result


def main() -> int:
    """Entry point of the process."""
    return runtime.run(ClassifierNode, runtime.spin_until_stopped, priority=runtime.LOOP_PRIORITY)
