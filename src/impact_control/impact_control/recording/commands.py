"""The commanded torque, its rate, and how near both came to their limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_control.recording.series import Recording
from impact_control.recording.topics import Topics, series_if_recorded
from impact_control.types import Matrix, Vector


@dataclass(frozen=True)
class CommandLimits:
    """Limits of the commanded torque, for comparison with the peaks.

    Attributes:
        torque: (n,) [Nm] largest magnitude.
        torque_rate: (n,) [Nm/s] largest magnitude of the rate.
    """

    torque: Vector
    torque_rate: Vector


def commanded_torque(recording: Recording, topics: Topics) -> tuple[Vector, Matrix] | None:
    """Times (m,) [s] and commanded torques (m, n) [Nm], from the commands, else from the controller's status.

    Commands carry no stamp: they get that of the newest joint state that had arrived before them.
    """
    if topics.commands in recording:
        commands = recording.series(topics.commands)
        if isinstance(commands["data"], np.ndarray) and len(commands["stamp"]) > 1:
            return commands["stamp"], commands["data"]
    if topics.status in recording:
        status = recording.series(topics.status)
        if isinstance(status["commanded_torque"], np.ndarray):
            return status["stamp"], status["commanded_torque"]
    return None


def torque_rate(time: Vector, torque: Matrix, period: float) -> tuple[Vector, Matrix]:
    """Backward differences at the later of two commands: (k,) [s], (k, n) [Nm/s].

    One command leaves the loop each period [s], but its time here carries the jitter of its reception: a step
    counts as the whole number of periods nearest to it, at least one.
    """
    periods = np.maximum(1.0, np.round(np.diff(time) / period))
    return time[1:], np.diff(torque, axis=0) / (periods * period)[:, None]


def control_period(recording: Recording, topics: Topics) -> float:
    """Return the usual step between two joint states [s]."""
    return float(np.median(np.diff(recording.series(topics.joint_states)["stamp"])))


def commanded_peaks(recording: Recording, topics: Topics) -> tuple[Vector | None, Vector | None]:
    """Largest magnitudes of torque (n,) [Nm] and torque rate (n,) [Nm/s]; None where no torque was recorded.

    A command the recorder lost makes the step to the next one too large: then what the controller counted itself,
    command by command, bounds the rate, but it is never less than if all that were lost had been lost in that step.
    """
    commanded = commanded_torque(recording, topics)
    if commanded is None:
        return None, None
    time, torque = commanded
    period = control_period(recording, topics)
    _, rate = torque_rate(time, torque, period)
    peak_rate = np.abs(rate).max(axis=0) if len(rate) else np.zeros(torque.shape[1])
    status = series_if_recorded(recording, topics.status)
    if status is not None:
        peak_rate = np.minimum(peak_rate, np.max(status["peak_torque_rate"]))
        lost = _lost_commands(recording, topics, period)
        if lost is not None and len(torque) > 1:
            steps = np.abs(np.diff(torque, axis=0)).max(axis=0)
            peak_rate = np.maximum(peak_rate, steps / ((1 + lost) * period))
    return np.abs(torque).max(axis=0), peak_rate


def _lost_commands(recording: Recording, topics: Topics, period: float) -> int | None:
    """How many commands were sent between first and last status and not recorded; None where that is not known.

    A command goes out for each sample, just before the status that counts the samples since the activation.
    """
    status, commands = (series_if_recorded(recording, topic) for topic in (topics.status, topics.commands))
    if status is None or commands is None or np.any(np.diff(status["samples"].astype(np.int64)) < 0):
        return None
    # Half a period later none is on its way.
    first, last = status["log_time"][[0, -1]] + 0.5 * period
    recorded = int(np.count_nonzero((commands["log_time"] > first) & (commands["log_time"] <= last)))
    sent = int(status["samples"][-1]) - int(status["samples"][0])
    return max(0, sent - recorded)
