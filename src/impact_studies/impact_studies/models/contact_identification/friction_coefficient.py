"""Friction coefficient of a contact from impacts: the one with which the impact map errs least."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from impact_control.util.checks import finite_rows
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

_LARGEST = 1.0
"""Coefficient that is searched for."""

_POINTS, _REFINEMENTS = 51, 3
"""Points and refinements of the grid, which ends with steps of 1e-6."""


@dataclass(frozen=True, eq=False)
class FrictionEstimate:
    """A friction coefficient and how well it is determined.

    Attributes:
        coefficient: mu with the smallest error.
        error: mean absolute prediction error there, in the unit of the velocities.
        coefficients, errors: (k,) the error over the whole range; infinite where the map refuses the coefficient.
    """

    coefficient: float
    error: float
    coefficients: Vector
    errors: Vector


def identify_friction_coefficient(predict: Callable[[float], Matrix], observed: Matrix) -> FrictionEstimate:
    """Return the friction coefficient in [0, 1] with the smallest mean absolute prediction error.

    Rey Arias 2024, section IV-B, with the error (17). The error is a sum of absolute values, with kinks and more
    than one minimum: it is searched on a grid, and that again between the neighbours of the best point.

    Args:
        predict: post-impact velocities (trials, n) of an impact map for a coefficient, any unit. Where it raises
            InvalidInputError, because the impact jams, the coefficient does not come into question.
        observed: (trials, n) post-impact velocities, same unit.

    Raises:
        InvalidInputError: not finite or empty observations, or no coefficient that the map accepts.
    """
    measured = finite_rows("observed", observed)

    def error(coefficient: float) -> float:
        try:
            return float(np.mean(np.abs(predict(coefficient) - measured)))
        except InvalidInputError:
            return math.inf

    grid = np.linspace(0.0, _LARGEST, _POINTS)
    errors = np.array([error(float(coefficient)) for coefficient in grid])
    best = int(np.argmin(errors))
    if not math.isfinite(errors[best]):
        raise InvalidInputError("predict", predict, f"a map that accepts some coefficient in 0 to {_LARGEST}")
    smallest, coefficient = float(errors[best]), float(grid[best])
    step = float(grid[1])
    for _ in range(_REFINEMENTS):
        around = np.linspace(max(coefficient - step, 0.0), min(coefficient + step, _LARGEST), _POINTS)
        smallest, coefficient = min((smallest, coefficient), *((error(float(one)), float(one)) for one in around))
        step = float(around[1] - around[0])
    return FrictionEstimate(coefficient, smallest, grid, errors)
