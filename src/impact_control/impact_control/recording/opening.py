"""Readers of recordings: one entry for every format, recognised by the first bytes of the file."""

from __future__ import annotations

import sqlite3
from functools import partial
from pathlib import Path

import numpy as np

from impact_control.recording import measures
from impact_control.recording.bag import storage_files, summary_of
from impact_control.recording.log import LIBFRANKA, LogColumns, open_log
from impact_control.recording.recorded_run import OF_JOINTS, RecordedEvent, RecordedFile, RecordedReference, RecordedRun
from impact_control.recording.series import METADATA_NAME, Recording, Topics, read_bag
from impact_control.recording.sqlite_bag import SUFFIX, read_sqlite
from impact_control.recording.trials import Trial, read_trials
from impact_control.util.errors import ImpactControlError, InvalidInputError, RecordingError

FORMATS = "a bag (directory, .mcap, .db3), trials (.h5), or a log in columns (.csv)"
"""Readable formats, in words."""

SIGNALS = {"joint_position": "rad", "joint_velocity": "rad/s", "joint_torque": "Nm"}
"""Signals (m, n) of a source of a trial that can be replayed, in the order of the robot, and their units."""


CONTACT_FACT, EXPECTED_FACT = "contact_time", "as_expected"
"""Facts of a trial: time of the first true contact [s]; its label, 1 for as expected and 0 for not."""

DEFAULT_SOURCE = "arm"

_TRIALS = "trial in HDF5"

_MAGIC = {b"\x89MCAP0\r\n": "mcap", b"SQLite format 3\x00": "sqlite", b"\x89HDF\r\n\x1a\n": "hdf5"}
_SUFFIXES = {".mcap": "mcap", SUFFIX: "sqlite", ".h5": "hdf5", ".hdf5": "hdf5", ".csv": "log", ".txt": "log"}


def open_recording(path: Path, *, columns: LogColumns | None = None, trial: int = 0, joints: int = 7) -> RecordedFile:
    """Open a recording; the file is not changed.

    Args:
        path: a file, the directory of a bag, or one that holds it as `bag`.
        columns: of a log; None: those of libfranka.
        trial: number, from 0, in a file with several; 0 for any other.
        joints: of the arm, for a log.

    Raises:
        RecordingError: nothing is there, it is of another format, or nothing of it can be read.
        ScenarioError: a file of trials that is not whole.
    """
    files = open_recordings(path, columns=columns, joints=joints)
    if not 0 <= trial < len(files):
        numbered = all(file.format == _TRIALS for file in files)
        allowed = f"0 to {len(files) - 1}" if numbered else "0: only trials in HDF5 have numbers"
        raise RecordingError(str(path), f"no trial {trial}", allowed)
    return files[trial]


def open_recordings(path: Path, *, columns: LogColumns | None = None, joints: int = 7) -> list[RecordedFile]:
    """Open each trial of an HDF5 file, or the one recording. Arguments and errors as `open_recording`."""
    try:
        kind = "log" if columns is not None and path.is_file() else _format(path)
        if kind == "hdf5":
            return open_trials(path)
        if kind == "log":
            return [open_log(path, columns or LIBFRANKA, joints)]
        bag = _bag(path)
        return [_open_mcap(bag) if kind == "mcap" else _open_bag(bag, "sqlite3 bag", *read_sqlite(bag))]
    except InvalidInputError as error:
        raise RecordingError(str(path), str(error), FORMATS) from error
    except ImpactControlError:
        raise
    except (OSError, ValueError, sqlite3.Error) as error:
        raise RecordingError(str(path), " ".join(str(error).split()), FORMATS) from error


def _bag(path: Path) -> Path:
    return path / "bag" if (path / "bag").is_dir() else path


def _format(path: Path) -> str:
    if path.is_dir():
        names = {file.suffix for file in _bag(path).iterdir()}
        for suffix in (".mcap", SUFFIX):
            if suffix in names:
                return _SUFFIXES[suffix]
        raise RecordingError(str(path), "a directory without a bag", "one with files .mcap or .db3, or with such a bag")
    if not path.is_file():
        raise RecordingError(str(path), "no such file", FORMATS)
    with path.open("rb") as file:
        head = file.read(max(map(len, _MAGIC)))
    found = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "")
    cut = any(magic.startswith(head) for magic in _MAGIC)
    kind = found or _SUFFIXES.get(path.suffix.lower(), "")
    if not kind or (kind != "log" and not found and not cut):
        raise RecordingError(str(path), "neither the beginning nor the name of a format that is known", FORMATS)
    return kind


# ---------------------------------------------------------------------- bags, of our recorder or any other


