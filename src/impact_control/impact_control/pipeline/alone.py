"""Parts of the pipeline without its controller: in processes of their own, and over recordings."""

from __future__ import annotations

import math
from dataclasses import dataclass

from impact_control.control import RUNNING, Fault, Mode
from impact_control.observation import MomentumObserver
from impact_control.pipeline.judge import Judge
from impact_control.pipeline.rest import Rest
from impact_control.pipeline.samples import Gaps, SampleCheck
from impact_control.pipeline.sensing import Sensing
from impact_control.references import ExpectedImpact
from impact_control.robots import Dynamics, RobotDescription
from impact_control.scenario import ImpactStrategy, Scenario
from impact_control.util.types import Vector


class ObserverAlone:
    """Check of the samples, dynamics and observer of one arm. Attributes: sensing, check."""

    def __init__(self, scenario: Scenario, robot: RobotDescription) -> None:
        self.sensing = Sensing(scenario, robot)
        self.check = SampleCheck(robot, Gaps.of(scenario))

    def reset(self) -> None:
        """Clear every buffer: for activation."""
        self.sensing.reset()
        self.check.reset()

    def observe(self, time: float, position: Vector, velocity: Vector, torque: Vector) -> bool:
        """Take one sample as `Pipeline.tick` does; return whether it could be used."""
        if self.check.repeated(time, position, velocity, torque):
            return False
        if self.check.fault(time, position, velocity, torque, in_task=False) is not Fault.NONE:
            return False
        self.sensing.observe(time, position, velocity, torque)
        return True


class DetectorAlone:
    """Observer and detector of one arm.

    After `tick`: `impact_now` (an impact was detected on this sample), and `dynamics`, `observer` and `detector` with
    their own attributes. `awaits_impact` is set by its owner, in a task before its impact and in a motion: only then
    are impacts in a gap of the samples looked for, as in `Pipeline`.
    """

    def __init__(self, scenario: Scenario, robot: RobotDescription) -> None:
        self._alone = ObserverAlone(scenario, robot)
        self._sensing, self._check = self._alone.sensing, self._alone.check
        self.dynamics, self.observer = self._sensing.dynamics, self._sensing.observer
        self.detector = self._sensing.detector
        self.impact_now = self.awaits_impact = False

    def reset(self) -> None:
        """Clear every buffer: for activation."""
        self._alone.reset()
        self.impact_now = self.awaits_impact = False

    def tick(self, time: float, position: Vector, velocity: Vector, torque: Vector, commanded: Vector) -> None:
        """Take one sample as `Pipeline.tick` does; one that cannot be used shows no impact.

        commanded (n,) [Nm], without gravity: the torque that was commanded for it.
        """
        self.impact_now = False
        if not (self._alone.observe(time, position, velocity, torque) and self._check.sees(time)):
            return
        rate = self.observer.residual_rate
        if self.awaits_impact:
            rate = self._check.undiluted(rate)
        if self._sensing.detect(time, commanded, rate):
            self.impact_now, self.awaits_impact = True, False


@dataclass(frozen=True, eq=False)
class FollowedSample:
    """Part of the controller in a judgement at one sample, as it is published and recorded.

    mode; task_time [s]; impact, the planned one; ante_velocity, post_velocity (n,) [rad/s] of the references; force
    (3,) [N] that is exerted, axes of A.
    """

    mode: Mode
    task_time: float
    impact: ExpectedImpact
    ante_velocity: Vector
    post_velocity: Vector
    force: Vector


class JudgeAlone:
    """Judge of the tasks of a controller in another process, from its published references.

    A task begins with the first sample in ante-impact mode, and is over when the arm rests after it or in a fault.
    After an interruption that repeats the impact the judgement restarts, as in `CollisionReaction`.

    Attributes: judge; start, of the task [s] on the clock of the samples, NaN while none is judged.
    """

    def __init__(self, scenario: Scenario, robot: RobotDescription) -> None:
        self.judge = Judge(scenario, robot)
        self._plain = scenario.control.impact_strategy is ImpactStrategy.PLAIN_TRACKING
        self._rest = Rest()
        self._mode = Mode.IDLE
        self.start = math.nan

    def reset(self) -> None:
        """Wait for the next task."""
        self._mode = Mode.IDLE
        self.start = math.nan

    def impact_detected(self, time: float, position: Vector) -> None:
        """Judge an impact in a task: time [s] on the clock of the samples, position (n,) [rad]."""
        if not math.isnan(self.start):
            self.judge.impact_detected(time - self.start, position)

    def follow(self, time: float, sample: FollowedSample, dynamics: Dynamics, observer: MomentumObserver) -> bool:
        """Take a sample at `time` [s], with the dynamics and the residual there; return whether its judgement begins.

        That is so at the begin of a task, and where the judgement restarts.
        """
        before, self._mode = self._mode, sample.mode
        begins = self._go_through(before, time, sample)
        # The reaction to the verdict of a sample has left its mode by the time this is published.
        if not math.isnan(self.start) and (sample.mode in RUNNING or before in RUNNING):
            judge, seconds = self.judge, time - self.start
            judge.contact_closes(seconds, dynamics, observer)
            judge.judge_velocity(seconds, dynamics.dq, self._expected(sample))
            if sample.mode is Mode.POST:
                judge.judge_contact(seconds, dynamics, observer, sample.force)
        if sample.mode is Mode.STOPPED and self._rest.reached(time, dynamics.dq):
            self.start = math.nan
        return begins

    def _go_through(self, before: Mode, time: float, sample: FollowedSample) -> bool:
        """Notice begin and end of a task, and where its judgement restarts; return whether it begins here."""
        begins = sample.mode is Mode.ANTE and before is not Mode.ANTE
        if begins:
            self.judge.await_impact_again(sample.impact)
            self._rest.reset()
        if begins or (before is Mode.RESUME and sample.mode in RUNNING):
            self.start = time - sample.task_time
        if sample.mode in (Mode.FAULT, Mode.IDLE, Mode.MOVE):
            self.start = math.nan
        return begins

    def _expected(self, sample: FollowedSample) -> Vector:
        """Return how the joints move if the impact is as planned, as `ReferenceSpreadingController.expected`."""
        awaited = sample.mode is Mode.ANTE or (sample.mode is Mode.POST and self._plain)
        return sample.ante_velocity if awaited and self.judge.impacts == 0 else sample.post_velocity
