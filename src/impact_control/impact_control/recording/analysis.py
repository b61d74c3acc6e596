"""Analysis of a recorded run, gathered in one `RunAnalysis`. Times are stamps [s], see `series`.

A figure for which the recording lacks the samples is None, and named in `RunAnalysis.withheld`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from impact_control.observation.post_impact_velocity import (
    GROSS_VELOCITY_WINDOW,
    ante_impact_velocity,
    gross_post_impact_velocity,
)
from impact_control.recording import measures
from impact_control.recording.bag import was_cut_off
from impact_control.recording.defects import repeated_rows
from impact_control.recording.gaps import BRIDGED, Gaps
from impact_control.recording.measures import SUCCEEDED, CommandLimits, ModeInterval, Timing, Verdict
from impact_control.recording.series import Recording, Topics
from impact_control.util.types import Vector


@dataclass(frozen=True)
class RunAnalysis:
    """Figures of merit of one run; None for what a recording does not contain.

    Attributes:
        scenario: its name, "" if unknown.
        duration: [s] between the first and the last joint state.
        joint_names: order of all joint arrays (n,).
        outcome: of the task, see `outcome_of`.
        fault: reason of the last fault of the controller, "" for none.
        modes: of the controller, in order.
        detections: (k,) stamps of the samples on which impacts were detected.
        true_impact_time: first contact of the simulated robot.
        detection_delay: [s] first detection minus true contact, negative for a false alarm before it; an event after a
            touch of a link is none.
        verdict: of the classifier.
        learned: parameters that the predictor had learned by the end, in words; "" for none.
        final_force: [N] mean normal force at the end of the last post-impact mode, see `mean_before`.
        desired_force: [N] mean magnitude of the force reference over the same time.
        peak_force: [N] largest normal force.
        final_position_error: [m] at the end.
        peak_torque, peak_torque_rate: (n,) [Nm, Nm/s] largest magnitudes, see `commanded_peaks`.
        limits: of both.
        final_speed: [rad/s] largest joint speed at the end.
        ante_velocity, gross_post_velocity: (n,) [rad/s] around the impact, see `observation.post_impact_velocity`.
        timing: of the loop.
        gaps: of the joint states; repeats: number of those that repeat the one before under a new stamp.
        peak_torque_share: [-] largest part of a torque limit, as the controller counted it itself.
        withheld: figures that are None because samples are missing, in words.
        impact_impulse: [Ns] along the normal, of a contact too short for the samples of its force.
        expected_outcome: with which the scenario is meant to end.
        outcome_of_all: of the task of several arms, "" for one.
        cut_off: whether the end of the recording is missing, see `bag.was_cut_off`.
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
    learned: str
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
    gaps: Gaps
    repeats: int
    peak_torque_share: float | None
    withheld: tuple[str, ...]
    impact_impulse: float | None = None
    expected_outcome: str = SUCCEEDED
    outcome_of_all: str = ""
    cut_off: bool = False

    @property
    def as_meant(self) -> bool:
        """Whether the task ended as the scenario is meant to end."""
        return (self.outcome_of_all or self.outcome) == self.expected_outcome

    @property
    def impact_time(self) -> float | None:
        """True impact if it is known, else the first detection."""
        return _impact_time(self.true_impact_time, self.detections)

    @property
    def impact_detection(self) -> float | None:
        """Stamp of the detection of the impact, not of a touch before it; None when it was not detected."""
        if self.true_impact_time is None:
            return float(self.detections[0]) if self.detections.size else None
        return None if self.detection_delay is None else self.true_impact_time + self.detection_delay

    @property
    def within_limits(self) -> bool | None:
        """Whether torque and its rate kept their limits; the controller counts for lost commands. None: unknown."""
        if self.limits is None or self.peak_torque is None or self.peak_torque_rate is None:
            return None
        most = 1 + 1e-9
        rate = (self.peak_torque_rate <= self.limits.torque_rate * (1 + 1e-6)).all()
        if not (rate and (self.peak_torque <= most * self.limits.torque).all()):
            return False
        if self.peak_torque_share is not None:
            return self.peak_torque_share <= most
        return None if self.gaps.missing else True


