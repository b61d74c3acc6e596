"""Verdicts of classifiers on many trials: share called expected at each tilt, gray area, tuning and targets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from impact_control.classification import (
    TUNED,
    Algorithm,
    GrayArea,
    RecordedImpact,
    SearchGrid,
    gray_area,
    is_unexpected,
    tune,
)
from impact_control.robots import load_robot
from impact_control.scenario import Classification
from impact_control.util.types import Vector
from impact_studies.classification.sweep import ACCEPTABLE, EDGE, SPHERE, Sweep, run_sweep
from impact_studies.classification.trial import SweptImpact
from impact_studies.frame.study import OWN_TARGET, Comparison, Progress
from impact_studies.frame.trials import from_arrays, run_trials, trials_directory


@dataclass(frozen=True, eq=False)
class Verdicts:
    """tilts (k,) [deg] and unexpected (k,) of each trial; acceptable: lowest and highest tilt [deg] to be expected."""

    tilts: Vector
    unexpected: NDArray[np.bool_]
    acceptable: tuple[float, float]

    @property
    def area(self) -> GrayArea:
        """The gray area."""
        return gray_area(self.tilts, self.unexpected, self.acceptable)

    @property
    def judged_acceptable(self) -> int:
        """Number of acceptable trials."""
        return int(np.sum(self._acceptable))

    @property
    def false_alarms(self) -> int:
        """Number of these that were called unexpected."""
        return int(np.sum(self.unexpected & self._acceptable))

    @property
    def shares(self) -> dict[float, float]:
        """Share of trials that were called expected, by tilt [deg]."""
        return {float(tilt): float(np.mean(~self.unexpected[self.tilts == tilt])) for tilt in np.unique(self.tilts)}

    def share(self, tilt: float) -> float:
        """Return the share at a tilt [deg]; NaN where there is no trial."""
        return self.shares.get(tilt, math.nan)

    @property
    def outside(self) -> tuple[list[float], list[float]]:
        """Tilts [deg] below and above the acceptable ones, the nearest first."""
        tilts = sorted(self.shares)
        low, high = self.acceptable
        return [tilt for tilt in tilts if tilt < low][::-1], [tilt for tilt in tilts if tilt > high]

    @property
    def always_expected(self) -> list[float]:
        """Tilts [deg] outside the acceptable ones at which every trial was called expected."""
        shares = self.shares
        return sorted(tilt for side in self.outside for tilt in side if shares[tilt] == 1.0)

    @property
    def rises(self) -> list[float]:
        """Tilts [deg] outside the acceptable ones where more is called expected than a step nearer to them."""
        shares = self.shares
        return [b for side in self.outside for a, b in pairwise(side) if shares[b] > shares[a]]

    @property
    def whole_degrees(self) -> Verdicts:
        """Those on tilts of whole degrees alone."""
        whole = self.tilts == np.round(self.tilts)
        return Verdicts(self.tilts[whole], self.unexpected[whole], self.acceptable)

    @property
    def _acceptable(self) -> NDArray[np.bool_]:
        low, high = self.acceptable
        return np.asarray((self.tilts >= low) & (self.tilts <= high))


def degrees(width: float) -> str:
    """Return a side of the gray area [deg] as it is shown."""
    return f"{width:g}" if math.isfinite(width) else "does not end"


GRID = SearchGrid(
    window_lengths=(6, 10, 15, 20, 25, 30, 40),
    decay_rates=(5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0),
    post_impact_times=(0.08, 0.1, 0.12),
    margin_reserve=float(load_robot("planar_rrr", SPHERE).noise.velocity.max()),
)
"""Search grid; t_xi about the 100 ms that the joints ring (Proper 2021, 4.1.3). Noise moves a velocity by its
half-width at most, (3.5): by so much an envelope may leave zero where no trial tuned on did."""

NO_RESERVE = replace(GRID, reserve=0.0, margin_reserve=0.0)
"""The same with every threshold at the largest value of an acceptable trial that was tuned on."""

_ANY = 1e6
"""A threshold that nothing reaches."""


@dataclass(frozen=True)
class Experiment:
    """One figure of the source, or a variant of ours: end-effector, algorithm, acceptable tilts [deg]."""

    figure: str
    end_effector: str
    algorithm: Algorithm
    acceptable: tuple[float, float]

    @property
    def published(self) -> bool:
        """True for a figure of the source."""
        return self.algorithm is not Algorithm.COMPLETION

    @property
    def title(self) -> str:
        """Figure of the source, end-effector and algorithm."""
        algorithm = "completion" if self.algorithm is Algorithm.COMPLETION else self.algorithm.value
        return f"{self.figure.split(',')[0]}: {self.end_effector.removeprefix('planar_')}, {algorithm}"


_SINGLE, _PRINTED, _COMPLETION = Algorithm.SINGLE, Algorithm.SIMULTANEOUS, Algorithm.COMPLETION

EXPERIMENTS = (
    Experiment("4.12", SPHERE, _SINGLE, ACCEPTABLE[0]),
    Experiment("4.13", SPHERE, _SINGLE, ACCEPTABLE[1]),
    Experiment("4.14", SPHERE, _SINGLE, ACCEPTABLE[2]),
    Experiment("4.15", EDGE, _PRINTED, ACCEPTABLE[0]),
    Experiment("4.16", EDGE, _PRINTED, ACCEPTABLE[1]),
    Experiment("4.17", EDGE, _PRINTED, ACCEPTABLE[2]),
    Experiment("4.15, completion", EDGE, _COMPLETION, ACCEPTABLE[0]),
    Experiment("4.16, completion", EDGE, _COMPLETION, ACCEPTABLE[1]),
    Experiment("4.17, completion", EDGE, _COMPLETION, ACCEPTABLE[2]),
    Experiment("4.18", SPHERE, _PRINTED, ACCEPTABLE[0]),
    Experiment("4.19", SPHERE, _PRINTED, ACCEPTABLE[1]),
    Experiment("4.20", SPHERE, _PRINTED, ACCEPTABLE[2]),
)


@dataclass(frozen=True, eq=False)
class Outcome:
    """Result of an experiment.

    tuned: gray area of the trials tuned on. Of each of the others: tilts (k,) [deg]; unexpected (k,); impact_unexpected
    and behaviour_unexpected (k,), if only the impacts, by zeta, epsilon, t_int, and the completion, or only the
    behaviour after them, by e_eta, could be unexpected: parts (a) and (b) of the figures; decided_after (k,) [s] from
    the detection of the first impact.
    """

    experiment: Experiment
    parameters: Classification
    tuned: GrayArea
    tilts: Vector
    unexpected: NDArray[np.bool_]
    impact_unexpected: NDArray[np.bool_]
    behaviour_unexpected: NDArray[np.bool_]
    decided_after: Vector

    @property
    def overall(self) -> Verdicts:
        """The verdicts as they are."""
        return Verdicts(self.tilts, self.unexpected, self.experiment.acceptable)

    @property
    def impacts(self) -> Verdicts:
        """Those by the impacts alone."""
        return Verdicts(self.tilts, self.impact_unexpected, self.experiment.acceptable)

    @property
    def behaviour(self) -> Verdicts:
        """Those by the behaviour alone."""
        return Verdicts(self.tilts, self.behaviour_unexpected, self.experiment.acceptable)


def evaluate(
    experiment: Experiment, tuned_on: Sequence[SweptImpact], reported_on: Sequence[SweptImpact], grid: SearchGrid = GRID
) -> Outcome:
    """Tune on the trials of one set and judge those of the other."""
    tool = experiment.end_effector
    training = [trial for trial in tuned_on if trial.point.end_effector == tool]
    others = [trial for trial in reported_on if trial.point.end_effector == tool and len(trial.impact_times)]
    parameters, tuned = tune(training, experiment.acceptable, experiment.algorithm, grid)
    tilts = np.array([trial.deviation for trial in others])
    unexpected, times = _answers(others, parameters, experiment)
    impacts_only = replace(parameters, envelope_margin=_ANY)
    behaviour_only = replace(parameters, configuration_error=_ANY, time_error=_ANY, impact_interval=None)
    first = np.array([trial.impact_times[0] for trial in others])

    return Outcome(
        experiment,
        parameters,
        tuned=tuned,
        tilts=tilts,
        unexpected=unexpected,
        impact_unexpected=_answers(others, impacts_only, experiment)[0],
        behaviour_unexpected=_answers(others, behaviour_only, experiment)[0],
        decided_after=times - first,
    )


def _answers(
    trials: Sequence[RecordedImpact], parameters: Classification, experiment: Experiment
) -> tuple[NDArray[np.bool_], Vector]:
    """Return which trials (k,) are called unexpected, and when [s] that is known (k,)."""
    said = [is_unexpected(trial, parameters, experiment.algorithm) for trial in trials]
    return np.array([unexpected for unexpected, _ in said]), np.array([time for _, time in said])


LARGEST_GRAY = 1.5
"""[deg] On each side for the simultaneous impact; for the single one each side is to end within the sweep."""


def asked_for(outcome: Outcome) -> str:
    """Return what is asked of each side of a gray area."""
    return f"at most {LARGEST_GRAY:g} deg" if outcome.experiment.end_effector == EDGE else "an end"


def reaches(outcome: Outcome, width: float) -> bool:
    """Check that a side of the gray area [deg] reaches the target."""
    return width <= LARGEST_GRAY if outcome.experiment.end_effector == EDGE else math.isfinite(width)


def targets(outcomes: Sequence[Outcome]) -> tuple[Comparison, ...]:
    """Each target in the place of what is published; widths of the verdict as a whole, on all tilts.

    That nothing acceptable is unexpected the source has, too; here it is for the variants it does not have.
    """
    found = []
    for outcome in outcomes:
        one, area = outcome.experiment, outcome.overall.area
        name = "{}, acceptable {:g} to {:g} deg".format(one.title, *one.acceptable)
        for side, width in (("below", area.below), ("above", area.above)):
            own = f"{width:g} deg" if math.isfinite(width) else degrees(width)
            what = f"{name}: gray area {side}"
            found.append(Comparison(OWN_TARGET, what, asked_for(outcome), own, holds=reaches(outcome, width)))
        if not one.published:
            alarms = float(outcome.overall.false_alarms)
            what = f"{name}: acceptable trials called unexpected"
            found.append(Comparison(OWN_TARGET, what, 0.0, alarms, holds=alarms == 0.0))
    return tuple(found)


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
    found = {name: getattr(outcome.parameters, name) for name in TUNED}
    parts = {"parameters": found, "tuned": vars(outcome.tuned)}
    given = ((f"{name} {key}", value) for name, part in parts.items() for key, value in part.items())
    arrays = {name: np.asarray(value) for name, value in given if value is not None}
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
    return Outcome(experiment, part(Classification, "parameters"), part(GrayArea, "tuned"), **each)
