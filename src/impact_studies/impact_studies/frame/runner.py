"""Finds the studies. Names come from the files; a module is imported only when its study is asked for."""

from __future__ import annotations

import importlib
import pkgutil
import time
from dataclasses import dataclass
from pathlib import Path

from impact_control.recording.trials import hdf5_library
from impact_control.util.errors import ImpactControlError, InterruptedByUserError, InvalidInputError
from impact_control.util.words import nearest
from impact_studies import catalogue
from impact_studies.frame.computing import InThisProcess, Place, computing_at
from impact_studies.frame.provenance import writable_directory
from impact_studies.frame.study import Progress, Study, StudyResult

ALL = "all"
"""Stands for all of them on the command line, and is the name of their directory."""


def available_studies() -> tuple[str, ...]:
    """Return the names of all studies, sorted."""
    modules = pkgutil.iter_modules(catalogue.__path__)
    return tuple(sorted(module.name for module in modules))


def find_study(name: str) -> Study:
    """Return the study of this name; hyphens count as underscores.

    Raises InvalidInputError for a name that is not known, MissingDependencyError when a package is not there.
    """
    known = available_studies()
    module_name = name.replace("-", "_")
    if module_name not in known:
        raise InvalidInputError("study", name, f"{ALL}, or one of {', '.join(known)}{nearest(name, known)}")
    study = getattr(importlib.import_module(f"{catalogue.__name__}.{module_name}"), "STUDY", None)
    if not isinstance(study, Study) or study.name != module_name:
        raise ImpactControlError(
            f"catalogue/{module_name}.py has to define STUDY, a Study with the name {module_name!r}"
        )
    return study


def find_studies(name: str) -> list[Study]:
    """Return the study of this name, or all for ALL. Raises what `find_study` raises."""
    if name == ALL:
        return [find_study(one) for one in available_studies()]
    return [find_study(name)]


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
    from impact_studies.frame.provenance import provenance
    from impact_studies.frame.report import REPORT_FILE, write_report
    from impact_studies.frame.results import RESULTS_FILE, write_results

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
