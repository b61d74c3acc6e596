"""The tick: one sample through observer, detector, classifier and controller."""

from __future__ import annotations

import math

import numpy as np

from impact_control.classification import Verdict
from impact_control.control import (
    REACTING,
    RUNNING,
    ContactForce,
    DesiredForce,
    Event,
    Fault,
    Mode,
    ReferenceSpreadingController,
)
from impact_control.detection import Detector
from impact_control.pipeline.judge import Judge, TaskJudge
from impact_control.pipeline.outcome import MoveOutcome, Outcome, outcome_of
from impact_control.pipeline.rest import Rest, largest_magnitude
from impact_control.pipeline.samples import Gaps, SampleCheck
from impact_control.pipeline.sensing import Sensing
from impact_control.pipeline.start_pose import START_TOLERANCE, StartPose
from impact_control.reaction import CollisionReaction
from impact_control.references import ImpactReference, ReferenceTable
from impact_control.robots import RobotDescription
from impact_control.scenario import RetreatDirection, Scenario
from impact_control.util.types import Vector

# Read in every sample: a member that is looked up in its enum costs ten times as much.
_NONE = Fault.NONE
_ANTE, _MOVE, _POST, _STOPPED = Mode.ANTE, Mode.MOVE, Mode.POST, Mode.STOPPED
_FAULT, _RESUME = Mode.FAULT, Mode.RESUME

WITHOUT_STATE = "without a joint state"
"""In the reason of a task that a gap between two samples has ended."""

LARGEST_LAG = 0.1
"""[rad] Tracking error of a joint that ends a motion outside of a task: an obstacle."""


