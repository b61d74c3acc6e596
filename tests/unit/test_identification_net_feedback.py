"""Post-impact velocity by net feedback, on a point whose velocity after the impact is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.errors import InvalidInputError
from impact_control.identification.net_feedback import (
    REFERENCE_SCALES,
    Track,
    estimate_post_impact_velocity,
    feedback_acceleration,
    feedback_signal,
    net_feedback,
)

PERIOD, STIFFNESS, INTERIM = 1e-3, 400.0, 0.1
TIME = np.arange(-200, 901) * PERIOD
ANTE_SPEED, TRUE = 0.7, 0.41
SLOWING = -0.15
"""[m/s^2] of the post-impact reference."""


def references(speed: float) -> tuple[Track, Track]:
    """Ante- and post-impact references (m, 1), equal at 0 s, van Steen 2024 (14)."""
    ante = Track((ANTE_SPEED * TIME)[:, None], np.full((TIME.size, 1), ANTE_SPEED))
    position = speed * TIME + 0.5 * SLOWING * TIME**2
    return ante, Track(position[:, None], (speed + SLOWING * TIME)[:, None])


def trial(speed: float, impact: float = 0.0, vibration: float = 0.0, noise: float = 0.0, seed: int = 0) -> Track:
    """What a mass does that is accelerated as told and left with TRUE by the impact; noise [m/s] of its velocity.

    A vibration [m/s^2], a decaying sine that sums up to nothing, shakes it. Its own integration of the controller.
    """
    random = np.random.default_rng(seed)
    position, velocity = np.zeros((2, TIME.size))
    p, v, hit = ANTE_SPEED * TIME[0], ANTE_SPEED, False
    for k, t in enumerate(TIME):
        if not hit and t >= impact - 1e-9:
            v, hit = v + TRUE - ANTE_SPEED, True
        position[k], velocity[k] = p, v + noise * random.standard_normal()
        if t < impact - 1e-9:
            wanted, rate, feed, gamma = ANTE_SPEED * t, ANTE_SPEED, 0.0, 1.0
        else:
            wanted, rate, feed = speed * t + 0.5 * SLOWING * t**2, speed + SLOWING * t, SLOWING
            gamma = min((t - impact) / INTERIM, 1.0)
        back = 2.0 * math.sqrt(STIFFNESS) * gamma * (rate - velocity[k]) + STIFFNESS * (wanted - p)
        shake = 0.0
        if hit:
            since = t + 0.5 * PERIOD - impact
            # d/dt of exp(-30 t) sin(250 t), whose integral is 0.
            shake = vibration * math.exp(-30.0 * since) * (math.cos(250.0 * since) - 0.12 * math.sin(250.0 * since))
        a = feed + back + shake
        p += PERIOD * v + 0.5 * PERIOD**2 * a
        v += PERIOD * a
    return Track(position[:, None], velocity[:, None])


def net_of(speed: float, measured: Track, impact: float = 0.0) -> float:
    ante, post = references(speed)
    signal = feedback_signal(
        TIME, measured, ante, post, stiffness=STIFFNESS, impact_time=impact, interim_duration=INTERIM
    )
    return float(net_feedback(TIME, signal, -0.1, 0.8)[0])


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


@pytest.mark.parametrize("predicted", [0.9 * TRUE, TRUE, 1.1 * TRUE])
def test_velocity_comes_back_from_noisy_trials(predicted):
    speeds = np.repeat(np.array(REFERENCE_SCALES) * predicted, 5)
    net = np.array([net_of(v, trial(v, vibration=5.0, noise=0.02, seed=k)) for k, v in enumerate(speeds)])
    random = np.random.default_rng(1)
    found = estimate_post_impact_velocity(speeds, net + 0.01 * random.normal(size=net.size))
    assert found.velocity == pytest.approx(TRUE, abs=4.0 * found.standard_error + 1e-3)
    assert 1e-4 < found.standard_error < 0.01
    assert found.slope == pytest.approx(1.0, abs=4.0 * found.slope_error + 5e-3)
    assert found.mismatch(predicted) == pytest.approx(predicted / TRUE - 1.0, abs=0.03)
    assert found.trials == 25


def test_standard_error_is_the_scatter_of_repeated_fits():
    speeds = np.repeat(np.array(REFERENCE_SCALES) * 0.45, 5)
    random = np.random.default_rng(2)
    fits = [
        estimate_post_impact_velocity(speeds, 0.8 * (speeds - TRUE) + 0.01 * random.normal(size=25)) for _ in range(400)
    ]
    # The scatter of 400 is known to 3.5 %.
    scatter = np.std([fit.velocity for fit in fits], ddof=1)
    assert np.mean([fit.standard_error for fit in fits]) == pytest.approx(scatter, rel=0.15)
    slopes = np.std([fit.slope for fit in fits], ddof=1)
    assert np.mean([fit.slope_error for fit in fits]) == pytest.approx(slopes, rel=0.15)


@settings(deadline=None, max_examples=40)
@given(st.floats(0.1, 3.0), st.floats(-2.0, 2.0), st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=9, unique=True))
def test_a_line_is_found_exactly(slope, velocity, speeds):
    speeds = np.round(speeds, 3)
    if np.ptp(speeds) < 0.05:
        return
    found = estimate_post_impact_velocity(speeds, slope * (speeds - velocity))
    assert found.velocity == pytest.approx(velocity, abs=1e-9)
    assert found.slope == pytest.approx(slope, rel=1e-9)
    assert found.standard_error < 1e-9 and found.residual_rms < 1e-9


def test_integral_is_that_of_held_samples_in_the_window():
    time = np.array([0.0, 1.0, 1.5, 3.0])
    signal = np.array([[2.0, 1.0], [-4.0, 0.0], [1.0, 1.0], [100.0, 100.0]])
    np.testing.assert_allclose(net_feedback(time, signal, 0.0, 3.0), [2.0 - 2.0 + 1.5, 1.0 + 1.5])
    np.testing.assert_allclose(net_feedback(time, signal, 0.5, 2.0), [1.0 - 2.0 + 0.5, 0.5 + 0.5])


def test_data_that_do_not_determine_the_velocity_are_refused():
    speeds = np.repeat(np.array(REFERENCE_SCALES) * 0.4, 2)
    noise = np.random.default_rng(3).normal(size=speeds.size)
    for bad in (noise, 0.4 - speeds, np.zeros(speeds.size)):
        with pytest.raises(InvalidInputError, match="net"):
            estimate_post_impact_velocity(speeds, bad)
    for bad in (np.full(5, 0.4), speeds[:2], speeds[:, None], speeds * np.nan):
        with pytest.raises(InvalidInputError, match="reference_velocity"):
            estimate_post_impact_velocity(bad, np.zeros(np.shape(bad)))
    with pytest.raises(InvalidInputError, match="net"):
        estimate_post_impact_velocity(speeds, speeds[:-1])
    exact = estimate_post_impact_velocity(speeds, speeds - speeds.mean())
    with pytest.raises(InvalidInputError, match="prediction"):
        exact.mismatch(math.nan)
    with pytest.raises(InvalidInputError, match="velocity"):
        estimate_post_impact_velocity(np.array([-1.0, 0.0, 1.0]), np.array([-1.0, 0.0, 1.0])).mismatch(0.3)


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
