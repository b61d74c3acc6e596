"""The tuner: what it finds lets all acceptable trials pass, is the least that does, and is what the classifiers do."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.classification import (
    TUNED,
    Algorithm,
    Candidates,
    RecordedImpact,
    SearchGrid,
    SimultaneousImpactClassifier,
    SingleImpactClassifier,
    Verdict,
    gray_area,
    is_unexpected,
    judge,
    tune,
)
from impact_control.scenario import Classification
from impact_control.util.errors import InvalidInputError

PERIOD = 1e-3
SMALL = SearchGrid(window_lengths=(5, 15), decay_rates=(20.0, 100.0), post_impact_times=(0.08,))


def recording(seed: int, deviation: float, joints: int = 3, impacts: int = 1, samples: int = 300) -> RecordedImpact:
    """An impact at 0.1 s whose velocity error rings and keeps an offset that grows with the deviation."""
    random = np.random.default_rng(seed)
    time = PERIOD * np.arange(samples)
    after = np.maximum(time - 0.1, 0.0)[:, None]
    ring = 0.3 * np.exp(-30.0 * after) * np.cos(280.0 * after + random.uniform(0.0, 6.0, joints))
    hit = (time >= 0.1)[:, None]
    velocity = 0.002 * random.normal(size=(samples, joints))
    velocity = velocity + hit * (ring + 0.02 * deviation * random.uniform(0.8, 1.2, joints))
    places = 100 + np.concatenate(([0], np.cumsum(random.integers(8, 30, impacts - 1)))).astype(int)
    configurations = 0.002 * random.normal(size=(impacts, joints)) + 0.004 * abs(deviation)
    complete = int(places[-1]) + 12
    return RecordedImpact(
        time,
        velocity,
        np.zeros_like(velocity),
        PERIOD * places - 0.0005,
        places,
        configurations,
        PERIOD * complete,
        complete,
        0.1,
        np.zeros(joints),
        deviation,
    )


def tuning(*found) -> Classification:
    return Classification.of(**dict(zip(TUNED, found, strict=True)))


def classifier_of(algorithm: Algorithm, parameters: Classification, n: int):
    if algorithm is Algorithm.SINGLE:
        return SingleImpactClassifier(parameters, n)
    return SimultaneousImpactClassifier(parameters, n, await_completion=algorithm is Algorithm.COMPLETION)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    algorithm=st.sampled_from(list(Algorithm)),
    deviation=st.floats(-4.0, 4.0),
    impacts=st.integers(1, 4),
    window=st.integers(1, 20),
    decay=st.sampled_from([5.0, 50.0, 400.0]),
    margin=st.floats(0.0, 0.1),
    place=st.floats(0.005, 0.04),
    interval=st.floats(0.01, 0.04),
    duration=st.sampled_from([0.0203, 0.0603, 0.1003]),
)
def test_the_short_way_says_what_the_classifiers_say(
    seed, algorithm, deviation, impacts, window, decay, margin, place, interval, duration
) -> None:
    trial = recording(seed, deviation, impacts=impacts)
    interval = interval + 0.25e-3 if abs(interval * 1e3 % 1.0) < 0.1 else interval
    parameters = tuning(window, decay, margin, place, 0.0711, duration, interval)
    said = judge(trial, classifier_of(algorithm, parameters, 3))
    unexpected, time = is_unexpected(trial, parameters, algorithm)
    assert said.settled
    assert unexpected == said.unexpected
    assert (said.impact == Verdict.UNEXPECTED) <= (said.post_impact == Verdict.UNEXPECTED)
    if algorithm is Algorithm.SIMULTANEOUS:  # may have said so before and meant it only in the end
        assert said.decision_time <= time + 1.5 * PERIOD
    else:
        assert time == pytest.approx(said.decision_time, abs=1.5 * PERIOD)


@settings(deadline=None, max_examples=8)
@given(seed=st.integers(0, 2**32 - 1), algorithm=st.sampled_from(list(Algorithm)), common=st.booleans())
def test_no_acceptable_trial_is_unexpected_with_what_was_found(seed, algorithm, common) -> None:
    trials = [recording(seed + i, deviation, impacts=1 + i % 2) for i, deviation in enumerate(np.linspace(-3, 3, 19))]
    parameters, area = tune(trials, (-1.0, 1.0), algorithm, replace(SMALL, common_margin=common))
    said = np.array([judge(trial, classifier_of(algorithm, parameters, 3)).unexpected for trial in trials])
    deviations = np.array([trial.deviation for trial in trials])
    assert not said[np.abs(deviations) <= 1.0].any()
    assert gray_area(deviations, said, (-1.0, 1.0)) == area
    assert (np.ndim(parameters.envelope_margin) == 0) == common


@pytest.mark.parametrize("algorithm", list(Algorithm))
def test_the_thresholds_are_the_least_that_let_the_acceptable_pass(algorithm) -> None:
    trials = [recording(i, deviation, impacts=2) for i, deviation in enumerate(np.linspace(-2, 2, 13))]
    exact = replace(SMALL, reserve=0.0)
    parameters, _ = tune(trials, (-1.0, 1.0), algorithm, exact)
    fine = [trial for trial in trials if abs(trial.deviation) <= 1.0]

    def passes(**change) -> bool:
        changed = replace(parameters, **change)
        return not any(is_unexpected(trial, changed, algorithm)[0] for trial in fine)

    assert passes()
    less = 0.999
    assert not passes(configuration_error=less * parameters.configuration_error)
    assert not passes(time_error=less * parameters.time_error)
    for joint, margin in enumerate(parameters.envelope_margin):
        margins = list(parameters.envelope_margin)
        margins[joint] = less * margin
        assert margin == 0.0 or not passes(envelope_margin=tuple(margins))
    if algorithm is not Algorithm.SINGLE:
        assert not passes(impact_interval=less * parameters.impact_interval)


def test_the_reserve_is_put_on_every_threshold() -> None:
    trials = [recording(i, deviation, impacts=2) for i, deviation in enumerate((-1.0, 0.0, 1.0))]
    grid = SearchGrid((10,), (50.0,), (0.08,), reserve=0.0)
    one, _ = tune(trials, (-1.0, 1.0), Algorithm.SIMULTANEOUS, grid)
    two, _ = tune(trials, (-1.0, 1.0), Algorithm.SIMULTANEOUS, replace(grid, reserve=0.5))
    for name in ("envelope_margin", "configuration_error", "time_error", "impact_interval"):
        assert np.allclose(1.5 * np.array(getattr(one, name)), getattr(two, name), rtol=1e-12)


@pytest.mark.parametrize(
    ("unexpected", "below", "above", "share"),
    [
        ([1, 1, 1, 0, 1, 1, 1], 0.0, 0.0, 0.0),
        ([1, 1, 0, 0, 1, 1, 1], 1.0, 0.0, 1 / 6),
        ([1, 0, 1, 0, 0, 0, 1], 2.0, 2.0, 0.5),
        ([0, 1, 1, 0, 1, 1, 1], math.inf, 0.0, 1 / 6),
        ([0, 0, 0, 0, 0, 0, 0], math.inf, math.inf, 1.0),
    ],
)
def test_gray_area(unexpected, below, above, share) -> None:
    area = gray_area(np.arange(-3.0, 4.0), np.array(unexpected, dtype=bool), (0.0, 0.0))
    assert (area.below, area.above, area.share) == pytest.approx((below, above, share))


def test_what_cannot_be_tuned_is_refused() -> None:
    trials = [recording(0, 3.0)]
    with pytest.raises(InvalidInputError, match="acceptable"):
        tune(trials, (-1.0, 1.0), Algorithm.SINGLE, SMALL)
    with pytest.raises(InvalidInputError, match="grid"):
        tune(trials, (3.0, 3.0), Algorithm.SINGLE, replace(SMALL, post_impact_times=(9.0,)))
    with pytest.raises(InvalidInputError, match="reserve"):
        SearchGrid(reserve=-0.1)
    with pytest.raises(InvalidInputError, match="configurations"):
        replace(trials[0], configurations=np.zeros((2, 3)))


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), deviation=st.floats(-4.0, 4.0), kept=st.integers(102, 300))
def test_a_trial_that_was_cut_off_is_judged_as_far_as_it_goes(seed, deviation, kept) -> None:
    whole = recording(seed, deviation)
    parameters = tuning(10, 50.0, 0.03, 0.5, 0.5, 0.1003, None)
    unexpected, time = is_unexpected(whole, parameters, Algorithm.SINGLE)
    columns = {name: getattr(whole, name)[:kept] for name in ("time", "velocity", "reference")}
    cut = replace(whole, **columns)
    assert is_unexpected(cut, parameters, Algorithm.SINGLE, cut_off=True)[0] == (unexpected and time <= cut.time[-1])
    # What is asked of the margins is asked by what is there: never by what was cut off.
    alone = SearchGrid((10,), (50.0,), (0.1003,), reserve=0.0)
    lenient, strict = (
        Candidates([replace(trial, deviation=0.0)], Algorithm.SINGLE, alone, cut_off=True).best((-1.0, 1.0), 0.0)[0]
        for trial in (cut, whole)
    )
    assert (np.array(lenient.envelope_margin) <= np.array(strict.envelope_margin)).all()
