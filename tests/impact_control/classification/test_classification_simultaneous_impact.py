"""Simultaneous-impact classifier: against a plain transcription, every branch, and every parameter decides."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from impact_control.classification import (
    Classifier,
    SimultaneousImpactClassifier,
    SingleImpactClassifier,
    Verdict,
)
from impact_control.scenario import Classification
from impact_control.util.errors import InvalidInputError
from kernels import peak_memory

PERIOD = 1e-3
NOMINAL_TIME = 0.1
PARAMETERS = Classification.of(
    window_length=6,
    decay_rate=300.0,
    envelope_margin=0.05,
    configuration_error=0.05,
    time_error=0.04,
    post_impact_time=0.0505,
    impact_interval=0.03,
)
EXPECTED = (Verdict.EXPECTED, Verdict.EXPECTED)
PENDING = (Verdict.EXPECTED, Verdict.UNKNOWN)
BEHAVIOUR = (Verdict.EXPECTED, Verdict.UNEXPECTED)
UNEXPECTED = (Verdict.UNEXPECTED, Verdict.UNEXPECTED)


class Run:
    """Feed impacts at samples {index: displacement [rad]}, a completion, and velocity errors error(k)."""

    def __init__(
        self,
        impacts: dict[int, float],
        error=lambda k: 0.0,
        parameters: Classification = PARAMETERS,
        completion: int | None = None,
        await_completion: bool = False,
        n: int = 3,
        samples: int = 300,
    ) -> None:
        self.classifier = SimultaneousImpactClassifier(parameters, n, await_completion=await_completion)
        self.classifier.await_impact(NOMINAL_TIME, np.zeros(n))
        self.changes: list[tuple[int, Verdict, Verdict]] = []
        self.settled: int | None = None
        for k in range(samples):
            if k in impacts:
                self._note(self.classifier.impact_detected(k * PERIOD, np.full(n, impacts[k] / math.sqrt(n))), k)
            if k == completion:
                self._note(self.classifier.contact_completed(k * PERIOD), k)
            value = np.zeros(n)
            value[-1] = error(k)
            self._note(self.classifier.classify(k * PERIOD, value, np.zeros(n)), k)
            if self.settled is None and self.classifier.settled:
                self.settled = k

    def _note(self, changed: bool, k: int) -> None:
        now = (self.classifier.impact, self.classifier.post_impact)
        before = self.changes[-1][1:] if self.changes else (Verdict.UNKNOWN, Verdict.NOT_STARTED)
        assert changed == (now != before)
        if changed:
            assert self.settled is None
            self.changes.append((k, *now))
            assert self.classifier.decision_time == pytest.approx(k * PERIOD)

    @property
    def verdicts(self) -> list[tuple[Verdict, Verdict]]:
        return [change[1:] for change in self.changes]


def transcribed(impacts, errors, parameters, completion=None, await_completion=False):
    """Algorithm 2 over whole arrays, with (4.2), (4.3), (4.8) for all impacts; returns the verdicts at the end."""
    p, m = parameters, parameters.window_length
    last, post, anchor = None, Verdict.NOT_STARTED, None
    impact, completed = Verdict.UNKNOWN, False
    for k in range(len(errors)):
        if k in impacts and not completed:
            late = last is not None and (k - last) * PERIOD > p.impact_interval + 1e-12
            elsewhere = abs(k * PERIOD - NOMINAL_TIME) > p.time_error + 1e-12 or impacts[k] > p.configuration_error
            if elsewhere and not (await_completion and last is not None):
                return UNEXPECTED
            impact, last, anchor, post = Verdict.EXPECTED, k, k, Verdict.UNKNOWN
            if late:
                return BEHAVIOUR
        if await_completion and k == completion and last is not None:
            completed, anchor = True, k
        if anchor is None:
            continue
        over = (k - anchor) * PERIOD > p.post_impact_time + 1e-12
        if await_completion and not completed:
            if over:
                return BEHAVIOUR
            continue
        if k - anchor < m:
            continue
        lower = upper = errors[anchor]
        for i in range(anchor + 1, k + 1):
            window = errors[max(anchor, i - m) : i + 1]
            weight = min(1.0, p.decay_rate * PERIOD)
            lower = min(window.min(), (1 - weight) * lower + weight * window.min())
            upper = max(window.max(), (1 - weight) * upper + weight * window.max())
        if lower > p.envelope_margin or upper < -p.envelope_margin:
            post = Verdict.UNEXPECTED
            if await_completion:
                return impact, post
        if over:
            return impact, Verdict.EXPECTED if post == Verdict.UNKNOWN else post
    return impact, post


@settings(deadline=None, max_examples=150)
@given(
    seed=st.integers(0, 2**32 - 1),
    impacts=st.dictionaries(st.integers(50, 160), st.floats(0.0, 0.06), max_size=4),
    completion=st.one_of(st.none(), st.integers(60, 190)),
    await_completion=st.booleans(),
    offset=st.sampled_from([0.0, 0.03, 0.06, 0.12, -0.3]),
    samples=st.tuples(st.integers(1, 25), st.integers(20, 60), st.integers(20, 100), st.integers(20, 60)),
    limits=st.tuples(st.sampled_from([5.0, 50.0, 300.0]), st.floats(0.02, 0.25), st.floats(0.02, 0.05)),
)
def test_equals_a_transcription(seed, impacts, completion, await_completion, offset, samples, limits) -> None:
    """Whatever the tuning is; impacts off epsilon and half a sample off zeta, t_int, t_xi: no rounding decides."""
    (window, zeta, interval, duration), (decay, margin, epsilon) = samples, limits
    assume(all(abs(error - epsilon) > 1e-9 for error in impacts.values()))
    parameters = Classification.of(
        window_length=window,
        decay_rate=decay,
        envelope_margin=margin,
        configuration_error=epsilon,
        time_error=(zeta + 0.5) * PERIOD,
        post_impact_time=(duration + 0.5) * PERIOD,
        impact_interval=(interval + 0.5) * PERIOD,
    )
    random = np.random.default_rng(seed)
    errors = offset + 0.05 * random.normal(size=260).cumsum() / np.arange(1, 261) ** 0.5
    run = Run(impacts, lambda k: errors[k], parameters, completion, await_completion, samples=260)
    expected = transcribed(impacts, errors, parameters, completion, await_completion)
    assert (run.classifier.impact, run.classifier.post_impact) == expected


def test_an_ideal_impact_is_expected_after_the_last_time() -> None:
    run = Run({100: 0.01})
    assert run.verdicts == [PENDING, EXPECTED]
    assert run.changes[1][0] == 100 + 51  # the first sample beyond t_xi
    assert run.settled == run.changes[1][0]


def test_behaviour_is_named_when_the_window_is_full_and_not_before() -> None:
    run = Run({100: 0.0}, lambda k: 0.2 if k >= 100 else 0.0)
    assert run.verdicts == [PENDING, BEHAVIOUR]
    assert run.changes[1][0] == 100 + PARAMETERS.window_length
    # As printed, it stands only when no other impact has come for t_xi.
    assert run.settled == 100 + 51
    assert "joint 3" in run.classifier.reason


def test_another_impact_takes_back_the_behaviour() -> None:
    run = Run({100: 0.0, 120: 0.0}, lambda k: 0.2 if 100 <= k < 120 else 0.0)
    assert run.verdicts == [PENDING, BEHAVIOUR, PENDING, EXPECTED]
    assert run.settled == 120 + 51


def test_three_and_more_impacts_in_a_sequence() -> None:
    run = Run({95: 0.0, 105: 0.01, 116: 0.02, 130: 0.03}, n=7)
    assert run.verdicts == [PENDING, EXPECTED]
    assert run.classifier.impacts == 4 and run.settled == 130 + 51
    assert run.classifier.impact_time == pytest.approx(0.095)
    assert run.classifier.last_impact_time == pytest.approx(0.13)


def test_a_late_or_displaced_impact_is_not_made_good_by_the_next() -> None:
    assert Run({100: 0.2, 110: 0.0}).verdicts == [UNEXPECTED]
    run = Run({100: 0.0, 135: 0.0, 140: 0.0})
    assert run.verdicts == [PENDING, BEHAVIOUR]
    assert run.settled == 135 and "impacts 1 and 2" in run.classifier.reason


def test_with_completion_nothing_is_judged_in_between_and_at_once_after() -> None:
    def error(k):
        return 0.5 if 100 <= k < 125 else 0.2 if k >= 160 else 0.0

    run = Run({100: 0.0, 120: 0.0}, error, completion=130, await_completion=True)
    assert run.verdicts == [PENDING, BEHAVIOUR]
    # Zero leaves the window m + 1 samples after the last good one; 300/s decays 0.2 to the margin in one more.
    assert run.changes[1][0] == 160 + PARAMETERS.window_length
    assert run.settled == run.changes[1][0]
    assert run.classifier.completion_time == pytest.approx(0.13)


def test_with_completion_bounces_are_not_counted() -> None:
    run = Run({100: 0.0, 150: 1.0}, completion=115, await_completion=True)
    assert run.verdicts == [PENDING, EXPECTED]
    assert run.classifier.impacts == 1 and run.settled == 115 + 51


def test_a_contact_that_does_not_complete_is_unexpected() -> None:
    run = Run({100: 0.0, 110: 0.0}, await_completion=True)
    assert run.verdicts == [PENDING, BEHAVIOUR]
    assert run.settled == 110 + 51 and "not complete" in run.classifier.reason


def test_a_completion_without_impact_or_unasked_for_changes_nothing() -> None:
    assert Run({}, completion=50, await_completion=True).verdicts == []
    run = Run({100: 0.0}, completion=110)
    assert run.verdicts == [PENDING, EXPECTED] and math.isnan(run.classifier.completion_time)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_numbers_that_are_not_finite_are_unexpected(bad) -> None:
    assert Run({100: bad}).verdicts == [UNEXPECTED]
    assert Run({100: 0.0}, lambda k: bad).verdicts == [PENDING, BEHAVIOUR]


def test_a_missing_impact_is_told_and_a_new_start_forgets() -> None:
    run = Run({})
    assert run.classifier.impact_missing and "no impact" in run.classifier.reason
    run.classifier.await_impact(0.5, np.zeros(3))
    assert not run.classifier.impact_missing and "yet" in run.classifier.reason


def test_before_the_start_nothing_is_judged() -> None:
    classifier = SimultaneousImpactClassifier(PARAMETERS, 2)
    assert not classifier.impact_detected(0.1, np.zeros(2))
    assert not classifier.classify(0.2, np.zeros(2), np.zeros(2))
    assert classifier.impact == Verdict.UNKNOWN


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="envelope_margin"):
        SimultaneousImpactClassifier(replace(PARAMETERS, envelope_margin=(0.1, 0.1)), 3)
    with pytest.raises(InvalidInputError, match="nominal_configuration"):
        SimultaneousImpactClassifier(PARAMETERS, 3).await_impact(0.0, np.zeros(2))
    with pytest.raises(InvalidInputError, match="impact_interval"):
        replace(PARAMETERS, impact_interval=-1.0)


def test_both_classifiers_have_the_common_interface() -> None:
    names = [name for name in dir(Classifier) if not name.startswith("_")] + list(Classifier.__annotations__)
    for classifier in (SimultaneousImpactClassifier(PARAMETERS, 2), SingleImpactClassifier(PARAMETERS, 2)):
        for name in names:
            assert hasattr(classifier, name), name


def test_update_allocates_no_arrays() -> None:
    n = 400
    classifier = SimultaneousImpactClassifier(PARAMETERS, n, await_completion=True)
    classifier.await_impact(NOMINAL_TIME, np.zeros(n))
    sample = np.zeros(n)
    classifier.impact_detected(NOMINAL_TIME, sample)
    classifier.classify(NOMINAL_TIME, sample, sample)

    def step(k):
        if k == 10:
            classifier.contact_completed(NOMINAL_TIME + k * PERIOD)
        classifier.classify(NOMINAL_TIME + k * PERIOD, sample, sample)

    peak = peak_memory(step, range(1, 100))
    assert classifier.post_impact == Verdict.EXPECTED
    assert peak < sample.nbytes
