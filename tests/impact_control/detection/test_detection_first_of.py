"""Several detectors in one: whichever reports first makes the event."""

from __future__ import annotations

import math

import numpy as np
import pytest

from impact_control.detection import (
    NO_LINK,
    DetectionSignals,
    FirstOf,
    ResidualRateScore,
    ResidualScore,
    ScoreDetector,
)
from impact_control.util.errors import InvalidInputError

REFRACTORY = 0.05


def quick(size=2):
    return ScoreDetector(ResidualRateScore(size), size, 100.0, REFRACTORY)


def level(size=2):
    return ScoreDetector(ResidualScore(size), size, 5.0, REFRACTORY)


def both():
    return FirstOf([quick(), level()], REFRACTORY)


def events(detector, residual):
    """Stamps [s] at which a residual (N,) [Nm] of joint 1, sampled at 1 kHz, is an event."""
    signals = DetectionSignals(2)
    rates = np.diff(residual, prepend=residual[0]) * 1e3
    found = []
    for k, (value, rate) in enumerate(zip(residual, rates, strict=True)):
        signals.residual[0], signals.residual_rate[0] = value, rate
        if detector.detect(signals, k * 1e-3):
            found.append(k * 1e-3)
    return found


def ramp(samples, start, slope, top):
    """A residual that rises from 0 at sample `start` by `slope` [Nm/s] up to `top` [Nm]."""
    return np.clip((np.arange(samples) - start) * slope * 1e-3, 0.0, top)


def test_a_hard_impact_is_one_event_of_the_quicker_detector():
    # 1000 Nm/s: the rate is above its bound at once, the residual 5 ms later.
    signal = ramp(200, 100, 1000.0, 20.0)
    assert events(both(), signal) == [0.101]
    assert events(level(), signal) == [0.105]


def test_a_slow_push_is_found_by_the_residual_alone():
    signal = ramp(400, 100, 50.0, 20.0)
    detector = both()
    assert events(quick(), signal) == []
    assert events(detector, signal) == [pytest.approx(0.2)]
    assert (detector.index, detector.triggered.tolist(), detector.isolated_link) == (1, [True, False], 1)
    assert detector.impact_time <= detector.detection_time == pytest.approx(0.2)


def test_a_second_impact_after_the_refractory_time_counts_again():
    first, second = ramp(400, 100, 1000.0, 4.0), ramp(400, 300, 1000.0, 4.0)
    assert events(both(), first + second) == [0.101, 0.301]


def test_reset_forgets():
    detector = both()
    events(detector, ramp(200, 100, 1000.0, 20.0))
    detector.reset()
    assert (detector.index, detector.isolated_link) == (0, NO_LINK)
    assert math.isnan(detector.impact_time) and not detector.triggered.any()
    assert events(detector, ramp(200, 100, 1000.0, 20.0)) == [0.101]


def test_wrong_parts_are_refused():
    with pytest.raises(InvalidInputError, match="detectors"):
        FirstOf([], REFRACTORY)
    with pytest.raises(InvalidInputError, match="same number"):
        FirstOf([level(), level(3)], REFRACTORY)
    with pytest.raises(InvalidInputError, match="refractory_time"):
        FirstOf([level()], -1.0)
