"""The detector on all joints at once, on simulated signals whose noise, friction and contacts are known."""

from __future__ import annotations

import math
import timeit

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.calibration.motion import FreeMotion
from impact_control.calibration.thresholds import calibrate_thresholds
from impact_control.calibration.whitening import BLOCK, GUMBEL, distances, learn_detector
from impact_control.detection import (
    DetectionSignals,
    ResidualRateScore,
    ResidualScore,
    ScoreDetector,
    WhitenedScore,
)
from impact_control.detection.whitened import BANDS, TIME_CONSTANTS, WITH_TORQUE, correlation_rows
from impact_control.scenario import load_scenario
from impact_control.util.errors import InvalidInputError
from whitened_models import whitened_model

PERIOD, SIZE, GAIN = 1e-3, 7, 30.0
TABLETOP = load_scenario("tabletop")
REFRACTORY = TABLETOP.detection.refractory_time
RATE = 900.0 / 3600.0
"""[1/s] of false alarms for which detectors are calibrated here."""


def free_signals(seed, duration, *, friction=0.6):
    """Velocity, torque and residual (3, m, 7) of a motion without contact.

    The residual is the friction, a sigmoid as of the Panda, through the observer, and noise that is alike in all joints
    for a good part; its size grows with the speed. The torque has independent noise.
    """
    random = np.random.default_rng(seed)
    time = PERIOD * np.arange(round(duration / PERIOD))
    rates, phase = random.uniform(1.5, 3.5, SIZE), random.uniform(0.0, 6.0, SIZE)
    velocity = np.sin(rates * time[:, None] + phase) * 0.8
    mixing = random.normal(0.0, 1.0, (SIZE, 2)) @ random.normal(0.0, 1.0, (2, SIZE)) + 0.3 * np.eye(SIZE)
    noise = random.standard_normal((time.size, SIZE)) @ mixing.T * 0.05
    noise *= (1.0 + np.linalg.norm(velocity, axis=1))[:, None]
    drag = friction * np.tanh(0.5 * 10.0 * velocity)
    residual, share = np.zeros_like(velocity), 1.0 - math.exp(-GAIN * PERIOD)
    for k in range(1, time.size):
        residual[k] = residual[k - 1] + share * (-drag[k] - residual[k - 1])
    torque = random.normal(0.0, 0.05, velocity.shape)
    return time, np.array([velocity, torque, residual + noise])


def motion_of(time, signals):
    """The same as free motion for a calibration."""
    velocity, torque, residual = signals
    return FreeMotion("simulated", time, velocity, torque, residual, {}, (), ())


@pytest.fixture(scope="module")
def learned():
    return learn_detector(TABLETOP, [motion_of(*free_signals(1, 30.0))], 900.0)


def detector_of(learned):
    score = learned.model.score(np.full(SIZE, GAIN))
    return ScoreDetector(score, SIZE, learned.thresholds.threshold, REFRACTORY)


def score_of(observer_gain=GAIN, **changes):
    return WhitenedScore(SIZE, np.full(SIZE, observer_gain), whitened_model(SIZE, **changes))


def events(detector, time, signals):
    """Stamps [s] of the events over signals (3, m, 7)."""
    detector.reset()
    seen, found = DetectionSignals(SIZE), []
    for k, stamp in enumerate(time.tolist()):
        seen.velocity, seen.joint_torque, seen.residual = signals[:, k]
        if detector.detect(seen, stamp):
            found.append(stamp)
    return np.array(found)


def pushed(time, signals, starts, torques):
    """The signals with external torques (k, 7) [Nm] for 30 ms from each start [s], as the observer shows them."""
    residual = signals[2].copy()
    for start, torque in zip(starts, torques, strict=True):
        since, end = np.maximum(time - start, 0.0), np.maximum(time - start - 0.03, 0.0)
        residual += np.outer(np.exp(-GAIN * end) - np.exp(-GAIN * since), torque)
    return np.array([signals[0], signals[1], residual])


