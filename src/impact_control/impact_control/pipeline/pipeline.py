"""The tick: one sample through observer, detector, classifier and controller."""

from __future__ import annotations

import math

import numpy as np

from impact_control.classification import Verdict
from impact_control.control import RUNNING, DesiredForce, Fault, Mode, ReferenceSpreadingController
from impact_control.detection import DetectionSignals, Detector
from impact_control.errors import InvalidInputError
from impact_control.observation import MomentumObserver
from impact_control.parts import (
    contact_force,
    control_parameters,
    make_detector,
    make_observer,
    may_yield,
    reaction_parameters,
)
from impact_control.pipeline.judge import Judge
from impact_control.pipeline.maneuvers import Maneuvers
from impact_control.pipeline.outcome import Outcome, outcome_of
from impact_control.pipeline.rest import Rest
from impact_control.pipeline.samples import SampleCheck
from impact_control.pipeline.start_pose import StartPose
from impact_control.reaction import CollisionReaction, Step
from impact_control.references import ImpactReference
from impact_control.robots import Dynamics, RobotDescription
from impact_control.scenario import CONTACT_COMPLETION, Scenario
from impact_control.types import Vector


class Pipeline:
    """Observer, detector, classifier and controller of one arm, whole or in parts.

    A part that is left out runs elsewhere: then its results come in by `impact_detected` and `verdict`.

    After `tick` or `refuse`: `impact_now` (an impact was detected on this sample), `judge` (impacts, verdicts, whether
    they changed; that also after `impact_detected`), `torque` (n,) [Nm], `finished` (the task has ended), and the
    parts' own attributes. Times are seconds on the clock of the samples; task time counts from the first tick after
    `start`.
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
        n = len(robot.joint_names)
        torque_error = scenario.detection.torque_error
        if detect and not control and torque_error is not None:
            allowed = "none in a detector without a controller in its process"
            raise InvalidInputError("detection.torque_error", torque_error, allowed)
        # A controller observes too, where it may have to yield to external torques.
        self.observer = make_observer(scenario, robot) if detect or control else None
        self.detector = make_detector(scenario, n) if detect else None
        self._signals = DetectionSignals(n)
        waits = control and scenario.control.interim.until == CONTACT_COMPLETION
        self.judge = Judge(scenario, robot, classify=classify, complete=classify or waits)
        for key in ("completion", "held_force"):
            if getattr(self.judge, key) is not None and self.observer is None:
                allowed = "none in a classifier without a controller or detector in its process"
                raise InvalidInputError(f"classification.{key}", getattr(scenario.classification, key), allowed)
        self.controller = ReferenceSpreadingController(robot, control_parameters(scenario, robot)) if control else None
        self.reaction = CollisionReaction(reaction_parameters(scenario))
        self._maneuvers = Maneuvers(scenario)
        self._check = SampleCheck(robot, scenario.control.state_timeout, scenario.control.period)
        self._rest = Rest()
        self._unknown = np.full(len(robot.joint_names), np.nan)
        self._observes = self._needs_observer(scenario)
        self._begin = -math.inf
        self._duration = 0.0
        self._hold = False
        self._cancelled = False
        self._interrupted = False
        self._forget()

    @property
    def torque(self) -> Vector:
        """Commanded torque (n,) [Nm] without gravity; zeros without a controller."""
        return self.controller.torque if self.controller is not None else np.zeros(len(self.robot.joint_names))

    # ------------------------------------------------------------------ the life of a task

    def reset(self) -> None:
        """Clear every buffer: for activation. The controller then holds the pose of the first sample."""
        for part in (self.observer, self.detector, self.controller):
            if part is not None:
                part.reset()
        self.reaction.end()
        self._check.reset()
        self._forget()

    def clear_fault(self) -> None:
        """Leave FAULT while commands are sent: see `ReferenceSpreadingController.clear_fault`. Without a task."""
        if self.controller is not None:
            self.controller.clear_fault()
        self.reaction.end()
        self._forget()

    def _forget(self) -> None:
        self.judge.forget()
        self.judge.changed = False
        self._touched = False
        self._armed: tuple[ImpactReference, DesiredForce] | None = None
        self._start_pose: StartPose | None = None
        self._task_running = False
        self.finished = False
        self.impact_now = False

    def start(
        self,
        reference: ImpactReference,
        scenario: Scenario,
        force: DesiredForce | None = None,
        *,
        hold: bool = False,
        begin: float = -math.inf,
        start_pose: StartPose | None = None,
    ) -> None:
        """Arm a task: it begins with the next sample, or with the first at `begin` [s] or later. Needs a controller.

        force: exerted after the impact; None: what the scenario asks for on its surface. hold: whether the arm goes on
        with the end of the post-impact reference and with the force when the task is over, instead of stopping.
        start_pose: where the arm has to be in that sample, else the task is over and REFUSED; None: anywhere.
        """
        self.scenario = scenario
        self._hold = hold
        self._begin = begin
        self._start_pose = start_pose
        self._duration = scenario.task.duration
        self.judge.start(scenario, reference)
        self.reaction.start(reaction_parameters(scenario))
        self._maneuvers.start(scenario, reference)
        self._observes = self._needs_observer(scenario)
        self._touched = False
        self.finished = False
        self._cancelled = False
        self._interrupted = False
        self._rest.reset()
        self._armed = (reference, contact_force(scenario, reference) if force is None else force)

    def _needs_observer(self, scenario: Scenario) -> bool:
        asked = self.judge.completion is not None or self.judge.held_force is not None
        return self.detector is not None or asked or may_yield(scenario)

    def cancel(self) -> None:
        """Stop the task: the arm decelerates and holds."""
        self._cancelled = True
        self._stop()

    def stop_with_partner(self) -> None:
        """Another arm at the same object was stopped: stop too. What is not judged by then is judged no more."""
        self._interrupted = True
        self._stop()

    def _stop(self) -> None:
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

    @property
    def task_active(self) -> bool:
        """Whether a task is armed or running."""
        return self._task_running or self._armed is not None

    @property
    def follows(self) -> bool:
        """Whether the arm follows the references of a task, and may press: with `hold` also when the task is over."""
        return self.controller is not None and self.controller.mode in RUNNING

    @property
    def exerts(self) -> bool:
        """Whether a task is armed or running, or one that is over is held on to."""
        return self.task_active or self.follows

    @property
    def armed(self) -> bool:
        """Whether a task waits for its first sample."""
        return self._armed is not None

    @property
    def outcome(self) -> Outcome:
        """How the task stands; final once `finished`."""
        if self.controller is not None and self.controller.mode is Mode.FAULT:
            return Outcome.FAULT
        if self._start_pose is not None and self._start_pose.missed:
            return Outcome.REFUSED
        return Outcome.CANCELLED if self._cancelled else outcome_of(self.judge)

    def start_defect(self) -> str:
        """Say where the arm was when the task was to begin, if it had to be elsewhere; else nothing."""
        return "" if self._start_pose is None else self._start_pose.reason()

    def sample_defect(self) -> str:
        """Say what was wrong with the sample that led to the controller's fault; nothing if none did."""
        return "" if self.controller is None else self._check.reason(self.controller.fault)

    # ------------------------------------------------------------------ the tick

    def tick(self, time: float, position: Vector, velocity: Vector, torque: Vector) -> None:
        """Handle one sample: position (n,) [rad], velocity (n,) [rad/s], measured joint torque (n,) [Nm]."""
        self.impact_now = False
        self.judge.changed = False
        if self._check.repeated(time):
            if self._check.stands_still:
                self._answer_standstill()
            return  # the torque of the newest sample stands
        fault = self._check.fault(time, position, velocity, torque, in_task=self._task_running or self.follows)
        if fault is not Fault.NONE:
            self.fail(fault, velocity)
            self._end_task_if_due(time, velocity)
            return
        dynamics = self.dynamics
        dynamics.update(position, velocity)
        if self._armed is not None and self.controller is not None and time >= self._begin:
            self._begin_task(self.controller, *self._armed, time, position)
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
            # In other modes the arm does not move as the reference of the task, whose clock stands or is slowed down.
            if self._task_running and controller.mode in RUNNING:
                self._judge(controller, self.observer, time - controller.start_time, velocity)
        self._end_task_if_due(time, velocity)

    def _begin_task(
        self,
        controller: ReferenceSpreadingController,
        reference: ImpactReference,
        force: DesiredForce,
        time: float,
        position: Vector,
    ) -> None:
        """Begin the armed task with this sample, unless the arm is elsewhere than it starts."""
        self._armed = None
        if self._start_pose is not None and not self._start_pose.compare(position):
            controller.stop()  # for its partners, which begin with the same sample: they hear that it stopped
            self._finish()
            return
        controller.start(reference, force, time)
        self._task_running = True

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

    def _judge(
        self, controller: ReferenceSpreadingController, observer: MomentumObserver, seconds: float, velocity: Vector
    ) -> None:
        if self.judge.contact_closes(seconds, self.dynamics, observer):
            controller.contact_closed(controller.start_time + seconds)
        if self.judge.update(seconds, velocity, controller.expected.joint_velocity):
            self._react(controller)
        if controller.mode is Mode.POST:
            # Told only: to let go of what is carried would be worse than to carry it.
            self.judge.feel(seconds, self.dynamics, observer, controller.force)

    def _end_task_if_due(self, time: float, velocity: Vector) -> None:
        controller = self.controller
        if not self._task_running or controller is None:
            return
        over = controller.mode in RUNNING and controller.task_time >= self._duration
        if controller.mode is Mode.FAULT:
            self._finish()
        elif controller.mode is Mode.STOPPED or (over and self._hold and controller.mode is Mode.POST):
            if self._rest.reached(time, velocity):
                self._finish()
        elif over:
            self.reaction.end()
            controller.stop()

    def _finish(self) -> None:
        self._task_running = False
        self.reaction.end()
        self.finished = True

    # ------------------------------------------------------------------ impacts, verdicts, reactions

    def impact_detected(self, time: float, position: Vector) -> None:
        """Take a detected impact, of our own detector or another's: time [s], position (n,) [rad] there."""
        self.judge.changed = False
        controller = self.controller
        if not self._task_running or controller is None or self._interrupted:
            return
        self._touched = True
        if self.judge.impact_detected(time - controller.start_time, position):
            self._react(controller)
        controller.impact(time)

    def verdict(self, impact: Verdict, post_impact: Verdict) -> None:
        """Take the verdicts of a classifier that runs elsewhere."""
        if self._task_running and self.controller is not None:
            self.judge.impact = impact
            self.judge.post_impact = post_impact
            self._react(self.controller)

    def _react(self, controller: ReferenceSpreadingController) -> None:
        """Answer the verdicts; the same ones again are answered once."""
        self._obey(self.reaction.verdict(self.judge.impact, self.judge.post_impact), controller)

    def _go_on_reacting(self, controller: ReferenceSpreadingController, time: float, residual: Vector) -> None:
        if controller.mode is Mode.STOPPED:
            self.reaction.end()  # also where the time-out of a missing impact stopped it, which no reaction knows of
        touched, self._touched = self._touched, False
        self._obey(self.reaction.update(time, residual, touched, controller.arrived, controller.pressing), controller)

    def obey(self, step: Step) -> None:
        """Let the controller begin a step of a reaction."""
        if self.controller is not None:
            self._obey(step, self.controller)

    def _obey(self, step: Step, controller: ReferenceSpreadingController) -> None:
        if step is Step.NONE:
            return
        if step is Step.JUDGE_ANEW and controller.reference is not None:
            self.judge.start_anew(controller.reference)
        self._maneuvers.begin(step, controller, repeats_impact=self.reaction.repeats_impact)

    # ------------------------------------------------------------------ faults

    def fail(self, fault: Fault, velocity: Vector | None = None) -> None:
        """Go to FAULT and command damping from velocity (n,) [rad/s], which may be not finite; with a sample.

        None: between two samples. The next one is answered by damping: its command would be the second since the last
        that was sent, and change the torque by twice what its rate allows.
        """
        if self.controller is not None:
            self.controller.fail(fault)
            if velocity is not None:
                self.controller.damp(velocity)

    def _answer_standstill(self) -> None:
        """Answer a stamp that stands still, in a task by a fault.

        A velocity that is not measured any more is not damped: its torque would drive the arm the other way in the end.
        """
        failed = self.controller is not None and self.controller.mode is Mode.FAULT
        if self._task_running or self.follows or failed:
            self._check.note_standstill()
            self.fail(Fault.STATE_STALE, self._unknown)
            self.end_after_fault()

    def refuse(self, fault: Fault, velocity: Vector) -> None:
        """Answer a sample that cannot be used, in place of `tick`: it tells of no impact, and a task ends with it.

        velocity (n,) [rad/s] to damp, which may be not finite.
        """
        self.impact_now = False
        self.judge.changed = False
        self.fail(fault, velocity)
        self.end_after_fault()

    def end_after_fault(self) -> None:
        """End the task of a controller that is in FAULT, when no sample comes that would do it."""
        if self.task_active:
            self._armed = None
            self._finish()
