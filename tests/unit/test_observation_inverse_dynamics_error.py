"""Direct method and published torque against analytic filters, designed by another route, of known torques."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import bilinear, lfilter

from impact_control.errors import InvalidInputError
from impact_control.observation import DirectObserver, MomentumObserver, PublishedTorqueObserver
from impact_control.observation.first_order_filter import filtered_rate, low_pass, low_pass_series

PERIOD = 1e-3
INERTIA = np.array([[0.9, 0.2], [0.2, 0.3]])
LOAD = np.array([4.0, -3.0])
START = 0.1

gains = st.lists(st.floats(5.0, 300.0), min_size=2, max_size=2).map(np.array)


def rigid_arm(duration: float) -> list[tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """(time, velocity, acceleration, torque, nonlinear) of two coupled joints of constant inertia.

    dq is prescribed; the torque is what the motion needs less the load, which steps at START.
    """
    samples = []
    for k in range(round(duration / PERIOD) + 1):
        time = k * PERIOD
        velocity = np.array([np.sin(3.0 * time), 0.5 * np.cos(5.0 * time)])
        acceleration = np.array([3.0 * np.cos(3.0 * time), -2.5 * np.sin(5.0 * time)])
        nonlinear = np.array([6.0 * np.cos(2.0 * time), 2.0])
        external = LOAD if time > START + 0.5 * PERIOD else np.zeros(2)
        samples.append((time, velocity, acceleration, INERTIA @ acceleration + nonlinear - external, nonlinear))
    return samples


def step_response(gain: np.ndarray, time: float) -> np.ndarray:
    return LOAD * (1.0 - np.exp(-gain * max(time - START - 0.5 * PERIOD, 0.0)))


def tustin(numerator: list[float], denominator: list[float], signal: np.ndarray) -> np.ndarray:
    """The same filters by scipy's bilinear transformation, from rest at the first sample's value 0."""
    return lfilter(*bilinear(numerator, denominator, 1.0 / PERIOD), signal)


@settings(deadline=None, max_examples=20)
@given(gains)
def test_published_torque_is_the_first_order_filter_when_the_acceleration_is_known(gain):
    observer = PublishedTorqueObserver(gain)
    for time, _, acceleration, torque, nonlinear in rigid_arm(0.4):
        residual = observer.update(INERTIA, acceleration, torque, nonlinear, time)
        assert np.all(np.abs(residual - step_response(gain, time)) < 0.01 * np.abs(LOAD))


def test_published_torque_without_acceleration_errs_by_the_inertial_torque():
    gain = np.full(2, 2000.0)
    observer = PublishedTorqueObserver(gain)
    samples = rigid_arm(0.09)
    for time, _, _, torque, nonlinear in samples:
        residual = observer.update(INERTIA, np.zeros(2), torque, nonlinear, time)
    np.testing.assert_allclose(residual, -INERTIA @ samples[-1][2], atol=0.02)
    assert np.abs(residual).max() > 1.0


def test_direct_method_tends_to_the_first_order_filter_as_its_acceleration_gets_quick():
    gain = np.array([20.0, 60.0])
    errors = []
    for rate in (100.0, 400.0, 1600.0):
        observer = DirectObserver(gain, np.full(2, rate), np.zeros(2))
        worst = 0.0
        for time, velocity, _, torque, nonlinear in rigid_arm(0.6):
            residual = observer.update(INERTIA, velocity, torque, nonlinear, time)
            # The derivative starts from 0 and needs some 1 / gain to forget it.
            if time > 0.4:
                worst = max(worst, float(np.abs(residual - step_response(gain, time)).max()))
        errors.append(worst)
    # The error is that of an acceleration late by 1 / rate.
    assert errors[0] > 3.0 * errors[1] > 9.0 * errors[2]
    assert errors[2] < 0.01 * np.abs(LOAD).max()


def test_direct_method_is_the_cascade_of_both_filters():
    random = np.random.default_rng(4)
    velocity, torque, nonlinear = np.cumsum(random.normal(size=(3, 300)), axis=1)
    for series in (velocity, torque, nonlinear):
        series -= series[0]
    inertia, ratio, gain, rate = 0.7, 2e-3, 40.0, 500.0
    acceleration = tustin([rate, 0.0], [1.0, rate], velocity)
    torque_rate = tustin([rate, 0.0], [1.0, rate], torque)
    expected = tustin([gain], [1.0, gain], inertia * acceleration + nonlinear - torque - ratio * torque_rate)
    observer = DirectObserver(np.array([gain]), np.array([rate]), np.array([ratio]))
    for k in range(300):
        found = observer.update(
            np.array([[inertia]]), velocity[k : k + 1], torque[k : k + 1], nonlinear[k : k + 1], k * PERIOD
        )
        assert found[0] == pytest.approx(expected[k], abs=1e-9 * np.abs(expected).max())


def test_direct_method_is_noisier_than_the_momentum_residual():
    random = np.random.default_rng(0)
    gain, rate = np.array([30.0]), np.array([600.0])
    direct, momentum = DirectObserver(gain, rate, np.zeros(1)), MomentumObserver(gain, np.zeros(1))
    mass, zero = np.eye(1), np.zeros(1)
    seen = np.array(
        [
            [
                direct.update(mass, velocity, zero, zero, k * PERIOD)[0],
                momentum.update(mass, velocity, zero, zero, zero, k * PERIOD)[0],
                direct.residual_rate[0],
                momentum.residual_rate[0],
            ]
            for k, velocity in enumerate(random.normal(0.0, 2e-3, (4000, 1)))
        ]
    )
    spread = seen[500:].std(axis=0)
    # White noise through K s/(s + K), with and without W/(s + W): the momentum residual keeps what is above W too, so
    # that the direct one is smoother, by its delay; the noise of its unfiltered acceleration is W / K times as large.
    assert spread[0] < spread[1]
    acceleration = np.zeros(1)
    previous = np.zeros(1)
    raw = []
    for k, velocity in enumerate(random.normal(0.0, 2e-3, (4000, 1))):
        filtered_rate(velocity, previous, rate, acceleration, PERIOD if k else 0.0)
        raw.append(acceleration[0])
    assert np.std(raw) > 5.0 * spread[1]


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


def make(kind: str):
    gain = np.array([40.0, 90.0])
    if kind == "published":
        return PublishedTorqueObserver(gain)
    return DirectObserver(gain, np.full(2, 700.0), np.full(2, 1e-3))


@pytest.mark.parametrize("kind", ["published", "direct"])
def test_it_starts_and_restarts_without_a_jump(kind):
    observer = make(kind)
    samples = rigid_arm(0.3)
    for begin in (0, 200):
        time, velocity, _, torque, nonlinear = samples[begin]
        assert not observer.update(INERTIA, velocity, torque, nonlinear, time).any()
        assert not observer.advanced and not observer.residual_rate.any()
        time, velocity, _, torque, nonlinear = samples[begin + 1]
        residual = observer.update(INERTIA, velocity, torque, nonlinear, time).copy()
        assert observer.advanced
        np.testing.assert_allclose(observer.residual_rate, residual / PERIOD)
        # One period of a first-order filter cannot do more than K T of its input.
        assert np.all(np.abs(residual) < 90.0 * PERIOD * 20.0)
        observer.reset()
        assert not observer.residual.any() and not observer.advanced


@pytest.mark.parametrize("kind", ["published", "direct"])
def test_useless_samples_are_ignored_and_gaps_start_anew(kind):
    clean, disturbed = make(kind), make(kind)
    broken = np.array([np.nan, 0.0])
    for time, velocity, _, torque, nonlinear in rigid_arm(0.2):
        clean.update(INERTIA, velocity, torque, nonlinear, time)
        for bad in (
            (INERTIA * np.nan, velocity, torque, nonlinear),
            (INERTIA, broken, torque, nonlinear),
            (INERTIA, velocity, broken, nonlinear),
            (INERTIA, velocity, torque, broken),
        ):
            disturbed.update(*bad, time - 0.3 * PERIOD)
            assert not disturbed.advanced
        disturbed.update(INERTIA, velocity, torque, nonlinear, time)
        disturbed.update(INERTIA, -velocity, torque, nonlinear, time)
        disturbed.update(INERTIA, -velocity, torque, nonlinear, np.nan)
        np.testing.assert_array_equal(disturbed.residual, clean.residual)
    kept = clean.residual.copy()
    np.testing.assert_array_equal(clean.update(INERTIA, 9.0 * velocity, torque, nonlinear, time + 1.0), kept)
    assert not clean.residual_rate.any() and np.abs(kept).max() > 0.5


@pytest.mark.parametrize("kind", ["published", "direct"])
def test_update_allocates_no_arrays(kind):
    n = 300
    gain = np.full(n, 30.0)
    observer = PublishedTorqueObserver(gain) if kind == "published" else DirectObserver(gain, gain, gain)
    mass, vector = np.eye(n), np.ones(n)
    observer.update(mass, vector, vector, vector, 0.0)
    tracemalloc.start()
    for k in range(1, 50):
        observer.update(mass, vector, vector, vector, k * PERIOD)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert observer.advanced and peak < vector.nbytes


def test_compiled_kernels_equal_their_python_forms():
    random = np.random.default_rng(3)
    for kernel, count in ((low_pass, 5), (filtered_rate, 4)):
        one = np.abs(random.normal(size=(count, 4)))
        other = one.copy()
        for period in (1e-3, 0.0, 7e-3):
            kernel(*one, period)
            getattr(kernel, "py_func", kernel)(*other, period)
            np.testing.assert_allclose(one, other, rtol=1e-13)


def test_tuning_outside_the_range_is_refused():
    good = np.array([30.0])
    with pytest.raises(InvalidInputError, match="gain"):
        PublishedTorqueObserver(np.array([0.0]))
    with pytest.raises(InvalidInputError, match="acceleration_gain"):
        DirectObserver(good, np.array([1.0, 2.0]), np.zeros(1))
    with pytest.raises(InvalidInputError, match="damping_over_stiffness"):
        DirectObserver(good, good, np.array([-1.0]))
    with pytest.raises(InvalidInputError, match="maximum_gap"):
        DirectObserver(good, good, np.zeros(1), np.nan)
    with pytest.raises(InvalidInputError, match="time"):
        low_pass_series(np.array([0.0, 0.0]), np.zeros((1, 1)), 1.0)
    with pytest.raises(InvalidInputError, match="means"):
        low_pass_series(np.array([0.0, 1.0]), np.full((1, 1), np.nan), 1.0)
    with pytest.raises(InvalidInputError, match="gain"):
        low_pass_series(np.array([0.0, 1.0]), np.zeros((1, 1)), 0.0)
