"""Joint samples of a trial in an HDF5 file, see docs/recordings.md for its layout."""

from __future__ import annotations

from pathlib import Path

from impact_control.errors import RecordingError
from impact_control.recording.recorded_run import RecordedFile, RecordedRun
from impact_control.recording.trials import Trial, read_trials

SIGNALS = {"joint_position": "rad", "joint_velocity": "rad/s", "joint_torque": "Nm"}
"""Signals (m, n) of a source that can be replayed, in the order of the robot, and their units."""

CONTACT_FACT = "contact_time"
"""Fact of a trial: time of the first true contact [s]."""

DEFAULT_SOURCE = "arm"


def open_trial(path: Path, number: int) -> RecordedFile:
    """Open a trial by its number, from 0. Raises RecordingError, and ScenarioError as `read_trials`."""
    trials = read_trials(path)
    if not 0 <= number < len(trials.trials):
        raise RecordingError(str(path), f"no trial {number}", f"0 to {len(trials.trials) - 1}")
    trial = trials.trials[number]
    return RecordedFile(path, "trial in HDF5", trials.scenario, "", (), lambda arm: _run(path, trial, arm))


def _run(path: Path, trial: Trial, arm: str) -> RecordedRun:
    name = f"{DEFAULT_SOURCE}_{arm}" if arm else DEFAULT_SOURCE
    source = trial.sources.get(name) or trial.sources.get(arm)
    signals = {} if source is None else source.signals
    wrong = [key for key, unit in SIGNALS.items() if key not in signals or signals[key].unit != unit]
    if source is None or wrong:
        found = "; ".join(f"{key}: {', '.join(signals.signals)}" for key, signals in trial.sources.items())
        allowed = ", ".join(f"{key} [{unit}]" for key, unit in SIGNALS.items())
        raise RecordingError(str(path), f"sources {found or 'none'}", f"a source {name} with {allowed}")
    contact = trial.facts.get(CONTACT_FACT)
    return RecordedRun(
        source.time,
        (),
        signals["joint_position"].values,
        signals["joint_velocity"].values,
        signals["joint_torque"].values,
        contact_time=None if contact is None else float(contact.values),
    )
