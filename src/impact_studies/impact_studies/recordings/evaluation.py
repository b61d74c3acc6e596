"""Detectors learned on one half of a recording and tried on the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from impact_control.calibration.motion import free_motion
from impact_control.calibration.thresholds import HOUR, calibrate_thresholds
from impact_control.calibration.whitening import BLOCK, learn_detector
from impact_control.detection import DetectionSignals, Detector, ResidualRateScore, Score, ScoreDetector
from impact_control.detection.detector import NO_LINK
from impact_control.pipeline.sensing import make_observer
from impact_control.recording.defects import CheckedSamples
from impact_control.replay.samples import SETTLING_TIME, replay_samples
from impact_control.robots import RobotDescription
from impact_control.scenario import Scenario, robot_of
from impact_control.util.types import Vector
from impact_studies.frame.study import Progress
from impact_studies.recordings.contacts import CONTACTS, Contact, with_contact
from impact_studies.recordings.sources import Source, part_of

FALSE_ALARMS_PER_HOUR = 1.0
"""For which all detectors but the shipped one are calibrated."""

BEFORE, AFTER = 0.4, 0.09
"""[s] of a recording that are replayed before and after the begin of an added contact."""

SHIPPED, SINGLE, WHITENED = "shipped residual_rate", "calibrated residual_rate", "whitened"
"""The detectors: that of tabletop, the same with calibrated thresholds, and the one on all joints."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """A detector, learned on one half of a recording, on the other.

    learned: first or second half; seconds: of the other one. false_impacts: in it. delays: of each added contact [s],
    by kind, infinite where it was not found.
    """

    source: str
    learned: str
    detector: str
    seconds: float
    false_impacts: int
    delays: Mapping[str, np.ndarray]

    def found(self, contact: Contact) -> float:
        """Return the share of a kind of contact that was found in time."""
        return float(np.mean(self.delays[contact.name] <= contact.limit))


class _Together:
    """Several detectors over the same samples: keeps the times of their events, and reports none itself."""

    index, isolated_link, link_settled = 0, NO_LINK, True
    detection_time = impact_time = share = math.nan

    def __init__(self, detectors: Mapping[str, Detector], size: int) -> None:
        self.triggered = np.zeros(size, dtype=np.bool_)
        self._detectors = detectors
        self.reset()

    def reset(self) -> None:
        """Forget all events."""
        self.times: dict[str, list[float]] = {name: [] for name in self._detectors}
        for detector in self._detectors.values():
            detector.reset()

    def detect(self, signals: DetectionSignals, time: float) -> bool:
        """Take one sample."""
        for name, detector in self._detectors.items():
            if detector.detect(signals, time):
                self.times[name].append(time)
        return False


def evaluate(sources: Sequence[Source], insertions: int, seed: int, progress: Progress) -> list[Outcome]:
    """Return the outcome of each detector on each half of each recording; insertions: of each kind of contact."""
    outcomes: list[Outcome] = []
    for number, source in enumerate(sources):
        for second in (False, True):
            progress((2 * number + second) / (2 * len(sources)), source.name)
            random = np.random.default_rng([seed, number, second])
            outcomes += _evaluate_half(source, second, insertions, random)
    return outcomes


def _evaluate_half(source: Source, second: bool, insertions: int, random: np.random.Generator) -> list[Outcome]:
    """Learn on the first half, or the second one, and look at the other."""
    robot = robot_of(source.scenario.robot)
    together = _Together(_learned(source.scenario, source.half(second)), len(robot.joint_names))
    other = source.half(not second)
    false_impacts = _events(other, source.scenario, robot, together)
    settled = float(other.time[0]) + SETTLING_TIME
    delays: dict[str, dict[str, list[float]]] = {name: {c.name: [] for c in CONTACTS} for name in together.times}
    for contact in CONTACTS:
        for number in range(insertions):
            start = random.uniform(other.time[0] + BEFORE, other.time[-1] - AFTER)
            rows = np.flatnonzero((other.time >= start - BEFORE) & (other.time <= start + AFTER))
            direction = random.normal(size=3)
            direction /= np.linalg.norm(direction)
            touched = with_contact(part_of(other, rows), robot, contact, start, direction, stiff=bool(number % 2))
            for name, times in _events(touched, source.scenario, robot, together).items():
                delays[name][contact.name].append(min((t - start for t in times if t > start), default=math.inf))
    return [
        Outcome(
            source=source.name,
            learned="second" if second else "first",
            detector=name,
            seconds=float(other.time[-1] - other.time[0]),
            false_impacts=sum(time > settled for time in times),
            delays={kind: np.array(values) for kind, values in delays[name].items()},
        )
        for name, times in false_impacts.items()
    ]


def _learned(scenario: Scenario, half: CheckedSamples) -> dict[str, Detector]:
    """Return the detectors as one half of a recording makes them."""
    size = half.velocity.shape[1]
    motion = free_motion(scenario, half, "half of a recording")
    learned = learn_detector(scenario, [motion], FALSE_ALARMS_PER_HOUR)
    rates = calibrate_thresholds(
        motion.time, motion.scores["residual_rate"], FALSE_ALARMS_PER_HOUR / HOUR, block=BLOCK, largest_period=0.01
    )
    shipped = scenario.detection.residual_rate
    assert shipped is not None
    whitened = learned.model.score(scenario.detection.observer_gain)
    chosen: dict[str, tuple[Score, Vector]] = {
        SHIPPED: (ResidualRateScore(size), shipped.threshold),
        SINGLE: (ResidualRateScore(size), rates.threshold),
        WHITENED: (whitened, learned.thresholds.threshold),
    }
    wait = scenario.detection.refractory_time
    return {name: ScoreDetector(score, size, threshold, wait) for name, (score, threshold) in chosen.items()}


def _events(
    samples: CheckedSamples, scenario: Scenario, robot: RobotDescription, together: _Together
) -> dict[str, list[float]]:
    """Return the times [s] at which each detector reports an impact, as deployed, doubtful ones included."""
    replay_samples(samples, robot, make_observer(scenario, robot), together)
    return together.times
