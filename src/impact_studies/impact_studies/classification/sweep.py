"""The sweeps of Proper 2021, Table 4.1, and what the classifiers get to see of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from impact_studies.classification.trial import SweepPoint, SweptImpact, run_point, unpack
from impact_studies.frame.study import Progress
from impact_studies.frame.trials import run_trials, trials_directory

SPHERE, EDGE = "planar_sphere", "planar_edge"

ACCEPTABLE = ((0.0, 0.0), (-2.0, 2.0), (-4.0, 4.0))
"""[deg] beta_1, beta_2, beta_3 of Proper 2021, 4.3.2: tilts that are to be expected. Each lies in the next."""


@dataclass(frozen=True)
class Sweep:
    """Approach angles [deg] and places of impact [m], all combinations; tilts of the surface [deg], some at each.

    A point gets the tilts of `always`, and every `stride`-th of the others, another choice than its neighbours: the
    trials of a tilt are spread over all angles and places. shift: which choice the first point gets. checkered: only
    every other combination, as the black fields of a chessboard. least: trials that each of the ACCEPTABLE sets has at
    least; where there are fewer, all its trials are repeated with other noise.
    """

    angles: tuple[float, ...]
    distances: tuple[float, ...]
    always: tuple[float, ...]
    stride: int
    shift: int
    checkered: bool = False
    least: int = 0

    def points(self, end_effector: str, seed: int) -> list[SweepPoint]:
        """Return the points of the sweep with an end-effector, all with the same seed of the noise."""
        places, choices = [], []
        for i, angle in enumerate(self.angles):
            for j, distance in enumerate(self.distances):
                if self.checkered and (i + j) % 2:
                    continue
                places.append((angle, distance))
                choice = TILTS[(i + j + self.shift) % self.stride :: self.stride]
                choices.append(tuple(sorted({*choice, *self.always})))
        pairs = zip(places, _repeated(choices, self.least), strict=True)
        return [SweepPoint(end_effector, *place, tilts, seed) for place, tilts in pairs]


def _repeated(choices: Sequence[tuple[float, ...]], least: int) -> list[tuple[float, ...]]:
    """Return the tilts of each point with as many more at the end that every ACCEPTABLE set has `least` trials."""
    found = list(choices)
    for low, high in ACCEPTABLE:
        inside = [tuple(tilt for tilt in choice if low <= tilt <= high) for choice in choices]
        there = sum(low <= tilt <= high for tilts in found for tilt in tilts)
        times = max(0, math.ceil((least - there) / max(1, sum(map(len, inside)))))
        found = [tilts + times * more for tilts, more in zip(found, inside, strict=True)]
    return found


def _steps(first: float, last: float, step: float) -> tuple[float, ...]:
    return tuple(round(first + i * step, 6) for i in range(1 + round((last - first) / step)))


_RISING = (*_steps(0.0, 6.0, 0.5), 8.0, 10.0)

TILTS = tuple(sorted({*_RISING, *(-tilt for tilt in _RISING)}))
"""[deg] Steps of half a degree where gray areas may end, up to the 10 deg of the source."""

_EDGES = (-4.0, -2.0, 0.0, 2.0, 4.0)
"""[deg] The ends of the acceptable sets."""

_DECIDING = tuple(sorted({*_EDGES, -3.0, -1.0, -0.5, 0.5, 1.0, 3.0}))
"""[deg] The thresholds are largest values of acceptable trials, and these need not be at the ends of a set: a nearly
level edge waits longest for its last touch. Every point that is tuned on has all of them."""

REPORTED = Sweep(_steps(60.0, 120.0, 2.0), _steps(0.2, 0.4, 0.02), (0.0,), 5, 0)
"""Table 4.1: all its angles and places, but not all tilts at each."""

LEAST = 299
"""Trials of each acceptable set that are tuned on at least: what happens in one of a hundred is then among them with a
probability of 95 %, as 0.99^299 = 0.05."""

TUNED = Sweep(_steps(60.0, 120.0, 6.0), REPORTED.distances, _DECIDING, 5, 2, checkered=True, least=LEAST)
"""Tuning set: all places, as between two of them another bounce may come, but fewer angles."""

_QUICK_ANGLES, _QUICK_DISTANCES = _steps(60.0, 120.0, 15.0), (0.2, 0.26, 0.34, 0.4)

QUICK_REPORTED = Sweep(_QUICK_ANGLES, _QUICK_DISTANCES, (0.0,), 4, 2)
"""The other for a first look."""

QUICK_TUNED = Sweep(_QUICK_ANGLES, _QUICK_DISTANCES, _EDGES, 4, 0)
"""Tuning set of a first look."""


def run_sweep(points: Sequence[SweepPoint], progress: Progress) -> list[SweptImpact]:
    """Simulate all tilts of all points, or take them from disk, and return them in their order.

    Kept below `trials_directory`; an interrupted sweep goes on.
    """
    results = run_trials(run_point, points, trials_directory("proper_classification"), progress)
    return [trial for point, arrays in zip(points, results, strict=True) for trial in unpack(point, arrays)]


LASTING = 0.03
"""[s] A contact that was closed for so long at the end of a trial should have been reported."""


@dataclass(frozen=True)
class CompletionErrors:
    """Counts over some trials: all, those in which every point touched, those of them in which it was not reported.

    missed: not reported, although all points were closed for LASTING at the end; unfinished: not reported, and not so.
    early: reported before every point had touched. delays [s]: 5, 50, 95 % of the time from the first touch of the last
    point to the report, bounces included.
    """

    name: str
    trials: int
    touched: int
    missed: int
    unfinished: int
    early: int
    delays: tuple[float, float, float]


def completion_errors(name: str, trials: Sequence[SweptImpact]) -> CompletionErrors:
    """Return the errors of some trials."""
    touched = [trial for trial in trials if math.isfinite(max(trial.touches))]
    reported = [trial for trial in touched if math.isfinite(trial.completion_decision)]
    unreported = [trial for trial in touched if not math.isfinite(trial.completion_decision)]
    missed = [trial for trial in unreported if trial.closed_time <= trial.time[-1] - LASTING]
    delays = [trial.completion_decision - max(trial.touches) for trial in reported]
    quantiles = np.quantile(delays, (0.05, 0.5, 0.95)) if delays else np.full(3, math.nan)
    false = [t for t in trials if math.isfinite(t.completion_decision) and t.completion_decision < max(t.touches)]
    return CompletionErrors(
        name,
        len(trials),
        len(touched),
        len(missed),
        len(unreported) - len(missed),
        len(false),
        (float(quantiles[0]), float(quantiles[1]), float(quantiles[2])),
    )
