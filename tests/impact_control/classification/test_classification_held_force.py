"""The force with which the arm is pushed back after an impact: mean over its window, limit, what is not a number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from impact_control.classification import HeldForce, Verdict
from impact_control.scenario import HeldForceSettings
from impact_control.util.errors import InvalidInputError

PERIOD = 1e-3
forces = st.lists(st.tuples(*[st.floats(-100.0, 100.0)] * 3), min_size=1, max_size=60)


def judge(held, errors, exerted=(0.0, 60.0, 6.4)):
    """Show a force that differs by each of the errors (k, 3) from what is exerted, from `after` on."""
    for k, error in enumerate(np.atleast_2d(errors), start=1):
        since = held.settings.after + k * PERIOD
        assert held.due(since)
        if held.compare(since, np.asarray(error) - np.asarray(exerted), np.asarray(exerted)):
            return k
    return None


@given(forces)
def test_the_error_is_the_mean_of_what_was_shown(errors):
    held = HeldForce(HeldForceSettings(after=0.5, window=1.0, limit=1.0))
    assert judge(held, errors) is None
    np.testing.assert_allclose(held.error, np.mean(errors, axis=0), atol=1e-9)
    assert held.verdict is Verdict.UNKNOWN


@given(st.floats(0.01, 20.0), st.floats(0.0, 2.0), st.integers(0, 2))
def test_beyond_the_limit_it_is_unexpected(limit, share, axis):
    held = HeldForce(HeldForceSettings(after=0.8, window=0.02, limit=limit))
    error = np.zeros(3)
    error[axis] = -limit * share
    assert judge(held, np.tile(error, (40, 1))) in (20, 21)
    if abs(share - 1.0) > 1e-6:
        assert held.verdict is (Verdict.EXPECTED if share < 1.0 else Verdict.UNEXPECTED)
    assert not held.due(5.0), "once"
    assert f"(limit {limit:g} N)" in held.reason and held.verdict.name.lower() in held.reason


def test_before_its_time_nothing_is_due_and_a_start_forgets():
    held = HeldForce(HeldForceSettings(after=0.5, window=0.01, limit=3.0))
    assert not held.due(0.5) and held.due(0.5001)
    judge(held, np.full((20, 3), 9.0))
    assert held.verdict is Verdict.UNEXPECTED
    held.reset()
    judge(held, np.zeros((20, 3)))
    assert held.verdict is Verdict.EXPECTED


def test_what_is_not_a_number_is_unexpected():
    held = HeldForce(HeldForceSettings(after=0.0, window=0.01, limit=3.0))
    judge(held, np.full((20, 3), np.nan))
    assert held.verdict is Verdict.UNEXPECTED


@pytest.mark.parametrize(
    ("name", "value"), [("after", -0.1), ("window", 0.0), ("limit", 0.0), ("limit", np.nan), ("window", np.inf)]
)
def test_parameters_outside_their_ranges_are_refused(name, value):
    values = {"after": 0.5, "window": 0.1, "limit": 3.0, name: value}
    with pytest.raises(InvalidInputError, match=name):
        HeldForceSettings(**values)
