"""Crossings of a gap, alarms of a residual, and which contacts it finds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from impact_control.observation import BacklashModel
from impact_control.studies.flacco.experiments import DETECTION_GAIN, Contact
from impact_control.types import Matrix, Vector

AFTER = 5.0 / DETECTION_GAIN
"""[s] in which a residual forgets all but 0.7 %: an alarm that late still belongs to what was before."""

START = 0.3
"""[s] of a recording that are left out: the links fall to the edge of their gaps."""

MARGIN = 2.0
"""Threshold over the largest residual of a motion without contact."""

_POINTS, _CREEP = 40, 5.0
"""Points of the mean over the noise; speeds up to which it is looked at, over the slip speed."""


def creep_allowance(model: BacklashModel, motor_velocity: Matrix) -> Vector:
    """Return what a residual may be wrong by (n,) [Nm] while a motor creeps: noise takes from its dry friction.

    The mean of tanh(v / s) with noise in v is below it, the more so where it bends: at most by a part that depends on
    the noise only. A motor creeps to rest through all these speeds after a contact, which no recording without
    contact shows. motor_velocity: (m, n) [rad/s] of motors at rest; what changes from a sample to the next is noise.
    """
    noise = np.std(np.diff(motor_velocity, axis=0), axis=0) / np.sqrt(2.0)
    points, weights = np.polynomial.hermite_e.hermegauss(_POINTS)
    speeds = np.linspace(0.0, _CREEP * model.slip_speed, 10 * _POINTS)[:, None]
    lost = np.zeros_like(model.motor_dry)
    for j, deviation in enumerate(noise):
        mean = np.tanh((speeds + deviation * points) / model.slip_speed) @ weights / np.sum(weights)
        lost[j] = np.max(np.tanh(speeds[:, 0] / model.slip_speed) - mean)
    allowance: Vector = np.abs(model.motor_dry) * lost
    return allowance


def thresholds(allowance: Vector, *runs: tuple[Matrix, Vector]) -> Vector:
    """Return thresholds (n,) [Nm] from residuals (m, n) without contact, each with its time (m,) [s].

    allowance: (n,) [Nm] of `creep_allowance`, above what the residuals ask for.
    """
    largest = [np.max(np.abs(residual[time > START]), axis=0) for residual, time in runs]
    return np.asarray(MARGIN * np.max(largest, axis=0) + allowance, dtype=np.float64)


def crossings(deflection: Vector, gap: float) -> list[tuple[int, int]]:
    """Return first and last sample of each way from one edge of the gap to the other.

    deflection phi (m,) [rad], true; gap alpha [rad]. A link that comes back to the edge it left has not crossed.
    """
    edges = np.flatnonzero(np.abs(deflection) >= gap)
    sides = np.sign(deflection[edges])
    changes = np.flatnonzero(sides[1:] != sides[:-1])
    return [(int(edges[i]) + 1, int(edges[i + 1])) for i in changes] if gap > 0.0 else []


@dataclass(frozen=True)
class CrossingCount:
    """Crossings of one joint's gap, and in how many of them its residual passed the threshold."""

    crossings: int
    classical: int
    backlash: int


def count_crossings(
    deflection: Matrix, gap: Vector, time: Vector, classical: Matrix, backlash: Matrix, threshold: Vector
) -> list[CrossingCount]:
    """Return the counts for each joint; arrays (m, n), time (m,) [s], gap and threshold (n,).

    An alarm belongs to a crossing from its first sample to 1 / `DETECTION_GAIN` after the last.
    """
    tail = round(1.0 / DETECTION_GAIN / (time[1] - time[0]))
    counts = []
    for j in range(gap.size):
        found = [ends for ends in crossings(deflection[:, j], gap[j]) if time[ends[0]] > START]
        alarms = [
            sum(bool(np.any(np.abs(residual[a : b + tail + 1, j]) > threshold[j])) for a, b in found)
            for residual in (classical, backlash)
        ]
        counts.append(CrossingCount(len(found), *alarms))
    return counts


def alarm_count(residual: Matrix, time: Vector, threshold: Vector, contacts: tuple[Contact, ...] = ()) -> int:
    """Return how many times a residual (m, n) rises above its threshold (n,) [Nm] without a contact.

    Alarms in different joints less than `AFTER` apart are one.
    """
    alarm = _alarms(residual, time, threshold)
    for contact in contacts:
        alarm &= ~((time >= contact.start) & (time <= contact.end + AFTER))
    stamps = time[alarm]
    return int(np.count_nonzero(np.diff(stamps, prepend=-np.inf) > AFTER))


def delay(residual: Matrix, time: Vector, threshold: Vector, contact: Contact) -> float | None:
    """Return after how long [s] a contact raises an alarm, or None when it does not while it lasts."""
    during = _alarms(residual, time, threshold) & (time >= contact.start) & (time <= contact.end)
    return float(time[np.argmax(during)]) - contact.start if np.any(during) else None


def _alarms(residual: Matrix, time: Vector, threshold: Vector) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.any(np.abs(residual) > threshold, axis=1) & (time > START)
    return found
