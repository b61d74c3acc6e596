"""Checks of input: numbers, arrays, fields of frozen dataclasses.

What checks a value returns it as float, int or float64 copy. All raise InvalidInputError with the value and what is
allowed.
"""

from __future__ import annotations

import math

import numpy as np

from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

ROUNDING = 1e-9
"""Asymmetry, negative eigenvalues and missing rank, relative to the largest entry, that are rounding."""


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


def require_finite(name: str, value: float) -> float:
    """Return a finite number."""
    number = _number(value)
    if not math.isfinite(number):
        raise InvalidInputError(name, value, "a finite number")
    return number


def require_between(name: str, value: float, low: float, high: float) -> float:
    """Return a number from low to high, both allowed."""
    number = _number(value)
    if not low <= number <= high:
        raise InvalidInputError(name, value, f"a number from {low:g} to {high:g}")
    return number


def checked_count(name: str, value: int, minimum: int) -> int:
    """Return a whole number of at least `minimum`."""
    if not isinstance(value, (int, np.integer)) or value < minimum:
        raise InvalidInputError(name, value, f"a whole number of at least {minimum}")
    return int(value)


def float_array(name: str, value: object, shape: tuple[int, ...]) -> Matrix:
    """Return a writable float64 copy, row by row in memory: kernels then compile once. Not checked to be finite."""
    array = _array(value)
    if array is None or array.shape != shape:
        raise InvalidInputError(name, value, f"finite numbers of shape {shape}")
    return array


def finite_array(name: str, value: object, shape: tuple[int, ...]) -> Matrix:
    """Return a writable float64 copy of finite numbers."""
    array = float_array(name, value, shape)
    if not np.all(np.isfinite(array)):
        raise InvalidInputError(name, value, f"finite numbers of shape {shape}")
    return array


def checked_vector(name: str, value: object, size: int | None = None, *, zero_allowed: bool = True) -> Vector:
    """Return finite numbers of at least 0 (size,), or above 0 without zero; of any length above 0 without a size."""
    vector = _array(value)
    fits = vector is not None and vector.ndim == 1 and vector.size > 0 and (size is None or vector.size == size)
    if vector is None or not fits or not _all_in_range(vector, zero_allowed):
        length = "one or more" if size is None else str(size)
        bound = "of at least" if zero_allowed else "above"
        raise InvalidInputError(name, value, f"{length} finite numbers {bound} 0")
    return vector


def finite_rows(name: str, value: object, rows: int | None = None) -> Matrix:
    """Return finite numbers (rows, n), n above 0: one row a sample or trial; without `rows` any number of them."""
    array = _array(value)
    if array is None or array.ndim != 2 or not array.size or (rows is not None and len(array) != rows):
        raise InvalidInputError(name, value, f"finite numbers of shape ({'m' if rows is None else rows}, n)")
    return finite_array(name, value, array.shape)


def increasing_stamps(name: str, value: object, count: int | None = None, fewest: int = 2) -> Vector:
    """Return increasing finite numbers (m,): `count` where that is known, and at least `fewest`."""
    stamps = _array(value)
    fits = stamps is not None and stamps.ndim == 1 and stamps.size >= fewest and count in (None, stamps.size)
    if stamps is None or not fits or not (np.all(np.isfinite(stamps)) and np.all(np.diff(stamps) > 0.0)):
        count_allowed = f"at least {fewest}" if count is None else str(count)
        raise InvalidInputError(name, value, f"{count_allowed} increasing stamps")
    return stamps


def unit_vector(name: str, value: object) -> Vector:
    """Return a vector (3,) of length 1, exact but for rounding; 1e-6 off is allowed."""
    vector = finite_array(name, value, (3,))
    length = float(np.linalg.norm(vector))
    if abs(length - 1.0) > 1e-6:
        raise InvalidInputError(name, value, f"a vector of length 1, not {length:.9g}")
    return vector / length


def symmetric(name: str, value: object, size: int) -> Matrix:
    """Return a symmetric matrix (size, size)."""
    matrix = finite_array(name, value, (size, size))
    if np.any(np.abs(matrix - matrix.T) > ROUNDING * np.max(np.abs(matrix))):
        raise InvalidInputError(name, value, "a symmetric matrix")
    return matrix


def positive_definite(name: str, value: object, size: int) -> Matrix:
    """Return a symmetric positive definite matrix (size, size)."""
    matrix = symmetric(name, value, size)
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError as error:
        values = np.linalg.eigvalsh(matrix)
        raise InvalidInputError(name, value, f"positive definite; the eigenvalues are {values}") from error
    return matrix


def freeze(instance: object, shape: tuple[int, ...], *names: str, owner: str = "") -> None:
    """Replace fields of a frozen dataclass by read-only float64 copies of finite numbers of this shape.

    owner: what the fields belong to, where the error is to say so.
    """
    for name in names:
        array = finite_array(f"{owner} {name}".lstrip(), getattr(instance, name), shape)
        array.setflags(write=False)
        object.__setattr__(instance, name, array)


def positive_fields(instance: object, *names: str, each: str) -> None:
    """Let the arrays in these fields pass if all entries are above 0; each: what has an entry, as "joint"."""
    for name in names:
        array = getattr(instance, name)
        if not np.all(array > 0.0):
            raise InvalidInputError(name, array, f"above 0 in every {each}")


def not_negative_fields(instance: object, *names: str, each: str) -> None:
    """Let the arrays in these fields pass if all entries are at least 0; each: what has an entry, as "joint"."""
    for name in names:
        array = getattr(instance, name)
        if not np.all(array >= 0.0):
            raise InvalidInputError(name, array, f"at least 0 in every {each}")


def _number(value: object) -> float:
    """Return a float, not a number for what is none."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):  # the last at whole numbers beyond all floats
        return math.nan


def _array(value: object) -> Matrix | None:
    """Return a writable float64 copy, row by row in memory; None for what is no array of numbers."""
    try:
        return np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):  # the last at whole numbers beyond all floats
        return None


def _all_in_range(array: Matrix, zero_allowed: bool) -> bool:
    """Return whether all entries are finite and at least 0, or above 0."""
    bounded = array >= 0.0 if zero_allowed else array > 0.0
    return bool(np.all(bounded & np.isfinite(array)))
