"""What Rey Arias 2024, section IV and Figs 4 and 5, says of the course of a trial, in the samples without noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_control.identification import GROSS_VELOCITY_WINDOW, offline_impact_time
from impact_control.studies.rey_arias.experiments import PUSH, Trial
from impact_control.types import Matrix, Vector

RINGING_WINDOW = 0.025
"""[s] over which an oscillation is measured; our choice."""

RINGING_STEP = 5e-3
"""[s] between the beginnings of these windows; our choice."""

DAMPED = 0.05
"""Part of the largest oscillation below which it is damped out; the source does not say how far."""

AROUND = 0.05
"""[s] before and after the impact in which a joint is searched for it alone."""

FIRST, SIXTH = 0, 5
"""Joints 1 and 6."""


@dataclass(frozen=True)
class Course:
    """The course of one trial.

    Attributes:
        force_ends, before: norm of the joint velocities [rad/s] when the force ends, and in the last sample before
            the impact.
        ringing: [s] from the impact until the oscillation stays below DAMPED, see `ringing_time`.
        lag: [s] by which joint 1 shows the impact later than joint 6, each looked at alone; NaN where one does not.
        last, recorded: norm of the joint velocities [rad/s] in the last sample, and how long after the impact [s].
    """

    force_ends: float
    before: float
    ringing: float
    lag: float
    last: float
    recorded: float


def course_of(trial: Trial, impact_time: float) -> Course:
    """Return the course of a trial with its impact at `impact_time` [s], as found in these samples."""
    time, velocity = trial.time, trial.exact_velocity
    speed = np.linalg.norm(velocity, axis=1)
    near = np.abs(time - impact_time) <= AROUND
    first, sixth = (offline_impact_time(time[near], velocity[near], joints=[joint]) for joint in (FIRST, SIXTH))
    return Course(
        force_ends=float(speed[np.argmin(np.abs(time - PUSH))]),
        before=float(speed[time < impact_time][-1]),
        ringing=ringing_time(time - impact_time, velocity),
        lag=math.nan if first is None or sixth is None else first - sixth,
        last=float(speed[-1]),
        recorded=float(time[-1] - impact_time),
    )


def ringing_time(since: Vector, velocity: Matrix) -> float:
    """Return from when on [s] the oscillation of velocities (m, n) stays below DAMPED of the largest.

    since (m,) [s]: time after the impact. The oscillation is the root mean square, over samples and joints, of what
    straight lines leave of the velocities in RINGING_WINDOW from then on. Windows end with that of the fit, 100 ms
    after the impact; infinite when it is not below until then.
    """
    count = 1 + round((GROSS_VELOCITY_WINDOW - RINGING_WINDOW) / RINGING_STEP)
    begins = RINGING_STEP * np.arange(count)
    sizes = np.array([_oscillation(since, velocity, begin) for begin in begins])
    loud = np.flatnonzero(sizes > DAMPED * sizes.max())
    quiet = int(loud[-1]) + 1 if loud.size else 0
    return float(begins[quiet]) if quiet < count else math.inf


def _oscillation(since: Vector, velocity: Matrix, begin: float) -> float:
    """Return the oscillation [rad/s] in the window that begins at `begin` [s]."""
    # Round-off must not decide on a sample at the end of the window.
    inside = (since >= begin - 1e-9) & (since <= begin + RINGING_WINDOW + 1e-9)
    line = np.vander(since[inside] - begin, 2)
    fit, *_ = np.linalg.lstsq(line, velocity[inside], rcond=None)
    return float(np.sqrt(np.mean((velocity[inside] - line @ fit) ** 2)))
