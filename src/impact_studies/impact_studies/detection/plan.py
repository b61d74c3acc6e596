"""Extent and runs of the benchmark, and the bound of any detector: information in the measurements of an impact."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from impact_control.detection import step_response
from impact_control.util.types import Matrix, Vector
from impact_studies.detection.methods import ISOLATION_GAIN, METHODS, observe
from impact_studies.detection.motion import ARMS, CONTACTS, PERIOD, SPEEDS, Record, impact_record, robot_of
from impact_studies.detection.trials import (
    NOISES,
    Bounds,
    FreeCase,
    ImpactCase,
    SequenceCase,
    count_alarms,
    measure_impacts,
    measure_scores,
    measure_sequences,
)
from impact_studies.frame.computing import Trial
from impact_studies.frame.study import Progress, part
from impact_studies.frame.trials import run_trials

LATER = 0.004
"""[s] after the impact at which force, torque and distance are reported."""

QUIET = 600.0
"""[s] of contact-free motion for one false alarm."""


@dataclass(frozen=True)
class IdealCase:
    """One impact of arm number `arm`; see `impact_record`."""

    arm: int
    contact: str
    speed: float
    joint_friction: bool
    seed: int


@dataclass(frozen=True, eq=False)
class Ideal:
    """Results for all impacts (arm, contact, repetition): see `measure_ideal`; delay has the noises last."""

    force: NDArray[np.float64]
    torque: NDArray[np.float64]
    distance: NDArray[np.float64]
    delay: NDArray[np.float64]


def needed_distance(samples: Vector) -> Vector:
    """Return how many standard deviations a signal must be off for a detector to have found it in half of all cases.

    By the lemma of Neyman and Pearson no test finds more than the ratio of the likelihoods does: half, when signal
    and rest are z apart and the false alarms are a share Phi(-z). A detector with one false alarm in QUIET has a share
    of at most samples PERIOD / QUIET in the samples since the impact.
    """
    return np.asarray(-ndtri(samples * PERIOD / QUIET))


def ideal_delay(distance: Vector, time: Vector, impact: float) -> float:
    """Return the delay [s] of the first sample at which half of all impacts can have been found; NaN if none is.

    distance (k,): of the samples since the impact together, in standard deviations; time (k,) [s]: their stamps.
    """
    found = np.flatnonzero(distance >= needed_distance(np.arange(1.0, distance.size + 1.0)))
    return float(time[found[0]] - impact) if found.size else math.nan


def measure_ideal(case: IdealCase) -> dict[str, NDArray[Any]]:
    """Return the bound of one impact, from the same motion with and without it.

    The ideal detector knows the model, the motion without contact, and how the contact would change each sample of q,
    dq and the joint torque, or its error; what is left to it is to tell the two apart in white noise.

    force [N], torque [Nm], distance: contact force, largest torque it makes on a joint in the sample, and distance of
    the measurements at LATER; delay (noise,) [s]: median of the ideal detector.
    """
    arm = ARMS[case.arm]
    robot = robot_of(arm.robot, arm.end_effector)
    record = impact_record(arm, case.contact, case.speed, case.joint_friction, case.seed)
    free = impact_record(arm, case.contact, case.speed, case.joint_friction, case.seed, nothing_there=True)
    impact = record.closings[0]
    since = slice(int(np.searchsorted(record.time, impact)), len(record.time))
    time = record.time[since]
    widths = robot.noise

    def squares(value: Matrix, without: Matrix, half_width: Vector) -> Vector:
        return np.asarray(np.sum(((value[since] - without[since]) / (half_width / 3.0)) ** 2, axis=1))

    def error(of: Record) -> Matrix:
        return of.joint_torque - of.commanded_torque

    motion = squares(record.position, free.position, widths.position)
    motion += squares(record.velocity, free.velocity, widths.velocity)
    torque = squares(record.joint_torque, free.joint_torque, widths.torque)
    control = squares(error(record), error(free), widths.torque)
    distance = np.sqrt(np.cumsum(motion) + np.maximum(np.cumsum(torque), np.cumsum(control)))
    last = int(np.searchsorted(time, impact + LATER, side="right")) - 1
    exact, undisturbed = (observe(robot, of, 0.0, (1.0,))[0].momentum_change[since] for of in (record, free))
    return {
        "force": np.array(record.force[since][last]),
        "torque": np.array(np.abs(exact - undisturbed)[last].max() / PERIOD),
        "distance": np.array(distance[last]),
        "delay": np.array([ideal_delay(distance / noise, time, impact) for noise in NOISES]),
    }


FRICTIONS = (False, True)
"""Joint friction, which no observer here knows of."""

MOVED = 0.05
"""[rad/s] change of the speed of a joint from which what friction makes of it stands out of the noise."""

LEAST = 1e-3
"""[Nm] below which no threshold of the isolation lies."""

THRESHOLD_SHARE, SLOPE_SHARE, MOTION_SHARE, CEILING_SHARE = 0.95, 0.9, 0.99, 0.99
"""Shares of the instants without contact, see `bounds_of`."""

CALIBRATION, TUNING, REPORT = 0, 1, 2
"""Sets of random numbers: for the bounds at scale 1, for the scales and the method, for the figures."""


@dataclass(frozen=True)
class Extent:
    """Extent of the simulation.

    Attributes:
        contacts, speeds: of the impacts.
        tuning_repetitions, report_repetitions: impacts of each kind.
        segment: length of a contact-free motion [s].
        calibration_segments, tuning_segments, report_segments: of them, with and without joint friction each.
        sequences: impacts of the edge for each of `sequence_speeds`.
        ideal_repetitions: impacts of each kind at the slowest speed for which the ideal detector is computed.
    """

    contacts: tuple[str, ...] = CONTACTS
    speeds: tuple[float, ...] = SPEEDS
    tuning_repetitions: int = 1
    report_repetitions: int = 2
    segment: float = 25.0
    calibration_segments: int = 3
    tuning_segments: int = 2
    report_segments: int = 6
    sequences: int = 12
    sequence_speeds: tuple[float, ...] = (0.05, 0.1, 0.2)
    ideal_repetitions: int = 2


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Results of one set.

    Attributes:
        hours: contact-free [h] for each arm, joint friction, noise and inertia.
        alarms: (arm, friction, noise, inertia, method, scale) events in them.
        delay, error [s], early, link, named [s], bound: (arm, contact, speed, friction, repetition, noise, inertia,
            method, scale), see `measure_impacts`.
        lever: (arm, contact, speed, friction, repetition) [m].
    """

    hours: float
    alarms: NDArray[np.int_]
    delay: NDArray[np.float64]
    error: NDArray[np.float64]
    early: NDArray[np.int_]
    link: NDArray[np.int_]
    named: NDArray[np.float64]
    bound: NDArray[np.float64]
    lever: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sequences:
    """Contacts after the first one of the planar edge: how many, and by method found, and events without one."""

    impacts: int
    later: int
    found: NDArray[np.int_]
    extra: NDArray[np.int_]


def bounds_of(moving: list[Trial], resting: list[Trial]) -> Bounds:
    """Return the bounds that one arm makes without contact, see `measure_scores`, in motion and at rest.

    The isolation: the thresholds hold for THRESHOLD_SHARE of the instants at rest, where there is noise only. Where a
    joint's speed has changed by more than MOVED, the changes over the longest window are in proportion to it or less in
    SLOPE_SHARE of the instants; the shorter ones show of a friction what the residual does, see `step_response`. What
    is left of the changes, where they are against that of the speed less the friction, is in proportion to the motion
    or less in MOTION_SHARE of the instants. Below the ceilings are CEILING_SHARE of the changes.
    """
    response = step_response(ISOLATION_GAIN, PERIOD)

    def rounded(values: NDArray[np.float64]) -> tuple[float, ...]:
        return tuple(float(f"{value:.4g}") for value in values.ravel())

    def isolation(noise: int) -> tuple[float, ...]:
        at_rest = np.abs(np.concatenate([change for r in resting for change in r[f"{noise} torque"]]))
        threshold = np.maximum(np.quantile(at_rest, THRESHOLD_SHARE, axis=0), LEAST)
        torque = np.concatenate([change for r in moving for change in r[f"{noise} torque"]])
        speed = np.concatenate([r[f"{noise} speed"] for r in moving for _ in r[f"{noise} torque"]])
        torque, speed, opposed = np.abs(torque), np.abs(speed), torque * speed < 0.0
        motion = np.concatenate([r[f"{noise} motion"] for r in moving for _ in r[f"{noise} torque"]])
        friction = np.zeros(torque.shape[2])
        for joint in range(friction.size):
            moved = speed[:, -1, joint] > MOVED
            if np.any(moved):
                ratio = torque[moved, -1, joint] / speed[moved, -1, joint]
                friction[joint] = np.quantile(ratio, SLOPE_SHARE) / response[-1, 0]
        own = friction * response
        left = np.maximum(torque - threshold - np.where(opposed, own * speed, 0.0), 0.0)
        drift = np.quantile(left / motion[:, None, None], MOTION_SHARE, axis=0)
        ceiling = np.maximum(threshold, np.quantile(torque, CEILING_SHARE, axis=0))
        return rounded(np.stack((threshold, own, drift, ceiling)))

    return tuple(
        (*(rounded(np.max([r[f"{noise} {j}"] for r in moving], axis=0)) for j in range(len(METHODS))), isolation(noise))
        for noise in range(len(NOISES))
    )


