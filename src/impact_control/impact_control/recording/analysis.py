"""What a recording says about the run, gathered in one `RunAnalysis`.

All times are stamps [s], zero at the first joint state of the recording (see `series`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_control.identification import GROSS_VELOCITY_WINDOW, ante_impact_velocity, gross_post_impact_velocity
from impact_control.recording.commands import CommandLimits, commanded_peaks
from impact_control.recording.contact import (
    contact_end,
    desired_force,
    final_force,
    peak_force,
    touch_start,
    true_impact_time,
)
from impact_control.recording.decisions import (
    ModeInterval,
    Verdict,
    detection_times,
    last_fault,
    last_verdict,
    mode_history,
    outcome_of,
)
from impact_control.recording.joints import MeasuredJoints, measured_joints
from impact_control.recording.series import Recording
from impact_control.recording.timing import Timing, loop_timing
from impact_control.recording.topics import Topics, scenario_name, series_if_recorded
from impact_control.types import Vector


@dataclass(frozen=True)
class RunAnalysis:
    """Figures of merit of one run. What a recording does not contain is None.

    Attributes:
        scenario: name of the scenario, empty if unknown.
        duration: [s] between the first and the last joint state.
        joint_names: order of all joint arrays.
        outcome: of the task, as in the action ExecuteImpactTask, in lower case (`succeeded`, `no impact`, …).
        fault: reason of the last fault of the controller, empty if there was none.
        modes: modes of the controller, in order.
        detections: (k,) stamps of the samples on which impacts were detected.
        true_impact_time: first contact of the simulated robot.
        detection_delay: [s] first detection minus true contact; negative for a false alarm before it, which an event
            after somebody touched the arm is not.
        verdict: of the classifier.
        final_force: [N] mean normal force at the end of the last post-impact mode (its last `FORCE_WINDOW`), of
            the recording where that mode is missing.
        desired_force: [N] mean magnitude of the force reference over the same time.
        peak_force: [N] largest normal force.
        final_position_error: [m] at the end.
        peak_torque: (n,) [Nm] largest magnitude of the commanded torque.
        peak_torque_rate: (n,) [Nm/s] largest magnitude of its rate.
        limits: limits they are compared with.
        final_speed: [rad/s] largest joint speed at the end (last `REST_WINDOW`).
        ante_velocity: (n,) [rad/s] measured joint velocity just before the impact.
        gross_post_velocity: (n,) [rad/s] see `gross_post_impact_velocity`.
        timing: see `Timing`.
    """

    scenario: str
    duration: float
    joint_names: tuple[str, ...]
    outcome: str
    fault: str
    modes: tuple[ModeInterval, ...]
    detections: Vector
    true_impact_time: float | None
    detection_delay: float | None
    verdict: Verdict | None
    final_force: float | None
    desired_force: float | None
    peak_force: float | None
    final_position_error: float | None
    peak_torque: Vector | None
    peak_torque_rate: Vector | None
    limits: CommandLimits | None
    final_speed: float
    ante_velocity: Vector | None
    gross_post_velocity: Vector | None
    timing: Timing

    @property
    def impact_time(self) -> float | None:
        """True impact where it is known, first detection otherwise."""
        return _impact_time(self.true_impact_time, self.detections)

    @property
    def within_limits(self) -> bool | None:
        """Whether torque and torque rate kept their limits; None where that is unknown."""
        if self.limits is None or self.peak_torque is None or self.peak_torque_rate is None:
            return None
        torque = (self.peak_torque <= self.limits.torque * (1 + 1e-9)).all()
        rate = (self.peak_torque_rate <= self.limits.torque_rate * (1 + 1e-6)).all()
        return bool(torque and rate)


def analyse(recording: Recording, *, limits: CommandLimits | None = None, topics: Topics | None = None) -> RunAnalysis:
    """Everything a recording says about its run.

    Args:
        recording: must contain joint states.
        limits: of the commanded torque.
        topics: names of the topics.

    Raises:
        InvalidInputError: there are no joint states.
    """
    topics = topics or Topics()
    measured = measured_joints(recording, topics)
    detections = detection_times(recording, topics)
    contact = true_impact_time(recording, topics)
    impact = _impact_time(contact, detections)
    modes = mode_history(recording, topics)
    end = contact_end(modes)
    verdict = last_verdict(recording, topics)
    fault = last_fault(recording, topics)
    torque, torque_rate = commanded_peaks(recording, topics)
    return RunAnalysis(
        scenario=scenario_name(recording, topics),
        duration=measured.duration,
        joint_names=measured.names,
        outcome=outcome_of(fault, detections.size > 0, verdict),
        fault=fault,
        modes=modes,
        detections=detections,
        true_impact_time=contact,
        detection_delay=_detection_delay(detections, contact, touch_start(recording, topics)),
        verdict=verdict,
        final_force=final_force(recording, topics, end),
        desired_force=desired_force(recording, topics, end),
        peak_force=peak_force(recording, topics),
        final_position_error=_final_position_error(recording, topics),
        peak_torque=torque,
        peak_torque_rate=torque_rate,
        limits=limits,
        final_speed=measured.final_speed,
        ante_velocity=_ante_velocity(measured, impact),
        gross_post_velocity=_gross_velocity(measured, impact),
        timing=loop_timing(recording, topics),
    )


def _detection_delay(detections: Vector, contact: float | None, touched: float) -> float | None:
    if contact is None:
        return None
    of_contact = detections[(detections < touched) | (detections >= contact)]
    return float(of_contact[0]) - contact if of_contact.size else None


def _impact_time(contact: float | None, detections: Vector) -> float | None:
    if contact is not None:
        return contact
    return float(detections[0]) if detections.size else None


def _final_position_error(recording: Recording, topics: Topics) -> float | None:
    status = series_if_recorded(recording, topics.status)
    return float(np.linalg.norm(status["position_error"][-1])) if status is not None else None


def _ante_velocity(measured: MeasuredJoints, impact: float | None) -> Vector | None:
    if impact is None or measured.time[0] >= impact:
        return None
    return ante_impact_velocity(measured.time, measured.velocity, impact)


def _gross_velocity(measured: MeasuredJoints, impact: float | None) -> Vector | None:
    if impact is None or impact + GROSS_VELOCITY_WINDOW > measured.time[-1]:
        return None
    return gross_post_impact_velocity(measured.time, measured.position, impact)