def test_the_distances_are_those_of_their_definition():
    """Band by band with other filters, covariance and inverse: d^2 = b^T C^-1 b of the scaled bands."""
    random = np.random.default_rng(5)
    model = whitened_model(SIZE, deviation=0.2, friction=(0.5, 8.0, 0.03, 0.1))
    rows = []
    for band in range(BANDS):
        width = 2 * SIZE if band < WITH_TORQUE else SIZE
        mixing = random.normal(size=(width, width)) + 2.0 * np.eye(width)
        rows.append(mixing @ mixing.T)
    model.correlations = np.vstack([matrix.reshape(-1, SIZE) for matrix in rows])
    model.deviations = random.uniform(0.1, 0.5, model.deviations.shape)
    model.known_speed = random.uniform(0.5, 1.5, SIZE)
    score, seen = WhitenedScore(SIZE, np.full(SIZE, GAIN), model), DetectionSignals(SIZE)
    time = np.cumsum(random.uniform(0.5e-3, 3e-3, 400))
    velocity, torque, residual = random.normal(0.0, 1.0, (3, 400, SIZE))

    friction = 0.25 * (np.tanh(4.0 * (velocity + 0.03)) - math.tanh(0.12)) + 0.1 * velocity
    taken_out, low, slow = np.empty(SIZE), [], []
    for k in range(400):
        seen.velocity, seen.joint_torque, seen.residual = velocity[k], torque[k], residual[k]
        found = score.evaluate(seen, float(time[k]))
        decay = math.exp(-GAIN * (time[k] - time[k - 1])) if k else 0.0
        taken_out = friction[k] + decay * (taken_out - friction[k]) if k else friction[k].copy()
        signal = np.concatenate([residual[k] + taken_out, torque[k]])
        decays = [math.exp(-(time[k] - time[k - 1]) / tau) if k else 0.0 for tau in TIME_CONSTANTS]
        low = [signal + d * ((low[b] if k else 0.0) - signal) for b, d in enumerate(decays)]
        slow = [velocity[k] + d * ((slow[b] if k else 0.0) - velocity[k]) for b, d in enumerate(decays)]
    bands = [signal - low[0], signal - low[1], *(low[b - 2] - low[b] for b in range(2, BANDS))]
    features = np.ones((4, SIZE))
    features[1] = velocity[-1] @ velocity[-1]
    features[2] = np.sum(((slow[2] - slow[4]) / 0.03) ** 2)
    features[3] = np.exp(-((velocity[-1] / 0.05) ** 2))
    excess = np.maximum(1.0, np.abs(velocity[-1]) / model.known_speed) ** 2
    first = 0
    for band in range(BANDS):
        kinds = 2 if band < WITH_TORQUE else 1
        blocks = [model.deviations[first + 4 * kind : first + 4 * kind + 4] for kind in range(kinds)]
        first += 4 * kinds
        size = np.concatenate([excess * np.sqrt((block**2 * features).sum(axis=0)) for block in blocks])
        z = bands[band][: size.size] / size
        assert found[band] == pytest.approx(math.sqrt(z @ np.linalg.inv(rows[band]) @ z), rel=1e-9)


def test_repeated_and_broken_samples_are_none():
    """Rows that repeat the one before, or are not finite, change nothing of what the others give."""
    time, signals = free_signals(2, 2.0)
    score, seen = score_of(200.0), DetectionSignals(SIZE)
    random = np.random.default_rng(3)
    kinds = random.choice(["sample", "copy", "nan"], time.size, p=[0.85, 0.1, 0.05])
    kinds[0] = "sample"
    clean, dirty = [], []
    for values, with_defects in ((clean, False), (dirty, True)):
        score.reset()
        for k, stamp in enumerate(time.tolist()):
            if kinds[k] == "sample":
                row = k
            elif not with_defects:
                continue
            seen.velocity, seen.joint_torque, seen.residual = signals[:, row].copy()
            if kinds[k] == "nan":
                seen.velocity[2] = np.nan
            if kinds[k] == "copy":
                seen.residual += 5.0  # the observer goes on with the copy
            found = score.evaluate(seen, stamp).copy()
            if kinds[k] == "sample":
                values.append(found)
    assert len(clean) > 1500 and np.any(clean[-1] > 0.0)
    np.testing.assert_array_equal(dirty, clean)


def test_it_is_deaf_until_the_observer_has_settled():
    time, signals = free_signals(2, 1.0)
    score = score_of()
    found = distances(score, motion_of(time, signals)).any(axis=1)
    assert time[found.argmax()] == pytest.approx(5.0 / GAIN, abs=1.5 * PERIOD)


def test_false_alarms_come_as_often_as_asked_for(learned):
    """On motions with other noise, 900 an hour are 20 in 80 s, at 95 % confidence at most."""
    counts = []
    for seed in (11, 12):
        time, signals = same_arm(seed, 40.0)
        counts.append(len(events(detector_of(learned), time, signals)))
    print(f"{sum(counts)} false alarms in 80 s, 20 asked for")
    assert sum(counts) <= 20.0 + 3.0 * math.sqrt(20.0)


def same_arm(seed, duration):
    """Signals of the arm of `learned` with other noise: a stretch of a long record of it that was not learned from."""
    time, signals = free_signals(1, 30.0 + 40.0 * (seed - 10))
    rows = slice(round((time[-1] + PERIOD - duration) / PERIOD), None)
    return time[: round(duration / PERIOD)], signals[:, rows]


