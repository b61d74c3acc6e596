"""One tick: observe, detect, classify, decide the mode, solve, react.

The same object runs inside the ROS 2 nodes, in a simulation without ROS, and over a recording.
"""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np

from impact_control.classification import ClassifierParameters, SingleImpactClassifier, Verdict
from impact_control.compiled import compiled
from impact_control.control import ContactForce, ControlParameters, Fault, Mode, ReferenceSpreadingController
from impact_control.detection import ImpactDetector
from impact_control.observation import MomentumObserver
from impact_control.references import ImpactReference, build_reference
from impact_control.robots import Dynamics, RobotDescription
from impact_control.scenario import Scenario
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
"""[s] a task goes on after it was stopped or is over, so that the rest of the arm is seen and on record."""

LIMIT_TOLERANCE = 0.1
"""[rad] outside the position limits, beyond which a measured state cannot be the arm's."""


def classifier_parameters(scenario: Scenario) -> ClassifierParameters:
    """Return the six tuning parameters of the scenario's classifier."""
    c = scenario.classification
    return ClassifierParameters(
        window_length=c.window_length,
        decay_rate=c.decay_rate,
        envelope_margin=tuple(c.envelope_margin.tolist()),
        configuration_error=c.configuration_error,
        time_error=c.time_error,
        post_impact_time=c.post_impact_time,
    )


def control_parameters(scenario: Scenario, robot: RobotDescription) -> ControlParameters:
    """Return gains and limits of the scenario's controller.

    The damping of a fault lets each joint, with the inertia it has at the home configuration, decay at the
    scenario's stop rate.
    """
    c = scenario.control
    dynamics = Dynamics(robot)
    home = scenario.task.home_configuration
    dynamics.update(home, np.zeros_like(home))
    inertia = np.diag(dynamics.mass_matrix) + robot.transmission.reduced_motor_inertia
    return ControlParameters(
        position_gain=c.gains.position,
        orientation_gain=c.gains.orientation,
        posture_gain=c.gains.posture,
        position_weight=c.weights.position,
        orientation_weight=c.weights.orientation,
        posture_weight=c.weights.posture,
        interim_duration=c.interim_duration,
        friction_compensation=c.friction_compensation,
        stop_rate=c.stop_damping,
        stop_damping=c.stop_damping * inertia,
        acceleration_limit=c.max_joint_acceleration,
        period=c.period,
    )


def contact_force(scenario: Scenario, reference: ImpactReference) -> ContactForce:
    """Return the force the task asks for after the impact, on the expected surface."""
    return ContactForce(
        magnitude=scenario.task.post.force,
        friction=scenario.expected_environment.surface.friction,
        normal=reference.geometry.normal,
        offset=reference.geometry.contact_offset,
    )


def make_observer(scenario: Scenario, robot: RobotDescription) -> MomentumObserver:
    """Return the scenario's momentum observer for flexible joints."""
    transmission = robot.transmission
    return MomentumObserver(scenario.detection.observer_gain, transmission.damping / transmission.stiffness)


def make_detector(scenario: Scenario) -> ImpactDetector:
    """Return the scenario's impact detector."""
    return ImpactDetector(scenario.detection.rate_threshold, scenario.detection.refractory_time)


