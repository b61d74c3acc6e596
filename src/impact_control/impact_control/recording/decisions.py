"""What was decided during the run: detections, modes, verdict, faults, and the outcome of it all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from impact_control.recording.series import Recording
from impact_control.recording.topics import Topics, decisions_of_run, series_if_recorded
from impact_control.types import Vector


@dataclass(frozen=True)
class ModeInterval:
    """A time during which the controller stayed in one mode (`ante`, `interim`, `post`, …)."""

    mode: str
    start: float
    end: float


@dataclass(frozen=True)
class Verdict:
    """Last verdict of the classifier, in lower case words (`expected`, `unexpected`, `unknown`, …)."""

    impact: str
    post_impact: str
    reason: str


def detection_times(recording: Recording, topics: Topics) -> Vector:
    """(k,) [s] stamps of the samples on which impacts were detected."""
    events = decisions_of_run(recording, topics.events)
    # The event of an impact may come again, with the link that was isolated since.
    stamps: Vector = np.empty(0) if events is None else np.unique(events["stamp"])
    return stamps


def mode_history(recording: Recording, topics: Topics) -> tuple[ModeInterval, ...]:
    """Modes of the controller, in order; empty where it was not recorded."""
    reference = series_if_recorded(recording, topics.reference)
    if reference is None:
        return ()
    return mode_intervals(reference["stamp"], reference["mode"], _words(recording.constants(topics.reference)))


def mode_intervals(time: Vector, mode: NDArray[np.integer], names: Mapping[int, str]) -> tuple[ModeInterval, ...]:
    """Runs of equal mode, each until the next begins. `time`: (m,) [s], `mode`: (m,), `names` by number."""
    changes = np.flatnonzero(np.diff(mode)) + 1
    starts = [0, *changes.tolist()]
    ends = [*changes.tolist(), len(mode) - 1]
    return tuple(
        ModeInterval(names.get(int(mode[i]), f"mode {mode[i]}"), float(time[i]), float(time[j]))
        for i, j in zip(starts, ends, strict=True)
    )


def last_verdict(recording: Recording, topics: Topics) -> Verdict | None:
    """The verdict the classifier ended with, None where it gave none."""
    series = series_if_recorded(recording, topics.classification)
    if series is None:
        return None
    names = _words(recording.constants(topics.classification))
    return Verdict(
        impact=names.get(int(series["impact"][-1]), "unknown"),
        post_impact=names.get(int(series["post_impact"][-1]), "unknown"),
        reason=str(series["reason"][-1]),
    )


def last_fault(recording: Recording, topics: Topics) -> str:
    """Reason of the last fault the controller reported, empty if there was none."""
    status = series_if_recorded(recording, topics.status)
    if status is None:
        return ""
    faults = np.flatnonzero(status["fault"])
    return str(status["fault_reason"][faults[-1]]) or "no reason given" if faults.size else ""


def outcome_of(fault: str, detected: bool, verdict: Verdict | None) -> str:
    """Outcome of the task, as in the action ExecuteImpactTask, in lower case (`succeeded`, `no impact`, …)."""
    if fault:
        return "fault"
    if not detected:
        return "no impact"
    if verdict is None:
        return "undecided"
    if verdict.impact == "unexpected":
        return "impact unexpected"
    if verdict.post_impact == "unexpected":
        return "post impact unexpected"
    return "succeeded" if verdict.impact == verdict.post_impact == "expected" else "undecided"


def _words(constants: Mapping[str, int]) -> dict[int, str]:
    """Constants as lower-case words, by number."""
    return {number: name.lower().replace("_", " ") for name, number in constants.items()}
