"""Classifier as a process of its own: pairs joint states with the controller's reference, judges impacts."""

from __future__ import annotations

import math
import sys
import time

import numpy as np
from impact_msgs.msg import ControllerReference, ImpactClassification, ImpactEvent
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import JointState

from impact_control.classification import Verdict
from impact_control.control import RUNNING, Mode
from impact_control.errors import ImpactControlError, InvalidInputError
from impact_control.nodes import qos, real_time, runtime, topics
from impact_control.nodes.diagnostics import LoopDiagnostics
from impact_control.nodes.joint_states import JointStateReader
from impact_control.nodes.messages import FirstOfEvent, nanoseconds, to_stamp
from impact_control.nodes.writers import ClassificationWriter
from impact_control.parts import make_classifier
from impact_control.scenario import Scenario, load_scenario, robot_of

_MODES = frozenset(Mode)
LONGEST = 1e6
"""[s] that a task may take: what is longer, or not finite, is no time of a task."""

PAIRING_DEPTH = 16
"""Joint states kept until the reference computed from them arrives."""


class ClassifierNode(LifecycleNode):
    """Judges each task that the controller runs. A task begins when the reference's task time starts anew.

    The tuning is that of the configured scenario: a controller without a classifier refuses tasks with another.
    """

    def __init__(self) -> None:
        super().__init__("classifier")
        self.declare_parameter(
            "scenario", "tabletop", ParameterDescriptor(description="name or path of the scenario file")
        )
        self._active = False

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the robot, open the topics."""
        try:
            self._load(str(self.get_parameter("scenario").value))
        except ImpactControlError as error:
            self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        n = len(self._reader.position)
        self._stamps = [0] * PAIRING_DEPTH
        self._velocities = np.zeros((PAIRING_DEPTH, n))
        self._next = 0
        self._is_new = FirstOfEvent()
        self._publisher = self.create_publisher(ImpactClassification, topics.CLASSIFICATION, qos.EVENT)
        self._inputs = [
            self.create_subscription(JointState, topics.JOINT_STATES, self._on_state, qos.STREAM, raw=True),
            self.create_subscription(ControllerReference, topics.REFERENCE, self._on_reference, qos.STREAM),
            self.create_subscription(ImpactEvent, topics.EVENTS, self._on_event, qos.EVENT),
        ]
        self._diagnostics = LoopDiagnostics(self, self._scenario.control.period)
        self._timer = self.create_timer(1.0, self._on_timer)
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start with no task."""
        self._start_stamp: int | None = None
        self._impacts = 0
        self._mode = Mode.IDLE
        self._samples = 0
        self._active = True
        real_time.still_heap()
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Judge nothing more."""
        self._active = False
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Close the topics."""
        self.destroy_timer(self._timer)
        for subscription in self._inputs:
            self.destroy_subscription(subscription)
        self.destroy_publisher(self._publisher)
        self.destroy_publisher(self._diagnostics.publisher)
        real_time.thaw_heap()
        return TransitionCallbackReturn.SUCCESS

    def _load(self, name: str) -> None:
        self._scenario: Scenario = load_scenario(name)
        robot = robot_of(self._scenario.robot)
        n = len(robot.joint_names)
        self._reader = JointStateReader(robot.joint_names)
        for key in ("completion", "held_force"):
            if (section := getattr(self._scenario.classification, key)) is not None:
                allowed = "none where the classifier has a process of its own: it does not see the external torque"
                raise InvalidInputError(f"classification.{key}", section, allowed)
        self._classifier = make_classifier(self._scenario, n)
        self._writer = ClassificationWriter(self._scenario, n)

    def _on_state(self, data: bytes) -> None:
        if self._active and self._reader.read(data):
            slot = self._next % PAIRING_DEPTH
            self._stamps[slot] = self._reader.stamp
            self._velocities[slot] = self._reader.velocity
            self._next += 1

    def _on_reference(self, message: ControllerReference) -> None:
        if not self._active or not self._is_whole(message):
            return
        stamp = nanoseconds(message.header.stamp)
        mode = Mode(message.mode)
        if mode is Mode.ANTE and self._mode not in RUNNING:
            self._begin(message, stamp)
        self._mode = mode
        if self._start_stamp is None or mode not in RUNNING or stamp not in self._stamps:
            return
        reference = (
            message.ante_joint_velocity if self._classifier.impact is Verdict.UNKNOWN else message.post_joint_velocity
        )
        velocity = self._velocities[self._stamps.index(stamp)]
        begin = time.perf_counter()
        if self._classifier.update(message.task_time, velocity, np.asarray(reference)):
            self._publish(stamp)
        self._samples += 1
        self._diagnostics.sample(stamp, time.perf_counter() - begin)

    def _is_whole(self, message: ControllerReference) -> bool:
        """Tell whether a reference is one of an arm like ours, from a controller like ours: else it is passed over."""
        n = len(self._reader.position)
        arrays = (message.impact_configuration, message.ante_joint_velocity, message.post_joint_velocity)
        times = (message.task_time, message.nominal_impact_time)
        return (
            message.mode in _MODES
            and all(len(array) == n for array in arrays)
            and all(abs(time) < LONGEST for time in times)
            and all(map(math.isfinite, message.impact_configuration))
        )

    def _begin(self, message: ControllerReference, stamp: int) -> None:
        self._writer.start(message.scenario)
        self._start_stamp = stamp - round(message.task_time * 1e9)
        self._impacts = 0
        self._classifier.start(message.nominal_impact_time, np.asarray(message.impact_configuration))
        self._publish(stamp)

    def _on_event(self, event: ImpactEvent) -> None:
        if not self._active or self._start_stamp is None or self._mode not in RUNNING or not self._is_new(event):
            return
        seconds = (nanoseconds(event.impact_time) - self._start_stamp) * 1e-9
        if seconds < 0.0 or len(event.joint_position) != len(self._reader.position):
            return
        self._impacts += 1
        if self._classifier.impact_detected(seconds, np.asarray(event.joint_position)):
            self._publish(nanoseconds(event.header.stamp))

    def _publish(self, stamp: int) -> None:
        message = self._writer.write(self._classifier, self._impacts)
        to_stamp(stamp, message.header.stamp)
        self._publisher.publish(message)

    def _on_timer(self) -> None:
        if self._active:
            self._diagnostics.publish(0, self._samples)


def main() -> int:
    """Entry point of the process."""
    return runtime.run(ClassifierNode, runtime.spin_until_stopped, priority=runtime.LOOP_PRIORITY)


if __name__ == "__main__":
    sys.exit(main())
