"""One tick: observe, detect, classify, decide the mode, solve, react.

The same object runs inside the ROS 2 nodes, in a simulation without ROS, and over a recording.
"""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np

from impact_control.classification import Classifier, ContactCompletion, ExternalForce, Verdict
from impact_control.compiled import compiled
from impact_control.control import RUNNING, DesiredForce, Fault, Mode, ReferenceSpreadingController
from impact_control.detection import DetectionSignals, Detector
from impact_control.errors import InvalidInputError
from impact_control.observation import MomentumObserver
from impact_control.parts import (
    admittance_parameters,
    classifier_parameters,
    contact_force,
    control_parameters,
    make_classifier,
    make_completion,
    make_detector,
    make_observer,
    may_yield,
    reaction_parameters,
    retreat_direction,
    retreat_parameters,
)
from impact_control.reaction import CollisionReaction, Step
from impact_control.references import ImpactReference, build_reference
from impact_control.robots import Dynamics, RobotDescription
from impact_control.scenario import CONTACT_COMPLETION, Scenario
from impact_control.types import Vector


class Outcome(IntEnum):
    """How a task ended; constants of impact_msgs/ExecuteImpactTask."""

    SUCCEEDED = 0
    IMPACT_UNEXPECTED = 1
    POST_IMPACT_UNEXPECTED = 2
    NO_IMPACT = 3
    CANCELLED = 4
    FAULT = 5
    UNDECIDED = 6


SETTLE_TIME = 0.5
LONGEST_SETTLE_TIME = 2.0
REST_SPEED = 0.02
REST_TIME = 0.2
"""A task goes on after it was stopped or is over, at least and at most for the first two times [s], until every joint
has been slower than this speed [rad/s] for this time [s]: so that the rest of the arm is seen and on record."""

JUDGED = (*RUNNING, Mode.STOPPED)
"""Modes in which the classifier follows the arm; in the others the clock of the task stands or is slowed down."""

LIMIT_TOLERANCE = 0.1
"""[rad] outside the position limits, beyond which a measured state cannot be the arm's."""


@compiled
def _defect(position: Vector, velocity: Vector, torque: Vector, lower: Vector, upper: Vector) -> int:
    """Return 1 for a sample that is not finite, 2 for a position that cannot be the arm's, else 0."""
    outside = False
    for i in range(position.shape[0]):
        if not (math.isfinite(position[i]) and math.isfinite(velocity[i]) and math.isfinite(torque[i])):
            return 1
        outside = outside or position[i] < lower[i] or position[i] > upper[i]
    return 2 if outside else 0


@compiled
def largest_magnitude(values: Vector) -> float:
    """Return the largest |value|."""
    largest = 0.0
    for value in values:
        largest = max(largest, abs(value))
    return largest


