"""Results of a study as one HDF5 file, described in docs/lab/studies.md; it is readable without this package."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_control.recording.trials import hdf5_library, new_hdf5
from impact_studies.frame.study import Cell, Column, Comparison, Mark, Study, StudyResult, columns

RESULTS_FILE = "results.h5"
FORMAT = "impact_control.study"
"""Attribute `format` of the file."""

FORMAT_VERSION = 1
"""Attribute `format_version` of the file."""

_COMPARED = columns(
    ("where", "what", "published", "own", "published number", "own number", "difference", "unit", "verdict")
)

VERDICTS = {Mark.GOOD: "holds", Mark.BAD: "does not hold", Mark.PLAIN: ""}
"""Verdict on a comparison; empty where the source does not say how close ours has to be."""


def write_results(
    path: Path,
    study: Study,
    result: StudyResult,
    origin: Mapping[str, str | int | bool],
    *,
    seconds: float,
    trial_seconds: float,
    found_seconds: float,
) -> None:
    """Write what came out of a study, with units and its origin; a file of the same name is replaced.

    origin: see `provenance`. seconds: that this run took by the clock. trial_seconds: processor time of all its trials,
    those that were found from an earlier run included; found_seconds: of those alone. Raises MissingDependencyError
    without h5py, InvalidInputError for a path that cannot be written.
    """
    with new_hdf5(path) as file:
        file.attrs.update(format=FORMAT, format_version=FORMAT_VERSION)
        file.attrs.update(study=study.name, title=study.title, source=study.source, shows=study.shows)
        file.attrs.update(verdict=result.verdict, holds=result.holds)
        file.create_group("provenance").attrs.update(origin)
        run = file.create_group("run")
        run.attrs["finished"] = datetime.now(UTC).isoformat(timespec="seconds")
        times = {"seconds": seconds, "trial_seconds": trial_seconds, "found_seconds": found_seconds}
        for name, value in times.items():
            run[name] = value
            run[name].attrs["unit"] = "s"
        file["findings"] = _texts([finding.text for finding in result.findings])
        file["assumptions"] = _texts(result.assumptions)
        _write_rows(file, "comparisons", _COMPARED, [_compared(one) for one in result.comparisons])
        tables = file.create_group("tables")
        for table in result.tables:
            dataset = _write_rows(tables, table.name, table.columns, table.rows)
            dataset.attrs.update(title=table.title, note=table.note)


def _compared(one: Comparison) -> tuple[Cell, ...]:
    both = (one.published, one.own)
    numbers = (None if isinstance(value, str) else value for value in both)
    return (one.where, one.what, *map(str, both), *numbers, one.difference, one.unit, VERDICTS[one.mark])


def _write_rows(group: Any, name: str, head: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> Any:
    """Write a table as one dataset with a field a column: integers, numbers (NaN: nothing), or texts."""
    fields = _field_names(head)
    cells = [[row[j] for row in rows] for j in range(len(head))]
    values = [_values(column) for column in cells]
    kinds = [one.dtype if one.dtype.kind in "if" else hdf5_library().string_dtype() for one in values]
    data = np.empty(len(rows), dtype=np.dtype(list(zip(fields, kinds, strict=True))))
    for field, one in zip(fields, values, strict=True):
        data[field] = one
    dataset = group.create_dataset(name, data=data)
    dataset.attrs["units"] = _texts([column.unit for column in head])
    return dataset


def _field_names(head: Sequence[Column]) -> list[str]:
    """Return the names of the columns in one line, each once: the second of the same name gets a (2)."""
    seen: Counter[str] = Counter()
    found = []
    for column in head:
        name = " ".join(column.name.split())
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def _values(cells: Sequence[Cell]) -> NDArray[Any]:
    if cells and all(isinstance(cell, int) for cell in cells):
        return np.array(cells, dtype=np.int64)
    if any(isinstance(cell, str) for cell in cells):
        return _texts(["" if cell is None else str(cell) for cell in cells])
    return np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)


def _texts(texts: Sequence[str]) -> NDArray[Any]:
    return np.array(texts, dtype=hdf5_library().string_dtype())
