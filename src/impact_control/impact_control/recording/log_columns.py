"""Which columns of a log hold time and joint samples, and in which units: a small YAML file, see docs/replay.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ruamel.yaml.error import YAMLError

from impact_control.errors import RecordingError
from impact_control.yaml_text import parse_yaml

UNITS: Mapping[str, Mapping[str, float]] = {
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    "position": {"rad": 1.0, "deg": float(np.pi / 180.0)},
    "velocity": {"rad/s": 1.0, "deg/s": float(np.pi / 180.0)},
    "torque": {"Nm": 1.0},
}
"""Quantities of a log, and what one of each unit is in s, rad, rad/s, Nm."""

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
    """The columns of a log, and what stands between two of them."""

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
"""What `franka::logToCSV` of libfranka writes: times in ms, SI units else."""


def load_log_columns(path: Path) -> LogColumns:
    """Read such a file. Raises RecordingError, which names the entry that is wrong and what is allowed."""
    try:
        content = parse_yaml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise RecordingError(str(path), " ".join(str(error).split()), "a YAML file that names columns") from error
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
    allowed = "column or columns, unit" + ("" if key == "time" else ", first")
    if not isinstance(entry, Mapping) or not set(entry) <= {"column", "columns", "unit", "first"}:
        raise RecordingError(str(path), f"{key} = {entry!r}", allowed)
    unit = str(entry.get("unit"))
    if unit not in UNITS[key]:
        raise RecordingError(str(path), f"{key}.unit = {unit!r}", f"one of {', '.join(UNITS[key])}")
    first = entry.get("first", 1)
    if isinstance(first, bool) or not isinstance(first, int) or first < 0:
        raise RecordingError(str(path), f"{key}.first = {first!r}", "the number of the first joint, 0 or more")
    if key == "time":
        names: object = entry.get("column")
        if not isinstance(names, str):
            raise RecordingError(str(path), f"time.column = {names!r}", "the name of a column")
        return Column((names,), first, UNITS[key][unit])
    names = entry.get("columns")
    if isinstance(names, str) and _PLACE in names:
        return Column(names, first, UNITS[key][unit])
    if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
        return Column(tuple(names), first, UNITS[key][unit])
    raise RecordingError(
        str(path), f"{key}.columns = {names!r}", "a list of names, or a name with {} for the number of the joint"
    )