class Plan:
    """Runs the trials of one seed; see `run_trials` for the directory."""

    def __init__(self, extent: Extent, seed: int, directory: Path | None) -> None:
        self.extent = extent
        self._seed = seed
        self._directory = directory

    def calibrate(self, progress: Progress) -> tuple[Bounds, ...]:
        """Return the bounds at scale 1 of each arm: the largest scores of contact-free motions of their own."""
        moving = self._free_cases(CALIBRATION, self.extent.calibration_segments)
        cases = [*moving, *(replace(case, at_rest=True) for case in self._free_cases(CALIBRATION, 1))]
        results = run_trials(measure_scores, cases, self._directory, progress)

        def of(arm: int, at_rest: bool) -> list[Trial]:
            pairs = zip(results, cases, strict=True)
            return [result for result, case in pairs if (case.arm, case.at_rest) == (arm, at_rest)]

        return tuple(bounds_of(of(arm, False), of(arm, True)) for arm in range(len(ARMS)))

    def run(self, which: int, bounds: tuple[Bounds, ...], progress: Progress) -> Outcomes:
        """Return the outcomes of TUNING or REPORT with these bounds for the arms."""
        extent = self.extent
        tuned = which == TUNING
        segments = extent.tuning_segments if tuned else extent.report_segments
        repetitions = extent.tuning_repetitions if tuned else extent.report_repetitions
        free = [replace(case, bounds=bounds[case.arm]) for case in self._free_cases(which, segments)]

        counted = run_trials(count_alarms, free, self._directory, part(progress, 0.0, 0.5, "contact-free"))
        alarms = np.zeros((len(ARMS), len(FRICTIONS), *counted[0]["alarms"].shape), dtype=int)
        for case, result in zip(free, counted, strict=True):
            alarms[case.arm, int(case.joint_friction)] += result["alarms"]
        impacts = [
            ImpactCase(arm, contact, speed, friction, repetitions, self._start(which, 1000, i), bounds[arm])
            for i, (arm, contact, speed, friction) in enumerate(self._places())
        ]
        measured = run_trials(measure_impacts, impacts, self._directory, part(progress, 0.5, 0.5, "impacts"))
        shape = (len(ARMS), len(extent.contacts), len(extent.speeds), len(FRICTIONS))

        def stacked(name: str) -> NDArray[Any]:
            whole = np.array([result[name] for result in measured])
            return whole.reshape(*shape, *whole.shape[1:])

        hours = segments * extent.segment / 3600.0
        measures = {name: stacked(name) for name in ("delay", "error", "early", "link", "named", "bound", "lever")}
        return Outcomes(hours, alarms, **measures)

    def sequences(self, bounds: Bounds, scales: tuple[float, ...], progress: Progress) -> Sequences:
        """Return what became of the second contacts of the planar edge."""
        cases = [
            SequenceCase(speed, self.extent.sequences, self._start(REPORT, 5000, i), bounds, scales)
            for i, speed in enumerate(self.extent.sequence_speeds)
        ]
        results = run_trials(measure_sequences, cases, self._directory, progress)
        return Sequences(
            impacts=sum(int(r["impacts"]) for r in results),
            later=sum(int(r["later"]) for r in results),
            found=np.sum([r["found"] for r in results], axis=0),
            extra=np.sum([r["extra"] for r in results], axis=0),
        )

    def ideal(self, progress: Progress) -> Ideal:
        """Return what an ideal detector would make of the slowest impacts of REPORT, the first of each kind."""
        slowest = min(self.extent.speeds)
        cases = [
            IdealCase(*place, seed=self._start(REPORT, 1000, i) + r)
            for i, place in enumerate(self._places())
            if place[2] == slowest
            for r in range(self.extent.ideal_repetitions)
        ]
        results = run_trials(measure_ideal, cases, self._directory, progress)
        shape = (len(ARMS), len(self.extent.contacts), -1)
        measures = {
            name: np.array([r[name] for r in results]).reshape(*shape, *results[0][name].shape)
            for name in ("force", "torque", "distance", "delay")
        }
        return Ideal(**measures)

    def _places(self) -> list[tuple[int, str, float, bool]]:
        """Return arm, contact, speed and joint friction of all kinds of impacts."""
        return list(product(range(len(ARMS)), self.extent.contacts, self.extent.speeds, FRICTIONS))

    def _free_cases(self, which: int, segments: int) -> list[FreeCase]:
        places = [(arm, friction) for arm in range(len(ARMS)) for friction in FRICTIONS for _ in range(segments)]
        return [
            FreeCase(arm, friction, self.extent.segment, self._start(which, 0, i))
            for i, (arm, friction) in enumerate(places)
        ]

    def _start(self, which: int, offset: int, number: int) -> int:
        """Return the seed of case `number`; those of its repetitions follow it."""
        return ((10 * self._seed + which) * 10000 + offset + number) * 100
