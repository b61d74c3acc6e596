"""Margins that close in time, and the probability of what they are held against."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from impact_control.classification import (
    HIDDEN,
    MISTAKEN,
    EnvelopeMargin,
    fixed_margin,
    probability_expected,
    propagated_margin,
)
from impact_control.classification.margin import STEP, remaining_error
from impact_control.util.errors import InvalidInputError


def margin_of(jump, *, friction=0.0, tracking=0.0, noise=0.0, limit=3.0, gain=400.0, interim=0.05, duration=0.15):
    jump = np.atleast_1d(np.asarray(jump, dtype=float))
    left = remaining_error(gain, interim, 50.0, duration)
    friction, noise = (np.broadcast_to(value, jump.size) for value in (friction, noise))
    return propagated_margin(jump, friction, tracking, noise, limit, left)


@settings(deadline=None, max_examples=15)
@given(st.floats(50.0, 1000.0), st.floats(0.0, 0.2), st.sampled_from([40.0, 60.0, 1e4]))
def test_what_is_left_of_an_error_is_that_of_the_feedback_by_a_second_method(gain, interim, cutoff):
    """Van Steen 2024 (23)-(25) behind two stages, by an adaptive method; the envelope of its magnitude from t on."""
    rate = 2.0 * math.pi * cutoff

    def slope(t, state):
        gamma = min(t / interim, 1.0) if interim > 0.0 else 1.0
        feedback = 2.0 * math.sqrt(gain) * gamma * state[1] + gain * state[0]
        return [state[1], -state[3], rate * (feedback - state[2]), rate * (state[2] - state[3])]

    left = remaining_error(gain, interim, cutoff, 0.3)
    times = STEP * np.arange(left.size)
    begin = [0.0, 1.0, 0.0, 0.0]
    speed = np.abs(solve_ivp(slope, (0.0, 0.3), begin, t_eval=times, max_step=1e-3, rtol=1e-8, method="LSODA").y[1])
    expected = np.maximum.accumulate(speed[::-1])[::-1]
    np.testing.assert_allclose(left, expected, atol=0.03)
    assert left[0] == 1.0 and (np.diff(left) <= 0.0).all()


def test_independent_deviations_add_by_their_squares_and_the_limit_counts_them():
    margin = margin_of([0.03, 0.0], tracking=0.004, noise=0.003, limit=2.0)
    np.testing.assert_allclose(margin.table[0], [2.0 * math.hypot(0.03, 0.005), 0.01])
    np.testing.assert_allclose(margin.table[:, 1], 0.01)
    assert margin.table[-1, 0] < 0.3 * margin.table[0, 0]


def test_that_of_the_friction_of_a_joint_stays():
    margin = margin_of([0.03, 0.03], friction=[0.012, 0.0], tracking=0.004, noise=0.003, limit=2.0)
    np.testing.assert_allclose(margin.table[:, 0] ** 2 - margin.table[:, 1] ** 2, 0.024**2)


def test_a_fixed_margin_is_the_same_at_all_times():
    margin = fixed_margin(np.array([0.1, 0.2]), 2)
    assert {margin.row(t) for t in (-1.0, 0.0, 0.1, 100.0, math.nan, math.inf)} == {0}
    assert margin.joints == 2


def test_rows_follow_the_time_since_the_impact_and_the_last_one_stays():
    margin = margin_of([0.03])
    assert [margin.row(t) for t in (-math.inf, math.nan, 0.0, 0.0105, 10.0)] == [0, 0, 0, 10, 149]


@pytest.mark.parametrize("table", [[[0.1, -0.1]], [[math.nan]], [0.1], []])
def test_a_margin_is_rows_of_numbers_of_at_least_zero(table):
    with pytest.raises(InvalidInputError, match="margin"):
        EnvelopeMargin(np.array(table))


def test_the_probability_falls_from_that_of_no_deviation_to_none():
    values = [probability_expected(d) for d in (-1.0, 0.0, 0.5, 1.0, math.nextafter(1.0, 2.0), 2.0, 1e300, math.inf)]
    assert values[:2] == [1.0, 1.0] and values[3] == 1.0 - HIDDEN and values[-1] == 0.0
    assert values[4] == pytest.approx(MISTAKEN)
    assert values == sorted(values, reverse=True)
    assert probability_expected(math.nan) == 0.0
