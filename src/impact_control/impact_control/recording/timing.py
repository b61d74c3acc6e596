"""How well the loop kept its time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_control.recording.series import Recording, Series
from impact_control.recording.topics import Topics, series_if_recorded


@dataclass(frozen=True)
class Timing:
    """How well the loop kept its time; counts are increments within the recording, None where not recorded.

    Attributes:
        step_duration: [s] median, 99th percentile and maximum of the time one command takes; None without
            status.
        missed_samples: samples that did not reach the controller.
        late_cycles: periods of the simulated robot that started more than one period late.
        cycles: all its periods.
        held_commands: recorded periods in which the last command was applied again.
        lost_commands: recorded periods in which the command was older than the limit, from the first command on,
            because a robot that starts before its controller has none until then; all where none came at all.
    """

    step_duration: tuple[float, float, float] | None
    missed_samples: int | None
    late_cycles: int | None
    cycles: int | None
    held_commands: int | None
    lost_commands: int | None

    @property
    def late_fraction(self) -> float | None:
        """Share of late cycles, 0 to 1."""
        return self.late_cycles / self.cycles if self.late_cycles is not None and self.cycles else None


def loop_timing(recording: Recording, topics: Topics) -> Timing:
    """What the controller and the simulated robot counted of their own timing."""
    status = series_if_recorded(recording, topics.status)
    truth = series_if_recorded(recording, topics.truth)
    duration = None
    if status is not None:
        steps = status["step_duration"]
        duration = (float(np.median(steps)), float(np.percentile(steps, 99)), float(np.max(steps)))
    held = lost = None
    if truth is not None:
        constants, state = recording.constants(topics.truth), truth["command_state"]
        held = int(np.count_nonzero(state == constants["COMMAND_HELD"]))
        came = np.isin(state, (constants["COMMAND_FRESH"], constants["COMMAND_HELD"]))
        counts = np.logical_or.accumulate(came) | ~came.any()
        lost = int(np.count_nonzero(counts & (state == constants["COMMAND_LOST"])))
    return Timing(
        step_duration=duration,
        missed_samples=_increase(status, "missed_samples"),
        late_cycles=_increase(truth, "late_cycles"),
        cycles=_increase(truth, "cycles"),
        held_commands=held,
        lost_commands=lost,
    )


def _increase(series: Series | None, counter: str) -> int | None:
    """Sum of the increments of a counter that may be reset in between."""
    if series is None:
        return None
    steps = np.diff(series[counter].astype(np.int64))
    return int(steps[steps > 0].sum())
