"""The contact as the simulated robot felt it, and the force that was wanted."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from impact_control.recording.decisions import ModeInterval
from impact_control.recording.series import Recording
from impact_control.recording.topics import Topics, series_if_recorded
from impact_control.types import Matrix, Vector

FORCE_WINDOW = 0.2
"""[s] at the end of the contact mode, over which the final contact force is averaged."""


def true_impact_time(recording: Recording, topics: Topics) -> float | None:
    """Stamp [s] of the first contact of the simulated robot, None if there was none or none was simulated.

    The plant tells it in simulated time; stamps and simulated times of the samples say what stamp that is.
    """
    truth = series_if_recorded(recording, topics.truth)
    if truth is None or not np.isfinite(truth["impact_time"]).any():
        return None
    row = np.flatnonzero(np.isfinite(truth["impact_time"]))[0]
    return float(truth["stamp"][row] - (truth["time"][row] - truth["impact_time"][row]))


def true_contact_times(recording: Recording, topics: Topics) -> Vector | None:
    """Stamps (n_c,) [s] of the first touch of each contact point of the simulated robot, infinite without one.

    None where they are not recorded.
    """
    truth = series_if_recorded(recording, topics.truth)
    if truth is None or not isinstance(truth.get("contact_times"), np.ndarray):
        return None
    times: Vector = truth["contact_times"][-1] + (truth["stamp"][-1] - truth["time"][-1])
    return times


def contact_forces(recording: Recording, topics: Topics) -> tuple[Vector, Matrix] | None:
    """Stamps (m,) [s] and normal forces (m, n_c) [N] of the contact points of the simulated robot.

    None where they are not recorded.
    """
    return _truth_column(recording, topics, "contact_normal_forces")


def touch_torques(recording: Recording, topics: Topics) -> tuple[Vector, Matrix] | None:
    """Stamps (m,) [s] and joint torques (m, n) [Nm] of what touches links of the simulated robot.

    None where they are not recorded, or nothing touches them.
    """
    column = _truth_column(recording, topics, "external_torque")
    return None if column is None or not column[1].any() else column


def touch_start(recording: Recording, topics: Topics) -> float:
    """When somebody first touched the arm [s]; infinity when nobody did, or the recording does not know."""
    touches = touch_torques(recording, topics)
    if touches is None:
        return math.inf
    time, torque = touches
    return float(time[np.flatnonzero(np.any(torque != 0.0, axis=1))[0]])


def _truth_column(recording: Recording, topics: Topics, name: str) -> tuple[Vector, Matrix] | None:
    """Stamps and a column of the truth; None where it is missing, or a list because its length changes."""
    truth = series_if_recorded(recording, topics.truth)
    if truth is None or not isinstance(truth.get(name), np.ndarray):
        return None
    return truth["stamp"], truth[name]


def contact_end(modes: Sequence[ModeInterval]) -> float:
    """End of the last post-impact mode [s]; infinity when there is none."""
    return max((interval.end for interval in modes if interval.mode == "post"), default=np.inf)


def final_force(recording: Recording, topics: Topics, end: float) -> float | None:
    """[N] mean normal force over the `FORCE_WINDOW` before `end` [s], or before the end of the recording."""
    truth = series_if_recorded(recording, topics.truth)
    return None if truth is None else _mean_before(truth["stamp"], truth["normal_force"], end)


def desired_force(recording: Recording, topics: Topics, end: float) -> float | None:
    """[N] mean magnitude of the force reference over the same time."""
    reference = series_if_recorded(recording, topics.reference)
    if reference is None:
        return None
    return _mean_before(reference["stamp"], np.linalg.norm(reference["force"], axis=1), end)


def peak_force(recording: Recording, topics: Topics) -> float | None:
    """[N] largest normal force."""
    truth = series_if_recorded(recording, topics.truth)
    return None if truth is None else float(np.max(truth["peak_normal_force"]))


def _mean_before(time: Vector, values: Vector, end: float) -> float:
    end = min(end, float(time[-1]))
    return float(np.mean(values[(time >= end - FORCE_WINDOW) & (time <= end)]))
