"""Linear algebra of small matrices against what they have to satisfy, in both forms of the kernels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.util import dense

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 9)


def both_forms(kernel):
    return {kernel, getattr(kernel, "py_func", kernel)}


def random_positive_definite(random, size):
    """Entries of very different size, as of arms and free objects in one system."""
    root = random.normal(size=(size, size + 2))
    scale = 10.0 ** random.uniform(-2.0, 2.0, size)
    return scale[:, None] * (root @ root.T) * scale


def assert_solves(matrix, solution, right):
    """Backward stable: what is left is rounding of the terms, whatever the condition of the matrix."""
    terms = np.abs(matrix) @ np.abs(solution) + np.abs(right)
    np.testing.assert_allclose(matrix @ solution, right, rtol=0.0, atol=1e-12 * terms.max())


@settings(deadline=None, max_examples=40)
@given(seeds, sizes)
def test_the_factor_is_that_of_cholesky_and_solves(seed, size):
    random = np.random.default_rng(seed)
    matrix, right = random_positive_definite(random, size), random.normal(size=size)
    for kernel in both_forms(dense.factorise):
        factor, solution = matrix.copy(), right.copy()
        assert kernel(factor)
        np.testing.assert_array_equal(np.triu(factor, 1), np.triu(matrix, 1))
        lower = np.tril(factor)
        assert np.all(np.diag(lower) > 0.0)
        weights = np.sqrt(np.diag(matrix))
        np.testing.assert_allclose((lower @ lower.T - matrix) / np.outer(weights, weights), 0.0, atol=1e-13)
        dense.solve_lower(factor, solution)
        assert_solves(lower, solution, right)
        half = solution.copy()
        dense.solve_upper(factor, solution)
        assert_solves(lower.T, solution, half)
        assert_solves(matrix, solution, right)


@settings(deadline=None, max_examples=40)
@given(seeds, sizes, st.integers(1, 12))
def test_couple_is_the_response_of_velocities_and_contacts(seed, size, rows):
    random = np.random.default_rng(seed)
    inertia, jacobian = random_positive_definite(random, size), random.normal(size=(rows, size))
    for kernel in both_forms(dense.couple):
        kept, response, delassus = inertia.copy(), np.empty((rows, size)), np.empty((rows, rows))
        assert kernel(kept, jacobian, response, delassus)
        np.testing.assert_array_equal(kept, inertia)
        np.testing.assert_array_equal(delassus, delassus.T)
        for row in range(rows):
            assert_solves(inertia, response[row], jacobian[row])
        W = response @ jacobian.T
        np.testing.assert_allclose(delassus, W, rtol=0.0, atol=1e-7 * np.abs(W).max())


@settings(deadline=None, max_examples=40)
@given(seeds, sizes)
def test_elimination_solves_what_is_not_symmetric(seed, size):
    random = np.random.default_rng(seed)
    matrix, right = random.normal(size=(size, size)) + 3.0 * np.eye(size)[::-1], random.normal(size=size)
    for kernel in both_forms(dense.solve_in_place):
        solution = right.copy()
        assert kernel(matrix.copy(), solution)
        assert_solves(matrix, solution, right)


@pytest.mark.parametrize("matrix", [np.zeros((2, 2)), np.array([[1.0, 2.0], [2.0, 4.0]]), np.diag([1.0, -1.0])])
def test_what_is_not_positive_definite_is_found(matrix):
    for kernel in both_forms(dense.factorise):
        assert not kernel(matrix.copy())


def test_elimination_finds_a_matrix_without_rank():
    for kernel in both_forms(dense.solve_in_place):
        assert not kernel(np.zeros((2, 2)), np.ones(2))


def test_symmetry_is_judged_by_the_weights_of_row_and_column():
    heavy_and_light = np.array([[1e6, 0.0], [1e-6, 1e-6]])
    light_only = np.array([[1e-6, 0.0], [1e-6, 1e-6]])
    rounding = np.array([[1e6, 1e-10], [0.0, 1e-6]])
    for kernel in both_forms(dense.is_symmetric):
        assert not kernel(heavy_and_light)
        assert not kernel(light_only)
        assert kernel(rounding)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_found_anywhere(wrong):
    for kernel in both_forms(dense.all_finite):
        for place in np.ndindex(2, 3):
            array = np.ones((2, 3))
            assert kernel(array)
            array[place] = wrong
            assert not kernel(array)


def test_apply_affine():
    result = np.empty(2)
    for kernel in both_forms(dense.apply_affine):
        kernel(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([1.0, 0.0, -1.0]), np.array([10.0, 20.0]), result)
        np.testing.assert_array_equal(result, [8.0, 18.0])
