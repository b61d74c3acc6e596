"""Logs of joint samples as text in columns, such as `franka::logToCSV` of libfranka writes.

A small YAML file names columns and units of others, see docs/replay.md.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ruamel.yaml.error import YAMLError

from impact_control.recording.recorded_run import RecordedFile, RecordedRun, only_arm
from impact_control.util.errors import RecordingError
from impact_control.util.types import Matrix
from impact_control.util.yaml_text import parse_yaml

UNITS: Mapping[str, Mapping[str, float]] = {
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    "position": {"rad": 1.0, "deg": float(np.pi / 180.0)},
    "velocity": {"rad/s": 1.0, "deg/s": float(np.pi / 180.0)},
    "torque": {"Nm": 1.0},
}
"""Quantities of a log, and their units in s, rad, rad/s, Nm."""

_KEYS = ("delimiter", *UNITS)
_PLACE = "{}"


@dataclass(frozen=True)
class Column:
    """Columns of one quantity: a pattern in which {} stands for the number of the joint, or the names themselves.

    first: number of the first joint in a pattern. factor: from their unit to s, rad, rad/s or Nm.
    """

    names: str | tuple[str, ...]
    first: int
    factor: float

    def of(self, joints: int) -> tuple[str, ...]:
        """Return the names for an arm with so many joints."""
        if isinstance(self.names, str):
            return tuple(self.names.replace(_PLACE, str(self.first + joint)) for joint in range(joints))
        return self.names


@dataclass(frozen=True)
class LogColumns:
    """Columns of a log, and the delimiter between them."""

    time: Column
    position: Column
    velocity: Column
    torque: Column
    delimiter: str = ","


LIBFRANKA = LogColumns(
    Column(("time",), 0, 1e-3),
    Column("state.q[{}]", 0, 1.0),
    Column("state.dq[{}]", 0, 1.0),
    Column("state.tau_J[{}]", 0, 1.0),
)
"""Columns that `franka::logToCSV` of libfranka writes: times in ms, SI units else."""


def read_yaml(path: Path, allowed: str) -> Any:
    """Return the content of a YAML file. Raises RecordingError with what is allowed when it cannot be read."""
    try:
        return parse_yaml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise RecordingError(str(path), " ".join(str(error).split()), allowed) from error


def load_log_columns(path: Path) -> LogColumns:
    """Read a YAML file of columns. Raises RecordingError, which names the entry that is wrong and what is allowed."""
    content = read_yaml(path, "a YAML file that names columns")
    if not isinstance(content, Mapping):
        raise RecordingError(str(path), "no entries", f"entries {', '.join(_KEYS)}")
    for key in content:
        if key not in _KEYS:
            raise RecordingError(str(path), f"entry {key!r}", f"entries {', '.join(_KEYS)}")
    delimiter = content.get("delimiter", ",")
    if not isinstance(delimiter, str) or len(delimiter) != 1:
        raise RecordingError(str(path), f"delimiter = {delimiter!r}", "one character in quotes")
    columns = {key: _column(path, key, content.get(key)) for key in UNITS}
    return LogColumns(**columns, delimiter=delimiter)


def _column(path: Path, key: str, entry: Any) -> Column:
    if not isinstance(entry, Mapping) or not set(entry) <= {"column", "columns", "unit", "first"}:
        allowed = "column or columns, unit" + ("" if key == "time" else ", first")
        raise RecordingError(str(path), f"{key} = {entry!r}", allowed)
    unit = str(entry.get("unit"))
    if unit not in UNITS[key]:
        raise RecordingError(str(path), f"{key}.unit = {unit!r}", f"one of {', '.join(UNITS[key])}")
    first = entry.get("first", 1)
    if isinstance(first, bool) or not isinstance(first, int) or first < 0:
        raise RecordingError(str(path), f"{key}.first = {first!r}", "the number of the first joint, 0 or more")
    if key == "time":
        name = entry.get("column")
        if not isinstance(name, str):
            raise RecordingError(str(path), f"time.column = {name!r}", "the name of a column")
        return Column((name,), first, UNITS[key][unit])
    names = entry.get("columns")
    if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
        return Column(tuple(names), first, UNITS[key][unit])
    if not isinstance(names, str) or _PLACE not in names:
        allowed = "a list of names, or a name with {} for the number of the joint"
        raise RecordingError(str(path), f"{key}.columns = {names!r}", allowed)
    return Column(names, first, UNITS[key][unit])


def open_log(path: Path, columns: LogColumns, joints: int) -> RecordedFile:
    """Open a log of an arm, as far as it is whole: rows with another number of cells than the header are left out.

    Cells that are no number become NaN. Times count from the first row that has one. Raises RecordingError when a
    column is missing, or no row is whole.
    """
    names = [*columns.time.names]
    quantities = (columns.position, columns.velocity, columns.torque)
    for column in quantities:
        own = column.of(joints)
        if len(own) != joints:
            raise RecordingError(str(path), f"{len(own)} columns: {', '.join(own)}", f"{joints}, one a joint")
        names += own
    values, notes = _numbers(path, names, columns.delimiter)
    time = values[:, 0] * columns.time.factor
    if np.isfinite(time).any():
        time = time - time[np.isfinite(time)][0]
    position, velocity, torque = (
        values[:, 1 + k * joints : 1 + (k + 1) * joints] * column.factor for k, column in enumerate(quantities)
    )
    return RecordedFile(
        path, "log in columns", "", "", notes, only_arm(path, RecordedRun(time, (), position, velocity, torque))
    )


def _numbers(path: Path, names: list[str], delimiter: str) -> tuple[Matrix, tuple[str, ...]]:
    """Return the columns (m, k) of these names, and what could not be read."""
    text = path.read_text(encoding="utf-8", errors="replace")
    lines, notes = text.splitlines(), []
    if lines and not text.endswith(("\n", "\r")):
        lines.pop()
        notes.append("its last line was cut off and is left out")
    rows, failed, odd = [], "", 0
    header: list[str] = []
    try:
        for cells in csv.reader(lines, delimiter=delimiter):
            if not header:
                header = [cell.strip() for cell in cells]
                places = _places(path, header, names)
            elif len(cells) == len(header):
                rows.append([_number(cells[place]) for place in places])
            elif cells:
                odd += 1
    except csv.Error as error:
        failed = f"it cannot be read after row {len(rows) + odd}: {error}"
    notes += [f"{odd} rows with another number of cells than the header are left out"] if odd else []
    notes += [failed] if failed else []
    if not rows:
        raise RecordingError(str(path), "; ".join(notes) or "no rows", "a header with names, and rows with numbers")
    return np.array(rows), tuple(notes)


def _places(path: Path, header: list[str], names: list[str]) -> list[int]:
    missing = [name for name in names if name not in header]
    if missing:
        found = f"no column {', '.join(missing[:3])}{' ...' if len(missing) > 3 else ''}"
        shown = ", ".join(header[:12]) + (", ..." if len(header) > 12 else "")
        raise RecordingError(str(path), found, f"names of its columns, {shown}: say which in the file of --columns")
    return [header.index(name) for name in names]


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan
