"""Jump-aware velocity filter: exact on parabolas, sharp at jumps, quiet between them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.util.errors import InvalidInputError
from impact_studies.models.observation.velocity_filter import QUADRATIC_SAMPLES, JumpAwareVelocityFilter, _take

PERIOD = 1e-3
NOISE = 2.5e-4
"""[rad] a third of the half-width of Proper 2021 (3.5)."""


def run(filter_: JumpAwareVelocityFilter, time: np.ndarray, position: np.ndarray) -> tuple[np.ndarray, list[float]]:
    """Velocities (m, n) and the times at which a jump was confirmed."""
    velocity, confirmed = np.zeros_like(position), []
    for k in range(time.size):
        velocity[k] = filter_.observe(position[k], time[k])
        if filter_.jumped:
            confirmed.append(float(time[k]))
    return velocity, confirmed


def impact(size: float, noise: float, seed: int, moment: float = 0.1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Time, position (m, 2) and true velocity of two joints of which the first loses `size` [rad/s] at `moment`."""
    time = np.arange(250) * PERIOD
    velocity = np.column_stack([1.0 - size * (time > moment), np.full(time.size, 0.3)])
    exact = np.column_stack([time - size * np.maximum(time - moment, 0.0), 0.3 * time])
    return time, exact + noise * np.random.default_rng(seed).normal(size=exact.shape), velocity


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.floats(-3.0, 3.0), min_size=3, max_size=3),
    st.integers(12, 40),
    st.integers(0, 1000),
    st.floats(-1e4, 1e4),
)
def test_velocity_of_a_parabola_is_exact_whatever_the_periods(coefficients, window, seed, origin):
    time = np.cumsum(np.random.default_rng(seed).uniform(0.3e-3, 2e-3, 80))
    position = np.polynomial.polynomial.polyval(time, coefficients)[:, None]
    velocity, confirmed = run(JumpAwareVelocityFilter(np.array([0.1]), window), origin + time, position)
    expected = coefficients[1] + 2.0 * coefficients[2] * time
    # 1e4 s resolve 2e-12 s of a period of 1e-3 s.
    np.testing.assert_allclose(velocity[8:, 0], expected[8:], atol=1e-5)
    assert not confirmed


@settings(deadline=None, max_examples=25)
@given(st.floats(0.4, 2.0), st.integers(0, 1000), st.sampled_from([-1.0, 1.0]))
def test_a_jump_is_found_at_once_and_not_smeared(size, seed, sign):
    time, position, true = impact(sign * size, NOISE, seed)
    filter_ = JumpAwareVelocityFilter(np.full(2, 6.0 * NOISE))
    velocity, confirmed = run(filter_, time, position)
    assert len(confirmed) == 1 and 0.1 < confirmed[0] <= 0.1 + (2.0 + 4.0 / size) * PERIOD
    assert filter_.jump_time == pytest.approx(0.1, abs=2.5 * PERIOD)
    # Even with the kink placed two samples too early, half of the samples are beyond it; the noise of a line
    # through m samples comes on top.
    after = np.searchsorted(time, confirmed[0])
    error = np.abs(velocity - true)[after : after + 15, 0]
    count = round((confirmed[0] - filter_.jump_time) / PERIOD) + np.arange(15)
    spread = NOISE / PERIOD / np.sqrt((count**3 - count) / 12.0) * np.where(count < QUADRATIC_SAMPLES, 1.0, 4.0)
    assert np.all(error < 5.0 * spread + size * np.where(count < 6, 0.7, 0.3))


def test_a_filter_that_knows_no_jumps_smears_them():
    # The same polynomial over the same window with an infinite threshold, without noise.
    time, position, true = impact(1.0, 0.0, 0)
    smeared, none = run(JumpAwareVelocityFilter(np.full(2, 1e9)), time, position)
    sharp, found = run(JumpAwareVelocityFilter(np.full(2, 1e-4)), time, position)
    assert not none and len(found) == 1 and found[0] == pytest.approx(0.103)
    after = (time > 0.1025) & (time < 0.116)
    assert np.abs(sharp - true)[after].max() < 1e-6
    assert np.abs(smeared - true)[after].max() > 0.3
    # Before the jump and long after it they agree.
    same = (time > 0.05) & (time < 0.1) | (time > 0.15)
    np.testing.assert_allclose(sharp[same], smeared[same], atol=1e-9)


