"""Tunes and judges on all cores; what comes of each experiment is kept beside the trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from impact_control.classification import ClassifierParameters, GrayArea, SearchGrid
from impact_control.studies.classification.evaluation import Experiment, Outcome, evaluate
from impact_control.studies.classification.sweep import Sweep, SweptImpact, run_sweep
from impact_control.studies.study import Progress
from impact_control.studies.trials import from_arrays, run_trials, trials_directory

Part = TypeVar("Part")

_EACH = ("tilts", "unexpected", "impact_unexpected", "behaviour_unexpected", "decided_after")


@dataclass(frozen=True)
class Judging:
    """An experiment, the grid its tuner searches, and the trials: sweeps tuned on and judged, seeds of their noise."""

    experiment: Experiment
    grid: SearchGrid
    tuned_on: Sweep
    tuned_seed: int
    judged: Sweep
    judged_seed: int


def run_judgings(cases: Sequence[Judging], progress: Progress) -> list[Outcome]:
    """Return what comes of each of `cases`, in their order. Their trials are best there already, see `run_sweep`."""
    results = run_trials(judge_case, cases, trials_directory("proper_classification"), progress)
    return [_outcome(case.experiment, arrays) for case, arrays in zip(cases, results, strict=True)]


def judge_case(case: Judging) -> Mapping[str, NDArray[Any]]:
    """Return the attributes of the `Outcome` by name, those of its parameters and its tuned area behind their names."""
    tool = case.experiment.end_effector
    tuned_on, judged = _trials(case.tuned_on, tool, case.tuned_seed), _trials(case.judged, tool, case.judged_seed)
    outcome = evaluate(case.experiment, tuned_on, judged, case.grid)
    parts = {name: getattr(outcome, name) for name in ("parameters", "tuned")}
    arrays = {f"{name} {key}": np.asarray(value) for name, part in parts.items() for key, value in vars(part).items()}
    return {**arrays, **{name: getattr(outcome, name) for name in _EACH}}


@lru_cache(maxsize=4)
def _trials(sweep: Sweep, end_effector: str, seed: int) -> tuple[SweptImpact, ...]:
    """Return the trials of a sweep; several experiments of one process look at the same."""
    return tuple(run_sweep(sweep.points(end_effector, seed), lambda done, text: None))


def _outcome(experiment: Experiment, arrays: Mapping[str, NDArray[Any]]) -> Outcome:
    def part(kind: type[Part], name: str) -> Part:
        start = f"{name} "
        return from_arrays(kind, {key.removeprefix(start): v for key, v in arrays.items() if key.startswith(start)})

    each = {name: arrays[name] for name in _EACH}
    return Outcome(experiment, part(ClassifierParameters, "parameters"), part(GrayArea, "tuned"), **each)
