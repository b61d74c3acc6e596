"""Duration of all studies, from the results of the last run of each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmark.figure import Figure
from benchmark.long_runs import same_commit
from impact_control.recording.trials import hdf5_library
from impact_control.util.errors import MissingDependencyError
from impact_studies.frame.results import RESULTS_FILE
from impact_studies.frame.runner import available_studies

MOST_MINUTES = 60.0
"""[min] that all studies may take."""

MINUTES, STUDIES, FOUND = "minutes", "studies", "minutes of the processor found from earlier runs"


def study_time(directory: Path, commit: str, names: Sequence[str] | None = None) -> list[Figure]:
    """Return a figure of the studies below `directory` that were run in full; nothing where there are none.

    commit: of the report it is for. names: of all studies. There is a target only where all were run, and no trial was
    found from an earlier run: else the time says nothing.
    """
    names = available_studies() if names is None else names
    runs = [run for run in (_run(directory / name / RESULTS_FILE) for name in names) if run is not None]
    if not runs:
        return []
    commits, seconds, found_seconds = zip(*runs, strict=True)
    judged = len(runs) == len(names) and not any(found_seconds)
    mark = "" if all(same_commit(one, commit) for one in commits) else ", another commit"
    values = {MINUTES: sum(seconds) / 60.0, STUDIES: len(runs), FOUND: sum(found_seconds) / 60.0}
    return [Figure(f"all studies{mark}", values, f"min, of {len(names)}", {MINUTES: MOST_MINUTES} if judged else {})]


def _run(file: Path) -> tuple[str, float, float] | None:
    """Return commit, time by the clock and of found trials [s] of a study; None without a full run that tells them."""
    try:
        with hdf5_library().File(file) as results:
            made: Any = results["provenance"].attrs
            run = results["run"]
            if made["quick"]:
                return None
            return str(made["commit"]), float(run["seconds"][()]), float(run["found_seconds"][()])
    except (OSError, KeyError, MissingDependencyError):
        return None
