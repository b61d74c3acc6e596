"""Messages made once and filled from core objects, sample by sample."""

from __future__ import annotations

from collections.abc import Sequence

from builtin_interfaces.msg import Time
from impact_msgs.msg import (
    ControllerReference,
    ControllerStatus,
    ExternalTorque,
    ImpactClassification,
    ImpactEvent,
)

from impact_control.classification import Classifier
from impact_control.control import ReferenceSpreadingController
from impact_control.detection import Detector
from impact_control.nodes.fields import float_field
from impact_control.nodes.messages import set_xyz, to_stamp
from impact_control.observation import MomentumObserver
from impact_control.references import ImpactReference
from impact_control.scenario import Scenario, robot_of
from impact_control.types import Vector


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
        self.reset()

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
        self._impact_configuration = float_field(self._message, "impact_configuration", n)
        self._ante_velocity = float_field(self._message, "ante_joint_velocity", n)
        self._post_velocity = float_field(self._message, "post_joint_velocity", n)

    def start(self, scenario: Scenario, reference: ImpactReference) -> None:
        """Write what stays the same during a task."""
        self._message.scenario = scenario.name
        self._message.nominal_impact_time = reference.nominal_impact_time
        self._impact_configuration[:] = reference.impact_configuration

    def write(self, stamp: Time, controller: ReferenceSpreadingController) -> ControllerReference:
        """Return the message of the last sample."""
        message, wanted = self._message, controller.wanted
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

    Attributes: fault_reason, the fault in words, which stays until it is written anew.
    """

    def __init__(self, joints: int) -> None:
        self._message = ControllerStatus()
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
        status.peak_torque_rate = controller.peak_torque_rate
        status.step_duration = duration
        status.samples = samples
        status.missed_samples = missed
        return status


class ClassificationWriter:
    """Fills ImpactClassification from a classifier; made once for a scenario, whose tuning it tells."""

    def __init__(self, scenario: Scenario, n: int) -> None:
        c = scenario.classification
        robot = robot_of(scenario.robot)
        self._message = ImpactClassification(
            scenario=scenario.name,
            joint_names=list(robot.joint_names[:n]),
            time_error_limit=c.time_error,
            configuration_error_limit=c.configuration_error,
            envelope_margin=float(c.envelope_margin.max()),
        )

    def start(self, scenario: str) -> None:
        """Name the scenario of the task that is judged from now on."""
        self._message.scenario = scenario

    def write(self, classifier: Classifier, impacts: int) -> ImpactClassification:
        """Return the message with the numbers behind the present verdicts; the caller stamps it."""
        message = self._message
        message.impact_index = impacts
        message.impact = int(classifier.impact)
        message.post_impact = int(classifier.post_impact)
        message.reason = classifier.reason
        message.impact_time = float(classifier.impact_time)
        message.time_error = float(classifier.time_error)
        message.configuration_error = float(classifier.configuration_error)
        message.envelope_lower = classifier.lower.tolist()
        message.envelope_upper = classifier.upper.tolist()
        message.margin = classifier.margin.tolist()
        message.decision_time = float(classifier.decision_time)
        return message
