"""Checks of the tuning values given to the streaming filters of observation, detection and classification."""

from __future__ import annotations

import math

import numpy as np

from impact_control.errors import InvalidInputError
from impact_control.types import Vector


def checked_number(name: str, value: float, *, zero_allowed: bool = True) -> float:
    """Return `value` as a float. Raises InvalidInputError unless it is finite and >= 0 (> 0 without zero)."""
    if not math.isfinite(value) or value < 0.0 or (value == 0.0 and not zero_allowed):
        bound = "of at least" if zero_allowed else "above"
        raise InvalidInputError(name, value, f"a finite number {bound} 0")
    return float(value)


def checked_count(name: str, value: int, minimum: int) -> int:
    """Return `value` as an int. Raises InvalidInputError unless it is a whole number >= `minimum`."""
    if not isinstance(value, (int, np.integer)) or value < minimum:
        raise InvalidInputError(name, value, f"a whole number of at least {minimum}")
    return int(value)


def checked_vector(name: str, value: object, size: int | None = None, *, zero_allowed: bool = True) -> Vector:
    """Return a contiguous copy of `value` (size,), or of any length above 0 when `size` is None.

    Raises InvalidInputError unless it is one-dimensional, of that length, and finite with entries >= 0
    (> 0 without zero).
    """
    vector = np.array(value, dtype=np.float64)
    fits = vector.ndim == 1 and vector.size > 0 and (size is None or vector.size == size)
    in_range = bool(np.all(np.isfinite(vector)) and np.all(vector >= 0.0))
    if not fits or not in_range or (not zero_allowed and np.any(vector == 0.0)):
        length = "one or more" if size is None else str(size)
        bound = "of at least" if zero_allowed else "above"
        raise InvalidInputError(name, value, f"{length} finite numbers {bound} 0")
    return vector
