"""How long all studies took, from the results that the last run of each left."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from impact_control.benchmark.figure import Figure
from impact_control.benchmark.long_run import same_commit
from impact_control.errors import MissingDependencyError
from impact_control.recording.trials import hdf5_library
from impact_control.studies.registry import available_studies
from impact_control.studies.results import RESULTS_FILE

MOST_MINUTES = 60.0
"""[min] that all studies may take."""

MINUTES, STUDIES, PER_CORE = "minutes", "studies", "largest part of the cores' time in trials"


def study_time(
    directory: Path, commit: str, names: Sequence[str] | None = None, cores: int | None = None
) -> list[Figure]:
    """Return a figure of the studies below `directory` that were run in full; nothing where there are none.

    commit: of the report it is for. names: of all studies. cores: of this machine. There is a target only where all
    were run, and where the trials of each took no more processor time than the cores had: else some were found from an
    earlier run, and the time says nothing.
    """
    names = available_studies() if names is None else names
    cores = os.cpu_count() or 1 if cores is None else cores
    runs = [run for run in (_run(directory / name / RESULTS_FILE) for name in names) if run is not None]
    if not runs:
        return []
    commits, seconds, trial_seconds = zip(*runs, strict=True)
    used = max(in_trials / (cores * by_clock) for in_trials, by_clock in zip(trial_seconds, seconds, strict=True))
    judged = len(runs) == len(names) and used <= 1.0
    mark = "" if all(same_commit(one, commit) for one in commits) else ", another commit"
    values = {MINUTES: sum(seconds) / 60.0, STUDIES: len(runs), PER_CORE: used}
    return [Figure(f"all studies{mark}", values, f"min, of {len(names)}", {MINUTES: MOST_MINUTES} if judged else {})]


def _run(file: Path) -> tuple[str, float, float] | None:
    """Return commit, time by the clock and processor time of the trials [s] of a study; None without a full run."""
    try:
        with hdf5_library().File(file) as results:
            made: Any = results["provenance"].attrs
            run = results["run"]
            if made["quick"]:
                return None
            return str(made["commit"]), float(run["seconds"][()]), float(run["trial_seconds"][()])
    except (OSError, KeyError, MissingDependencyError):
        return None
