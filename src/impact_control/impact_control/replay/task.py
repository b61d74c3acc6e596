"""The verdicts of a replay: the judge of the pipeline beside the reference that was recorded, or that is planned."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_control.classification import Verdict
from impact_control.control import RUNNING, ImpactStrategy, Mode
from impact_control.observation import MomentumObserver
from impact_control.parts import impact_course
from impact_control.pipeline.judge import Judge
from impact_control.pipeline.rest import Rest
from impact_control.recording.recorded_run import RecordedReference
from impact_control.references import ImpactReference
from impact_control.robots import Dynamics, RobotDescription
from impact_control.scenario import Scenario
from impact_control.types import Vector

_IN_TASK = (*RUNNING, Mode.RESUME, Mode.ADMITTANCE)


@dataclass(frozen=True, eq=False)
class _Planned:
    """The impact that the recorded task waits for: its task time [s] and configuration (n,) [rad]."""

    nominal_impact_time: float
    impact_configuration: Vector


class TaskFollower:
    """Judges as the pipeline did, with what was recorded of the controller in place of a controller.

    A task begins with the first sample in ante-impact mode, and is over when the arm rests after it or in a fault.
    After an interruption that repeats the impact the judgement begins anew, as in `CollisionReaction`. A sample
    without a reference of its stamp is not judged.
    """

    def __init__(self, scenario: Scenario, robot: RobotDescription, reference: RecordedReference) -> None:
        """Follow a reference, joints in the order of the robot."""
        self._judge = Judge(scenario, robot, classify=True, complete=True)
        self._reference = reference
        self._plain = impact_course(scenario).strategy is ImpactStrategy.PLAIN_TRACKING
        known = np.isin(reference.mode, list(Mode))
        self._rows = {key: row for row, key in enumerate(_keys(reference.time)) if known[row]}
        self._mode = Mode.IDLE
        self._start = math.nan
        self._rest = Rest()

    @property
    def impact(self) -> Verdict:
        """Verdict on time and place."""
        return self._judge.impact

    @property
    def post_impact(self) -> Verdict:
        """Verdict on the behaviour after it."""
        return self._judge.post_impact

    @property
    def reason(self) -> str:
        """What decided last, in words."""
        return self._judge.reason

    def impact_detected(self, time: float, position: Vector) -> None:
        """Judge an impact in a task: time [s] on the clock of the samples, position (n,) [rad]."""
        if not math.isnan(self._start):
            self._judge.impact_detected(time - self._start, position)

    def update(self, time: float, velocity: Vector, dynamics: Dynamics, observer: MomentumObserver) -> None:
        """Take a sample, see `Follower`."""
        row = self._rows.get(round(time * 1e6))
        if row is None:
            return
        before, self._mode = self._mode, Mode(int(self._reference.mode[row]))
        self._go_through(before, row, time)
        if math.isnan(self._start):
            return
        # The reaction to the verdict of a sample has left its mode by the time this is recorded.
        if self._mode in RUNNING or before in RUNNING:
            judge, seconds = self._judge, time - self._start
            judge.contact_closes(seconds, dynamics, observer)
            judge.update(seconds, velocity, self._expected(row))
            if self._mode is Mode.POST:
                judge.feel(seconds, dynamics, observer, self._reference.force[row])
        if self._mode is Mode.STOPPED and self._rest.reached(time, velocity):
            self._start = math.nan

    def _go_through(self, before: Mode, row: int, time: float) -> None:
        """Notice the begin and the end of a task, and where its judgement begins anew."""
        begins = self._mode is Mode.ANTE and before not in _IN_TASK
        if begins or (self._mode is Mode.ANTE and before is Mode.RESUME):
            self._await_impact(row)
        if begins:
            self._rest.reset()
        if begins or (before is Mode.RESUME and self._mode in RUNNING):
            self._start = time - float(self._reference.task_time[row])
        if self._mode in (Mode.FAULT, Mode.IDLE):
            self._start = math.nan

    def _await_impact(self, row: int) -> None:
        reference = self._reference
        self._judge.start_anew(_Planned(float(reference.nominal_impact_time[row]), reference.impact_configuration[row]))

    def _expected(self, row: int) -> Vector:
        """Return how the joints move if the impact is as planned, as `ReferenceSpreadingController.expected`."""
        awaited = self._mode is Mode.ANTE or (self._mode is Mode.POST and self._plain)
        reference = self._reference
        velocity: Vector = (
            reference.ante_velocity if awaited and self._judge.impacts == 0 else reference.post_velocity
        )[row]
        return velocity


def planned_reference(reference: ImpactReference, start: float, time: Vector) -> RecordedReference:
    """Return what a controller would have followed at stamps (m,) [s] if the task had begun at `start` [s].

    For recordings without the reference. That its mode is always that before the impact makes no difference to the
    verdict on a single impact: the reference after it is expected once it was detected.
    """
    running = time[(time >= start) & (time <= start + reference.ante.duration)]
    tables = {}
    for name, table in (("ante", reference.ante), ("post", reference.post)):
        sample = table.new_sample()
        rows = np.empty((running.size, reference.impact_configuration.size))
        for k, seconds in enumerate(running - start):
            table.sample(float(seconds), sample)
            rows[k] = sample.joint_velocity
        tables[name] = rows
    count = running.size
    return RecordedReference(
        time=running,
        mode=np.full(count, int(Mode.ANTE)),
        task_time=running - start,
        nominal_impact_time=np.full(count, reference.nominal_impact_time),
        impact_configuration=np.tile(reference.impact_configuration, (count, 1)),
        ante_velocity=tables["ante"],
        post_velocity=tables["post"],
        force=np.zeros((count, 3)),
    )


def _keys(time: Vector) -> list[int]:
    """Stamps as whole microseconds, so that the same sample of two topics compares equal."""
    return [int(key) for key in np.round(time * 1e6)]
