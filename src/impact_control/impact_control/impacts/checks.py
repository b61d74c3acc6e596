"""Checks of vectors and matrices. All raise InvalidInputError with the value and what is allowed."""

from __future__ import annotations

import numpy as np

from impact_control.errors import InvalidInputError
from impact_control.types import Matrix, Vector

ROUNDING = 1e-9
"""Asymmetry, negative eigenvalues and missing rank, relative to the largest entry, that are rounding."""


def float_array(name: str, value: object, shape: tuple[int, ...]) -> Matrix:
    """Return a writable float64 copy, row by row in memory: kernels then compile once. Not checked to be finite."""
    try:
        array = np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InvalidInputError(name, value, f"finite numbers of shape {shape}") from error
    if array.shape != shape:
        raise InvalidInputError(name, value, f"finite numbers of shape {shape}")
    return array


def finite_array(name: str, value: object, shape: tuple[int, ...]) -> Matrix:
    """Return a writable float64 copy of finite numbers."""
    array = float_array(name, value, shape)
    if not np.all(np.isfinite(array)):
        raise InvalidInputError(name, value, f"finite numbers of shape {shape}")
    return array


def unit_vector(name: str, value: object) -> Vector:
    """Return a vector (3,) of length 1, exact but for rounding; 1e-6 off is allowed."""
    vector = finite_array(name, value, (3,))
    length = float(np.linalg.norm(vector))
    if abs(length - 1.0) > 1e-6:
        raise InvalidInputError(name, value, f"a vector of length 1, not {length:.9g}")
    return vector / length


def positive_definite(name: str, value: object, size: int) -> Matrix:
    """Return a symmetric positive definite matrix (size, size)."""
    matrix = symmetric(name, value, size)
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError as error:
        values = np.linalg.eigvalsh(matrix)
        raise InvalidInputError(name, value, f"positive definite; the eigenvalues are {values}") from error
    return matrix


def symmetric(name: str, value: object, size: int) -> Matrix:
    """Return a symmetric matrix (size, size)."""
    matrix = finite_array(name, value, (size, size))
    if np.any(np.abs(matrix - matrix.T) > ROUNDING * np.max(np.abs(matrix))):
        raise InvalidInputError(name, value, "a symmetric matrix")
    return matrix
