"""What no detector can beat: the information that the measurements of an impact have, against their noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from impact_control.studies.detection.arms import ARMS
from impact_control.studies.detection.methods import observe
from impact_control.studies.detection.motion import PERIOD, Record, impact_record, robot_of
from impact_control.studies.detection.trials import NOISES
from impact_control.types import Matrix, Vector

LATER = 0.004
"""[s] after the impact at which force, torque and distance are told."""

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
    """Of all impacts (arm, contact, repetition): see `measure_ideal`; delay has the noises last."""

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
