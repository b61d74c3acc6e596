"""Thresholds for a chosen rate of false alarms, against signals whose extremes are known, and on the Panda's noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.calibration.thresholds import calibrate_thresholds
from impact_control.util.errors import InvalidInputError

PERIOD = 1e-3


def alarms(signal, threshold, block):
    """Number of blocks of a signal (m, n) in which any channel passes its threshold."""
    rows = signal.shape[0] // block
    above = np.any(np.abs(signal[: rows * block]) >= threshold, axis=1)
    return int(np.count_nonzero(above.reshape(rows, block).any(axis=1)))


@settings(deadline=None, max_examples=8)
@given(st.floats(0.01, 100.0), st.integers(0, 2**32 - 1), st.sampled_from([1.0, 60.0, 3600.0]))
def test_for_an_exponential_tail_the_interval_holds_the_exact_threshold(size, seed, hours_seconds):
    # |Laplace| is exponential: P(max of N in a block > x) = 1 - (1 - e^{-x/size})^N; the chosen rate fixes x.
    samples, block, channels = 60000, 0.1, 2
    signal = np.random.default_rng(seed).laplace(0.0, size, (samples, channels))
    rate = 1.0 / hours_seconds
    found = calibrate_thresholds(np.arange(samples) * PERIOD, signal, rate, block=block, confidence=1.0 - 1e-6)
    per_block, count = rate * block / channels, 100
    exact = -size * math.log(-math.expm1(-per_block / count))
    assert (found.lowest <= exact).all() and (found.threshold >= exact).all()
    # By Gumbel's law, the heaviest that is fitted, the standard error is b sqrt((1 + 0.61 (0.42 + y)^2) / 600).
    error = size * math.sqrt((1.0 + 0.6079 * (0.4228 - math.log(per_block)) ** 2) / 600)
    assert (found.estimate <= exact + 5.0 * error).all() and (found.threshold <= exact + 10.0 * error).all()
    assert found.blocks == 600 and found.samples == samples


@pytest.mark.parametrize("kind", ["exponential", "gaussian", "clipped gaussian"])
def test_the_rate_of_alarms_on_other_noise_is_at_most_the_chosen_one(kind):
    random = np.random.default_rng(11)

    def noise(samples):
        if kind == "exponential":
            return random.laplace(0.0, 1.0, (samples, 3))
        drawn = random.standard_normal((samples, 3))
        return np.clip(drawn, -3.0, 3.0) if kind == "clipped gaussian" else drawn

    rate, block = 1.0 / 20.0, 0.1
    limits = [
        calibrate_thresholds(np.arange(60000) * PERIOD, noise(60000), rate, block=block).threshold for _ in range(3)
    ]
    duration = 1000.0
    for limit in limits:
        found = alarms(noise(int(duration / PERIOD)), limit, int(block / PERIOD))
        # Chosen are 50 alarms in this time; Poisson's standard deviation is 7.
        print(f"{kind}: {found} alarms in {duration:g} s, chosen {rate * duration:g}")
        assert found <= rate * duration + 3.0 * math.sqrt(rate * duration)


def test_a_rarer_alarm_and_more_confidence_ask_for_a_higher_threshold():
    signal = np.random.default_rng(1).standard_normal((30000, 2))
    time = np.arange(30000) * PERIOD
    limits = [
        calibrate_thresholds(time, signal, rate, confidence=confidence).threshold
        for rate, confidence in ((1.0, 0.5), (0.1, 0.5), (0.1, 0.9), (0.1, 0.99))
    ]
    assert (np.diff(limits, axis=0) > 0.0).all()


@settings(deadline=None, max_examples=10)
@given(st.floats(1e-3, 1e3), st.integers(0, 2**32 - 1))
def test_thresholds_scale_with_the_signal_and_not_with_its_sign(factor, seed):
    signal = np.random.default_rng(seed).standard_normal((20000, 2))
    time = np.arange(20000) * PERIOD
    found = calibrate_thresholds(time, signal, 0.1)
    scaled = calibrate_thresholds(time, -factor * signal, 0.1)
    assert scaled.threshold == pytest.approx(factor * found.threshold, rel=1e-6)
    assert scaled.tail == pytest.approx(found.tail, abs=1e-6)


def test_the_interval_holds_the_exact_threshold_as_often_as_it_says():
    size, samples, block = 1.0, 20000, 0.1
    exact = -size * math.log(-math.expm1(-0.1 * block / 100))  # as above, of one channel
    found = [
        calibrate_thresholds(
            np.arange(samples) * PERIOD, np.random.default_rng(seed).laplace(0.0, size, (samples, 1)), 0.1, block=block
        )
        for seed in range(100)
    ]
    above = sum(c.threshold[0] >= exact for c in found)
    below = sum(c.lowest[0] <= exact for c in found)
    # 95 % each, of 100: 95, with a standard deviation of 2. No shape above 0 is fitted: the low end is too low.
    print(f"exact threshold below the high end {above} and above the low end {below} times of 100")
    assert above >= 88 and below >= 88


def test_a_contact_in_the_recording_is_named():
    random = np.random.default_rng(2)
    signal, time = random.standard_normal((60000, 2)), np.arange(60000) * PERIOD
    assert calibrate_thresholds(time, signal, 0.01).objections == ()
    signal[30000:30020, 1] += 40.0
    found = calibrate_thresholds(time, signal, 0.01)
    assert len(found.objections) == 2
    assert all("channel 2" in words for words in found.objections)


def test_blocks_with_a_gap_are_left_out():
    signal, time = np.random.default_rng(3).standard_normal((60000, 1)), np.arange(60000) * PERIOD
    whole = calibrate_thresholds(time, signal, 0.1)
    kept = (time < 10.1) | (time > 11.3)  # 10.0 to 10.5 and 11.0 to 11.5 are broken, 10.5 to 11.0 is missing
    broken = calibrate_thresholds(time[kept], signal[kept], 0.1)
    assert (whole.blocks, broken.blocks) == (120, 117)
    assert broken.duration == pytest.approx(58.5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"time": np.zeros(40000)}, "increasing"),
        ({"signal": np.full((40000, 2), np.inf)}, "signal"),
        ({"signal": np.ones((40000, 2))}, "constant"),
        ({"false_alarm_rate": 0.0}, "false_alarm_rate"),
        ({"block": -1.0}, "block"),
        ({"block": 5.0}, "at least 30"),
        ({"confidence": 1.0}, "confidence"),
    ],
)
def test_what_is_not_allowed_is_named(change, words):
    signal = np.random.default_rng(5).standard_normal((40000, 2))
    arguments = {"time": np.arange(40000) * PERIOD, "signal": signal, "false_alarm_rate": 0.1}
    with pytest.raises(InvalidInputError, match=words):
        calibrate_thresholds(**{**arguments, **change})
