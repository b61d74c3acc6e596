"""Signal envelope filter against brute force and closed forms."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.classification import SignalEnvelope
from impact_control.classification.envelope import filter_sample
from impact_control.util.errors import InvalidInputError


def brute_force(
    signal: np.ndarray, periods: np.ndarray, window_length: int, decay_rate: float
) -> tuple[np.ndarray, np.ndarray]:
    """Proper 2021 (4.15), (4.20), with the whole window searched for every sample."""
    lower, upper = np.zeros_like(signal), np.zeros_like(signal)
    for k in range(len(signal)):
        window = signal[max(0, k - window_length) : k + 1]
        smallest, largest = window.min(axis=0), window.max(axis=0)
        if k == 0:
            lower[k], upper[k] = smallest, largest
            continue
        weight = min(decay_rate * periods[k], 1.0)
        lower[k] = np.minimum(smallest, (1.0 - weight) * lower[k - 1] + weight * smallest)
        upper[k] = np.maximum(largest, (1.0 - weight) * upper[k - 1] + weight * largest)
    return lower, upper


def run(envelope: SignalEnvelope, signal: np.ndarray, periods: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    lower, upper = np.zeros_like(signal), np.zeros_like(signal)
    for k, sample in enumerate(signal):
        envelope.filter(sample, float(periods[k]))
        lower[k], upper[k] = envelope.lower, envelope.upper
    return lower, upper


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    window_length=st.integers(0, 12),
    decay_rate=st.sampled_from([0.5, 7.0, 60.0, 800.0]),
    digits=st.integers(0, 6),
)
def test_equals_brute_force_and_contains_the_window(
    seed: int, window_length: int, decay_rate: float, digits: int
) -> None:
    random = np.random.default_rng(seed)
    signal = np.round(random.normal(size=(60, 3)).cumsum(axis=0), digits)  # few digits: many ties
    periods = random.choice([1e-3, 1e-3, 2e-3, 9e-3], size=60)
    lower, upper = run(SignalEnvelope(window_length, decay_rate, 3), signal, periods)
    expected_lower, expected_upper = brute_force(signal, periods, window_length, decay_rate)
    assert np.allclose(lower, expected_lower, rtol=0.0, atol=1e-12)
    assert np.allclose(upper, expected_upper, rtol=0.0, atol=1e-12)
    for k in range(60):
        window = signal[max(0, k - window_length) : k + 1]
        assert np.all(lower[k] <= window) and np.all(window <= upper[k])


def test_extrema_are_exact_when_the_bound_does_not_remember() -> None:
    """With a dt = 1 the bounds are the extrema of the window, bit for bit."""
    signal = np.random.default_rng(0).normal(size=(400, 2))
    lower, upper = run(SignalEnvelope(9, 1000.0, 2), signal, np.full(400, 1e-3))
    for k in range(400):
        window = signal[max(0, k - 9) : k + 1]
        assert np.array_equal(lower[k], window.min(axis=0))
        assert np.array_equal(upper[k], window.max(axis=0))


def test_step_is_held_for_m_samples_and_then_decays() -> None:
    window_length, decay_rate, period = 5, 7.0, 1e-3
    signal = np.concatenate([np.ones(20), np.zeros(60)])[:, None]
    lower, upper = run(SignalEnvelope(window_length, decay_rate, 1), signal, np.full(80, period))
    held = 20 + window_length
    assert np.allclose(upper[:held], 1.0)
    decayed = (1.0 - decay_rate * period) ** np.arange(1, 80 - held + 1)
    assert np.allclose(upper[held:, 0], decayed)
    assert np.array_equal(lower[20:], np.zeros((60, 1)))


@pytest.mark.parametrize(("dt", "expected"), [(1.0, 0.0), (np.inf, 0.0), (0.0, 1.0), (-1.0, 1.0), (np.nan, 1.0)])
def test_decay_is_clamped(dt: float, expected: float) -> None:
    envelope = SignalEnvelope(0, 7.0, 1)
    envelope.filter(np.array([1.0]), 1e-3)
    envelope.filter(np.array([0.0]), dt)
    assert envelope.upper[0] == expected
    assert envelope.lower[0] == 0.0


def test_reset_starts_with_a_window_of_one_sample() -> None:
    envelope = SignalEnvelope(4, 7.0, 2)
    assert np.all(np.isnan(envelope.lower)) and np.all(np.isnan(envelope.upper))
    random = np.random.default_rng(2)
    first, second = random.normal(size=(30, 2)) + 5.0, random.normal(size=(30, 2))
    periods = np.full(30, 1e-3)
    run(envelope, first, periods)
    envelope.reset()
    assert np.all(np.isnan(envelope.lower)) and envelope.count == 0
    envelope.filter(second[0], 1e-3)
    assert np.array_equal(envelope.lower, second[0]) and np.array_equal(envelope.upper, second[0])
    envelope.reset()
    filled = []
    for k, sample in enumerate(second):
        envelope.filter(sample, 1e-3)
        filled.append(envelope.window_is_full)
        assert envelope.count == k + 1
    assert filled == [False] * 4 + [True] * 26
    expected = brute_force(second, periods, 4, 7.0)
    assert np.allclose(envelope.lower, expected[0][-1]) and np.allclose(envelope.upper, expected[1][-1])


def test_values_that_are_not_finite_hold_the_bounds_of_their_joint() -> None:
    signal = np.random.default_rng(4).normal(size=(60, 2))
    periods = np.full(60, 1e-3)
    broken = signal.copy()
    broken[20:40, 0] = np.nan
    broken[25, 0] = np.inf
    lower, upper = run(SignalEnvelope(6, 7.0, 2), broken, periods)
    expected_lower, expected_upper = run(SignalEnvelope(6, 7.0, 2), signal, periods)
    assert np.array_equal(lower[:, 1], expected_lower[:, 1])
    assert np.all(lower[20:40, 0] == lower[19, 0]) and np.all(upper[20:40, 0] == upper[19, 0])
    # After more lost samples than the window is long, the window starts again with the next one.
    assert upper[40, 0] == max(signal[40, 0], (1 - 7e-3) * upper[39, 0] + 7e-3 * signal[40, 0])
    assert np.all(np.isfinite(lower)) and np.all(np.isfinite(upper))
    assert np.all(expected_upper >= expected_lower)


def test_cost_does_not_depend_on_the_window() -> None:
    """A search of the window would cost some hundred times more for the longer one."""
    signal = np.random.default_rng(6).normal(size=(3000, 2))

    def duration(window_length: int) -> float:
        envelope = SignalEnvelope(window_length, 7.0, 2)
        start = time.perf_counter()
        for sample in signal:
            envelope.filter(sample, 1e-3)
        return time.perf_counter() - start

    assert min(duration(20000) for _ in range(3)) < 10.0 * min(duration(2) for _ in range(3))


def test_compiled_kernel_equals_its_python_form() -> None:
    python_form = getattr(filter_sample, "py_func", filter_sample)

    def state() -> tuple[np.ndarray, ...]:
        queue = (np.zeros((2, 2, 4)), np.zeros((2, 2, 4), dtype=np.int64))
        return (*queue, *(np.zeros((2, 2), dtype=np.int64) for _ in range(2)), np.full((2, 2), np.nan))

    one, other = state(), state()
    for k, sample in enumerate(np.random.default_rng(7).normal(size=(100, 2))):
        filter_sample(sample, k + 1, 0.1, *one)
        python_form(sample, k + 1, 0.1, *other)
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_update_allocates_no_arrays() -> None:
    n = 400
    envelope = SignalEnvelope(5, 7.0, n)
    sample = np.ones(n)
    envelope.filter(sample, 1e-3)
    tracemalloc.start()
    for _ in range(50):
        envelope.filter(sample, 1e-3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < sample.nbytes


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((-1, 7.0, 2), "window_length"),
        ((2.5, 7.0, 2), "window_length"),
        ((3, 0.0, 2), "decay_rate"),
        ((3, np.nan, 2), "decay_rate"),
        ((3, 7.0, 0), "n"),
    ],
)
def test_tuning_outside_the_range_is_refused(arguments: tuple, name: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        SignalEnvelope(*arguments)
    assert caught.value.name == name
