"""Piecewise quintic curves through via points."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.references import PiecewiseQuintic, ViaPoint
from impact_control.util.errors import InvalidInputError

SEEDS = st.integers(0, 2**32 - 1)


def random_curve(seed: int, dimension: int, count: int) -> tuple[PiecewiseQuintic, np.ndarray, list[np.ndarray]]:
    generator = np.random.default_rng(seed)
    times = np.cumsum(generator.uniform(0.1, 1.5, count)) + generator.uniform(-5.0, 500.0)
    knots = [generator.normal(size=(count, dimension)) for _ in range(3)]
    return PiecewiseQuintic(times, *knots), times, knots


@given(SEEDS, st.integers(1, 7), st.integers(2, 5))
@settings(deadline=None, max_examples=40)
def test_via_points_are_met_from_both_sides(seed: int, dimension: int, count: int) -> None:
    curve, times, knots = random_curve(seed, dimension, count)
    tiny = 1e-9
    for shift in (0.0, -tiny, tiny):
        inside = (times + shift >= times[0]) & (times + shift <= times[-1])
        for sampled, knot in zip(curve.sample(times[inside] + shift), knots, strict=True):
            np.testing.assert_allclose(sampled, knot[inside], atol=1e-3)


@given(SEEDS)
@settings(deadline=None, max_examples=40)
def test_derivatives_are_those_of_the_value(seed: int) -> None:
    curve, times, _ = random_curve(seed, 2, 4)
    step = 1e-5
    middles = np.concatenate([np.linspace(a, b, 12)[1:-1] for a, b in pairwise(times)])
    ahead, behind = curve.sample(middles + step), curve.sample(middles - step)
    here = curve.sample(middles)
    for order in (0, 1):
        difference = (ahead[order] - behind[order]) / (2.0 * step)
        scale = 1.0 + np.max(np.abs(here[order + 1]))
        np.testing.assert_allclose(difference, here[order + 1], atol=2e-6 * scale)


@given(SEEDS)
@settings(deadline=None, max_examples=30)
def test_each_segment_is_the_quintic_of_six_conditions(seed: int) -> None:
    curve, times, knots = random_curve(seed, 1, 3)
    for j in (0, 1):
        span = times[j + 1] - times[j]
        powers = np.arange(6)
        rows, values = [], []
        for k, t in ((j, 0.0), (j + 1, span)):
            rows.append(t**powers)
            rows.append(np.array([0.0, 1.0, 2 * t, 3 * t**2, 4 * t**3, 5 * t**4]))
            rows.append(np.array([0.0, 0.0, 2.0, 6 * t, 12 * t**2, 20 * t**3]))
            values += [knot[k, 0] for knot in knots]
        coefficients = np.linalg.solve(np.array(rows), np.array(values))
        local = np.linspace(0.0, span, 9)
        expected = np.polynomial.polynomial.polyval(local, coefficients)
        np.testing.assert_allclose(curve.sample(times[j] + local)[0][:, 0], expected, atol=1e-8)


def test_the_curve_rests_outside_its_via_points() -> None:
    ends = np.array([[1.0, 2.0], [3.0, 2.0]])
    curve = PiecewiseQuintic(np.array([1.0, 2.0]), ends, np.ones((2, 2)), np.ones((2, 2)))
    value, first, second = curve.sample(np.array([-1.0, 0.0, 5.0]))
    np.testing.assert_array_equal(value, ends[[0, 0, 1]])
    np.testing.assert_array_equal(first, np.zeros((3, 2)))
    np.testing.assert_array_equal(second, np.zeros((3, 2)))


def test_via_points_at_rest_are_at_rest() -> None:
    points = [ViaPoint.at_rest(1.0, [1.0, 2.0]), ViaPoint.at_rest(3.0, [3.0, 2.0])]
    value, first, second = PiecewiseQuintic.through(points).sample(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(value, [[1.0, 2.0], [2.0, 2.0], [3.0, 2.0]])
    np.testing.assert_allclose(first[[0, 2]], 0.0, atol=1e-12)
    np.testing.assert_allclose(first[1], [15.0 / 8.0, 0.0])
    np.testing.assert_allclose(second, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("times", "shapes"),
    [
        ([0.0], [(1, 2)] * 3),
        ([0.0, 0.0], [(2, 2)] * 3),
        ([1.0, 0.0], [(2, 2)] * 3),
        ([0.0, np.nan], [(2, 2)] * 3),
        ([0.0, 1.0], [(2, 2), (2, 3), (2, 2)]),
        ([0.0, 1.0], [(3, 2)] * 3),
        ([0.0, 1.0], [(2,)] * 3),
    ],
)
def test_impossible_via_points_are_refused(times: list[float], shapes: list[tuple[int, ...]]) -> None:
    with pytest.raises(InvalidInputError):
        PiecewiseQuintic(np.array(times), *(np.zeros(shape) for shape in shapes))


def test_values_that_are_not_finite_are_refused() -> None:
    broken = np.array([[0.0], [np.inf]])
    with pytest.raises(InvalidInputError):
        PiecewiseQuintic(np.array([0.0, 1.0]), np.zeros((2, 1)), broken, np.zeros((2, 1)))
