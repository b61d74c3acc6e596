"""Read logs of joint samples as text in columns, such as `franka::logToCSV` of libfranka writes."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from impact_control.errors import RecordingError
from impact_control.recording.log_columns import LogColumns
from impact_control.recording.recorded_run import RecordedFile, RecordedRun, only_arm
from impact_control.types import Matrix


def open_log(path: Path, columns: LogColumns, joints: int) -> RecordedFile:
    """Open a log, as far as it is whole: rows with more or fewer cells than the header are left out and counted.

    Cells that are no number become NaN. Times count from the first row that has one.

    joints: of the arm. Raises RecordingError when a column is missing, or no row is whole.
    """
    wanted = [*columns.time.names]
    for column in (columns.position, columns.velocity, columns.torque):
        names = column.of(joints)
        if len(names) != joints:
            raise RecordingError(str(path), f"{len(names)} columns: {', '.join(names)}", f"{joints}, one a joint")
        wanted += names
    values, notes = _numbers(path, wanted, columns.delimiter)
    time = values[:, 0] * columns.time.factor
    if np.isfinite(time).any():
        time = time - time[np.isfinite(time)][0]
    position, velocity, torque = (
        values[:, 1 + k * joints : 1 + (k + 1) * joints] * column.factor
        for k, column in enumerate((columns.position, columns.velocity, columns.torque))
    )
    run = RecordedRun(time, (), position, velocity, torque)
    return RecordedFile(path, "log in columns", "", "", notes, only_arm(path, run))


def _numbers(path: Path, wanted: list[str], delimiter: str) -> tuple[Matrix, tuple[str, ...]]:
    """Return the wanted columns (m, k), and what could not be read."""
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = text.splitlines()
    notes = []
    if lines and not text.endswith(("\n", "\r")):
        lines.pop()
        notes.append("its last line was cut off and is left out")
    rows, failed, odd = [], "", 0
    header: list[str] = []
    try:
        for cells in csv.reader(lines, delimiter=delimiter):
            if not header:
                header = [cell.strip() for cell in cells]
                places = _places(path, header, wanted)
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


def _places(path: Path, header: list[str], wanted: list[str]) -> list[int]:
    missing = [name for name in wanted if name not in header]
    if missing:
        shown = ", ".join(header[:12]) + (", ..." if len(header) > 12 else "")
        raise RecordingError(
            str(path),
            f"no column {', '.join(missing[:3])}{' ...' if len(missing) > 3 else ''}",
            f"names of its columns, {shown}: say which in the file of --columns",
        )
    return [header.index(name) for name in wanted]


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")
