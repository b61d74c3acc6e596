"""Checks of single numbers. All raise InvalidInputError with the value and what is allowed."""

from __future__ import annotations

import math

from impact_control.errors import InvalidInputError


def require_positive(name: str, value: float) -> float:
    """Return a finite number above 0."""
    number = _number(value)
    if not (math.isfinite(number) and number > 0.0):
        raise InvalidInputError(name, value, "a finite number above 0")
    return number


def require_not_negative(name: str, value: float) -> float:
    """Return a finite number of at least 0."""
    number = _number(value)
    if not (math.isfinite(number) and number >= 0.0):
        raise InvalidInputError(name, value, "a finite number of at least 0")
    return number


def require_between(name: str, value: float, low: float, high: float) -> float:
    """Return a number from low to high, both allowed."""
    number = _number(value)
    if not low <= number <= high:
        raise InvalidInputError(name, value, f"a number from {low:g} to {high:g}")
    return number


def _number(value: object) -> float:
    """Return a float, not a number for what is none."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan
