"""Tunes a classifier on one set of trials and reports it on another: Figures 4.12 to 4.20 of Proper 2021."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from impact_control.classification import (
    Algorithm,
    ClassifierParameters,
    GrayArea,
    RecordedImpact,
    SearchGrid,
    is_unexpected,
    tune,
)
from impact_control.robots import load_robot
from impact_control.studies.classification.sweep import ACCEPTABLE, EDGE, SPHERE, SweptImpact
from impact_control.studies.classification.verdicts import Verdicts
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
    """One figure of the source, or a variant of ours: end-effector, algorithm, acceptable tilts [deg]."""

    figure: str
    end_effector: str
    algorithm: Algorithm
    acceptable: tuple[float, float]

    @property
    def published(self) -> bool:
        """Whether it is a figure of the source."""
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
    """What came of an experiment.

    tuned: gray area of the trials tuned on. Of each of the others: tilts (k,) [deg]; unexpected (k,); impact_unexpected
    and behaviour_unexpected (k,), if only the impacts, by zeta, epsilon, t_int, and the completion, or only the
    behaviour after them, by e_eta, could be unexpected: parts (a) and (b) of the figures; decided_after (k,) [s] from
    the detection of the first impact.
    """

    experiment: Experiment
    parameters: ClassifierParameters
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
    training = [trial.recorded for trial in tuned_on if trial.point.end_effector == tool]
    others = [trial.recorded for trial in reported_on if trial.point.end_effector == tool]
    others = [trial for trial in others if len(trial.impact_times)]
    parameters, tuned = tune(training, experiment.acceptable, experiment.algorithm, grid)
    tilts = np.array([trial.deviation for trial in others])
    unexpected, times = _answers(others, parameters, experiment)
    impacts_only = replace(parameters, envelope_margin=_ANY)
    behaviour_only = replace(parameters, configuration_error=_ANY, time_error=_ANY, impact_interval=math.inf)
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
    trials: Sequence[RecordedImpact], parameters: ClassifierParameters, experiment: Experiment
) -> tuple[NDArray[np.bool_], Vector]:
    """Return which trials (k,) are called unexpected, and when [s] that is known (k,)."""
    said = [is_unexpected(trial, parameters, experiment.algorithm) for trial in trials]
    return np.array([unexpected for unexpected, _ in said]), np.array([time for _, time in said])