class Pipeline:
    """Observer, detector, judge and controller of one arm.

    A `DetectorElsewhere` and a plain `TaskJudge` stand for those of other processes: their results come in by
    `impact_detected` and `take_verdicts`.

    After `tick` or `refuse`: `repeated` (the sample was no new one), `impact_now` (an impact was detected on it),
    `judge` (impacts, verdicts, whether they changed; that also after `impact_detected`), `torque` (n,) [Nm] without
    gravity, `finished` (the task has ended), and the parts' own attributes. Times are seconds on the clock of the
    samples; task time counts from the first tick after `start`.
    """

    def __init__(
        self,
        scenario: Scenario,
        robot: RobotDescription,
        *,
        detector: Detector | None = None,
        judge: TaskJudge | None = None,
    ) -> None:
        """detector, judge: in place of the scenario's."""
        self.scenario = scenario
        self.robot = robot
        self._sensing = sensing = Sensing(scenario, robot, detector)
        self.dynamics, self.observer, self.detector = sensing.dynamics, sensing.observer, sensing.detector
        self.judge: TaskJudge = Judge(scenario, robot) if judge is None else judge
        self.controller = ReferenceSpreadingController(robot, scenario.control, scenario.task.home_configuration)
        self.torque: Vector = self.controller.torque
        self.reaction = CollisionReaction(scenario.reaction)
        self._check = SampleCheck(robot, Gaps.of(scenario))
        self._rest = Rest()
        self._unknown = np.full(len(robot.joint_names), np.nan)
        self._difference = np.zeros(len(robot.joint_names))
        self._hold = False
        self._arm_with(0.0, -math.inf, None)
        self._forget()

    # ------------------------------------------------------------------ the life of a task

    def reset(self) -> None:
        """Clear every buffer: for activation. The controller then holds the pose of the first sample."""
        self._sensing.reset()
        self.controller.reset()
        self._check.reset()
        self._forget()

    def clear_fault(self) -> None:
        """Leave FAULT while commands are sent: see `ReferenceSpreadingController.clear_fault`. Without a task."""
        self.controller.clear_fault()
        self._forget()

    def _forget(self) -> None:
        self.judge.forget()
        self.judge.changed = False
        self._touched = False
        self._armed: tuple[ImpactReference, DesiredForce] | ReferenceTable | None = None
        self._move: ReferenceTable | None = None
        self._start_pose: StartPose | None = None
        self._task_running = False
        self.finished = False
        self.impact_now = False
        self.repeated = False

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
        """Arm a task: it begins with the next sample, or with the first at `begin` [s] or later.

        force: exerted after the impact; None: that of the scenario on its surface. hold: True when the arm goes on
        with the end of the post-impact reference and with the force when the task is over, instead of stopping.
        start_pose: where the arm has to be in that sample, else the task is over and REFUSED; None: anywhere.
        """
        self.scenario = scenario
        self._hold = hold
        self._move = None
        self._arm_with(scenario.task.duration, begin, start_pose)
        self.judge.begin_task(scenario, reference)
        geometry, pull_back = reference.geometry, scenario.reaction.pull_back
        along_normal = pull_back.direction is RetreatDirection.SURFACE_NORMAL
        away = geometry.normal if along_normal else -geometry.approach_velocity
        self.controller.prepare_reactions(away, pull_back, scenario.reaction.admittance)
        self._armed = (reference, ContactForce.of(scenario, reference) if force is None else force)

    def start_move(self, motion: ReferenceTable, start_pose: StartPose) -> None:
        """Arm a motion outside of a task, which begins with the next sample where the arm is at `start_pose`.

        The judge keeps what it found on the last task: impacts on the way are detected, and end the motion.
        """
        self._move = motion
        self._arm_with(motion.duration, -math.inf, start_pose)
        self._armed = motion

    def _arm_with(self, duration: float, begin: float, start_pose: StartPose | None) -> None:
        self._duration, self._begin, self._start_pose = duration, begin, start_pose
        self._touched = False
        self.finished = False
        self._cancelled = False
        self._interrupted = False
        self._contact = False
        self._gap, self._partner_cause = 0.0, ""
        self._rest.reset()

    def cancel(self) -> None:
        """Stop the task: the arm decelerates and holds."""
        self._cancelled = True
        self._stop()

    def stop_with_partner(self, cause: str) -> None:
        """Stop because another arm at the same object was stopped; verdicts that are pending stay undecided."""
        self._interrupted, self._partner_cause = True, cause
        self._stop()

    def _stop(self) -> None:
        self._armed = None
        self.controller.stop()

    def partner_touched(self, time: float) -> None:
        """Another arm at the same object detected an impact at `time` [s]: leave ante-impact mode with it.

        The verdict stays on this arm's own impact.
        """
        if self._task_running:
            self.controller.impact(time)

    @property
    def task_active(self) -> bool:
        """True while a task is armed or running."""
        return self._task_running or self._armed is not None

    @property
    def follows(self) -> bool:
        """True while the arm follows the references of a task, and may press; with `hold` also after the task."""
        return self.controller.state.mode in RUNNING

    @property
    def exerts(self) -> bool:
        """True while a task is armed or running, or the end of one is held."""
        return self.task_active or self.follows

    @property
    def armed(self) -> bool:
        """True while a task waits for its first sample."""
        return self._armed is not None

    @property
    def outcome(self) -> Outcome:
        """Outcome of the task; final once `finished`."""
        if self.controller.mode is Mode.FAULT:
            return Outcome.FAULT
        if self._start_pose is not None and self._start_pose.missed:
            return Outcome.REFUSED
        if self._cancelled:
            return Outcome.CANCELLED
        outcome = outcome_of(self.judge)
        cut_short = self._gap > 0.0 and outcome in (Outcome.NO_IMPACT, Outcome.SUCCEEDED)
        return Outcome.UNDECIDED if cut_short else outcome

    @property
    def moves(self) -> bool:
        """True where what is armed, runs or ran last is a motion outside of a task."""
        return self._move is not None

    @property
    def duration(self) -> float:
        """Planned duration [s] of the task or of the motion."""
        return self._duration

    @property
    def move_outcome(self) -> MoveOutcome:
        """Outcome of a motion; final once `finished`."""
        if self.controller.mode is Mode.FAULT:
            return MoveOutcome.FAULT
        if self._start_pose is not None and self._start_pose.missed:
            return MoveOutcome.REFUSED
        if self._cancelled:
            return MoveOutcome.CANCELLED
        if self._contact:
            return MoveOutcome.CONTACT
        return (
            MoveOutcome.NOT_REACHED if self._interrupted or self.move_error > START_TOLERANCE else MoveOutcome.REACHED
        )

    @property
    def move_error(self) -> float:
        """Distance [rad] of the joint that is farthest from the goal of the motion; 0 without one."""
        return 0.0 if self._move is None else self._apart(self._move.columns.joint_position[-1], self.dynamics.q)

    def _apart(self, first: Vector, second: Vector) -> float:
        """Return the largest |first - second|, of (n,) each."""
        np.subtract(first, second, out=self._difference)
        return largest_magnitude(self._difference)

    def move_reason(self) -> str:
        """Return why a motion did not reach its goal; "" when it did. Builds a string: not for every tick."""
        outcome, when = self.move_outcome, f"{self.controller.task_time:.2f} s after the begin"
        if outcome is MoveOutcome.CONTACT:
            return f"stopped at a contact {when}"
        if outcome is MoveOutcome.NOT_REACHED:
            return (
                self.stop_reason()
                or f"stopped {when}, {self.move_error:.3f} rad from the goal: something is in the way"
            )
        return self.start_defect()

    def stop_reason(self) -> str:
        """Return which partner, or which gap in the samples, stopped the task; "" if none did."""
        if self._gap == 0.0:
            return f"stopped: {self._partner_cause}" if self._partner_cause else ""
        longest = 1e3 * self.scenario.control.state_timeout
        return f"stopped: {1e3 * self._gap:.1f} ms {WITHOUT_STATE} (allowed: {longest:g} ms)"

    def start_defect(self) -> str:
        """Return where the arm was when the task was to begin, if it had to be elsewhere; else ""."""
        return "" if self._start_pose is None else self._start_pose.reason()

    def sample_defect(self) -> str:
        """Return what was wrong with the sample that led to the controller's fault; "" if none did."""
        return self._check.reason(self.controller.fault)

    # ------------------------------------------------------------------ the tick

    def tick(self, time: float, position: Vector, velocity: Vector, torque: Vector) -> None:
        """Handle one sample: position (n,) [rad], velocity (n,) [rad/s], measured joint torque (n,) [Nm]."""
        self.impact_now = False
        self.judge.changed = False
        self.repeated = self._check.repeated(time, position, velocity, torque)
        if self.repeated:
            if self._check.overdue:
                self._answer_standstill()
            return  # the torque of the newest sample stands
        fault = self._check.fault(time, position, velocity, torque, in_task=self._task_running or self.follows)
        if fault is not _NONE:
            self.fail(fault, velocity)
            self._end_task_if_due(time, velocity)
            return
        sees = self._check.sees(time)
        if self._check.after_gap and (self._task_running or self.follows):
            self._stop_after_gap()
        if self._armed is not None and time >= self._begin:
            self._begin_armed(time, position)
        controller = self.controller
        self._sensing.observe(time, position, velocity, torque)
        if sees:
            self._detect(time, position)
        residual, before = self.observer.residual, controller.state.mode
        controller.compute_torque(self.dynamics, time, position, velocity, residual)
        if before is _RESUME and controller.state.mode is _ANTE:
            self._await_impact_again()
        self._proceed_reacting(time, residual)
        mode = controller.state.mode
        if mode is _MOVE and self._apart(controller.post.joint_position, position) > LARGEST_LAG:
            self._interrupted = True
            controller.stop()
        # In other modes the arm does not move as the reference of the task, whose clock stands or is slowed down.
        elif self._task_running and mode in RUNNING:
            self._judge(time - controller.start_time)
        self._end_task_if_due(time, velocity)

    def _detect(self, time: float, position: Vector) -> None:
        rate = self.observer.residual_rate
        # After an impact of a task what pushes the arm may change over a gap.
        if self._task_running and (self.moves or self.judge.impacts == 0):
            rate = self._check.undiluted(rate)
        if self._sensing.detect(time, self.torque, rate):
            self.impact_now = True
            self.impact_detected(self.detector.impact_time, position)

    def _stop_after_gap(self) -> None:
        """Hold the present pose: during the gap the arm was neither commanded nor observed."""
        self._gap, self._interrupted = self._check.since, True
        self.controller.stop()

    def _begin_armed(self, time: float, position: Vector) -> None:
        """Begin the armed task or motion with this sample, unless the arm is elsewhere than it starts."""
        armed, self._armed = self._armed, None
        if self._start_pose is not None and not self._start_pose.compare(position):
            self.controller.stop()  # for its partners, which begin with the same sample: they hear that it stopped
            self._finish()
            return
        if isinstance(armed, tuple):
            self.controller.start(*armed, time)
            self.reaction.watch(self.scenario.reaction)
        elif armed is not None:
            self.controller.move(armed, time)
        self._task_running = True

    def _judge(self, seconds: float) -> None:
        controller, judge = self.controller, self.judge
        if judge.contact_closes(seconds, self.dynamics, self.observer):
            controller.contact_closed(controller.start_time + seconds)
        judge.judge_velocity(seconds, self.dynamics.dq, controller.expected.joint_velocity)
        if controller.state.mode is _POST:
            judge.judge_contact(seconds, self.dynamics, self.observer, controller.force)
        if judge.answered:
            self._answer_verdicts()

    def _end_task_if_due(self, time: float, velocity: Vector) -> None:
        controller = self.controller
        if not self._task_running:
            return
        mode = controller.state.mode
        follows = mode in RUNNING or mode is _MOVE
        over = follows and controller.task_time >= self._duration
        if mode is _FAULT:
            self._finish()
        elif mode is _STOPPED or (over and self._hold and mode is _POST):
            if self._rest.reached(time, velocity):
                self._finish()
        elif over:
            controller.stop()

    def _finish(self) -> None:
        self._task_running = False
        self.finished = True

    # ------------------------------------------------------------------ impacts, verdicts, reactions

    def impact_detected(self, time: float, position: Vector) -> None:
        """Take a detected impact, of our own detector or another's: time [s], position (n,) [rad] there."""
        self.judge.changed = False
        controller = self.controller
        if not self._task_running or self._interrupted:
            return
        if self.moves:
            self._contact = self._interrupted = True
            controller.stop()
            return
        self._touched = True
        if self.judge.impact_detected(time - controller.start_time, position):
            self._answer_verdicts()
        controller.impact(time)

    def take_verdicts(self, impact: Verdict, post_impact: Verdict, *, answered: bool) -> None:
        """Take the verdicts of a judge that runs elsewhere. answered: see `Judge.answered`."""
        if not self._task_running or self._interrupted or self.moves:
            return
        self.judge.impact, self.judge.post_impact = impact, post_impact
        if answered:
            self._answer_verdicts()

    def _answer_verdicts(self) -> None:
        """Answer the verdicts; the same ones again are answered once."""
        self.react(self.reaction.answer(self.controller.state.mode, self.judge.impact, self.judge.post_impact))

    def _await_impact_again(self) -> None:
        """Judge the impact of a task anew that was interrupted before it, and is back at its approach."""
        self.reaction.forget_verdicts()
        if self.controller.reference is not None:
            self.judge.await_impact_again(self.controller.reference)

    def _proceed_reacting(self, time: float, residual: Vector) -> None:
        controller = self.controller
        mode = controller.state.mode
        touched, self._touched = self._touched, False
        if mode in REACTING:
            self.react(self.reaction.proceed(mode, time, residual, touched, controller.arrived, controller.pressing))

    def react(self, event: Event | None) -> None:
        """Let the controller handle an event of a reaction; None: nothing has happened."""
        if event is not None:
            self.controller.react(event)

    # ------------------------------------------------------------------ faults

    def fail(self, fault: Fault, velocity: Vector | None = None) -> None:
        """Go to FAULT and command damping from velocity (n,) [rad/s], which may be not finite; with a sample.

        None: between two samples. The next one is answered by damping: its command would be the second since the last
        that was sent, and change the torque by twice what its rate allows.
        """
        self.controller.fail(fault)
        if velocity is not None:
            self.controller.damp(velocity)

    def _answer_standstill(self) -> None:
        """Answer a stamp that stands still: in a task the torque fades, in the end that is a fault.

        A velocity that is not measured any more is not damped: its torque would drive the arm the other way in the end.
        """
        if not (self._task_running or self.follows or self.controller.mode is Mode.FAULT):
            return
        if not self._check.stands_still:
            self.controller.damp(self._unknown)
        else:
            self._check.note_standstill()
            self.fail(Fault.STATE_STALE, self._unknown)
            self.end_after_fault()

    def refuse(self, fault: Fault, velocity: Vector) -> None:
        """Answer a sample that cannot be used, in place of `tick`: it shows no impact, and a task ends with it.

        velocity (n,) [rad/s] to damp, which may be not finite.
        """
        self.impact_now = self.repeated = False
        self.judge.changed = False
        self.fail(fault, velocity)
        self.end_after_fault()

    def end_after_fault(self) -> None:
        """End the task of a controller that is in FAULT, when no sample comes that would do it."""
        if self.task_active:
            self._armed = None
            self._finish()