class Pipeline:
    """Observer, detector, classifier and controller of one arm, whole or in parts.

    A part that is left out runs elsewhere: then its results come in by `impact_detected` and `verdict`.

    After `tick`: `impact_now` (an impact was detected on this sample), `verdict_changed`, `torque` (n,) [Nm],
    `finished` (the task has ended), and the parts' own attributes. Times are seconds on the clock of the
    samples; task time counts from the first tick after `start`.
    """

    def __init__(
        self,
        scenario: Scenario,
        robot: RobotDescription,
        *,
        detect: bool = True,
        classify: bool = True,
        control: bool = True,
    ) -> None:
        self.scenario = scenario
        self.robot = robot
        self.dynamics = Dynamics(robot)
        # A controller observes too, where it may have to yield to external torques.
        self.observer = make_observer(scenario, robot) if detect or control else None
        self._observes = detect or scenario.classification.completion is not None or may_yield(scenario)
        n = len(robot.joint_names)
        self.detector = make_detector(scenario, n) if detect else None
        self._signals = DetectionSignals(n)
        if detect and not control and scenario.detection.torque_error is not None:
            raise InvalidInputError("detection.torque_error", "detector without controller", "both in one process")
        self.classifier = make_classifier(scenario, n) if classify else None
        waits = control and scenario.control.interim.until == CONTACT_COMPLETION
        self.completion = make_completion(scenario, robot) if classify or waits else None
        self._external_force = ExternalForce(scenario.detection.observer_gain)
        if self.completion is not None and self.observer is None:
            allowed = "a controller or detector in the process of the classifier"
            raise InvalidInputError("classification.completion", "classifier alone", allowed)
        self.controller = ReferenceSpreadingController(robot, control_parameters(scenario, robot)) if control else None
        self.reaction = CollisionReaction(reaction_parameters(scenario))
        self._retreat = retreat_parameters(scenario)
        self._away: Vector = np.array([0.0, 0.0, 1.0])
        self._admittance = admittance_parameters(scenario)
        self._touched = False
        self._armed: tuple[ImpactReference, DesiredForce] | None = None
        self._begin = -math.inf
        self._duration = 0.0
        self._hold = False
        self._task_running = False
        self._cancelled = False
        self._stopped_at = math.nan
        self._moved_at = math.nan
        self._timeout = scenario.control.state_timeout
        self._last_time = -math.inf
        self._lower = robot.limits.position_lower - LIMIT_TOLERANCE
        self._upper = robot.limits.position_upper + LIMIT_TOLERANCE
        self.impacts = 0
        self.impact = Verdict.UNKNOWN
        self.post_impact = Verdict.NOT_STARTED
        self.impact_now = False
        self.verdict_changed = False
        self.finished = False

    @property
    def torque(self) -> Vector:
        """Commanded torque (n,) [Nm] without gravity; zeros without a controller."""
        return self.controller.torque if self.controller is not None else np.zeros(len(self.robot.joint_names))

    def reset(self) -> None:
        """Clear every buffer: for activation. The controller then holds the pose of the first sample."""
        for part in (self.observer, self.detector, self.controller):
            if part is not None:
                part.reset()
        self.reaction.end()
        self._touched = False
        self._armed = None
        self._task_running = False
        self._last_time = -math.inf
        self.finished = False
        self.impact_now = False
        self.verdict_changed = False
        self.impacts = 0
        self.impact = Verdict.UNKNOWN
        self.post_impact = Verdict.NOT_STARTED

    def start(
        self,
        reference: ImpactReference,
        scenario: Scenario,
        force: DesiredForce | None = None,
        *,
        hold: bool = False,
        begin: float = -math.inf,
    ) -> None:
        """Arm a task: it begins with the next sample, or with the first at `begin` [s] or later. Needs a controller.

        force: exerted after the impact; None: what the scenario asks for on its surface. hold: whether the arm goes on
        with the end of the post-impact reference and with the force when the task is over, instead of stopping.
        """
        self.scenario = scenario
        self._hold = hold
        self._begin = begin
        self._duration = scenario.task.duration
        if self.classifier is not None:
            self.classifier.parameters = classifier_parameters(scenario)
            self.classifier.start(reference.nominal_impact_time, reference.impact_configuration)
        if self.completion is not None:
            self.completion.reset()
        self.impact = Verdict.UNKNOWN
        self.post_impact = Verdict.NOT_STARTED
        self.impacts = 0
        self.reaction.start(reaction_parameters(scenario))
        self._retreat = retreat_parameters(scenario)
        self._away = retreat_direction(scenario, reference)
        self._admittance = admittance_parameters(scenario)
        self._observes = self.detector is not None or self.completion is not None or may_yield(scenario)
        self._touched = False
        self.finished = False
        self._cancelled = False
        self._stopped_at = math.nan
        self._armed = (reference, contact_force(scenario, reference) if force is None else force)

    def cancel(self) -> None:
        """Stop the task: the arm decelerates and holds."""
        self._cancelled = True
        self._armed = None
        self.reaction.end()
        if self.controller is not None:
            self.controller.stop()

    def partner_touched(self, time: float) -> None:
        """Another arm at the same object detected an impact at `time` [s]: leave ante-impact mode with it.

        The verdict stays on this arm's own impact.
        """
        if self._task_running and self.controller is not None:
            self.controller.impact(time)

    def stop_with_partner(self) -> None:
        """Another arm at the same object was stopped: stop too."""
        self._armed = None
        self.reaction.end()
        if self.controller is not None:
            self.controller.stop()

    @property
    def task_active(self) -> bool:
        """Whether a task is armed or running."""
        return self._task_running or self._armed is not None

    @property
    def armed(self) -> bool:
        """Whether a task waits for its first sample."""
        return self._armed is not None

    def tick(self, time: float, position: Vector, velocity: Vector, torque: Vector) -> None:
        """Handle one sample: position (n,) [rad], velocity (n,) [rad/s], measured joint torque (n,) [Nm]."""
        self.impact_now = False
        self.verdict_changed = False
        if 0.0 <= self._last_time - time < self._timeout:
            return  # repeated or late: the torque of the newest sample stands
        if not self._state_is_sane(time, position, velocity, torque):
            self._end_task_if_due(time, velocity)
            return
        dynamics = self.dynamics
        dynamics.update(position, velocity)
        if self._armed is not None and self.controller is not None and time >= self._begin:
            self.controller.start(*self._armed, time)
            self._armed = None
            self._task_running = True
        if self.observer is not None and self._observes:
            dynamics.update_momentum_terms()
            self.observer.update(
                dynamics.mass_matrix,
                velocity,
                torque,
                dynamics.coriolis_transposed_velocity,
                dynamics.gravity,
                time,
            )
            if self.detector is not None:
                self._detect(self.detector, self.observer, time, position, velocity, torque)
        controller = self.controller
        if controller is not None and self.observer is not None:
            controller.update(dynamics, time, position, velocity, self.observer.residual)
            self._go_on_reacting(controller, time, self.observer.residual)
            if self._task_running and controller.mode in JUDGED:
                seconds = time - controller.start_time
                if self.completion is not None and self.impacts:
                    self._look_for_full_contact(self.completion, controller, self.observer, seconds)
                if self.classifier is not None:
                    self._judge(self.classifier, seconds, velocity, controller.expected.joint_velocity)
        self._end_task_if_due(time, velocity)

    def _detect(
        self,
        detector: Detector,
        observer: MomentumObserver,
        time: float,
        position: Vector,
        velocity: Vector,
        torque: Vector,
    ) -> None:
        """Show the detector this sample, with the torque that was commanded for it."""
        signals = self._signals
        signals.position, signals.velocity, signals.joint_torque = position, velocity, torque
        signals.residual, signals.residual_rate = observer.residual, observer.residual_rate
        if self.controller is not None:
            np.add(self.controller.torque, self.dynamics.gravity, out=signals.commanded_torque)
        if detector.update(signals, time):
            self.impact_now = True
            self.impact_detected(detector.impact_time, position)

    def _look_for_full_contact(
        self,
        completion: ContactCompletion,
        controller: ReferenceSpreadingController,
        observer: MomentumObserver,
        seconds: float,
    ) -> None:
        """Tell classifier and controller when all points of the end-effector touch, Proper 2021 section 5.2."""
        if completion.complete:
            return
        dynamics = self.dynamics
        force = self._external_force.update(dynamics.jacobian, observer.residual, observer.residual_rate)
        if completion.update(seconds, dynamics.rotation, dynamics.twist, force):
            controller.contact_closed(controller.start_time + seconds)
            if self.classifier is not None:
                self.classifier.contact_completed(seconds)

    def _judge(self, classifier: Classifier, seconds: float, velocity: Vector, expected: Vector) -> None:
        if classifier.update(seconds, velocity, expected):
            self._take_verdict(classifier)
        elif classifier.settled:
            self._react()

    def impact_detected(self, time: float, position: Vector) -> None:
        """Take a detected impact, of our own detector or another's: time [s], position (n,) [rad] there."""
        if not self._task_running:
            return
        self.impacts += 1
        self._touched = True
        if self.controller is None:
            return
        seconds = time - self.controller.start_time
        if self.classifier is not None and self.classifier.impact_detected(seconds, position):
            self._take_verdict(self.classifier)
        self.controller.impact(time)

    def verdict(self, impact: Verdict, post_impact: Verdict) -> None:
        """Take the verdicts of a classifier that runs elsewhere."""
        if self._task_running:
            self.impact = impact
            self.post_impact = post_impact
            self._react()

    def _take_verdict(self, classifier: Classifier) -> None:
        """Report a verdict that changed, and answer it unless the next impact of many may take it back."""
        self.impact = classifier.impact
        self.post_impact = classifier.post_impact
        self.verdict_changed = True
        if classifier.settled:
            self._react()

    def _react(self) -> None:
        """Answer a new verdict."""
        if self.controller is not None:
            self.obey(self.reaction.verdict(self.impact, self.post_impact))

    def _go_on_reacting(self, controller: ReferenceSpreadingController, time: float, residual: Vector) -> None:
        touched, self._touched = self._touched, False
        step = self.reaction.update(time, residual, touched, controller.arrived, controller.pressing)
        if step is not Step.NONE:
            self.obey(step)

    def obey(self, step: Step) -> None:
        """Let the controller begin a step of a reaction."""
        controller = self.controller
        if controller is None:
            return
        if step is Step.STOP:
            controller.stop()
        elif step is Step.PULL_BACK:
            controller.pull_back(self._away, self._retreat)
        elif step is Step.YIELD:
            controller.admit(self._admittance, Mode.ANTE if self.reaction.repeats_impact else Mode.POST)
        elif step is Step.RESUME:
            controller.resume()
        elif step is Step.JUDGE_ANEW:
            self._judge_anew(controller)

    def _judge_anew(self, controller: ReferenceSpreadingController) -> None:
        """Forget the touches that interrupted the task: its own impact is still to come, at its time of the task."""
        self.impacts = 0
        self.impact = Verdict.UNKNOWN
        self.post_impact = Verdict.NOT_STARTED
        reference = controller.reference
        if self.classifier is not None and reference is not None:
            self.classifier.start(reference.nominal_impact_time, reference.impact_configuration)
            self.verdict_changed = True
        if self.completion is not None:
            self.completion.reset()

    def _state_is_sane(self, time: float, position: Vector, velocity: Vector, torque: Vector) -> bool:
        """Check a sample; a bad one sends the controller into FAULT with damping.

        In a task so does one after a gap, or with a stamp that shows that the clock was set back.
        """
        fault = Fault.NONE
        defect = _defect(position, velocity, torque, self._lower, self._upper)
        if defect == 1:
            fault = Fault.STATE_NOT_FINITE
        elif defect == 2:
            fault = Fault.STATE_OUT_OF_LIMITS
        elif self._task_running and not 0.0 < time - self._last_time <= self._timeout:
            fault = Fault.STATE_STALE
        self._last_time = time
        if fault is Fault.NONE:
            return True
        self.fail(fault, velocity)
        return False

    def fail(self, fault: Fault, velocity: Vector) -> None:
        """Go to FAULT and command damping from velocity (n,) [rad/s], which may be not finite."""
        if self.controller is not None:
            self.controller.fail(fault)
            self.controller.damp(velocity)

    def end_after_fault(self) -> None:
        """End the task of a controller that is in FAULT, when no sample comes that would do it."""
        if self._task_running or self._armed is not None:
            self._armed = None
            self._finish()

    def _end_task_if_due(self, time: float, velocity: Vector) -> None:
        controller = self.controller
        if not self._task_running or controller is None:
            return
        over = controller.mode in RUNNING and controller.task_time >= self._duration
        if controller.mode is Mode.FAULT:
            self._finish()
        elif controller.mode is Mode.STOPPED or (over and self._hold and controller.mode is Mode.POST):
            if math.isnan(self._stopped_at):
                self._stopped_at = self._moved_at = time
            if largest_magnitude(velocity) >= REST_SPEED:
                self._moved_at = time
            stopped_for = time - self._stopped_at
            at_rest = stopped_for >= SETTLE_TIME and time - self._moved_at >= REST_TIME
            if at_rest or stopped_for >= LONGEST_SETTLE_TIME:
                self._finish()
        elif over:
            self.reaction.end()
            controller.stop()

    def _finish(self) -> None:
        self._task_running = False
        self.reaction.end()
        self.finished = True

    @property
    def outcome(self) -> Outcome:
        """How the task stands; final once `finished`."""
        if self.controller is not None and self.controller.mode is Mode.FAULT:
            return Outcome.FAULT
        if self._cancelled:
            return Outcome.CANCELLED
        if self.impacts == 0:
            return Outcome.NO_IMPACT
        if self.impact is Verdict.UNEXPECTED:
            return Outcome.IMPACT_UNEXPECTED
        if self.post_impact is Verdict.UNEXPECTED:
            return Outcome.POST_IMPACT_UNEXPECTED
        if self.impact is Verdict.EXPECTED and self.post_impact is Verdict.EXPECTED:
            return Outcome.SUCCEEDED
        return Outcome.UNDECIDED


