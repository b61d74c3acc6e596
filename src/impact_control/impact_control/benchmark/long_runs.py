"""What long runs found, which are done apart: `impact-control endure`, with and without faults, and `make fuzz`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from impact_control.benchmark.endured import endured
from impact_control.benchmark.figure import Figure
from impact_control.benchmark.fuzzed import fuzzed
from impact_control.benchmark.long_run import FAULTS, FUZZING, SOAK, LongRun


def long_runs(directory: Path, commit: str) -> list[LongRun]:
    """Return one run of each kind that has a record in the directories below `directory`; commit: of the report."""
    found = (endured(directory, SOAK, commit), endured(directory, FAULTS, commit), fuzzed(directory, commit))
    return [run for run in found if run is not None]


def long_run_figures(runs: Sequence[LongRun]) -> list[Figure]:
    """Return the figures of all runs; of a kind without a record, that there is none."""
    done = {run.kind for run in runs}
    missing = [
        Figure(f"{kind}: no record", {"runs": 0}, "runs") for kind in (SOAK, FAULTS, FUZZING) if kind not in done
    ]
    return [*(figure for run in runs for figure in run.figures), *missing]


def soak_memory(runs: Sequence[LongRun]) -> Mapping[str, Sequence[tuple[float, float]]]:
    """Return the memory of the run without faults, by process: times [s] and own memory [MB]."""
    return {name: series for run in runs if run.kind == SOAK for name, series in run.memory.items()}
