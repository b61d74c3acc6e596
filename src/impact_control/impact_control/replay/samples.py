"""Observer, detector and classifier over recorded samples, with what is wrong with them taken into account.

What is deployed runs here too, sample by sample, over those that can be used. Where samples are missing the observer
bridges the gap by the trapezoidal rule, or keeps its residual; either way the residual is off afterwards, until it has
followed the external torque again, and its rate can pass a bound without any impact. So it is after the first sample of
a record that begins in the middle of a motion. An event in that time is doubtful: it is reported as such, with the
reason, and not given to the classifier.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from impact_control.classification import Classifier, Verdict
from impact_control.control import Mode
from impact_control.detection import DetectionSignals, Detector
from impact_control.observation import MomentumObserver
from impact_control.pipeline.alone import FollowedSample, JudgeAlone
from impact_control.recording.defects import CheckedSamples
from impact_control.recording.recorded_run import RecordedEvent, RecordedReference
from impact_control.references import ExpectedImpact, ImpactReference
from impact_control.robots import Dynamics, RobotDescription
from impact_control.scenario import Scenario
from impact_control.util.types import Matrix, Vector

TRUSTED_GAP = 2.5e-3
"""[s] between two samples up to which the observer is trusted; one lost sample at 1 kHz."""

SETTLING_TIME = 0.2
"""[s] after a longer gap, or the first sample, until it has found the external torque; 5 or more time constants."""


def sample_key(time: float) -> int:
    """Return a stamp [s] as whole microseconds, so that the same sample of two topics compares equal."""
    return round(time * 1e6)


@dataclass(frozen=True)
class ReplayedEvent(RecordedEvent):
    """An event of the detector, and in words why it is doubtful, "" for one that counts."""

    doubt: str


@dataclass(frozen=True, eq=False)
class Replay:
    """Output of observer, detector and classifier over a recording.

    time (k,) [s], residual (k, n) [Nm] and residual_rate (k, n) [Nm/s] of the samples that were used. events: all, also
    doubtful ones. impact, post_impact: last verdicts. defects: of the recording, in words.
    """

    time: Vector
    residual: Matrix
    residual_rate: Matrix
    events: tuple[ReplayedEvent, ...]
    impact: Verdict
    post_impact: Verdict
    defects: tuple[str, ...]

    @property
    def impacts(self) -> tuple[ReplayedEvent, ...]:
        """The events that count."""
        return tuple(event for event in self.events if not event.doubt)


def replay_samples(
    samples: CheckedSamples,
    robot: RobotDescription,
    observer: MomentumObserver,
    detector: Detector,
    *,
    commands: tuple[Vector, Matrix] | None = None,
    follower: TaskFollower | None = None,
) -> Replay:
    """Return what the parts make of recorded samples. Observer and detector are reset before.

    Args:
        samples: of `check_samples`, joints in the order of the robot.
        robot: the arm of the recording.
        observer, detector: as deployed.
        commands: stamps (k,) [s] of samples and torques (k, n) [Nm] without gravity that answered them, as recorded;
            None where they were not: detectors on the torque error then see nothing.
        follower: judges the impacts; None: no verdicts.
    """
    dynamics = Dynamics(robot)
    observer.reset()
    detector.reset()
    still = np.zeros(len(robot.joint_names))
    signals = DetectionSignals(still.size)
    answers: dict[int, Vector] = {}
    if commands is not None and commands[1].shape[1:] == still.shape:
        answers = dict(zip(map(sample_key, commands[0].tolist()), commands[1], strict=True))
    unknown = answer = np.full(still.size, np.nan)
    signals.residual, signals.residual_rate = observer.residual, observer.residual_rate
    rows = np.flatnonzero(samples.usable)
    residual, rate = np.zeros((2, rows.size, still.size))
    events = []
    before = broken = float(samples.time[rows[0]]) if rows.size else 0.0
    cause = "the first sample"
    for k, row in enumerate(rows):
        time, q, dq = float(samples.time[row]), samples.position[row], samples.velocity[row]
        if time - before > TRUSTED_GAP:
            broken, cause = time, f"a gap of {time - before:.4f} s"
            answer = unknown
        before = time
        dynamics.compute(q, dq)
        dynamics.compute_momentum_terms()
        residual[k] = observer.observe(
            dynamics.mass_matrix,
            dq,
            samples.torque[row],
            dynamics.coriolis_transposed_velocity,
            dynamics.gravity,
            time,
        )
        rate[k] = observer.residual_rate
        signals.position, signals.velocity, signals.joint_torque = q, dq, samples.torque[row]
        # What the transmission is to give at a sample is what answered the sample before.
        np.add(answer, dynamics.gravity, out=signals.commanded_torque)
        answer = answers.get(sample_key(time), unknown)
        if detector.detect(signals, time):
            since = time - broken
            doubt = f"{since:.4f} s after {cause}" if since < SETTLING_TIME else ""
            events.append(ReplayedEvent(time, detector.impact_time, detector.isolated_link, doubt))
            if follower is not None and not doubt:
                follower.impact_detected(detector.impact_time, q)
        if follower is not None:
            follower.follow(time, dynamics, observer)
    return Replay(
        time=samples.time[rows],
        residual=residual,
        residual_rate=rate,
        events=tuple(events),
        impact=Verdict.UNKNOWN if follower is None else follower.judge.impact,
        post_impact=Verdict.NOT_STARTED if follower is None else follower.judge.post_impact,
        defects=tuple(samples.in_words()),
    )


class TaskFollower:
    """Judges as the pipeline did, with what was recorded of the controller in place of a controller.

    See `JudgeAlone`. A sample without a reference of its stamp is not judged. Attribute: judge, with the last verdicts.
    """

    def __init__(
        self,
        scenario: Scenario,
        robot: RobotDescription,
        reference: RecordedReference,
        classifier: Classifier | None = None,
    ) -> None:
        """Follow a reference, joints in the order of the robot. classifier: in place of the scenario's."""
        self._alone = JudgeAlone(scenario, robot)
        self.judge = self._alone.judge
        if classifier is not None:
            self.judge.classifier = classifier
        self._reference = reference
        known = np.isin(reference.mode, list(Mode))
        self._rows = {sample_key(time): row for row, time in enumerate(reference.time.tolist()) if known[row]}

    def impact_detected(self, time: float, position: Vector) -> None:
        """Judge an impact in a task: time [s] on the clock of the samples, position (n,) [rad]."""
        self._alone.impact_detected(time, position)

    def follow(self, time: float, dynamics: Dynamics, observer: MomentumObserver) -> None:
        """Take every sample that is used: stamp [s], both parts as they are after it."""
        row = self._rows.get(sample_key(time))
        if row is not None:
            self._alone.follow(time, self._sample(row), dynamics, observer)

    def _sample(self, row: int) -> FollowedSample:
        r = self._reference
        return FollowedSample(
            mode=Mode(int(r.mode[row])),
            task_time=float(r.task_time[row]),
            impact=ExpectedImpact(**{name: getattr(r, name)[row] for name in _OF_IMPACT}),
            ante_velocity=r.ante_velocity[row],
            post_velocity=r.post_velocity[row],
            force=r.force[row],
        )


_OF_IMPACT = tuple(field.name for field in fields(ExpectedImpact))
"""Columns of a recorded reference that say what is expected of the impact."""


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
    expected: dict[str, Any] = {name: np.repeat([getattr(reference, name)], count, axis=0) for name in _OF_IMPACT}
    return RecordedReference(
        time=running,
        mode=np.full(count, int(Mode.ANTE)),
        task_time=running - start,
        **expected,
        ante_velocity=tables["ante"],
        post_velocity=tables["post"],
        force=np.zeros((count, 3)),
    )
