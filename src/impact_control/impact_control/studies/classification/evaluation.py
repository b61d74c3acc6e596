"""Tunes a classifier on one set of trials and reports it on another: Figures 4.12 to 4.20 of Proper 2021."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from impact_control.classification import (
    Algorithm,
    ClassifierParameters,
    GrayArea,
    RecordedImpact,
    SearchGrid,
    gray_area,
    is_unexpected,
    tune,
)
from impact_control.robots import load_robot
from impact_control.studies.classification.sweep import ACCEPTABLE, EDGE, SPHERE, SweptImpact
from impact_control.types import Vector

GRID = SearchGrid(
    window_lengths=(6, 10, 15, 20, 25, 30, 40),
    decay_rates=(5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0),
    post_impact_times=(0.08, 0.1, 0.12),
    margin_reserve=float(load_robot("planar_rrr", SPHERE).noise.velocity.max()),
)
"""What is searched; t_xi about the 100 ms that the joints ring (Proper 2021, 4.1.3). Noise moves a velocity by its
half-width at most, (3.5): by so much an envelope may leave zero where no trial tuned on did."""

NO_RESERVE = replace(GRID, reserve=0.0, margin_reserve=0.0)
"""The same with every threshold at the largest value of an acceptable trial that was tuned on."""

_ANY = 1e6
"""A threshold that nothing reaches."""


@dataclass(frozen=True)
class Experiment:
    """One figure of the source, or a variant of ours: end-effector, algorithm, acceptable tilts [deg].

    published_below, published_above: what the text says of the gray area on either side.
    """

    figure: str
    end_effector: str
    algorithm: Algorithm
    acceptable: tuple[float, float]
    published_below: str = "not in the text"
    published_above: str = "not in the text"

    @property
    def title(self) -> str:
        """Figure of the source, end-effector and algorithm."""
        algorithm = "completion" if self.algorithm is Algorithm.COMPLETION else self.algorithm.value
        return f"{self.figure.split(',')[0]}: {self.end_effector.removeprefix('planar_')}, {algorithm}"


_SINGLE, _PRINTED, _COMPLETION = Algorithm.SINGLE, Algorithm.SIMULTANEOUS, Algorithm.COMPLETION

EXPERIMENTS = (
    Experiment("4.12", SPHERE, _SINGLE, ACCEPTABLE[0], "at least 2, ends", "at least 1, ends"),
    Experiment("4.13", SPHERE, _SINGLE, ACCEPTABLE[1], "smaller than 4.12", "smaller than 4.12"),
    Experiment("4.14", SPHERE, _SINGLE, ACCEPTABLE[2], "larger than 4.13, ends", "larger than 4.13, ends"),
    Experiment("4.15", EDGE, _PRINTED, ACCEPTABLE[0], "2", "2"),
    Experiment("4.16", EDGE, _PRINTED, ACCEPTABLE[1], "2", "2"),
    Experiment("4.17", EDGE, _PRINTED, ACCEPTABLE[2], "2", "2"),
    Experiment("4.15, completion", EDGE, _COMPLETION, ACCEPTABLE[0], "2", "2"),
    Experiment("4.16, completion", EDGE, _COMPLETION, ACCEPTABLE[1], "2", "2"),
    Experiment("4.17, completion", EDGE, _COMPLETION, ACCEPTABLE[2], "2", "2"),
    Experiment("4.18", SPHERE, _PRINTED, ACCEPTABLE[0], "smaller than 4.12", "at least 1"),
    Experiment("4.19", SPHERE, _PRINTED, ACCEPTABLE[1], "as 4.13", "does not end"),
    Experiment("4.20", SPHERE, _PRINTED, ACCEPTABLE[2], "smaller than 4.14", "does not end"),
)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of an experiment.

    tuned: gray area of the trials tuned on; area: of the others; by_impacts, by_behaviour: of the others if only the
    impacts, by zeta, epsilon, t_int, and the completion, or only the behaviour after them, by e_eta, could be
    unexpected. tilts (k,) [deg], unexpected (k,), decided_after (k,) [s]: of each of the others; the last counts from
    the detection of the first impact.
    """

    experiment: Experiment
    parameters: ClassifierParameters
    tuned: GrayArea
    area: GrayArea
    by_impacts: GrayArea
    by_behaviour: GrayArea
    tilts: Vector
    unexpected: NDArray[np.bool_]
    decided_after: Vector

    @property
    def acceptable(self) -> NDArray[np.bool_]:
        """Which trials are acceptable (k,)."""
        low, high = self.experiment.acceptable
        return np.asarray((self.tilts >= low) & (self.tilts <= high))

    @property
    def false_alarms(self) -> int:
        """Acceptable trials that were called unexpected."""
        return int(np.sum(self.unexpected & self.acceptable))

    def expected_share(self) -> dict[float, float]:
        """Share of trials that were called expected, by tilt [deg]."""
        return {float(tilt): float(np.mean(~self.unexpected[self.tilts == tilt])) for tilt in np.unique(self.tilts)}

    def rises(self) -> list[float]:
        """Tilts [deg] outside the acceptable ones where more is called expected than a step nearer to them."""
        share = self.expected_share()
        low, high = self.experiment.acceptable
        above = [tilt for tilt in share if tilt > high]
        below = [tilt for tilt in share if tilt < low][::-1]
        return [b for side in (above, below) for a, b in pairwise(side) if share[b] > share[a]]


def evaluate(
    experiment: Experiment, tuned_on: Sequence[SweptImpact], reported_on: Sequence[SweptImpact], grid: SearchGrid = GRID
) -> Outcome:
    """Tune on the trials of one set and judge those of the other."""
    tool = experiment.end_effector
    training = [trial.recorded for trial in tuned_on if trial.point.end_effector == tool]
    others = [trial.recorded for trial in reported_on if trial.point.end_effector == tool]
    others = [trial for trial in others if len(trial.impact_times)]
    parameters, tuned = tune(training, experiment.acceptable, experiment.algorithm, grid)
    tilts = np.array([trial.deviation for trial in others])
    unexpected, times = _answers(others, parameters, experiment)
    impacts_only = replace(parameters, envelope_margin=_ANY)
    behaviour_only = replace(parameters, configuration_error=_ANY, time_error=_ANY, impact_interval=math.inf)
    first = np.array([trial.impact_times[0] for trial in others])

    def area(said: NDArray[np.bool_]) -> GrayArea:
        return gray_area(tilts, said, experiment.acceptable)

    return Outcome(
        experiment,
        parameters,
        tuned=tuned,
        area=area(unexpected),
        by_impacts=area(_answers(others, impacts_only, experiment)[0]),
        by_behaviour=area(_answers(others, behaviour_only, experiment)[0]),
        tilts=tilts,
        unexpected=unexpected,
        decided_after=times - first,
    )


def _answers(
    trials: Sequence[RecordedImpact], parameters: ClassifierParameters, experiment: Experiment
) -> tuple[NDArray[np.bool_], Vector]:
    """Return which trials (k,) are called unexpected, and when [s] that is known (k,)."""
    said = [is_unexpected(trial, parameters, experiment.algorithm) for trial in trials]
    return np.array([unexpected for unexpected, _ in said]), np.array([time for _, time in said])
