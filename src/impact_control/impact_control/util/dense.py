"""Small dense matrices inside kernels: up to some thirty rows calling LAPACK takes longer than the work itself.

The inner loops index whole matrices: a view of a row is counted when it is made and when it is dropped, which takes
longer than the three to seven products of a row of an arm.
"""

from __future__ import annotations

import math

from impact_control.util.compiled import compiled, compiled_in_place
from impact_control.util.types import Matrix, Vector

SMALLEST_PIVOT = 1e-14
"""Pivot relative to its diagonal entry from which on a matrix is singular but for rounding."""

_ASYMMETRY = 1e-9
"""Difference of two entries that is rounding, relative to the diagonal entries of their row and column."""


@compiled
def take(memory: Vector, rows: int, columns: int) -> tuple[Matrix, Vector]:
    """Return the first entries of `memory` as a matrix (rows, columns), a view, and the rest of them."""
    size = rows * columns
    return memory[:size].reshape((rows, columns)), memory[size:]


@compiled
def dot(a: Vector, b: Vector) -> float:
    """Return the scalar product of two short vectors."""
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@compiled_in_place
def _dot_rows(a: Matrix, i: int, b: Matrix, j: int, count: int) -> float:
    """Return the scalar product of the first `count` entries of row i of a and row j of b."""
    total = 0.0
    for k in range(count):
        total += a[i, k] * b[j, k]
    return total


@compiled
def apply_affine(matrix: Matrix, vector: Vector, offset: Vector, result: Vector) -> None:
    """Write matrix vector + offset to `result`."""
    for row in range(result.size):
        result[row] = dot(matrix[row], vector) + offset[row]


@compiled
def all_finite(array: Matrix) -> bool:
    """Return whether all entries are finite."""
    for value in array.flat:  # noqa: SIM110, a generator does not compile
        if not math.isfinite(value):
            return False
    return True


@compiled
def is_symmetric(matrix: Matrix) -> bool:
    """Return whether a matrix is symmetric but for rounding, which is that of its own rows: bodies differ in weight."""
    for i in range(matrix.shape[0]):
        for j in range(i):
            difference = abs(matrix[i, j] - matrix[j, i])
            if difference > _ASYMMETRY * math.sqrt(abs(matrix[i, i] * matrix[j, j])):
                return False
    return True


@compiled_in_place
def factorise(matrix: Matrix) -> bool:
    """Overwrite the lower triangle of M with L, M = L L^T; return whether M is positive definite beyond rounding."""
    for row in range(matrix.shape[0]):
        for column in range(row):
            rest = matrix[row, column] - _dot_rows(matrix, row, matrix, column, column)
            matrix[row, column] = rest / matrix[column, column]
        pivot = matrix[row, row] - _dot_rows(matrix, row, matrix, row, row)
        if not pivot > SMALLEST_PIVOT * matrix[row, row]:
            return False
        matrix[row, row] = math.sqrt(pivot)
    return True


@compiled_in_place
def solve_lower(factor: Matrix, vector: Vector) -> None:
    """Overwrite a vector x with L^-1 x; only the lower triangle of the factor is read."""
    for row in range(vector.size):
        known = 0.0
        for k in range(row):
            known += factor[row, k] * vector[k]
        vector[row] = (vector[row] - known) / factor[row, row]


@compiled_in_place
def solve_upper(factor: Matrix, vector: Vector) -> None:
    """Overwrite a vector x with L^-T x; only the lower triangle of the factor is read."""
    for row in range(vector.size - 1, -1, -1):
        vector[row] /= factor[row, row]
        for k in range(row):
            vector[k] -= factor[row, k] * vector[row]


@compiled_in_place
def solve_in_place(matrix: Matrix, right: Vector) -> bool:
    """Overwrite `right` with the solution of matrix x = right, destroying the matrix; False if it is singular."""
    size = right.size
    for column in range(size):
        pivot = column
        for row in range(column + 1, size):
            if abs(matrix[row, column]) > abs(matrix[pivot, column]):
                pivot = row
        if not abs(matrix[pivot, column]) > 0.0:
            return False
        inverse_pivot = 1.0 / matrix[pivot, column]
        if pivot != column:
            for k in range(column, size):
                matrix[column, k], matrix[pivot, k] = matrix[pivot, k], matrix[column, k]
            right[column], right[pivot] = right[pivot], right[column]
        for row in range(column + 1, size):
            factor = matrix[row, column] * inverse_pivot
            if factor != 0.0:
                for k in range(column + 1, size):
                    matrix[row, k] -= factor * matrix[column, k]
                right[row] -= factor * right[column]
    for row in range(size - 1, -1, -1):
        known = 0.0
        for k in range(row + 1, size):
            known += matrix[row, k] * right[k]
        right[row] = (right[row] - known) / matrix[row, row]
    return True


@compiled_in_place
def couple_factorised(factor: Matrix, jacobian: Matrix, response: Matrix, delassus: Matrix) -> None:
    """Write what `couple` writes, by the factor L of M. With Y = L^-1 J^T: W = Y^T Y, exactly symmetric."""
    for row in range(jacobian.shape[0]):
        for k in range(jacobian.shape[1]):
            response[row, k] = jacobian[row, k]
        solve_lower(factor, response[row])
        for column in range(row + 1):
            entry = _dot_rows(response, row, response, column, response.shape[1])
            delassus[row, column] = entry
            delassus[column, row] = entry
    for row in range(jacobian.shape[0]):
        solve_upper(factor, response[row])


@compiled
def couple(inertia: Matrix, jacobian: Matrix, response: Matrix, delassus: Matrix) -> bool:
    """Write J M^-1 (r, n) and W = J M^-1 J^T (r, r); return whether M is positive definite.

    inertia M (n, n), symmetric; jacobian J (r, n).
    """
    factor = inertia.copy()
    if not factorise(factor):
        return False
    couple_factorised(factor, jacobian, response, delassus)
    return True
