"""Measures of a run: rates of the command, modes, predictions against observation."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.recording.measures import mode_intervals, torque_rate, true_impact_time
from impact_control.recording.summary import PostImpactComparison, prediction_rows
from impact_control.util.errors import InvalidInputError


def test_a_step_counts_as_whole_periods_whatever_its_jitter():
    sent = np.array([0.0, 1.0, 2.0, 4.0, 5.0])
    torque = 3.0 * sent[:, None]
    for jitter in (0.0, 0.4):
        received = sent + jitter * np.array([1.0, -1.0, 0.2, 0.0, -0.5]) / 2.0
        time, rate = torque_rate(received, torque, 1.0)
        np.testing.assert_array_equal(time, received[1:])
        np.testing.assert_allclose(rate, 3.0)


def test_two_commands_received_at_once_are_one_period_apart():
    _, rate = torque_rate(np.array([0.0, 0.002, 0.002]), np.array([[0.0], [1.0], [2.0]]), 0.001)
    np.testing.assert_allclose(rate, [[500.0], [1000.0]])


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_mode_intervals_reproduce_the_modes(modes):
    time = np.arange(len(modes), dtype=float)
    intervals = mode_intervals(time, np.array(modes, dtype=np.uint8), {0: "a", 1: "b", 2: "c"})
    again = [next(interval.mode for interval in reversed(intervals) if interval.start <= t) for t in time]
    assert again == [{0: "a", 1: "b", 2: "c"}.get(mode, "mode 3") for mode in modes]
    assert all(one.mode != other.mode and one.end == other.start for one, other in pairwise(intervals))
    assert (intervals[0].start, intervals[-1].end) == (0.0, time[-1])


def test_comparison_finds_the_best_prediction():
    names = ("a", "b")
    predictions = {"M": np.array([1.0, 0.0]), "M + B_theta": np.array([0.1, 0.1])}
    comparison = PostImpactComparison(names, np.zeros(2), np.array([0.2, 0.0]), predictions)
    np.testing.assert_allclose(comparison.errors()["M"], [0.8, 0.0])
    assert comparison.best() == "M + B_theta"
    with pytest.raises(InvalidInputError, match="gross_post"):
        PostImpactComparison(names, np.zeros(2), np.zeros(3), {})
    with pytest.raises(InvalidInputError, match="M"):
        PostImpactComparison(names, np.zeros(2), np.zeros(2), {"M": np.zeros(1)})


@pytest.mark.parametrize(
    ("noise", "words"), [(0.5, "noise of the positions makes 0.40: the first is nearer"), (10.0, "is no difference")]
)
def test_a_prediction_is_better_only_beyond_the_noise(noise, words):
    predictions = {"M + B_theta": np.array([11.0, 0.0]), "M + B_rho": np.array([5.0, 3.0])}
    observed = np.array([5.0, 0.0])
    comparison = PostImpactComparison(("a", "b"), np.zeros(2), observed, predictions, noise=np.full(2, noise))
    (row,) = prediction_rows(comparison)
    assert row.value.startswith("mean error M + B_rho 1.50, M + B_theta 3.00 deg/s;")
    assert row.value.endswith(words)


@pytest.mark.parametrize(
    ("slips", "words"),
    [
        ({"M": "sticks", "M + B_theta": "sticks"}, ["sticks"]),
        ({"M": "sticks", "M + B_theta": "reverses"}, ["sticks (M), reverses (M + B_theta)"]),
        ({}, []),
    ],
)
def test_what_becomes_of_the_slip_is_said_of_each_model_that_differs(slips, words):
    predictions = dict.fromkeys(slips, np.zeros(2))
    comparison = PostImpactComparison(("a", "b"), np.zeros(2), np.zeros(2), predictions, slips)
    assert [row.value for row in prediction_rows(comparison)] == words
    assert prediction_rows(None) == []


@pytest.mark.parametrize("before", [np.nan, 2.0])
def test_the_contact_of_the_task_before_is_not_that_of_this_one(before):
    time = 3.0 + 1e-3 * np.arange(6)
    truth = {"stamp": time - 3.0, "time": time, "impact_time": np.array([before] * 4 + [3.0035] * 2)}
    # Also where the first samples in contact are lost.
    for kept in (np.arange(6), np.array([0, 1, 2, 5])):
        rows = {name: values[kept] for name, values in truth.items()}
        assert true_impact_time(SimpleNamespace(get=lambda topic, rows=rows: rows)) == pytest.approx(0.0035)
    assert true_impact_time(SimpleNamespace(get=lambda topic: {name: v[:4] for name, v in truth.items()})) is None