def _open_mcap(path: Path) -> RecordedFile:
    recording = read_bag(path)
    torn = [file.name for file in ([path] if path.is_file() else storage_files(path)) if summary_of(file) is None]
    cut = [f"{name} was cut off: read up to its last whole record" for name in torn]
    return _open_bag(path, "MCAP bag", recording, [*cut, *recording.notes])


def _open_bag(path: Path, form: str, recording: Recording, notes: list[str]) -> RecordedFile:
    def arm(name: str) -> RecordedRun:
        try:
            return _run_of_bag(recording.of_arm(name))
        except InvalidInputError as error:
            allowed = "a bag with the joint states of the arm, all of them"
            raise RecordingError(str(path), str(error), allowed) from error

    scenario = recording.metadata.get(METADATA_NAME, {}).get("scenario", "")
    try:
        name = recording.scenario_name
    except InvalidInputError:  # several arms, or messages of another layout: the scenario is not named
        name = ""
    return RecordedFile(path, form, scenario, name, tuple(notes), arm)


def _run_of_bag(recording: Recording) -> RecordedRun:
    states = recording.series(Topics.joint_states)
    notes: list[str] = []
    try:
        commands = measures.commanded_torque(recording)
    except InvalidInputError:  # topics of others end like ours
        commands = None
    return RecordedRun(
        time=states["stamp"],
        names=list(states["name"]),
        position=states["position"],
        velocity=states["velocity"],
        torque=states["effort"],
        reference=_reference(recording, notes),
        events=_events(recording),
        verdict=measures.last_verdict(recording),
        contact_time=measures.true_impact_time(recording),
        residual=measures.column(recording, Topics.external_torque, "external_torque"),
        commands=commands,
        notes=tuple(notes),
    )


def _reference(recording: Recording, notes: list[str]) -> RecordedReference | None:
    series = recording.get(Topics.reference)
    if series is None:
        return None
    rows = (*OF_JOINTS, "force")
    names = (*rows, "mode", "task_time", "nominal_impact_time", "height_deviation")
    fields = {name: name.replace("_velocity", "_joint_velocity") for name in names}
    if lacking := [field for field in fields.values() if field not in series]:
        notes.append(f"{Topics.reference} of another version lacks {', '.join(lacking)} and is left out")
        return None
    joints = {tuple(names) for names in series["joint_names"]}
    columns = {name: series[field] for name, field in fields.items()}
    if len(joints) != 1 or not all(isinstance(columns[row], np.ndarray) and columns[row].ndim == 2 for row in rows):
        notes.append(f"{Topics.reference} changes its layout and is left out")
        return None
    return RecordedReference(time=series["stamp"], names=joints.pop(), **columns)


def _events(recording: Recording) -> tuple[RecordedEvent, ...] | None:
    """Return the impacts; None if neither they nor anything of the detector was recorded."""
    series = recording.decisions(Topics.events)
    if series is None:
        return () if Topics.external_torque in recording else None
    # The event of an impact may come again, with the link that was isolated since: the last one is the most complete.
    last = {float(stamp): row for row, stamp in enumerate(series["stamp"])}
    return tuple(
        RecordedEvent(stamp, float(series["impact_time"][row]), int(series["isolated_link"][row]))
        for stamp, row in sorted(last.items())
    )


# ---------------------------------------------------------------------- trials in HDF5, see docs/recordings.md


def open_trials(path: Path) -> list[RecordedFile]:
    """Open all trials of a file. Raises ScenarioError as `read_trials`."""
    trials = read_trials(path)
    return [
        RecordedFile(path, _TRIALS, trials.scenario, "", (), partial(_run_of_trial, path, trial))
        for trial in trials.trials
    ]


def _run_of_trial(path: Path, trial: Trial, arm: str) -> RecordedRun:
    name = f"{DEFAULT_SOURCE}_{arm}" if arm else DEFAULT_SOURCE
    source = trial.sources.get(name) or trial.sources.get(arm)
    signals = {} if source is None else source.signals
    if source is None or any(key not in signals or signals[key].unit != unit for key, unit in SIGNALS.items()):
        found = "; ".join(f"{key}: {', '.join(signals.signals)}" for key, signals in trial.sources.items())
        allowed = ", ".join(f"{key} [{unit}]" for key, unit in SIGNALS.items())
        raise RecordingError(str(path), f"sources {found or 'none'}", f"a source {name} with {allowed}")
    contact, expected = trial.facts.get(CONTACT_FACT), trial.facts.get(EXPECTED_FACT)
    position, velocity, torque = (signals[key].values for key in SIGNALS)
    return RecordedRun(
        source.time,
        (),
        position,
        velocity,
        torque,
        contact_time=None if contact is None else float(contact.values),
        as_expected=None if expected is None else bool(expected.values),
    )
