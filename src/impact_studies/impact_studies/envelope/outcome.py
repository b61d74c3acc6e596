"""All runs of the study side by side, and which of them were judged rightly."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import binomtest

from impact_control.classification import Verdict
from impact_control.pipeline import Outcome
from impact_control.recording.trials import hdf5_library, new_hdf5
from impact_control.util.types import Vector
from impact_studies.envelope.tasks import RIGHT_OUTCOMES, Case, RandomTask, Variant

Mask = NDArray[np.bool_]

AS_EXPECTED = (
    Variant.AS_EXPECTED,
    Variant.OTHER_STIFFNESS,
    Variant.OTHER_INERTIA,
    Variant.OTHER_JOINT_FRICTION,
)
"""Variants that are to be called as expected: neither the stiffness nor the arm is known exactly."""

DIFFERENT, ALIKE = 3.0, 1.0
"""Standard deviations of the planned velocity after an impact, by which another friction has to move that of some joint
for the behaviour to be unexpected, and below which it is as expected; in between nothing is judged."""


@dataclass(frozen=True, eq=False)
class Runs:
    """One row for each task, robot and variant, R of them.

    columns: (R,) arrays by name: robot, variant (words), the fields of `RandomTask` and of `trial.Ended`, refusal,
    jump_change. as_expected: whether what is really there is as expected; right: whether the outcome says so. judged:
    whether it was begun and there is a right outcome.
    """

    columns: Mapping[str, NDArray[Any]]
    as_expected: Mask
    right: Mask
    judged: Mask

    @classmethod
    def of(cls, cases: Sequence[Case], found: Sequence[Mapping[str, NDArray[Any]]]) -> Runs:
        """Return the runs of cases, of each what `trial.run_case` returns."""
        rows = [len(case.variants) for case in cases]
        columns: dict[str, NDArray[Any]] = {
            "robot": np.repeat([case.robot for case in cases], rows),
            "variant": np.array([Variant[name].value for case in cases for name in case.variants]),
        }
        for entry in fields(RandomTask):
            columns[entry.name] = np.repeat([getattr(case.task, entry.name) for case in cases], rows)
        for name in found[0]:
            parts = [np.broadcast_to(one[name], count) for one, count in zip(found, rows, strict=True)]
            columns[name] = np.concatenate(parts)
        return cls(columns, *_judge(columns))

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a column (R,)."""
        return self.columns[name]

    def select(self, rows: Mask) -> Runs:
        """Return some of the rows."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Runs(columns, self.as_expected[rows], self.right[rows], self.judged[rows])

    def of_variant(self, *variants: Variant) -> Runs:
        """Return the rows of some variants."""
        return self.select(np.isin(self["variant"], [variant.value for variant in variants]))

    @property
    def begun(self) -> Mask:
        """Return which were not refused (R,)."""
        begun: Mask = self["refusal"] == ""
        return begun

    @property
    def certain(self) -> Runs:
        """Return those that were begun and whose right verdict is beyond doubt: all but those of another friction."""
        return self.select(self.begun & (self["variant"] != Variant.OTHER_FRICTION.value))

    @property
    def stiffness(self) -> Vector:
        """Return that of the real contact [N/m^1.5] (R,)."""
        other = self["variant"] == Variant.OTHER_STIFFNESS.value
        actual: Vector = np.where(other, self["other_stiffness"], self["stiffness"])
        return actual

    @property
    def robots(self) -> tuple[str, ...]:
        """Return the robots in the order of their first row."""
        return tuple(dict.fromkeys(self["robot"].tolist()))

    def outcomes(self, *outcomes: Outcome) -> int:
        """Return how many of those begun had one of these outcomes."""
        return int(np.count_nonzero(self.begun & np.isin(self["outcome"], outcomes)))

    def finite(self, name: str) -> Vector:
        """Return the numbers of a column that are finite."""
        values = np.asarray(self[name], dtype=np.float64)
        kept: Vector = values[np.isfinite(values)]
        return kept


def _judge(columns: Mapping[str, NDArray[Any]]) -> tuple[Mask, Mask, Mask]:
    """Return which are as expected, which outcomes are right, and which can be judged."""
    variant, outcome, change = columns["variant"], columns["outcome"], columns["jump_change"]
    as_expected = np.isin(variant, [one.value for one in AS_EXPECTED])
    right = np.zeros(variant.size, dtype=np.bool_)
    for one in Variant:
        right |= (variant == one.value) & np.isin(outcome, RIGHT_OUTCOMES[one])
    rubbing = variant == Variant.OTHER_FRICTION.value
    alike = rubbing & (change < ALIKE)
    right = np.where(alike, outcome == Outcome.SUCCEEDED, right)
    between = rubbing & ~alike & ~(change > DIFFERENT)
    return as_expected | alike, right, (columns["refusal"] == "") & ~between


BINS = 10
CLOSE = 0.05
"""Allowed difference between probability and frequency."""

_NEVER = 1e-300
"""Least probability whose logarithm is taken."""

_STEEPEST = 200.0
"""Largest exponent: where a deviation separates all that is as expected from all that is not, the likelihood rises
without end."""


@dataclass(frozen=True)
class Share:
    """Share of a number of runs."""

    count: int
    of: int

    @property
    def value(self) -> float:
        """Return the share, NaN of none."""
        return self.count / self.of if self.of else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Return the interval of Wilson that holds the true share with 95 %; 0 to 1 of none."""
        if not self.of:
            return 0.0, 1.0
        found = binomtest(self.count, self.of).proportion_ci(method="wilson")
        return float(found.low), float(found.high)

    @property
    def percent(self) -> tuple[float, float, float]:
        """Return share and interval [%]."""
        low, high = self.interval
        return 100.0 * self.value, 100.0 * low, 100.0 * high


