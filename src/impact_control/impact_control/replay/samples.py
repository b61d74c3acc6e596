"""Observer, detector and classifier over recorded samples, with what is wrong with them taken into account.

What is deployed runs here too, sample by sample, over those that can be used. Where samples are missing the observer
bridges the gap by the trapezoidal rule, or keeps its residual; either way the residual is off afterwards, until it has
followed the external torque again, and its rate can pass a bound without any impact. So it is after the first sample of
a record that begins in the middle of a motion. An event in that time is doubtful: it is reported as such, with the
reason, and not given to the classifier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from impact_control.checks import require_not_negative, require_positive
from impact_control.classification import Verdict
from impact_control.detection import DetectionSignals, Detector
from impact_control.observation import MomentumObserver
from impact_control.recording.defects import CheckedSamples
from impact_control.robots import Dynamics, RobotDescription
from impact_control.types import Matrix, Vector


class Follower(Protocol):
    """Judges the impacts of a replay, on the clock of the samples. Attributes: the last verdicts."""

    @property
    def impact(self) -> Verdict:
        """Verdict on time and place."""

    @property
    def post_impact(self) -> Verdict:
        """Verdict on the behaviour after it."""

    def impact_detected(self, time: float, position: Vector) -> None:
        """Take an impact at `time` [s] that counts, position (n,) [rad] of the sample that showed it."""

    def update(self, time: float, velocity: Vector, dynamics: Dynamics, observer: MomentumObserver) -> None:
        """Take every sample that is used: stamp [s], velocity (n,) [rad/s], both parts as they are after it."""


@dataclass(frozen=True)
class ReplayedEvent:
    """An event of the detector: stamp of its sample and time of the impact [s], isolated link, and why it is doubtful.

    doubt: in words, empty for an event that counts.
    """

    detection_time: float
    impact_time: float
    link: int
    doubt: str


@dataclass(frozen=True, eq=False)
class Replay:
    """What observer, detector and classifier made of a recording.

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
    follower: Follower | None = None,
    trusted_gap: float = 2.5e-3,
    settling_time: float = 0.2,
) -> Replay:
    """Return what the parts make of recorded samples. Observer and detector are reset before.

    Args:
        samples: of `check_samples`, joints in the order of the robot.
        robot: the arm of the recording.
        observer, detector: as deployed.
        follower: judges the impacts; None: nobody does.
        trusted_gap: [s] between two samples up to which the observer is trusted, above 0; one lost sample at 1 kHz.
        settling_time: [s] after a longer gap, or the first sample, in which events are doubtful, at least 0; 5 or more
            time constants 1/K_O.
    """
    require_positive("trusted_gap", trusted_gap)
    require_not_negative("settling_time", settling_time)
    dynamics = Dynamics(robot)
    observer.reset()
    detector.reset()
    still = np.zeros(len(robot.joint_names))
    signals = DetectionSignals(still.size)
    # A recording does not say what was commanded: detectors on the torque error see none.
    signals.commanded_torque = np.full(still.size, np.nan)
    signals.residual, signals.residual_rate = observer.residual, observer.residual_rate
    rows = np.flatnonzero(samples.usable)
    residual, rate = np.zeros((2, rows.size, still.size))
    events = []
    before = broken = float(samples.time[rows[0]]) if rows.size else 0.0
    cause = "the first sample"
    for k, row in enumerate(rows):
        time, q, dq = float(samples.time[row]), samples.position[row], samples.velocity[row]
        if time - before > trusted_gap:
            broken, cause = time, f"a gap of {time - before:.4f} s"
        before = time
        dynamics.update(q, dq)
        dynamics.update_momentum_terms()
        residual[k] = observer.update(
            dynamics.mass_matrix,
            dq,
            samples.torque[row],
            dynamics.coriolis_transposed_velocity,
            dynamics.gravity,
            time,
        )
        rate[k] = observer.residual_rate
        signals.position, signals.velocity, signals.joint_torque = q, dq, samples.torque[row]
        if detector.update(signals, time):
            since = time - broken
            doubt = f"{since:.4f} s after {cause}" if since < settling_time else ""
            events.append(ReplayedEvent(time, detector.impact_time, detector.isolated_link, doubt))
            if follower is not None and not doubt:
                follower.impact_detected(detector.impact_time, q)
        if follower is not None:
            follower.update(time, dq, dynamics, observer)
    return Replay(
        time=samples.time[rows],
        residual=residual,
        residual_rate=rate,
        events=tuple(events),
        impact=Verdict.UNKNOWN if follower is None else follower.impact,
        post_impact=Verdict.NOT_STARTED if follower is None else follower.post_impact,
        defects=tuple(samples.in_words()),
    )
