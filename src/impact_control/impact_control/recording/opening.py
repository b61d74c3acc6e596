"""Open a recording of any format that can be read, told by the first bytes of its file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from impact_control.errors import ImpactControlError, InvalidInputError, RecordingError
from impact_control.recording.bag_run import open_mcap
from impact_control.recording.franka_log import open_log
from impact_control.recording.log_columns import LIBFRANKA, LogColumns
from impact_control.recording.recorded_run import RecordedFile
from impact_control.recording.sqlite_bag import SUFFIX, open_sqlite
from impact_control.recording.trial_run import open_trial

FORMATS = "a bag (directory, .mcap, .db3), trials (.h5), or a log in columns (.csv)"
"""What can be opened, in words."""

_MAGIC = {b"\x89MCAP0\r\n": "mcap", b"SQLite format 3\x00": "sqlite", b"\x89HDF\r\n\x1a\n": "hdf5"}
_SUFFIXES = {".mcap": "mcap", SUFFIX: "sqlite", ".h5": "hdf5", ".hdf5": "hdf5", ".csv": "log", ".txt": "log"}


def open_recording(path: Path, *, columns: LogColumns | None = None, trial: int = 0, joints: int = 7) -> RecordedFile:
    """Open a recording; the file is not changed.

    Args:
        path: a file, the directory of a bag, or one that holds it as `bag`.
        columns: of a log; None: those of libfranka.
        trial: number of the one that is meant, of a file with several.
        joints: of the arm, for a log.

    Raises:
        RecordingError: nothing is there, it is of another format, or nothing of it can be read.
        ScenarioError: a file of trials that is not whole.
    """
    try:
        kind = "log" if columns is not None and path.is_file() else _format(path)
        if kind == "mcap":
            return open_mcap(_bag(path))
        if kind == "sqlite":
            return open_sqlite(_bag(path))
        if kind == "hdf5":
            return open_trial(path, trial)
        return open_log(path, columns or LIBFRANKA, joints)
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