@dataclass(frozen=True)
class Bin:
    """Runs whose probability lies between two numbers: mean probability, and how many are as expected."""

    lower: float
    upper: float
    mean: float
    expected: Share

    @property
    def off(self) -> float:
        """Return how far the frequency is above the probability."""
        return self.expected.value - self.mean

    @property
    def close(self) -> bool | None:
        """Return whether both are close to each other; None where there are too few runs."""
        if abs(self.off) <= CLOSE:
            return True
        low, high = self.expected.interval
        return False if self.mean < low - CLOSE or self.mean > high + CLOSE else None


def reliability(probability: Vector, expected: NDArray[np.bool_]) -> list[Bin]:
    """Return ten bins of equal width: probabilities (k,), and what turned out to be as expected (k,)."""
    edges = np.linspace(0.0, 1.0, BINS + 1)
    place = np.minimum((probability * BINS).astype(int), BINS - 1)
    found = []
    for number in range(BINS):
        here = place == number
        count = int(np.count_nonzero(here))
        mean = float(np.mean(probability[here])) if count else math.nan
        share = Share(int(np.count_nonzero(expected[here])), count)
        found.append(Bin(float(edges[number]), float(edges[number + 1]), mean, share))
    return found


@dataclass(frozen=True)
class Law:
    """P(as expected) = 1 - hidden d^growth up to the limit d = 1, mistaken d^-fall beyond.

    d: the largest deviation as a part of its limit. See `classification.probability_expected`.
    """

    hidden: float
    growth: float
    mistaken: float
    fall: float

    def probability(self, deviation: Vector) -> Vector:
        """Return it for deviations (k,), not below 0."""
        inside = 1.0 - self.hidden * np.minimum(deviation, 1.0) ** self.growth
        beyond = self.mistaken * np.maximum(deviation, 1.0) ** -self.fall
        found: Vector = np.where(deviation <= 1.0, inside, beyond)
        return found

    def loss(self, deviation: Vector, expected: NDArray[np.bool_]) -> float:
        """Return the mean of minus the logarithm of the probability of what turned out."""
        probability = self.probability(deviation)
        return -float(np.mean(np.log(np.maximum(np.where(expected, probability, 1.0 - probability), _NEVER))))


def fit(deviation: Vector, expected: NDArray[np.bool_], start: Law) -> Law:
    """Return the law of largest likelihood; each side of the limit by itself, that of `start` where no run is."""
    sides = []
    for here, power, given in (
        (deviation <= 1.0, 1.0, (start.hidden, start.growth)),
        (deviation > 1.0, -1.0, (start.mistaken, start.fall)),
    ):
        rare = expected[here] == (power < 0.0)
        sides.append(_fit_rare(deviation[here] ** power, rare, given) if np.any(here) else given)
    return Law(*sides[0], *sides[1])


def _fit_rare(place: Vector, rare: NDArray[np.bool_], start: tuple[float, float]) -> tuple[float, float]:
    """Return share and exponent of P(rare) = share place^exponent of largest likelihood, 0 <= place <= 1."""

    def loss(x: Vector) -> float:
        share = x[0] * place ** x[1]
        return -float(np.sum(np.log(np.maximum(np.where(rare, share, 1.0 - share), _NEVER))))

    bounds = [(_NEVER, 0.5), (0.0, _STEEPEST)]
    found = minimize(loss, start, bounds=bounds, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9})
    return float(found.x[0]), float(found.x[1])


_UNITS = {
    **dict.fromkeys(("x", "y", "z", "slide"), "m"),
    **dict.fromkeys(("tilt", "approach_angle", "azimuth", "heading", "axis"), "rad"),
    **dict.fromkeys(("stiffness", "other_stiffness"), "N/m^1.5"),
    **dict.fromkeys(("force", "held_force"), "N"),
    **dict.fromkeys(("delay", "free"), "s"),
    "speed": "m/s",
}

_NAMED = {"outcome": Outcome, "impact": Verdict, "post_impact": Verdict}
"""Columns of numbers that are written as words."""


def write_runs(runs: Runs, path: Path) -> None:
    """Write a dataset for each column, with its unit; what was to be expected and whether it was found beside them.

    Raises MissingDependencyError without h5py, InvalidInputError for a path that cannot be written.
    """
    columns = {**runs.columns, "as_expected": runs.as_expected, "judged": runs.judged, "right": runs.right}
    with new_hdf5(path) as file:
        for name, values in columns.items():
            if name in _NAMED:
                values = np.array([_NAMED[name](value).name for value in values.tolist()])
            text = values.dtype.kind == "U"
            file[name] = values.astype(hdf5_library().string_dtype()) if text else values
            file[name].attrs["unit"] = _UNITS.get(name, "")