def test_no_jump_is_seen_in_smooth_motion_with_noise():
    time = np.arange(20000) * PERIOD
    random = np.random.default_rng(5)
    position = np.column_stack([0.4 * np.sin(2.0 * time), 0.2 * np.cos(5.0 * time)])
    filter_ = JumpAwareVelocityFilter(np.full(2, 6.0 * NOISE))
    velocity, confirmed = run(filter_, time, position + NOISE * random.normal(size=position.shape))
    assert not confirmed
    true = np.column_stack([0.8 * np.cos(2.0 * time), -np.sin(5.0 * time)])
    # A parabola through m = 40 samples, at its end: sqrt(192 / m^3) of noise over period.
    spread = NOISE / PERIOD * np.sqrt(192.0 / 40**3)
    assert np.std((velocity - true)[100:]) == pytest.approx(spread, rel=0.15)


def test_a_jump_known_from_elsewhere_restarts_the_fit():
    time, position, true = impact(1.0, 0.0, 0)
    filter_ = JumpAwareVelocityFilter(np.full(2, 1e9))
    for k in range(105):
        filter_.observe(position[k], time[k])
    filter_.restart_from(0.1005)
    np.testing.assert_allclose(filter_.observe(position[105], time[105]), true[105], atol=1e-9)
    filter_.restart_from(1.0)  # nothing is left: the velocity stays until there are two samples
    np.testing.assert_allclose(filter_.observe(position[106], time[106]), true[105], atol=1e-9)


def test_useless_samples_are_ignored_and_a_gap_starts_anew():
    time, position, _ = impact(0.0, NOISE, 3)
    clean, disturbed = (JumpAwareVelocityFilter(np.full(2, 1e-2)) for _ in range(2))
    for k in range(time.size):
        clean.observe(position[k], time[k])
        disturbed.observe(np.array([np.nan, 0.0]), time[k] - 0.3 * PERIOD)
        disturbed.observe(position[k], time[k])
        disturbed.observe(position[k] + 5.0, time[k])
        disturbed.observe(position[k] + 5.0, np.nan)
        np.testing.assert_array_equal(disturbed.velocity, clean.velocity)
    before = clean.velocity.copy()
    np.testing.assert_array_equal(clean.observe(np.array([7.0, 8.0]), time[-1] + 1.0), before)
    np.testing.assert_allclose(clean.observe(np.array([7.1, 8.2]), time[-1] + 1.01), [10.0, 20.0])
    clean.reset()
    assert not clean.velocity.any() and not clean.jumped and np.isnan(clean.jump_time)


def test_compiled_kernel_equals_its_python_form():
    python_form = getattr(_take, "py_func", _take)
    time, position, _ = impact(1.0, 1e-6, 2)
    states = []
    for _ in range(2):
        times, positions, work, inverse, fit = map(np.zeros, ((12,), (12, 2), (4, 3), (3, 3), (3, 2)))
        states.append((np.zeros(2), (times, positions, np.full(2, 1e-4), 0.05, work, inverse, fit)))
    count, jumps = [0, 0], []
    for k in range(130):
        for i, kernel in enumerate((_take, python_form)):
            count[i], jump = kernel(time[k], position[k], count[i], *states[i])
            jumps.append(jump)
        assert count[0] == count[1]
        np.testing.assert_allclose(states[0][0], states[1][0], atol=1e-9)
    assert np.count_nonzero(np.isfinite(jumps)) >= 2


def test_update_allocates_no_arrays():
    n = 300
    filter_ = JumpAwareVelocityFilter(np.full(n, 1.0))
    position = np.ones(n)
    filter_.observe(position, 0.0)
    tracemalloc.start()
    for k in range(1, 50):
        filter_.observe(position, k * PERIOD)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < position.nbytes


@pytest.mark.parametrize(
    ("threshold", "window", "gap", "name"),
    [([0.0], 20, 0.05, "threshold"), ([1e-3], 11, 0.05, "window"), ([1e-3], 20, 0.0, "maximum_gap")],
)
def test_tuning_outside_the_range_is_refused(threshold, window, gap, name):
    with pytest.raises(InvalidInputError) as caught:
        JumpAwareVelocityFilter(np.array(threshold), window, gap)
    assert caught.value.name == name
