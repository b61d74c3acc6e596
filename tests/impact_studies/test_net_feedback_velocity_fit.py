"""Post-impact velocity by net feedback, on a point whose velocity after the impact is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.util.errors import InvalidInputError
from impact_studies.net_feedback.velocity_fit import REFERENCE_SCALES, estimate_post_impact_velocity
from net_feedback_trials import TRUE, net_of, trial


@pytest.mark.parametrize("predicted", [0.9 * TRUE, TRUE, 1.1 * TRUE])
def test_velocity_comes_back_from_noisy_trials(predicted):
    speeds = np.repeat(np.array(REFERENCE_SCALES) * predicted, 5)
    net = np.array([net_of(v, trial(v, vibration=5.0, noise=0.02, seed=k)) for k, v in enumerate(speeds)])
    random = np.random.default_rng(1)
    found = estimate_post_impact_velocity(speeds, net + 0.01 * random.normal(size=net.size))
    assert found.velocity == pytest.approx(TRUE, abs=4.0 * found.standard_error + 1e-3)
    assert 1e-4 < found.standard_error < 0.01
    assert found.slope == pytest.approx(1.0, abs=4.0 * found.slope_error + 5e-3)
    assert found.mismatch(predicted) == pytest.approx(predicted / TRUE - 1.0, abs=0.03)
    assert found.trials == 25


def test_standard_error_is_the_scatter_of_repeated_fits():
    speeds = np.repeat(np.array(REFERENCE_SCALES) * 0.45, 5)
    random = np.random.default_rng(2)
    fits = [
        estimate_post_impact_velocity(speeds, 0.8 * (speeds - TRUE) + 0.01 * random.normal(size=25)) for _ in range(400)
    ]
    # The scatter of 400 is known to 3.5 %.
    scatter = np.std([fit.velocity for fit in fits], ddof=1)
    assert np.mean([fit.standard_error for fit in fits]) == pytest.approx(scatter, rel=0.15)
    slopes = np.std([fit.slope for fit in fits], ddof=1)
    assert np.mean([fit.slope_error for fit in fits]) == pytest.approx(slopes, rel=0.15)


@settings(deadline=None, max_examples=40)
@given(st.floats(0.1, 3.0), st.floats(-2.0, 2.0), st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=9, unique=True))
def test_a_line_is_found_exactly(slope, velocity, speeds):
    speeds = np.round(speeds, 3)
    if np.ptp(speeds) < 0.05:
        return
    found = estimate_post_impact_velocity(speeds, slope * (speeds - velocity))
    assert found.velocity == pytest.approx(velocity, abs=1e-9)
    assert found.slope == pytest.approx(slope, rel=1e-9)
    assert found.standard_error < 1e-9 and found.residual_rms < 1e-9


def test_data_that_do_not_determine_the_velocity_are_refused():
    speeds = np.repeat(np.array(REFERENCE_SCALES) * 0.4, 2)
    noise = np.random.default_rng(3).normal(size=speeds.size)
    for bad in (noise, 0.4 - speeds, np.zeros(speeds.size)):
        with pytest.raises(InvalidInputError, match="net"):
            estimate_post_impact_velocity(speeds, bad)
    for bad in (np.full(5, 0.4), speeds[:2], speeds[:, None], speeds * np.nan):
        with pytest.raises(InvalidInputError, match="reference_velocity"):
            estimate_post_impact_velocity(bad, np.zeros(np.shape(bad)))
    with pytest.raises(InvalidInputError, match="net"):
        estimate_post_impact_velocity(speeds, speeds[:-1])
    exact = estimate_post_impact_velocity(speeds, speeds - speeds.mean())
    with pytest.raises(InvalidInputError, match="prediction"):
        exact.mismatch(math.nan)
    with pytest.raises(InvalidInputError, match="velocity"):
        estimate_post_impact_velocity(np.array([-1.0, 0.0, 1.0]), np.array([-1.0, 0.0, 1.0])).mismatch(0.3)