@compiled
def _defect(position: Vector, velocity: Vector, torque: Vector, lower: Vector, upper: Vector) -> int:
    """Return 1 for a sample that is not finite, 2 for a position that cannot be the arm's, else 0."""
    outside = False
    for i in range(position.shape[0]):
        if not (math.isfinite(position[i]) and math.isfinite(velocity[i]) and math.isfinite(torque[i])):
            return 1
        outside = outside or position[i] < lower[i] or position[i] > upper[i]
    return 2 if outside else 0


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
        self.observer = make_observer(scenario, robot) if detect else None
        self.detector = make_detector(scenario) if detect else None
        n = len(robot.joint_names)
        self.classifier = SingleImpactClassifier(classifier_parameters(scenario), n) if classify else None
        self.controller = ReferenceSpreadingController(robot, control_parameters(scenario, robot)) if control else None
        self._armed: tuple[ImpactReference, ContactForce] | None = None
        self._duration = 0.0
        self._task_running = False
        self._cancelled = False
        self._start_time = 0.0
        self._stopped_at = math.nan
        self._impacts_before = 0
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
        self._armed = None
        self._task_running = False
        self._last_time = -math.inf
        self.finished = False
        self.impact_now = False
        self.verdict_changed = False
        self.impacts = 0
        self.impact = Verdict.UNKNOWN
        self.post_impact = Verdict.NOT_STARTED

    def start(self, reference: ImpactReference, scenario: Scenario) -> None:
        """Arm a task: it begins with the next sample. Needs a controller."""
        self.scenario = scenario
        self._duration = scenario.task.duration
        if self.classifier is not None:
            self.classifier.parameters = classifier_parameters(scenario)
            self.classifier.start(reference.nominal_impact_time, reference.impact_configuration)
        self.impact = Verdict.UNKNOWN
        self.post_impact = Verdict.NOT_STARTED
        self.impacts = 0
        self.finished = False
        self._cancelled = False
        self._stopped_at = math.nan
        self._armed = (reference, contact_force(scenario, reference))

    def cancel(self) -> None:
        """Stop the task: the arm decelerates and holds."""
        self._cancelled = True
        self._armed = None
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
        if time <= self._last_time:
            return  # repeated or older: the torque of the newest sample stands
        if not self._state_is_sane(time, position, velocity, torque):
            self._end_task_if_due(time)
            return
        dynamics = self.dynamics
        dynamics.update(position, velocity)
        if self._armed is not None and self.controller is not None:
            self.controller.start(*self._armed, time)
            self._armed = None
            self._task_running = True
            self._start_time = time
        if self.observer is not None and self.detector is not None:
            dynamics.update_momentum_terms()
            self.observer.update(
                dynamics.mass_matrix,
                velocity,
                torque,
                dynamics.coriolis_transposed_velocity,
                dynamics.gravity,
                time,
            )
            if self.detector.update(self.observer.residual_rate, time):
                self.impact_now = True
                self.impact_detected(self.detector.impact_time, position)
        if self.controller is not None:
            self.controller.update(dynamics, time, position, velocity)
            if self.classifier is not None and self._task_running:
                reference = self.controller.ante if self.controller.mode is Mode.ANTE else self.controller.post
                if self.classifier.update(time - self._start_time, velocity, reference.joint_velocity):
                    self._take_verdict()
        self._end_task_if_due(time)

    def impact_detected(self, time: float, position: Vector) -> None:
        """Take a detected impact, of our own detector or another's: time [s], position (n,) [rad] there."""
        if not self._task_running:
            return
        self.impacts += 1
        if self.classifier is not None and self.classifier.impact_detected(time - self._start_time, position):
            self._take_verdict()
        if self.controller is not None:
            self.controller.impact(time)
            self._react()

    def verdict(self, impact: Verdict, post_impact: Verdict) -> None:
        """Take the verdicts of a classifier that runs elsewhere."""
        if self._task_running:
            self.impact = impact
            self.post_impact = post_impact
            self._react()

    def _take_verdict(self) -> None:
        if self.classifier is not None:
            self.impact = self.classifier.impact
            self.post_impact = self.classifier.post_impact
            self.verdict_changed = True
            self._react()

    def _react(self) -> None:
        if self.controller is None:
            return
        reaction = self.scenario.reaction
        if self.impact is Verdict.UNEXPECTED:
            stop = reaction.on_unexpected_impact == "stop"
        else:
            stop = self.post_impact is Verdict.UNEXPECTED and reaction.on_unexpected_post_impact == "stop"
        if stop:
            self.controller.stop()

    def _state_is_sane(self, time: float, position: Vector, velocity: Vector, torque: Vector) -> bool:
        """Check a sample; a bad one sends the controller into FAULT with damping. A gap is one during a task."""
        fault = Fault.NONE
        defect = _defect(position, velocity, torque, self._lower, self._upper)
        if defect == 1:
            fault = Fault.STATE_NOT_FINITE
        elif defect == 2:
            fault = Fault.STATE_OUT_OF_LIMITS
        elif self._task_running and time - self._last_time > self._timeout:
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

    def _end_task_if_due(self, time: float) -> None:
        controller = self.controller
        if not self._task_running or controller is None:
            return
        if controller.mode is Mode.FAULT:
            self._finish()
        elif controller.mode is Mode.STOPPED:
            if math.isnan(self._stopped_at):
                self._stopped_at = time
            elif time - self._stopped_at >= SETTLE_TIME:
                self._finish()
        elif time - self._start_time >= self._duration:
            controller.stop()

    def _finish(self) -> None:
        self._task_running = False
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
    pipeline.cancel()
    pipeline.tick(7.0 * period, q, still, still)
    pipeline.fail(Fault.INTERNAL, still)
    pipeline.tick(8.0 * period, q, still, still)
