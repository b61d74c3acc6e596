"""Impact detector: one event for each impact, on synthetic residual rates and by the printed conditions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.detection import NO_LINK, ImpactDetector
from impact_control.detection.impact_detector import a_joint_rises
from impact_control.util.errors import InvalidInputError
from kernels import peak_memory, python_form

PERIOD = 1e-3
GAIN = 30.0
THRESHOLD = 100.0


def rates_of(external_torque: np.ndarray) -> np.ndarray:
    """Rates (k, n) of the residual that filters `external_torque` (k, n), Proper 2021 (2.90), (3.4)."""
    residual = np.zeros_like(external_torque)
    for k in range(1, len(residual)):
        drive = external_torque[k]
        residual[k] = drive + (residual[k - 1] - drive) * np.exp(-GAIN * PERIOD)
    return np.diff(residual, axis=0, prepend=residual[:1]) / PERIOD


def run(detector: ImpactDetector, rates: np.ndarray, times: np.ndarray | None = None) -> list[int]:
    """Return the sample numbers of the events."""
    if times is None:
        times = PERIOD * np.arange(len(rates))
    return [k for k in range(len(rates)) if detector.detect(rates[k], float(times[k]))]


def contact_pulse(peak: float, hold: float, start: int, length: int, rise: int = 8) -> np.ndarray:
    """Contact torque (length, 1): half a sine of `rise` samples to `peak`, then `hold`."""
    torque = np.full(length, hold)
    torque[:start] = 0.0
    torque[start : start + rise] = peak * np.sin(np.pi * np.arange(1, rise + 1) / (rise + 1))
    return torque[:, None]


def test_one_impact_with_a_slow_flank_is_one_event() -> None:
    rates = rates_of(contact_pulse(60.0, 20.0, 50, 400))
    above = np.flatnonzero(np.abs(rates[:, 0]) >= THRESHOLD)
    rising = [k for k in above if abs(rates[k, 0]) >= abs(rates[k - 1, 0])]
    assert len(above) > 10 and len(rising) >= 3  # (3.6) alone and (3.7) as printed would give several
    detector = ImpactDetector(np.array([THRESHOLD]), 0.01)
    assert run(detector, rates) == [above[0]]
    assert detector.index == 1
    assert detector.triggered.tolist() == [True]


@pytest.mark.parametrize("second", [40.0, 12.0])
def test_second_impact_in_contact_is_a_new_event(second: float) -> None:
    """The rate is still above the bound, decaying, when the torque steps up again."""
    torque = np.zeros((300, 1))
    torque[50:] = 40.0
    torque[80:] += second
    rates = rates_of(torque)
    assert np.all(rates[50:110, 0] >= THRESHOLD)
    detector = ImpactDetector(np.array([THRESHOLD]), 0.01)
    assert run(detector, rates) == [50, 80]
    assert detector.index == 2
    assert detector.detection_time == pytest.approx(0.080)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), noise=st.floats(0.05, 0.99))
def test_noise_below_the_bound_is_no_event(seed: int, noise: float) -> None:
    rates = noise * THRESHOLD * np.random.default_rng(seed).uniform(-1.0, 1.0, (300, 3))
    assert run(ImpactDetector(np.full(3, THRESHOLD), 0.0), rates) == []


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_noise_on_the_decaying_rate_is_no_event(seed: int) -> None:
    torque = np.zeros((400, 1))
    torque[50:] = 40.0
    noise = 0.3 * THRESHOLD * np.random.default_rng(seed).uniform(-1.0, 1.0, (400, 1))
    rates = rates_of(torque) + noise
    assert run(ImpactDetector(np.array([THRESHOLD]), 0.01), rates) == [50]
    # The printed conditions with the refractory time alone would have reported the noise.
    assert len(run(ImpactDetector(np.array([THRESHOLD]), 0.01, rise_ratio=0.0), rates)) > 1


def reference_events(
    rates: np.ndarray, times: np.ndarray, threshold: np.ndarray, refractory_time: float, rise_ratio: float
) -> list[int]:
    """The rule in its own words, by looking back from every sample."""
    magnitude = np.abs(rates)
    last_rise = [0] * rates.shape[1]
    rose_before = [False] * rates.shape[1]
    events: list[int] = []
    for k in range(1, len(rates)):
        found = False
        for i in range(rates.shape[1]):
            now, before = magnitude[k, i], magnitude[k - 1, i]
            if not (now >= threshold[i] and now >= before):
                continue
            since = range(last_rise[i] + 1, k)
            fallen = [magnitude[j, i] for j in since if magnitude[j, i] < magnitude[j - 1, i]]
            lowest = min(fallen, default=np.inf) if rose_before[i] else 0.0
            if now >= lowest + rise_ratio * threshold[i]:
                last_rise[i], rose_before[i], found = k, True, True
        if found and (not events or times[k] - times[events[-1]] >= refractory_time):
            events.append(k)
    return events


rate_arrays = st.integers(0, 2**32 - 1).map(
    lambda seed: np.round(2.0 * THRESHOLD * np.random.default_rng(seed).uniform(-1.0, 1.0, (120, 2)), -1 - seed % 2)
)


@settings(deadline=None, max_examples=60)
@given(
    rates=rate_arrays,
    lost=st.sets(st.integers(1, 119), max_size=30),
    refractory_time=st.sampled_from([0.0, 0.0035, 0.0105]),
    rise_ratio=st.sampled_from([0.0, 0.25, 1.0]),
)
def test_events_follow_the_rule(rates: np.ndarray, lost: set[int], refractory_time: float, rise_ratio: float) -> None:
    kept = [k for k in range(len(rates)) if k not in lost]
    rates, times = rates[kept], PERIOD * np.array(kept)
    threshold = np.array([THRESHOLD, 1.3 * THRESHOLD])
    detector = ImpactDetector(threshold, refractory_time, rise_ratio)
    events = []
    for k, time in enumerate(times.tolist()):
        before = detector.index
        if not detector.detect(rates[k], time):
            assert detector.index == before
            continue
        events.append(k)
        above = np.abs(rates[k]) >= threshold
        assert detector.index == len(events)
        assert detector.detection_time == time
        assert detector.triggered.tolist() == above.tolist() and above.any()
        assert np.any(above & (np.abs(rates[k]) >= np.abs(rates[k - 1])))
        assert detector.impact_time == pytest.approx((times[k - 1] + time) / 2)
    assert events == reference_events(rates, times, threshold, refractory_time, rise_ratio)
    assert all(b - a >= refractory_time for a, b in zip(times[events], times[events][1:], strict=False))


@settings(deadline=None, max_examples=30)
@given(rates=rate_arrays)
def test_without_additions_it_is_the_first_sample_of_each_run_of_the_printed_conditions(
    rates: np.ndarray,
) -> None:
    magnitude = np.abs(rates)
    holds = np.zeros(rates.shape, dtype=bool)
    holds[1:] = (magnitude[1:] >= THRESHOLD) & (magnitude[1:] >= magnitude[:-1])  # (3.6) and (3.7)
    first = holds.copy()
    first[1:] &= ~holds[:-1]
    detector = ImpactDetector(np.full(2, THRESHOLD), 0.0, rise_ratio=0.0)
    assert run(detector, rates) == np.flatnonzero(first.any(axis=1)).tolist()


def test_following_joint_and_swing_back_belong_to_the_same_impact() -> None:
    rates = np.zeros((60, 2))
    rates[20:24, 0] = [150.0, 400.0, 200.0, 20.0]
    rates[23:26, 1] = [90.0, 180.0, 60.0]  # the second joint passes its bound 4 samples later
    rates[26:36, 0] = [-20.0, -150.0, -300.0, -290.0, -260.0, -230.0, -231.0, -200.0, -170.0, -150.0]
    threshold = np.full(2, THRESHOLD)
    assert run(ImpactDetector(threshold, 0.010), rates) == [20]
    assert run(ImpactDetector(threshold, 0.0035), rates) == [20, 24]
    assert run(ImpactDetector(threshold, 0.002), rates) == [20, 24, 27]


def test_a_used_up_rise_does_not_prolong_the_refractory_time() -> None:
    rates = np.zeros((60, 1))
    for start in range(10, 50, 6):
        rates[start] = 2.0 * THRESHOLD
    times = np.arange(60) / 1024.0  # exact in binary: the refractory time itself is enough
    for samples in (11.5, 12.0):
        detector = ImpactDetector(np.array([THRESHOLD]), samples / 1024.0)
        assert run(detector, rates, times) == [10, 22, 34, 46]


@pytest.mark.parametrize(
    ("rate", "link"),
    [([150.0, 0.0, 0.0], 1), ([150.0, -80.0, 2.0], 2), ([150.0, -49.0, 2.0], 1), ([30.0, 120.0, 99.0], 3)],
)
def test_isolated_link_is_the_outermost_joint_that_reacts(rate: list[float], link: int) -> None:
    detector = ImpactDetector(np.full(3, THRESHOLD), 0.01)
    assert detector.isolated_link == NO_LINK
    detector.detect(np.zeros(3), 0.0)
    assert detector.detect(np.array(rate), PERIOD)
    assert detector.isolated_link == link
    detector.detect(np.full(3, 1e4), 2 * PERIOD)  # the values of the event stay
    assert detector.isolated_link == link
    assert detector.triggered.tolist() == [abs(r) >= THRESHOLD for r in rate]


def test_useless_samples_are_ignored() -> None:
    torque = np.zeros((300, 1))
    torque[50:] = 40.0
    torque[80:] = 80.0
    rates = rates_of(torque)
    detector = ImpactDetector(np.array([THRESHOLD]), 0.01)
    events = []
    for k, rate in enumerate(rates):
        time = k * PERIOD
        assert not detector.detect(np.array([np.nan]), time - 0.5 * PERIOD)
        if detector.detect(rate, time):
            events.append(k)
        for useless in (time, time - 0.004, np.nan):
            assert not detector.detect(np.array([1e6]), useless)
    assert events == [50, 80]


def test_a_clock_that_jumps_back_starts_anew_and_goes_on_counting() -> None:
    detector = ImpactDetector(np.array([THRESHOLD]), 0.01)
    rates = np.zeros((40, 1))
    rates[30:] = 2.0 * THRESHOLD
    assert run(detector, rates, 100.0 + PERIOD * np.arange(40)) == [30]
    assert not detector.detect(np.array([1e6]), 0.0)  # the first sample has none before it
    assert run(detector, rates, PERIOD * np.arange(1, 41)) == [30]
    assert detector.index == 2


def test_reset_forgets_events() -> None:
    detector = ImpactDetector(np.array([THRESHOLD]), 0.01)
    rates = np.zeros((20, 1))
    rates[10:] = 2.0 * THRESHOLD
    assert run(detector, rates) == [10]
    detector.reset()
    assert (detector.index, detector.isolated_link, detector.triggered.tolist()) == (0, NO_LINK, [False])
    assert np.isnan(detector.impact_time) and np.isnan(detector.detection_time)
    assert run(detector, rates) == [10]


def test_compiled_kernel_equals_its_python_form() -> None:
    random = np.random.default_rng(5)
    threshold, rise = np.array([1.0, 2.0]), np.array([0.5, 0.0])
    one, other = np.zeros((2, 2)), np.zeros((2, 2))
    found = 0
    for magnitude in random.uniform(0.0, 3.0, (200, 2)):
        if random.uniform() < 0.1:
            magnitude[0] = np.nan
        answer = a_joint_rises(magnitude, threshold, rise, *one)
        assert answer == python_form(a_joint_rises)(magnitude, threshold, rise, *other)
        assert np.array_equal(one, other)
        found += answer
    assert 0 < found < 200


def test_update_allocates_no_arrays() -> None:
    n = 400
    detector = ImpactDetector(np.full(n, THRESHOLD), 0.0)
    rates = np.zeros((2, n))
    rates[1] = 2.0 * THRESHOLD
    run(detector, rates)
    peak = peak_memory(lambda k: detector.detect(rates[k % 2], k * PERIOD), range(2, 50))
    assert detector.index > 10
    assert peak < rates[0].nbytes


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (([0.0, 1.0], 0.01), "rate_threshold"),
        (([], 0.01), "rate_threshold"),
        (([np.inf], 0.01), "rate_threshold"),
        (([1.0], -0.01), "refractory_time"),
        (([1.0], np.nan), "refractory_time"),
        (([1.0], 0.01, -0.1), "rise_ratio"),
    ],
)
def test_tuning_outside_the_range_is_refused(arguments: tuple, name: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        ImpactDetector(np.array(arguments[0]), *arguments[1:])
    assert caught.value.name == name
