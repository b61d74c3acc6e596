"""Outputs of the loop for each sample, as messages made once and filled in place: no allocation by the sample.

Writers fill one message each; DetectionOutput and ControlOutput publish them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from impact_msgs.msg import ControllerReference, ControllerStatus, ExternalTorque, ImpactClassification, ImpactEvent
from rclpy.serialization import serialize_message
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from impact_control.control import Fault, Mode, ReferenceSpreadingController
from impact_control.detection import Detector
from impact_control.observation import MomentumObserver
from impact_control.pipeline import Pipeline
from impact_control.pipeline.alone import DetectorAlone
from impact_control.pipeline.judge import Judge
from impact_control.references import ImpactReference
from impact_control.robots.urdf import WORLD
from impact_control.scenario import Scenario, robot_of
from impact_control.util.types import Vector
from impact_control_ros.bridge import qos, topics
from impact_control_ros.bridge.end_effector import EndEffectorOutput
from impact_control_ros.bridge.joint_states import JointStateReader
from impact_control_ros.bridge.lifecycle import Configuration
from impact_control_ros.bridge.messages import set_xyz, to_stamp
from impact_control_ros.bridge.rclpy_internals import float_field

STATUS_PERIOD = 10
"""Samples between two messages of the status, unless mode or fault change. Every message that leaves the loop
costs a wake-up elsewhere."""


def effort_command(joint_names: Sequence[str], values: Sequence[float]) -> Float64MultiArray:
    """Return the command of torques `values` [Nm], labelled with the joints in their order.

    Receivers reject a command whose label names other joints.
    """
    n = len(joint_names)
    message = Float64MultiArray(data=values)
    message.layout.dim.append(MultiArrayDimension(label=joint_label(joint_names), size=n, stride=n))
    return message


def joint_label(joint_names: Sequence[str]) -> str:
    """Return the label of a command for the joints in this order."""
    return ",".join(joint_names)


class CommandWriter:
    """Effort commands as bytes: an `effort_command` is serialised by putting its numbers behind a fixed head.

    Only the numbers change from sample to sample.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        n = len(joint_names)
        self._head: bytes = serialize_message(effort_command(joint_names, [0.0] * n))[: -8 * n]

    def write(self, values: Vector) -> bytes:
        """Return the message with values (n,), for `Publisher.publish`, which takes bytes as they are."""
        return self._head + values.tobytes()


class CommandReader:
    """Reads effort commands for the joints of a `CommandWriter`: labelled as it does, or without a label."""

    def __init__(self, joint_names: Sequence[str]) -> None:
        numbers = [0.0] * len(joint_names)
        labelled: bytes = serialize_message(effort_command(joint_names, numbers))
        unlabelled: bytes = serialize_message(Float64MultiArray(data=numbers))
        # Encapsulation, number of dimensions, length of the label, the label and its zero: padding, which may be
        # anything, comes behind. Equal lengths mean equal numbers of values.
        begin = labelled[: 12 + len(joint_label(joint_names).encode()) + 1]
        self._known = ((len(labelled), begin), (len(unlabelled), unlabelled[:16]))

    def read(self, data: bytes, values: Vector) -> bool:
        """Copy the torques of a serialised message to `values` (n,); leave them where it is another message."""
        for length, begin in self._known:
            if len(data) == length and data.startswith(begin):
                values[:] = np.frombuffer(data, "<f8", values.size, length - 8 * values.size)
                return True
        return False


class ExternalTorqueWriter:
    """Fills ExternalTorque from an observer."""

    def __init__(self, joint_names: Sequence[str], rate_threshold: Vector) -> None:
        """rate_threshold (n,) [Nm/s]: stands in every message."""
        n = len(joint_names)
        self._message = ExternalTorque(joint_names=list(joint_names))
        self._residual = float_field(self._message, "external_torque", n)
        self._residual_rate = float_field(self._message, "external_torque_rate", n)
        float_field(self._message, "rate_threshold", n)[:] = rate_threshold

    def write(self, stamp: Time, observer: MomentumObserver) -> ExternalTorque:
        """Return the message of the last sample."""
        self._message.header.stamp = stamp
        self._residual[:] = observer.residual
        self._residual_rate[:] = observer.residual_rate
        return self._message


