"""Runs a study and writes what came out: one directory with the report, the results, and pictures."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from impact_control.errors import InterruptedByUserError, InvalidInputError
from impact_control.recording.hdf5 import hdf5_library
from impact_control.studies.computing import InThisProcess, Place, computing_at
from impact_control.studies.directories import writable_directory
from impact_control.studies.study import Progress, Study, StudyResult


@dataclass(frozen=True)
class StudyRun:
    """A study that ran.

    Attributes:
        study, result: what it is, and what came out.
        report: path of its page.
        body: what stands on the page.
        seconds: that it took by the clock.
        trial_seconds: processor time of its trials, those that were found from an earlier run included.
        found_seconds: of those alone.
    """

    study: Study
    result: StudyResult
    report: Path
    body: str
    seconds: float
    trial_seconds: float
    found_seconds: float


def run_study(
    study: Study,
    output: Path,
    *,
    seed: int = 0,
    quick: bool = False,
    progress: Progress | None = None,
    place: Place | None = None,
) -> StudyRun:
    """Run a study with its trials computed at `place`, by default in this process.

    Files go to `output`/`study.name`: report.html, results.h5, a PNG file for each figure, and its files of data;
    those of an earlier run are replaced. seed: at least 0. Raises InvalidInputError for a seed that cannot be or a
    directory that cannot be written to, MissingDependencyError without h5py, before anything runs,
    InterruptedByUserError when it is interrupted (Ctrl-C), and what the study raises.
    """
    # Late, so that listing the studies does not load drawing and scenarios.
    from impact_control.studies.provenance import provenance
    from impact_control.studies.report import REPORT_FILE, write_report
    from impact_control.studies.results import RESULTS_FILE, write_results

    if seed < 0:
        raise InvalidInputError("seed", seed, "at least 0")
    # First, so that a run of minutes does not end with nothing to write to.
    hdf5_library()
    directory = writable_directory(output / study.name, "output")
    origin = provenance(seed, quick)
    started = time.monotonic()
    try:
        with computing_at(place or InThisProcess()) as account:
            result = study.run(seed, quick, progress or _silent)
    except KeyboardInterrupt as interruption:
        raise InterruptedByUserError(
            f"study {study.name} interrupted; finished trials are kept, the same command goes on from there"
        ) from interruption
    for data in result.data:
        data.write(directory / data.name)
    body = write_report(study, result, directory, seed=seed, quick=quick)
    times = {
        "seconds": time.monotonic() - started,
        "trial_seconds": account.seconds,
        "found_seconds": account.found_seconds,
    }
    write_results(directory / RESULTS_FILE, study, result, origin, **times)
    return StudyRun(study, result, directory / REPORT_FILE, body, **times)


def _silent(_done: float, _text: str) -> None:
    """Show nothing."""
