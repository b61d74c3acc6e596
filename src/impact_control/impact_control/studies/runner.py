"""Runs a study and writes what came out: one directory with the report, tables as CSV, and pictures."""

from __future__ import annotations

import csv
from pathlib import Path

from impact_control.errors import InterruptedByUserError, InvalidInputError
from impact_control.studies.study import Progress, Study, StudyResult, Table


def run_study(
    study: Study, output: Path, *, seed: int = 0, quick: bool = False, progress: Progress | None = None
) -> tuple[StudyResult, Path]:
    """Run a study and return its result and the path of its report.

    Files go to `output`/`study.name`: report.html, a CSV file for each table, a PNG file for each figure, and its
    files of data; those of an earlier run are replaced. seed: at least 0. Raises InvalidInputError for a seed or a
    directory that cannot be, before anything runs, ImpactControlError when it is interrupted (Ctrl-C), and what the
    study raises.
    """
    # Late, so that listing the studies does not load the drawing library.
    from impact_control.studies.report import write_report

    if seed < 0:
        raise InvalidInputError("seed", seed, "at least 0")
    directory = output / study.name
    # First, so that a run of minutes does not end with nothing to write to.
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError("output", str(output), f"a directory to write to; {error.strerror}") from error
    try:
        result = study.run(seed, quick, progress or _silent)
    except KeyboardInterrupt as interruption:
        raise InterruptedByUserError(
            f"study {study.name} interrupted; finished trials are kept, the same command goes on from there"
        ) from interruption
    for table in result.tables:
        write_csv(table, directory / f"{table.name}.csv")
    for data in result.data:
        data.write(directory / data.name)
    return result, write_report(study, result, directory, seed=seed, quick=quick)


def write_csv(table: Table, path: Path) -> None:
    """Write a table with all digits; empty cells where there is nothing."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(column.heading for column in table.columns)
        writer.writerows(table.rows)


def _silent(_done: float, _text: str) -> None:
    """Show nothing."""