@settings(deadline=None, max_examples=15)
@given(
    start=st.floats(0.4, 1.6),
    joint=st.integers(0, SIZE - 1),
    turn=st.floats(-1.0, 1.0),
    sign=st.sampled_from([-1.0, 1.0]),
)
def test_a_contact_is_found_within_15_ms_whatever_joints_it_loads(learned, start, joint, turn, sign):
    time, signals = same_arm(11, 2.0)
    torque = np.zeros(SIZE)
    torque[joint], torque[(joint + 1) % SIZE] = 12.0 * sign, 12.0 * turn
    found = events(detector_of(learned), time, pushed(time, signals, [start], [torque]))
    found = found[found > start]
    assert found.size and found[0] - start <= 0.015


def test_all_joints_together_find_more_than_each_alone(learned):
    """At the same rate of false alarms, calibrated on the same motion: pushes that load all joints."""
    time, signals = free_signals(1, 30.0)
    kept = time > 0.2
    rate = np.diff(signals[2], axis=0, prepend=signals[2][:1]) / PERIOD
    single = {}
    for made, values in ((ResidualScore, signals[2]), (ResidualRateScore, rate)):
        bound = calibrate_thresholds(time[kept], values[kept], RATE, block=BLOCK, shapes=GUMBEL).threshold
        single[made.__name__] = ScoreDetector(made(SIZE), SIZE, bound, REFRACTORY)
    other, without = same_arm(12, 20.0)
    starts = np.arange(0.5, 19.5, 0.25)
    torques = np.random.default_rng(4).normal(0.0, 1.0, (starts.size, SIZE))
    torques *= 2.0 / np.linalg.norm(torques, axis=1, keepdims=True)
    touched = pushed(other, without, starts, torques)

    def found(detector):
        seen = DetectionSignals(SIZE)
        times = []
        detector.reset()
        for k, stamp in enumerate(other.tolist()):
            seen.velocity, seen.joint_torque, seen.residual = touched[:, k]
            seen.residual_rate = (touched[2, k] - touched[2, max(k - 1, 0)]) / PERIOD
            if detector.detect(seen, stamp):
                times.append(stamp)
        times = np.array(times)
        return np.mean([np.any((times > start) & (times <= start + 0.04)) for start in starts])

    together, alone = found(detector_of(learned)), {name: found(detector) for name, detector in single.items()}
    print(f"found: {together:.2f} together, alone {alone}")
    assert together >= 0.9
    assert max(alone.values()) <= together - 0.3


def test_known_friction_is_taken_out_at_a_reversal():
    """A sigmoid of 1.2 Nm between both directions: what is left of it in the bands is a hundredth."""
    time = PERIOD * np.arange(3000)
    velocity = np.repeat(0.5 * np.sin(2.0 * np.pi * time)[:, None], SIZE, axis=1)
    residual, share = np.zeros_like(velocity), 1.0 - math.exp(-GAIN * PERIOD)
    for k in range(1, time.size):
        drag = 0.6 * np.tanh(5.0 * velocity[k])
        residual[k] = residual[k - 1] + share * (-drag - residual[k - 1])
    motion = motion_of(time, np.array([velocity, np.zeros_like(velocity), residual]))
    unknown, known = (
        distances(score_of(friction=friction), motion) for friction in ((0.0, 1.0, 0.0, 0.0), (1.2, 10.0, 0.0, 0.0))
    )
    assert unknown[-1500:, -1].max() > 3.0
    assert known[-1500:].max() < 0.01 * unknown[-1500:].max()


def test_a_joint_that_was_not_seen_moving_counts_for_less():
    time, signals = free_signals(2, 1.0)
    alike, slow = (
        distances(score_of(200.0, known_speed=np.full(SIZE, v)), motion_of(time, signals)) for v in (1e6, 0.01)
    )
    assert slow[-1].max() < 0.05 * alike[-1].max()


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"observer_gain": 0.0}, "observer_gain"),
        ({"known_speed": np.zeros(SIZE)}, "known_speed"),
        ({"friction": (np.nan, 1.0, 1.0, 1.0)}, "friction.amplitude"),
        ({"deviations": np.zeros((28, SIZE))}, "deviations"),
        ({"deviations": np.ones((27, SIZE))}, "deviations"),
        ({"correlations": np.ones((3, SIZE))}, "correlations"),
        ({"correlations": np.ones((correlation_rows(SIZE), SIZE))}, "correlations of band 1"),
    ],
)
def test_models_that_are_none_are_refused(changes, name):
    with pytest.raises(InvalidInputError) as caught:
        score_of(**changes)
    assert caught.value.name == name


def test_it_costs_a_few_microseconds(record_property):
    score, seen = score_of(200.0), DetectionSignals(SIZE)
    rows = np.random.default_rng(0).normal(size=(2000, 3, SIZE))
    stamps = iter(range(10**9))

    def run():
        for seen.velocity, seen.joint_torque, seen.residual in rows:
            score.evaluate(seen, PERIOD * next(stamps))

    cost = min(timeit.repeat(run, number=1, repeat=7)) / len(rows)
    record_property("seconds", cost)
    print(f"{1e6 * cost:.2f} us a sample")
    assert cost < 10e-6