def warm_up(scenario: Scenario, robot: RobotDescription) -> None:
    """Walk once through every path of the loop, so that nothing is compiled or loaded in its first samples."""
    patient = scenario.with_overrides(
        {"reaction.on_unexpected_impact": "continue", "reaction.on_unexpected_post_impact": "continue"}
    )
    reference = build_reference(patient, robot)
    pipeline = Pipeline(patient, robot)
    pipeline.reset()
    q = reference.initial_configuration
    still = np.zeros_like(q)
    period = patient.control.period
    pipeline.tick(0.0, q, still, still)
    pipeline.start(reference, patient)
    # On the reference and far from it, where limits are active and the solver is asked.
    places = (q, q + 0.05, q)
    for k, place in enumerate(places, start=1):
        pipeline.tick(k * period, place, still, still)
    pipeline.impact_detected(3.5 * period, q)
    for k, place in enumerate(places, start=4):
        pipeline.tick(k * period, place, still, still)
    for k, step in enumerate((Step.YIELD, Step.RESUME, Step.NONE, Step.NONE, Step.PULL_BACK, Step.STOP), start=7):
        pipeline.obey(step)
        pipeline.tick(k * period, q, still, still)
    pipeline.cancel()
    pipeline.tick(13.0 * period, q, still, still)
    pipeline.fail(Fault.INTERNAL, still)
    pipeline.tick(14.0 * period, q, still, still)