def analyse(recording: Recording, *, limits: CommandLimits | None = None) -> RunAnalysis:
    """Return the analysis of a recording with joint states; limits: of the commanded torque.

    Raises InvalidInputError without joint states.
    """
    joints = measures.measured_joints(recording)
    detections = measures.detection_times(recording)
    contact = measures.true_impact_time(recording)
    impact = _impact_time(contact, detections)
    modes = measures.mode_history(recording)
    end = measures.contact_end(modes)
    verdict, fault = measures.last_verdict(recording), measures.last_fault(recording)
    peak_torque, peak_torque_rate = measures.commanded_peaks(recording)
    truth, reference, status = (recording.get(name) for name in (Topics.truth, Topics.reference, Topics.status))
    period = measures.control_period(recording)
    gaps, motion = Gaps.between(joints.time, period), np.stack([joints.position, joints.velocity])
    final = desired = peak = error = ante = gross = None
    withheld = []
    if truth is not None:
        peak = float(np.max(truth["peak_normal_force"]))
        if Gaps.between(truth["stamp"], period).covers(*measures.force_interval(truth["stamp"], end)):
            final = measures.mean_before(truth["stamp"], truth["normal_force"], end)
        else:
            withheld.append("final normal force")
    if reference is not None:
        desired = measures.mean_before(reference["stamp"], np.linalg.norm(reference["force"], axis=1), end)
    if status is not None:
        error = float(np.linalg.norm(status["position_error"][-1]))
    if impact is not None and joints.time[0] < impact and impact + GROSS_VELOCITY_WINDOW <= joints.time[-1]:
        if gaps.covers(impact - BRIDGED, impact + GROSS_VELOCITY_WINDOW):
            ante = ante_impact_velocity(joints.time, joints.velocity, impact)
            gross = gross_post_impact_velocity(joints.time, joints.position, impact)
        else:
            withheld.append("velocity before and after the impact")
    analysis = RunAnalysis(
        scenario=recording.scenario_name,
        duration=joints.duration,
        joint_names=joints.names,
        outcome=measures.outcome_of(fault, measures.begun(modes), detections.size > 0, verdict),
        fault=fault,
        modes=modes,
        detections=detections,
        true_impact_time=contact,
        detection_delay=_detection_delay(detections, contact, measures.touch_start(recording)),
        verdict=verdict,
        learned=measures.learned_in_words(recording),
        final_force=final,
        desired_force=desired,
        peak_force=peak,
        final_position_error=error,
        peak_torque=peak_torque,
        peak_torque_rate=peak_torque_rate,
        limits=limits,
        final_speed=joints.final_speed,
        ante_velocity=ante,
        gross_post_velocity=gross,
        timing=measures.loop_timing(recording),
        gaps=gaps,
        repeats=int(np.count_nonzero(repeated_rows(motion, np.ones(joints.time.size, dtype=bool)))),
        peak_torque_share=None if status is None else float(np.max(status["peak_torque_share"])),
        withheld=tuple(withheld),
        cut_off=was_cut_off(recording.directory),
    )
    if analysis.limits is None or analysis.peak_torque is None or analysis.within_limits is not None:
        return analysis
    return replace(analysis, withheld=(*withheld, "whether the torque kept its limits"))


def _detection_delay(detections: Vector, contact: float | None, touched: float) -> float | None:
    if contact is None:
        return None
    of_contact = detections[(detections < touched) | (detections >= contact)]
    return float(of_contact[0]) - contact if of_contact.size else None


def _impact_time(contact: float | None, detections: Vector) -> float | None:
    if contact is not None:
        return contact
    return float(detections[0]) if detections.size else None