class ImpactEventWriter:
    """Makes the ImpactEvent of each impact, and sends it again when the isolated link is settled.

    Attributes: waiting, whether the link of the last event may still change.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        self._names = list(joint_names)
        self._event = ImpactEvent()
        self.waiting = False

    def reset(self) -> None:
        """Wait for nothing."""
        self._event = ImpactEvent()
        self.waiting = False

    def impact(
        self,
        stamp: int,
        impact_time: int,
        detector: Detector,
        observer: MomentumObserver,
        position: Vector,
        velocity: Vector,
    ) -> list[ImpactEvent]:
        """Return the event of the impact that was detected in this sample; times [ns] of the samples' clock.

        Before it stands the last one, if that still waited: its link is as it was known before this impact.
        """
        before = [self._event] if self.waiting else []
        self._event = ImpactEvent(
            index=detector.index,
            joint_names=self._names,
            triggered=detector.triggered.tolist(),
            external_torque=observer.residual.tolist(),
            external_torque_rate=observer.residual_rate.tolist(),
            joint_position=position.tolist(),
            joint_velocity=velocity.tolist(),
            isolated_link=detector.isolated_link,
        )
        to_stamp(stamp, self._event.header.stamp)
        to_stamp(impact_time, self._event.impact_time)
        self.waiting = not detector.link_settled
        return [*before, self._event]

    def settle(self, detector: Detector) -> list[ImpactEvent]:
        """Return the last event with its link once that stays, else nothing. For every sample while `waiting`."""
        self._event.isolated_link = detector.isolated_link
        self.waiting = not detector.link_settled
        return [] if self.waiting else [self._event]


class ReferenceWriter:
    """Fills ControllerReference from a controller; `start` names the task."""

    def __init__(self, joint_names: Sequence[str]) -> None:
        n = len(joint_names)
        self._message = ControllerReference(joint_names=list(joint_names))
        self._message.header.frame_id = WORLD
        self._impact_configuration = float_field(self._message, "impact_configuration", n)
        self._ante_velocity = float_field(self._message, "ante_joint_velocity", n)
        self._post_velocity = float_field(self._message, "post_joint_velocity", n)
        self._jump_deviation = float_field(self._message, "jump_deviation", n)
        self._friction_deviation = float_field(self._message, "friction_deviation", n)
        self._configuration_deviation = float_field(self._message, "configuration_deviation", n)

    def start(self, scenario: Scenario, reference: ImpactReference) -> None:
        """Write the constants of a task."""
        self._message.scenario = scenario.name
        self._message.nominal_impact_time = reference.nominal_impact_time
        self._impact_configuration[:] = reference.impact_configuration
        self._jump_deviation[:] = reference.jump_deviation
        self._friction_deviation[:] = reference.friction_deviation
        self._configuration_deviation[:] = reference.configuration_deviation
        self._message.height_deviation = reference.height_deviation

    def write(self, stamp: Time, controller: ReferenceSpreadingController) -> ControllerReference:
        """Return the message of the last sample."""
        message, wanted = self._message, controller.desired
        message.header.stamp = stamp
        message.mode = int(controller.mode)
        message.task_time = controller.task_time
        set_xyz(message.position, wanted.position)
        set_xyz(message.velocity, wanted.velocity)
        set_xyz(message.force, controller.force)
        self._ante_velocity[:] = controller.ante.joint_velocity
        self._post_velocity[:] = controller.post.joint_velocity
        return message


class StatusWriter:
    """Fills ControllerStatus from a controller.

    Attributes: fault_reason, the fault in words, which stays until it is rewritten.
    """

    def __init__(self, joints: int) -> None:
        self._message = ControllerStatus()
        self._message.header.frame_id = WORLD
        self._commanded = float_field(self._message, "commanded_torque", joints)
        self.fault_reason = ""

    def write(
        self, stamp: Time, controller: ReferenceSpreadingController, duration: float, samples: int, missed: int
    ) -> ControllerStatus:
        """Return the message of the last sample: `duration` [s] of its step; samples taken and missed so far."""
        status = self._message
        status.header.stamp = stamp
        status.mode = int(controller.mode)
        status.fault = int(controller.fault)
        status.fault_reason = self.fault_reason
        status.qp_status = int(controller.qp.status)
        status.relaxed = int(controller.qp.relaxed)
        status.task_time = controller.task_time
        status.gamma = controller.gamma
        set_xyz(status.position_error, controller.position_error)
        set_xyz(status.velocity_error, controller.velocity_error)
        set_xyz(status.orientation_error, controller.orientation_error)
        self._commanded[:] = controller.torque
        status.torque_limited = controller.qp.limited
        status.peak_torque_share = controller.peak_torque_share
        status.peak_torque_rate = controller.peak_torque_rate
        status.step_duration = duration
        status.samples = samples
        status.missed_samples = missed
        return status


class ClassificationWriter:
    """Fills ImpactClassification from a judge; made for one scenario, whose tuning it publishes."""

    def __init__(self, scenario: Scenario, n: int) -> None:
        robot = robot_of(scenario.robot)
        self._message = ImpactClassification(
            scenario=scenario.name,
            joint_names=list(robot.joint_names[:n]),
            time_error_limit=scenario.classification.time_error,
        )

    def start(self, scenario: str) -> None:
        """Name the scenario of the task that is judged from now on."""
        self._message.scenario = scenario

    def write(self, judge: Judge) -> ImpactClassification:
        """Return the message with the numbers behind the present verdicts; the caller stamps it."""
        message, classifier = self._message, judge.classifier
        message.impact_index = judge.impacts
        message.impact = int(judge.impact)
        message.post_impact = int(judge.post_impact)
        message.probability = judge.probability
        message.answered = judge.answered
        message.reason = judge.reason
        message.impact_time = float(classifier.impact_time)
        message.time_error = float(classifier.time_error)
        message.configuration_error = float(classifier.configuration_error)
        message.configuration_error_limit = classifier.configuration_limit
        message.envelope_lower = classifier.lower.tolist()
        message.envelope_upper = classifier.upper.tolist()
        message.margin = classifier.margin.tolist()
        message.envelope_margin = classifier.widening
        message.decision_time = float(judge.decision_time)
        return message


class DetectionOutput:
    """Publishes the external torque of every sample, impacts, and at a lower rate the state of the end-effector."""

    def __init__(self, configuration: Configuration, joint_names: Sequence[str], rate_threshold: Vector) -> None:
        """rate_threshold (n,) [Nm/s]: of the detector, published with the torques."""
        self._torque = configuration.publisher(ExternalTorque, topics.EXTERNAL_TORQUE, qos.STREAM)
        self._event = configuration.publisher(ImpactEvent, topics.EVENTS, qos.EVENT)
        self._torques = ExternalTorqueWriter(joint_names, rate_threshold)
        self._end_effector = EndEffectorOutput(configuration, configuration.node.value("arm"))
        self._events = ImpactEventWriter(joint_names)
        self._heard = True

    def reset(self) -> None:
        """Wait for no link; until the next look, listeners are assumed."""
        self._events.reset()
        self._heard = True

    def look_for_listeners(self) -> None:
        """Look for subscribers: messages without any are not built."""
        self._heard = self._torque.get_subscription_count() > 0
        self._end_effector.look_for_listeners()

    def publish(self, found: Pipeline | DetectorAlone, sample: JointStateReader, base: int) -> None:
        """Publish the results of a sample. base: time [ns] at which the clock of the samples is at zero."""
        detector, observer = found.detector, found.observer
        if self._heard:
            self._torque.publish(self._torques.write(sample.time, observer))
        self._end_effector.publish(sample.time, found.dynamics, observer.residual)
        if found.impact_now:
            impact_time = base + round(detector.impact_time * 1e9)
            events = self._events.impact(
                sample.stamp, impact_time, detector, observer, sample.position, sample.velocity
            )
        elif self._events.waiting:
            events = self._events.settle(detector)
        else:
            return
        for event in events:
            self._event.publish(event)


class ControlOutput:
    """Publishes the command of every sample, the reference, and at a lower rate the status.

    Attributes: references, statuses: their writers.
    """

    def __init__(self, configuration: Configuration, joint_names: Sequence[str]) -> None:
        self._node = configuration.node
        self._command = configuration.publisher(Float64MultiArray, topics.COMMANDS, qos.COMMAND)
        self._reference = configuration.publisher(ControllerReference, topics.REFERENCE, qos.STREAM)
        self._status = configuration.publisher(ControllerStatus, topics.STATUS, qos.STREAM)
        self._commands = CommandWriter(joint_names)
        self.references = ReferenceWriter(joint_names)
        self.statuses = StatusWriter(len(joint_names))
        self._heard = self._status_heard = True
        self._published = (Mode.IDLE, Fault.NONE)

    def reset(self) -> None:
        """Forget what was published; until the next look, listeners are assumed."""
        self._heard = self._status_heard = True
        self._published = (Mode.IDLE, Fault.NONE)
        self.statuses.fault_reason = ""

    def look_for_listeners(self) -> None:
        """Look for subscribers: messages without any are not built."""
        self._heard = self._reference.get_subscription_count() > 0
        self._status_heard = self._status.get_subscription_count() > 0

    @property
    def topic(self) -> str:
        """Full name of the topic of the commands."""
        return str(self._command.topic_name)

    def rivals(self) -> int:
        """Return the number of other publishers of commands."""
        return int(self._node.count_publishers(self.topic)) - 1

    def command(self, torque: Vector) -> None:
        """Send a torque (n,) [Nm] to the joints."""
        self._command.publish(self._commands.write(torque))

    def publish(
        self,
        controller: ReferenceSpreadingController,
        sample: JointStateReader,
        duration: float,
        samples: int,
        missed: int,
    ) -> None:
        """Publish reference and status of a sample. duration: of its step [s]; samples taken and missed so far."""
        if self._heard:
            self._reference.publish(self.references.write(sample.time, controller))
        state = (controller.mode, controller.fault)
        if samples % STATUS_PERIOD == 0 or state != self._published:
            self._published = state
            if self._status_heard:
                self._status.publish(self.statuses.write(sample.time, controller, duration, samples, missed))
