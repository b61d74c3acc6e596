"""The trials of the benchmark: what each case of it simulates and counts. All results are arrays of numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from impact_control.detection import NO_LINK, LinkIsolation
from impact_control.detection.isolation import BEFORE, LEAD, WINDOWS
from impact_control.detection.onset import onset_time
from impact_control.detection.score_detector import HISTORY
from impact_control.util.types import Matrix, Vector
from impact_studies.detection.methods import ISOLATION_GAIN, METHODS, REFRACTORY, Observed, link_distance, observe
from impact_studies.detection.motion import ARMS, HARD, PERIOD, ArmSetting, Record, free_record, impact_record, robot_of
from impact_studies.models.detection.record import event_samples

NOISES = (1.0, 2.0)
"""Times the noise of Proper 2021 (3.5)."""

INERTIAS = (1.0, 1.05)
"""Factor on masses and moments in the model of the observer."""

SCALES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.35, 1.5, 2.0)
"""Bounds as multiples of the largest score in the contact-free motion they are tuned on."""

SETTLED = 50
"""Samples at the start of a record that are not looked at."""

LATEST = 0.05
"""[s] after an impact, from which an event does not count as its detection."""

STRIDE = 20
"""Samples between two instants of free motion at which the isolation is calibrated."""

Bounds = tuple[tuple[tuple[float, ...], ...], ...]
"""Bounds at scale 1 for each noise and method, channel by channel; of each noise the last are of the isolation: for
each joint, window by window, thresholds [Nm], slopes with its own speed and the motion [Nm s/rad], ceilings [Nm]."""


@dataclass(frozen=True)
class FreeCase:
    """A contact-free motion, or a rest, of `duration` [s] of arm number `arm`. Without bounds scores are measured."""

    arm: int
    joint_friction: bool
    duration: float
    seed: int
    bounds: Bounds = ()
    at_rest: bool = False


@dataclass(frozen=True)
class ImpactCase:
    """`repetitions` impacts at `speed` [m/s]; seed: of the first, each takes its own."""

    arm: int
    contact: str
    speed: float
    joint_friction: bool
    repetitions: int
    seed: int
    bounds: Bounds


@dataclass(frozen=True)
class SequenceCase:
    """Impacts of the planar edge, whose points touch one after the other; scales: one for each method."""

    speed: float
    repetitions: int
    seed: int
    bounds: Bounds
    scales: tuple[float, ...]


def _observations(arm: ArmSetting, record: Record) -> list[list[Observed]]:
    """Return what is known of a record, for each noise and inertia."""
    robot = robot_of(arm.robot, arm.end_effector)
    return [observe(robot, record, noise, INERTIAS) for noise in NOISES]


def mean_changes(values: Matrix) -> NDArray[np.float64]:
    """Return the mean over each window from an event on less the mean before it (k, w, n), as `LinkIsolation` has them.

    The events are every STRIDE-th sample from the first with a past on.
    """
    sums = np.cumsum(np.vstack((np.zeros(values.shape[1]), values)), axis=0)
    event = _events(len(values))
    end = event - LEAD + 1
    before = (sums[end] - sums[end - BEFORE]) / BEFORE
    after = np.stack([(sums[event + w] - sums[event]) / w for w in WINDOWS], axis=1)
    return np.asarray(after - before[:, None, :])


def motions(velocity: Matrix) -> Vector:
    """Return the sum of the magnitudes of the mean speeds of all joints (k,) [rad/s] before the same events."""
    sums = np.cumsum(np.vstack((np.zeros(velocity.shape[1]), velocity)), axis=0)
    end = _events(len(velocity)) - LEAD + 1
    return np.asarray(np.abs((sums[end] - sums[end - BEFORE]) / BEFORE).sum(axis=1))


def _events(samples: int) -> NDArray[np.int_]:
    return np.arange(BEFORE + LEAD - 1, samples - WINDOWS[-1] + 1, STRIDE)


def link_isolation(bounds: Bounds, noise: int, joints: int) -> LinkIsolation:
    """Return the isolation with the bounds of noise number `noise`."""
    return LinkIsolation(*np.array(bounds[noise][-1]).reshape(4, len(WINDOWS), joints))


def measure_scores(case: FreeCase) -> dict[str, NDArray[Any]]:
    """Return what a contact-free motion makes of the scores.

    For noise i and method j the largest in the array "i j"; "i torque" (inertia, k, w, n) and "i speed" (k, w, n):
    changes of the residual [Nm] and of dq [rad/s] as `mean_changes`; "i motion" (k,) [rad/s] as `motions`.
    """
    arm = ARMS[case.arm]
    record = free_record(arm, case.joint_friction, case.duration, case.seed, case.at_rest)
    seen = _observations(arm, record)
    result: dict[str, NDArray[Any]] = {}
    for i, same_noise in enumerate(seen):
        for j, method in enumerate(METHODS):
            result[f"{i} {j}"] = np.max([method.score(arm, o)[SETTLED:].max(axis=0) for o in same_noise], axis=0)
        result[f"{i} torque"] = np.array([mean_changes(o.residual(ISOLATION_GAIN)[SETTLED:]) for o in same_noise])
        result[f"{i} speed"] = mean_changes(same_noise[0].velocity[SETTLED:])
        result[f"{i} motion"] = motions(same_noise[0].velocity[SETTLED:])
    return result


def count_alarms(case: FreeCase) -> dict[str, NDArray[Any]]:
    """Return "alarms" (noise, inertia, method, scale): events in a contact-free motion."""
    arm = ARMS[case.arm]
    seen = _observations(arm, free_record(arm, case.joint_friction, case.duration, case.seed))
    alarms = np.zeros((len(NOISES), len(INERTIAS), len(METHODS), len(SCALES)), dtype=int)
    for i, same_noise in enumerate(seen):
        for h, observed in enumerate(same_noise):
            for j, method in enumerate(METHODS):
                score = method.score(arm, observed)[SETTLED:]
                bound = np.array(case.bounds[i][j])
                for s, scale in enumerate(SCALES):
                    alarms[i, h, j, s] = event_samples(observed.time[SETTLED:], score, scale * bound, REFRACTORY).size
    return {"alarms": alarms}


def measure_impacts(case: ImpactCase) -> dict[str, NDArray[Any]]:
    """Return arrays (repetition, noise, inertia, method, scale) of what the detectors made of the impacts.

    delay: [s] from the impact to the sample of the first event within LATEST, NaN without; error: [s] of the impact
    time that is reported; early: events before the impact; link: isolated, NO_LINK where it is not known; named: [s]
    from the impact to the sample at which that link was named, NaN where none was; bound: probability with which the
    best decision of all, by the samples that the isolation has seen, is right, see `link_distance`, NaN without a
    detection. "lever" (repetition,) [m]: of the normal force about the outermost joint it has one about, NaN for a
    touch.
    """
    arm = ARMS[case.arm]
    shape = (case.repetitions, len(NOISES), len(INERTIAS), len(METHODS), len(SCALES))
    delay, error = np.full(shape, math.nan), np.full(shape, math.nan)
    early, link = np.zeros(shape, dtype=int), np.zeros(shape, dtype=int)
    named, bound = np.full(shape, math.nan), np.full(shape, math.nan)
    lever = np.full(case.repetitions, math.nan)
    for r in range(case.repetitions):
        seed = case.seed + r
        record = impact_record(arm, case.contact, case.speed, case.joint_friction, seed)
        impact = record.closings[0]
        lever[r] = record.lever[arm.reacting_link - 1]
        robot = robot_of(arm.robot, arm.end_effector)
        distance = link_distance(robot, arm, case.contact, case.joint_friction, record)
        for i, same_noise in enumerate(_observations(arm, record)):
            isolation = link_isolation(case.bounds, i, len(arm.home))
            for h, observed in enumerate(same_noise):
                residual = observed.residual(ISOLATION_GAIN)
                isolated: dict[int, tuple[int, int]] = {}
                for j, method in enumerate(METHODS):
                    score = method.score(arm, observed)
                    threshold = np.array(case.bounds[i][j])
                    for s, scale in enumerate(SCALES):
                        at = r, i, h, j, s
                        events = SETTLED + event_samples(
                            observed.time[SETTLED:], score[SETTLED:], scale * threshold, REFRACTORY
                        )
                        times = observed.time[events]
                        early[at] = np.count_nonzero(times < impact)
                        good = events[(times >= impact) & (times <= impact + LATEST)]
                        if good.size == 0:
                            continue
                        k = int(good[0])
                        delay[at] = observed.time[k] - impact
                        error[at] = _reported_time(observed.time, score, scale * threshold, k) - impact
                        seen = min(k + WINDOWS[-1], len(distance)) - 1
                        bound[at] = ndtr(0.5 * distance[seen] / NOISES[i])
                        if k not in isolated:
                            isolated[k] = _isolated_link(isolation, residual, observed.velocity, k)
                        link[at], later = isolated[k]
                        if link[at] != NO_LINK:
                            named[at] = delay[at] + PERIOD * later
    measures = {"delay": delay, "error": error, "early": early, "link": link, "named": named, "bound": bound}
    return {**measures, "lever": lever}


def _reported_time(time: Vector, score: Matrix, bound: Vector, sample: int) -> float:
    """Return the impact time that a `ScoreDetector` reports that began at SETTLED and has an event at `sample`."""
    channel = int(np.argmax(score[sample] / bound))
    count = min(sample - SETTLED + 1, HISTORY)
    return onset_time(score, time, sample, count, channel)


def _isolated_link(isolation: LinkIsolation, residual: Matrix, velocity: Matrix, sample: int) -> tuple[int, int]:
    """Return the link that `isolation` names in the end, and how many samples after `sample` it did."""
    isolation.reset()
    for k in range(max(0, sample - BEFORE - LEAD), min(sample + WINDOWS[-1], len(residual))):
        isolation.record(residual[k], velocity[k])
        if k == sample:
            isolation.impact()
    return isolation.link, isolation.decided_after


def measure_sequences(case: SequenceCase) -> dict[str, NDArray[Any]]:
    """Return for each method what became of contacts after the first one, noise 1, exact model, no joint friction.

    later: closings at least REFRACTORY after the one before; found (method,): those with an event within 2
    REFRACTORY; extra (method,): events with no closing that long before them.
    """
    arm = ARMS[0]
    later, found, extra = 0, np.zeros(len(METHODS), dtype=int), np.zeros(len(METHODS), dtype=int)
    for r in range(case.repetitions):
        seed = case.seed + r
        contact = HARD[r % len(HARD)]
        record = impact_record(arm, contact, case.speed, False, seed, "planar_edge")
        robot = robot_of(arm.robot, "planar_edge")
        observed = observe(robot, record, NOISES[0], INERTIAS[:1])[0]
        closings = distinct_closings(record.closings)
        closings = [t for t in closings if t <= record.time[-1] - 2.0 * REFRACTORY]
        later += len(closings) - 1
        for j, method in enumerate(METHODS):
            score = method.score(arm, observed)[SETTLED:]
            bound = case.scales[j] * np.array(case.bounds[0][j])
            times = observed.time[SETTLED:][event_samples(observed.time[SETTLED:], score, bound, REFRACTORY)]
            for t in closings[1:]:
                found[j] += bool(np.any((times >= t) & (times <= t + 2.0 * REFRACTORY)))
            extra[j] += sum(
                not any(0.0 <= time - t <= 2.0 * REFRACTORY for t in record.closings) for time in times.tolist()
            )
    return {"later": np.array(later), "found": found, "extra": extra, "impacts": np.array(case.repetitions)}


def distinct_closings(closings: tuple[float, ...]) -> list[float]:
    """Return the closings [s] that are at least REFRACTORY after the one before: others are one impact."""
    distinct = [closings[0]]
    for last, this in pairwise(closings):
        if this - last >= REFRACTORY:
            distinct.append(this)
    return distinct
