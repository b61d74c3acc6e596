"""Single-impact classifier: every branch of the algorithm, and every parameter decides a verdict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.classification import (
    SingleImpactClassifier,
    Verdict,
    envelope_history,
)
from impact_control.classification.velocity_error import measure_margin
from impact_control.scenario import Classification
from impact_control.util.errors import InvalidInputError
from kernels import peak_memory, python_form

PERIOD = 1e-3
NOMINAL_TIME = 0.2
NOMINAL_CONFIGURATION = np.array([0.5, -1.0, 2.0])
PARAMETERS = Classification.of(
    window_length=12,
    decay_rate=20.0,
    envelope_margin=0.02,
    configuration_error=0.05,
    time_error=0.03,
    post_impact_time=0.1,
)
ANTE_VELOCITY = np.array([0.3, -0.2, 0.1])
VELOCITY_JUMP = np.array([-0.4, 0.3, -0.2])


def oscillation(elapsed: float) -> np.ndarray:
    """An expected response: the transmissions ring about the rigid response and settle."""
    ring = np.exp(-25.0 * elapsed) * np.cos(2 * np.pi * 45.0 * elapsed)
    return -VELOCITY_JUMP * ring


def offset(size: float, start: float = 0.0, end: float = np.inf):
    """A velocity error of `size` rad/s on joint 2 from `start` to `end` seconds after the impact."""
    return lambda elapsed: np.array([0.0, size if start <= elapsed < end else 0.0, 0.0])


class Run:
    """Feed an impact at `impact_time` with the velocity error `error(elapsed)` after it."""

    def __init__(
        self,
        parameters: Classification = PARAMETERS,
        error=offset(0.0),  # noqa: B008
        impact_time: float = NOMINAL_TIME,
        displacement: float = 0.0,
        late: int = 0,
        duration: float = 0.25,
        lost: frozenset[int] = frozenset(),
    ) -> None:
        self.classifier = SingleImpactClassifier(parameters, 3)
        self.classifier.await_impact(NOMINAL_TIME, NOMINAL_CONFIGURATION)
        self.changes: list[tuple[float, Verdict, Verdict]] = []
        self.fed = 0.0
        first = round(impact_time / PERIOD)
        for k in range(first + round(duration / PERIOD)):
            time = k * PERIOD
            after = time > impact_time + 1e-9
            velocity = ANTE_VELOCITY + (VELOCITY_JUMP + error(time - impact_time) if after else 0.0)
            if k == first + late:
                configuration = NOMINAL_CONFIGURATION + displacement / np.sqrt(3.0)
                self._note(self.classifier.impact_detected(impact_time, configuration), time)
            if k in lost:
                continue
            reference = ANTE_VELOCITY + (VELOCITY_JUMP if k > first + late else 0.0)
            self._note(self.classifier.classify(time, velocity, reference), time)
            self.fed = time

    def _note(self, changed: bool, time: float) -> None:
        now = (self.classifier.impact, self.classifier.post_impact)
        before = self.changes[-1][1:] if self.changes else (Verdict.UNKNOWN, Verdict.NOT_STARTED)
        assert changed == (now != before)
        if changed:
            self.changes.append((time, *now))
            # A report that arrives between two samples is judged at the time of the one before.
            assert self.fed - 1e-9 < self.classifier.decision_time < time + 1e-9

    @property
    def post_impact(self) -> Verdict:
        assert self.classifier.impact == Verdict.EXPECTED
        return self.classifier.post_impact


def test_expected_impact_with_decaying_oscillation_is_expected() -> None:
    run = Run(error=oscillation)
    assert [change[1:] for change in run.changes] == [
        (Verdict.EXPECTED, Verdict.UNKNOWN),
        (Verdict.EXPECTED, Verdict.EXPECTED),
    ]
    assert run.changes[0][0] == pytest.approx(NOMINAL_TIME)
    # t > t_1 + t_xi: the first sample beyond.
    assert NOMINAL_TIME + 0.1 < run.changes[1][0] + 1e-9 <= NOMINAL_TIME + 0.1 + 1.5 * PERIOD
    assert "expected" in run.classifier.reason and "0.1 s" in run.classifier.reason


def test_offset_of_one_joint_is_unexpected_at_the_violation() -> None:
    size, margin = 0.2, 0.02
    run = Run(error=offset(size))
    assert run.changes[-1][1:] == (Verdict.EXPECTED, Verdict.UNEXPECTED)
    # Zero left the window m samples after the last good one (at the impact); then (1 - a dt)^j closes in.
    lower_decays = int(np.ceil(np.log(1.0 - margin / size) / np.log(1.0 - 20.0 * PERIOD)))
    assert run.changes[-1][0] == pytest.approx(NOMINAL_TIME + (12 + lower_decays) * PERIOD)
    reason = run.classifier.reason
    assert "joint 2" in reason and "unexpected" in reason and "0.02 rad/s" in reason
    assert len(run.changes) == 2


@pytest.mark.parametrize("size", [0.2, -0.2])
def test_both_bounds_are_checked(size: float) -> None:
    assert Run(error=offset(size)).post_impact == Verdict.UNEXPECTED


@pytest.mark.parametrize(
    ("change", "error", "before", "after"),
    [
        # A contact transient of 8 ms: the window holds the good samples before it.
        ({"window_length": 2, "decay_rate": 60.0}, offset(0.3, 0.0, 0.008), Verdict.UNEXPECTED, None),
        ({"decay_rate": 2.0}, offset(0.2, 0.0, 0.03), Verdict.UNEXPECTED, Verdict.EXPECTED),
        ({"envelope_margin": 0.25}, offset(0.2), Verdict.UNEXPECTED, Verdict.EXPECTED),
        ({"post_impact_time": 0.04}, offset(0.3, 0.05), Verdict.UNEXPECTED, Verdict.EXPECTED),
    ],
)
def test_each_parameter_of_the_post_impact_verdict_decides(change: dict, error, before, after) -> None:
    changed = Run(replace(PARAMETERS, **change), error=error).post_impact
    if after is None:  # the window, at the same decay rate
        longer = replace(PARAMETERS, **(change | {"window_length": 12}))
        assert changed == before
        assert Run(longer, error=error).post_impact == Verdict.EXPECTED
    else:
        assert Run(error=error).post_impact == before
        assert changed == after


@pytest.mark.parametrize(
    ("impact_time", "verdict"),
    [
        (0.23, Verdict.EXPECTED),
        (0.17, Verdict.EXPECTED),
        (0.231, Verdict.UNEXPECTED),
        (0.169, Verdict.UNEXPECTED),
    ],
)
def test_time_error_limit(impact_time: float, verdict: Verdict) -> None:
    parameters = replace(PARAMETERS, time_error=0.0301)
    run = Run(parameters, impact_time=impact_time)
    assert run.classifier.impact == verdict
    assert run.classifier.time_error == pytest.approx(impact_time - NOMINAL_TIME)
    if verdict == Verdict.UNEXPECTED:
        # At once, and final although the behaviour after it is perfect.
        assert [change[1:] for change in run.changes] == [(Verdict.UNEXPECTED, Verdict.UNEXPECTED)]
        assert run.changes[0][0] == pytest.approx(impact_time)
        assert "0.031 s" in run.classifier.reason
        wider = Run(replace(parameters, time_error=0.0311), impact_time=impact_time)
        assert wider.classifier.impact == Verdict.EXPECTED


@pytest.mark.parametrize(
    ("displacement", "verdict"),
    [(0.0499, Verdict.EXPECTED), (0.0501, Verdict.UNEXPECTED), (-0.0501, Verdict.UNEXPECTED)],
)
def test_configuration_error_limit(displacement: float, verdict: Verdict) -> None:
    run = Run(displacement=displacement)
    assert run.classifier.impact == verdict
    assert run.classifier.configuration_error == pytest.approx(abs(displacement))
    if verdict == Verdict.UNEXPECTED:
        assert run.classifier.post_impact == Verdict.UNEXPECTED
        assert "0.0501 rad" in run.classifier.reason
        wider = Run(replace(PARAMETERS, configuration_error=0.051), displacement=displacement)
        assert wider.classifier.impact == Verdict.EXPECTED


def test_limits_are_inclusive() -> None:
    classifier = SingleImpactClassifier(replace(PARAMETERS, time_error=0.25, configuration_error=0.5), 1)
    classifier.await_impact(1.0, np.zeros(1))
    classifier.impact_detected(1.25, np.array([0.5]))
    assert classifier.impact == Verdict.EXPECTED


def test_a_task_has_its_own_limit_of_the_configuration() -> None:
    classifier = SingleImpactClassifier(PARAMETERS, 3)
    for limit, expected in ((None, 0.05), (0.08, 0.08), (None, 0.05)):
        classifier.await_impact(NOMINAL_TIME, NOMINAL_CONFIGURATION, configuration_limit=limit)
        classifier.impact_detected(NOMINAL_TIME, np.array([0.5, -0.94, 2.0]))
        assert classifier.configuration_limit == expected
        assert classifier.deviation == pytest.approx(0.06 / expected)
        assert classifier.impact == (Verdict.EXPECTED if expected > 0.06 else Verdict.UNEXPECTED)
        assert f"(limit {expected:g} rad)" in classifier.reason
    for wrong in (0.0, -0.1, np.nan, np.inf):
        with pytest.raises(InvalidInputError, match="configuration_limit"):
            classifier.await_impact(NOMINAL_TIME, NOMINAL_CONFIGURATION, configuration_limit=wrong)


def test_no_impact_stays_unknown_and_says_so() -> None:
    classifier = SingleImpactClassifier(PARAMETERS, 3)
    classifier.await_impact(NOMINAL_TIME, NOMINAL_CONFIGURATION)
    for k in range(400):
        time = k * PERIOD
        assert not classifier.classify(time, np.full(3, 5.0), np.zeros(3))  # outside the envelope, no impact
        assert (classifier.impact, classifier.post_impact) == (Verdict.UNKNOWN, Verdict.NOT_STARTED)
        assert classifier.impact_missing == (time > NOMINAL_TIME + 0.03)
        assert classifier.deviation == pytest.approx(max(0.0, time - NOMINAL_TIME) / 0.03)
        assert ("until" in classifier.reason) == classifier.impact_missing
    assert np.isnan(classifier.decision_time)
    assert classifier.impact_detected(0.4, NOMINAL_CONFIGURATION)
    assert (classifier.impact, classifier.impact_missing) == (Verdict.UNEXPECTED, False)


def test_only_the_first_impact_is_judged_until_the_next_start() -> None:
    classifier = SingleImpactClassifier(PARAMETERS, 3)
    assert not classifier.impact_detected(NOMINAL_TIME, NOMINAL_CONFIGURATION)  # not started
    classifier.await_impact(NOMINAL_TIME, NOMINAL_CONFIGURATION)
    assert classifier.impact_detected(NOMINAL_TIME, NOMINAL_CONFIGURATION)
    assert not classifier.impact_detected(NOMINAL_TIME + 1.0, NOMINAL_CONFIGURATION + 1.0)
    assert classifier.impact == Verdict.EXPECTED
    assert classifier.impact_time == NOMINAL_TIME
    classifier.classify(10.0, np.full(3, 9.0), np.zeros(3))
    classifier.await_impact(NOMINAL_TIME, NOMINAL_CONFIGURATION)
    assert (classifier.impact, classifier.post_impact) == (Verdict.UNKNOWN, Verdict.NOT_STARTED)
    assert np.isnan(classifier.impact_time) and np.isnan(classifier.margin).all()
    classifier.classify(0.0, np.zeros(3), np.zeros(3))  # the clock starts again as well
    assert np.array_equal(classifier.upper, np.zeros(3))
    assert classifier.impact_detected(0.5, NOMINAL_CONFIGURATION)
    assert classifier.impact == Verdict.UNEXPECTED


def test_the_sample_of_the_impact_itself_is_not_judged() -> None:
    """(4.27) holds for t in (t_1, t_end]."""
    classifier = SingleImpactClassifier(replace(PARAMETERS, window_length=1, decay_rate=1e4), 3)
    classifier.await_impact(NOMINAL_TIME, NOMINAL_CONFIGURATION)
    classifier.classify(NOMINAL_TIME - PERIOD, np.zeros(3), np.zeros(3))
    classifier.impact_detected(NOMINAL_TIME, NOMINAL_CONFIGURATION)
    assert not classifier.classify(NOMINAL_TIME, np.ones(3), np.zeros(3))
    assert classifier.classify(NOMINAL_TIME + PERIOD, np.ones(3), np.zeros(3))
    assert classifier.post_impact == Verdict.UNEXPECTED


def test_late_event_widens_the_envelope_and_delays_the_verdict() -> None:
    # The velocity error of joint 2 is -0.2 rad/s; filtered with the ante-impact reference it was +0.1 rad/s.
    prompt, late = (Run(error=offset(-0.2), late=samples) for samples in (0, 6))
    assert prompt.post_impact == late.post_impact == Verdict.UNEXPECTED
    assert late.changes[-1][0] > prompt.changes[-1][0]
    assert Run(error=oscillation, late=6).post_impact == Verdict.EXPECTED
    # t_xi counts from the impact, not from its report.
    assert Run(late=6).changes[-1][0] == pytest.approx(Run().changes[-1][0])
    hidden = replace(PARAMETERS, decay_rate=4.0)
    assert Run(hidden, error=offset(-0.1)).post_impact == Verdict.UNEXPECTED
    assert Run(hidden, error=offset(-0.1), late=6).post_impact == Verdict.EXPECTED


@settings(deadline=None, max_examples=15)
@given(lost=st.frozensets(st.integers(1, 440), max_size=60), late=st.integers(0, 6))
def test_lost_samples_keep_clear_verdicts(lost: frozenset[int], late: int) -> None:
    assert Run(error=oscillation, lost=lost, late=late).post_impact == Verdict.EXPECTED
    assert Run(error=offset(0.6), lost=lost, late=late).post_impact == Verdict.UNEXPECTED


def test_repeated_and_older_samples_are_ignored() -> None:
    classifier = SingleImpactClassifier(PARAMETERS, 3)
    classifier.await_impact(NOMINAL_TIME, NOMINAL_CONFIGURATION)
    classifier.classify(0.1, np.zeros(3), np.zeros(3))
    for time in (0.1, 0.05, np.nan):
        assert not classifier.classify(time, np.ones(3), np.zeros(3))
    assert np.array_equal(classifier.upper, np.zeros(3))


@pytest.mark.parametrize(
    ("time", "configuration"), [(np.nan, NOMINAL_CONFIGURATION), (NOMINAL_TIME, np.array([0.5, np.nan, 2.0]))]
)
def test_an_impact_with_unknown_numbers_is_unexpected(time: float, configuration: np.ndarray) -> None:
    classifier = SingleImpactClassifier(PARAMETERS, 3)
    classifier.await_impact(NOMINAL_TIME, NOMINAL_CONFIGURATION)
    assert classifier.impact_detected(time, configuration)
    assert (classifier.impact, classifier.post_impact) == (Verdict.UNEXPECTED, Verdict.UNEXPECTED)


def test_a_joint_without_velocity_is_unexpected() -> None:
    classifier = SingleImpactClassifier(PARAMETERS, 3)
    classifier.await_impact(NOMINAL_TIME, NOMINAL_CONFIGURATION)
    classifier.impact_detected(NOMINAL_TIME, NOMINAL_CONFIGURATION)
    assert classifier.classify(NOMINAL_TIME + PERIOD, np.array([0.0, np.nan, 0.0]), np.zeros(3))
    assert classifier.post_impact == Verdict.UNEXPECTED
    assert "joint 2" in classifier.reason


def test_margin_is_the_distance_of_zero_to_the_widened_envelope() -> None:
    parameters = replace(PARAMETERS, envelope_margin=[0.1, 0.2, 0.3], window_length=1, decay_rate=1e4)
    classifier = SingleImpactClassifier(parameters, 3)
    classifier.await_impact(NOMINAL_TIME, NOMINAL_CONFIGURATION)
    classifier.classify(0.0, np.array([-0.5, 0.4, 2.0]), np.zeros(3))
    classifier.classify(PERIOD, np.array([0.7, 0.6, 1.0]), np.zeros(3))
    assert np.allclose(classifier.lower, [-0.5, 0.4, 1.0])
    assert np.allclose(classifier.upper, [0.7, 0.6, 2.0])
    assert np.allclose(classifier.margin, [0.6, -0.2, -0.7])


def test_margin_of_each_joint_counts() -> None:
    for joint, verdict in ((1, Verdict.EXPECTED), (2, Verdict.UNEXPECTED)):
        margins = [0.02, 0.02, 0.02]
        margins[joint] = 0.25
        assert Run(replace(PARAMETERS, envelope_margin=margins), error=offset(0.2)).post_impact == verdict


def test_history_equals_the_classifier() -> None:
    random = np.random.default_rng(8)
    times = np.cumsum(random.choice([1e-3, 3e-3], size=80))
    velocity, reference = random.normal(size=(80, 3)), random.normal(size=(80, 3))
    lower, upper = envelope_history(times, velocity, reference, PARAMETERS)
    classifier = SingleImpactClassifier(PARAMETERS, 3)
    for k in range(80):
        classifier.classify(times[k], velocity[k], reference[k])
        assert np.array_equal(lower[k], classifier.lower)
        assert np.array_equal(upper[k], classifier.upper)
    with pytest.raises(InvalidInputError):
        envelope_history(times[::-1], velocity, reference, PARAMETERS)
    with pytest.raises(InvalidInputError):
        envelope_history(times, velocity, reference[:, :2], PARAMETERS)


def test_compiled_kernel_equals_its_python_form() -> None:
    random = np.random.default_rng(9)
    for case in range(20):
        lower, upper = random.normal(size=(2, 4))
        table, row = np.abs(random.normal(size=(3, 4))), case % 3
        if case % 3 == 0:
            lower[case % 4] = upper[case % 4] = np.nan
        one, other = np.zeros(4), np.zeros(4)
        worst, deviation = measure_margin(lower, upper, table, row, one)
        assert (worst, deviation) == python_form(measure_margin)(lower, upper, table, row, other)
        assert np.array_equal(one, other, equal_nan=True)
        if np.isnan(one).any():
            assert np.isnan(one[worst]) and deviation == np.inf
        else:
            assert one[worst] == one.min()
            outside = np.maximum(np.maximum(lower, -upper), 0.0)
            assert deviation == pytest.approx((outside / table[row]).max(), abs=1e-12)


def test_update_allocates_no_arrays() -> None:
    n = 400
    classifier = SingleImpactClassifier(PARAMETERS, n)
    classifier.await_impact(0.0, np.zeros(n))
    classifier.impact_detected(0.0, np.zeros(n))
    sample = np.zeros(n)
    classifier.classify(PERIOD, sample, sample)
    peak = peak_memory(lambda k: classifier.classify(k * PERIOD, sample, sample), range(2, 200))
    assert classifier.post_impact == Verdict.EXPECTED
    assert peak < sample.nbytes


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("window_length", 0),
        ("decay_rate", 0.0),
        ("envelope_margin", -0.1),
        ("envelope_margin", [0.1, np.nan]),
        ("configuration_error", 0.0),
        ("time_error", 0.0),
        ("post_impact_time", 0.0),
        ("post_impact_time", np.inf),
    ],
)
def test_tuning_outside_the_range_is_refused(name: str, value: object) -> None:
    with pytest.raises(InvalidInputError) as caught:
        replace(PARAMETERS, **{name: value})
    assert caught.value.name == name


def test_inputs_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidInputError):
        SingleImpactClassifier(replace(PARAMETERS, envelope_margin=[0.1, 0.2]), 3)
    with pytest.raises(InvalidInputError):
        SingleImpactClassifier(PARAMETERS, 0)
    classifier = SingleImpactClassifier(PARAMETERS, 3)
    for time, configuration in ((np.nan, np.zeros(3)), (0.1, np.zeros(2)), (0.1, np.full(3, np.inf))):
        with pytest.raises(InvalidInputError):
            classifier.await_impact(time, configuration)
