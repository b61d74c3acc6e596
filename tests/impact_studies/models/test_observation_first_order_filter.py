"""First-order filter against scipy's bilinear transformation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import bilinear, lfilter

from impact_control.util.errors import InvalidInputError
from impact_studies.models.observation.first_order_filter import low_pass_series

PERIOD = 1e-3


def tustin(numerator: list[float], denominator: list[float], signal: np.ndarray) -> np.ndarray:
    """The same filter by scipy's bilinear transformation, from rest at the first sample's value 0."""
    return lfilter(*bilinear(numerator, denominator, 1.0 / PERIOD), signal)


@settings(deadline=None, max_examples=20)
@given(st.floats(1.0, 500.0), st.integers(0, 1000))
def test_low_pass_series_is_the_bilinear_filter(gain, seed):
    signals = np.random.default_rng(seed).normal(size=(80, 3))
    signals[0] = 0.0
    found = low_pass_series(np.arange(80) * PERIOD, 0.5 * (signals[1:] + signals[:-1]), gain)
    expected = np.column_stack([tustin([gain], [1.0, gain], column) for column in signals.T])
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_low_pass_takes_the_true_periods():
    # A ramp is followed with the delay 1/K, whatever the periods: Tustin is exact for its steady state.
    random = np.random.default_rng(1)
    time = np.cumsum(random.uniform(0.5e-3, 3e-3, 1500))
    found = low_pass_series(time, 0.5 * (time[1:] + time[:-1])[:, None], 50.0)
    np.testing.assert_allclose(found[-1, 0], time[-1] - 1.0 / 50.0, atol=1e-6)


def test_input_outside_the_range_is_refused():
    with pytest.raises(InvalidInputError, match="time"):
        low_pass_series(np.array([0.0, 0.0]), np.zeros((1, 1)), 1.0)
    with pytest.raises(InvalidInputError, match="means"):
        low_pass_series(np.array([0.0, 1.0]), np.full((1, 1), np.nan), 1.0)
    with pytest.raises(InvalidInputError, match="gain"):
        low_pass_series(np.array([0.0, 1.0]), np.zeros((1, 1)), 0.0)
