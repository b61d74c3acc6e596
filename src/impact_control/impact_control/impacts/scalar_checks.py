"""Checks of single numbers. Both raise InvalidInputError with the value and what is allowed."""

from __future__ import annotations

import math

from impact_control.errors import InvalidInputError


def require_positive(name: str, value: float) -> None:
    """Refuse what is not a finite number above 0."""
    if not (math.isfinite(value) and value > 0.0):
        raise InvalidInputError(name, value, "a finite number above 0")


def require_not_negative(name: str, value: float) -> None:
    """Refuse what is not a finite number of at least 0."""
    if not (math.isfinite(value) and value >= 0.0):
        raise InvalidInputError(name, value, "a finite number of at least 0")
