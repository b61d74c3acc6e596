"""What the loop tells of each sample: what it detected, what it commands and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from impact_msgs.msg import ControllerReference, ControllerStatus, ExternalTorque, ImpactEvent
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from impact_control.control import Fault, Mode, ReferenceSpreadingController
from impact_control.nodes import qos, topics
from impact_control.nodes.commands import CommandWriter
from impact_control.nodes.joint_states import JointStateReader
from impact_control.nodes.writers import ExternalTorqueWriter, ImpactEventWriter, ReferenceWriter, StatusWriter
from impact_control.pipeline import Pipeline
from impact_control.types import Vector

STATUS_PERIOD = 10
"""Samples between two messages of the status, unless mode or fault change. Every message that leaves the loop
costs a wake-up elsewhere."""


class DetectionOutput:
    """Publishes the external torque of every sample and the impacts.

    Attributes: publishers, all of them.
    """

    def __init__(self, node: Node, joint_names: Sequence[str], rate_threshold: Vector) -> None:
        """rate_threshold (n,) [Nm/s]: of the detector, told with the torques."""
        self._torque = node.create_publisher(ExternalTorque, topics.EXTERNAL_TORQUE, qos.STREAM)
        self._event = node.create_publisher(ImpactEvent, topics.EVENTS, qos.EVENT)
        self.publishers: list[Any] = [self._torque, self._event]
        self._torques = ExternalTorqueWriter(joint_names, rate_threshold)
        self._events = ImpactEventWriter(joint_names)
        self.reset()

    def reset(self) -> None:
        """Wait for no link, take it that somebody listens."""
        self._events.reset()
        self._heard = True

    def look_for_listeners(self) -> None:
        """A message that nobody hears still costs the loop its making; new listeners are noticed here."""
        self._heard = self._torque.get_subscription_count() > 0

    def publish(self, pipeline: Pipeline, sample: JointStateReader, base: int) -> None:
        """Tell of a sample. base: time [ns] at which the pipeline's clock is at zero."""
        detector, observer = pipeline.detector, pipeline.observer
        if observer is None or detector is None:
            return
        if self._heard:
            self._torque.publish(self._torques.write(sample.time, observer))
        if pipeline.impact_now:
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
    """Publishes the command of every sample, the reference, and every so often the status.

    Attributes: publishers, all of them.
    """

    def __init__(self, node: Node, joint_names: Sequence[str]) -> None:
        self._node = node
        self._command = node.create_publisher(Float64MultiArray, topics.COMMANDS, qos.COMMAND)
        self._reference = node.create_publisher(ControllerReference, topics.REFERENCE, qos.STREAM)
        self._status = node.create_publisher(ControllerStatus, topics.STATUS, qos.STREAM)
        self.publishers: list[Any] = [self._command, self._reference, self._status]
        self._commands = CommandWriter(len(joint_names))
        self.references = ReferenceWriter(joint_names)
        self.statuses = StatusWriter(len(joint_names))
        self.reset()

    def reset(self) -> None:
        """Have told nothing yet, take it that somebody listens."""
        self._heard = self._status_heard = True
        self._told = (Mode.IDLE, Fault.NONE)
        self.statuses.fault_reason = ""

    def look_for_listeners(self) -> None:
        """A message that nobody hears still costs the loop its making; new listeners are noticed here."""
        self._heard = self._reference.get_subscription_count() > 0
        self._status_heard = self._status.get_subscription_count() > 0

    def rivals(self) -> int:
        """Return how many others publish commands."""
        return int(self._node.count_publishers(self._command.topic_name)) - 1

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
        """Tell of a sample. duration: of its step [s]; samples taken and missed so far."""
        if self._heard:
            self._reference.publish(self.references.write(sample.time, controller))
        state = (controller.mode, controller.fault)
        if samples % STATUS_PERIOD == 0 or state != self._told:
            self._told = state
            if self._status_heard:
                self._status.publish(self.statuses.write(sample.time, controller, duration, samples, missed))
