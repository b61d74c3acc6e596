"""Post-impact velocity by net feedback, on a point whose velocity after the impact is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.recording.net_feedback import Track, feedback_acceleration, feedback_signal, net_feedback
from impact_control.util.errors import InvalidInputError
from net_feedback_trials import INTERIM, PERIOD, SLOWING, STIFFNESS, TIME, TRUE, net_of, references, trial


def test_signal_is_that_of_equation_28():
    random = np.random.default_rng(0)
    measured, ante, post = (Track(*random.normal(size=(2, TIME.size, 3))) for _ in range(3))
    found = feedback_signal(TIME, measured, ante, post, stiffness=9.0, impact_time=0.05, interim_duration=0.2)
    for k in range(0, TIME.size, 7):
        t = TIME[k]
        reference = ante if t < 0.05 else post
        gamma = 1.0 if t < 0.05 or t > 0.25 else (t - 0.05) / 0.2
        expected = 6.0 * gamma * (reference.velocity[k] - measured.velocity[k])
        expected = expected + 9.0 * (reference.position[k] - measured.position[k])
        np.testing.assert_allclose(found[k], expected, atol=1e-9)
    at_once = feedback_signal(TIME, measured, ante, post, stiffness=9.0, impact_time=0.05, interim_duration=0.0)
    late = TIME > 0.26
    np.testing.assert_allclose(at_once[late], found[late])


def test_an_exact_reference_needs_no_feedback():
    ante, post = references(TRUE)
    measured = trial(TRUE)
    signal = feedback_signal(TIME, measured, ante, post, stiffness=STIFFNESS, impact_time=0.0, interim_duration=INTERIM)
    assert np.abs(signal).max() < 1e-3
    assert abs(net_of(TRUE, measured)) < 1e-6


@settings(deadline=None, max_examples=12)
@given(st.floats(0.7, 1.3), st.floats(-0.05, 0.05), st.floats(0.0, 20.0))
def test_net_feedback_is_the_velocity_that_was_missing(scale, impact, vibration):
    """Whenever the impact is, and whatever shakes: the reference's velocity then less that which the impact left."""
    impact = round(impact / PERIOD) * PERIOD
    found = net_of(scale * TRUE, trial(scale * TRUE, impact, vibration), impact)
    expected = scale * TRUE + SLOWING * impact - TRUE
    assert found == pytest.approx(expected, abs=2e-3)


def test_integral_is_that_of_held_samples_in_the_window():
    time = np.array([0.0, 1.0, 1.5, 3.0])
    signal = np.array([[2.0, 1.0], [-4.0, 0.0], [1.0, 1.0], [100.0, 100.0]])
    np.testing.assert_allclose(net_feedback(time, signal, 0.0, 3.0), [2.0 - 2.0 + 1.5, 1.0 + 1.5])
    np.testing.assert_allclose(net_feedback(time, signal, 0.5, 2.0), [1.0 - 2.0 + 0.5, 0.5 + 0.5])


def test_trials_that_do_not_fit_are_refused():
    ante, post = references(0.4)
    good = {"stiffness": STIFFNESS, "impact_time": 0.0, "interim_duration": INTERIM}
    for name, value in (("stiffness", 0.0), ("impact_time", math.inf), ("interim_duration", -0.1)):
        with pytest.raises(InvalidInputError, match=name):
            feedback_signal(TIME, post, ante, post, **(good | {name: value}))
    with pytest.raises(InvalidInputError, match="time"):
        feedback_signal(TIME[::-1], post, ante, post, **good)
    with pytest.raises(InvalidInputError, match="time"):
        feedback_signal(TIME[:-1], post, ante, post, **good)
    short = Track(ante.position[:-1], ante.velocity[:-1])
    with pytest.raises(InvalidInputError, match="reference"):
        feedback_signal(TIME, post, short, post, **good)
    with pytest.raises(InvalidInputError, match="damping_scale"):
        feedback_acceleration(ante, post, STIFFNESS, np.ones(3))
    with pytest.raises(InvalidInputError, match="velocity"):
        Track(ante.position, ante.velocity[:-1])
    with pytest.raises(InvalidInputError, match="position"):
        Track(ante.position[:, 0], ante.velocity[:, 0])
    for window in ((0.5, 0.1), (-0.5, 0.1), (0.0, 2.0)):
        with pytest.raises(InvalidInputError, match="begin, end"):
            net_feedback(TIME, post.velocity, *window)
