"""The velocity fitted after an impact against exact motions, another fit, and ringing of known height."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.observation.post_impact_velocity import (
    ante_impact_velocity,
    gross_post_impact_velocity,
    velocities_around_impact,
)
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Vector


def ringing(time: Vector, frequency: float, decay: float) -> tuple[Vector, Vector]:
    """Position and velocity of a decaying oscillation that begins at 0 with the velocity 1 rad/s."""
    since = np.clip(time, 0, None)
    pole = complex(-1 / decay, 2 * np.pi * frequency)
    return ((np.exp(pole * since) - 1) / pole).real, np.exp(pole * since).real


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.floats(-3, 3), min_size=4, max_size=4),
    st.floats(-1e3, 1e3),
    st.integers(0, 2**32 - 1),
)
def test_gross_velocity_of_a_cubic_is_exact(coefficients: list[float], start: float, seed: int) -> None:
    """Also when samples come irregularly and the motion before the impact is another."""
    time = np.sort(start + np.random.default_rng(seed).uniform(-0.1, 0.3, 400))
    impact = start + 0.0123
    since = time - impact
    position = np.where(since < 0, 7.0, np.polynomial.polynomial.polyval(since, coefficients))
    velocity = gross_post_impact_velocity(time, position[:, None], impact)
    assert velocity[0] == pytest.approx(coefficients[1], abs=1e-8)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_gross_velocity_is_the_slope_of_the_best_polynomial(degree: int, seed: int) -> None:
    """Of data no polynomial goes through, for each joint by itself; fitted here in Legendre polynomials."""
    random = np.random.default_rng(seed)
    time = 5.0 + np.arange(80) / 1000
    position = random.normal(0, 1, (80, 3)).cumsum(axis=0) / 100
    velocity = gross_post_impact_velocity(time, position, time[9], window=0.0605, degree=degree)
    for j in range(3):
        fit = np.polynomial.Legendre.fit(time[9:70], position[9:70, j], degree)
        assert velocity[j] == pytest.approx(fit.deriv()(time[9]), rel=1e-6, abs=1e-8)


@settings(deadline=None, max_examples=60)
@given(
    frequency=st.floats(60, 120),
    decay=st.floats(0.015, 0.04),
    jump=st.floats(-2, 2),
    gross=st.floats(-2, 2),
    slope=st.floats(-3, 3),
)
def test_gross_velocity_looks_through_the_oscillation(
    frequency: float, decay: float, jump: float, gross: float, slope: float
) -> None:
    """The velocity rings about `gross + slope t`, beginning with its value before the impact."""
    time = np.arange(-0.05, 0.2, 0.001)
    since = np.clip(time, 0, None)
    position = 0.3 + gross * since + slope / 2 * since**2 - jump * ringing(time, frequency, decay)[0]
    velocity = gross_post_impact_velocity(time, position[:, None], 0.0)
    assert abs(velocity[0] - gross) <= 0.09 * abs(jump) + 1e-9
    last_measured = gross + slope * 0.001 - jump * ringing(np.array([0.001]), frequency, decay)[1][0]
    assert abs(velocity[0] - gross) <= abs(last_measured - gross) + 0.01


@settings(deadline=None, max_examples=60)
@given(frequency=st.floats(20, 60), decay=st.floats(0.015, 0.04))
def test_slow_ringing_enters_the_gross_velocity_by_a_quarter_at_most(frequency: float, decay: float) -> None:
    time = np.arange(-0.05, 0.2, 0.001)
    position, _ = ringing(time, frequency, decay)
    assert abs(gross_post_impact_velocity(time, position[:, None], 0.0)[0]) <= 0.25


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(-3, 3), min_size=4, max_size=4), st.floats(-1e3, 1e3), st.integers(0, 2**32 - 1))
def test_velocities_around_an_impact_are_exact_where_both_are_lines(
    lines: list[float], start: float, seed: int
) -> None:
    """Also for irregular samples; what happens in the 5 ms before it, when it may have come undetected, is left out."""
    time = np.sort(start + np.random.default_rng(seed).uniform(-0.1, 0.3, 400))
    since = time - (start + 0.0123)
    velocity = np.where(since < 0, lines[0] + lines[1] * since, lines[2] + lines[3] * since)
    velocity[(since > -0.0049) & (since < 0)] = 50.0
    before, after = velocities_around_impact(time, velocity[:, None], start + 0.0123)
    assert before[0] == pytest.approx(lines[0], abs=1e-8)
    assert after[0] == pytest.approx(lines[2], abs=1e-8)


def test_velocities_around_an_impact_keep_less_noise_than_the_gross_velocity() -> None:
    """By the noise of a Panda's positions and velocities."""
    random, time = np.random.default_rng(0), np.arange(-0.05, 0.2, 0.001)
    gross = gross_post_impact_velocity(time, random.normal(0, 7.5e-4, (time.size, 2000)), 0.0)
    before, after = velocities_around_impact(time, random.normal(0, 5e-3, (time.size, 2000)), 0.0)
    assert gross.std() == pytest.approx(0.0256, rel=0.1)
    assert after.std() == pytest.approx(0.0014, rel=0.1)
    assert before.std() == pytest.approx(0.0032, rel=0.1)


@settings(deadline=None, max_examples=60)
@given(frequency=st.floats(40, 120), decay=st.floats(0.015, 0.04))
def test_velocities_around_an_impact_look_through_the_oscillation(frequency: float, decay: float) -> None:
    time = np.arange(-0.05, 0.2, 0.001)
    velocity = np.where(time < 0, 0.0, ringing(time, frequency, decay)[1])
    before, after = velocities_around_impact(time, velocity[:, None], 0.0)
    assert abs(before[0]) < 1e-9
    assert abs(after[0]) <= 0.15


@pytest.mark.parametrize("broken", ["before", "after", "not finite"])
def test_velocities_around_an_impact_need_enough_finite_samples(broken: str) -> None:
    time = np.arange(-0.05, 0.2, 0.001)
    kept = {"before": time > -0.01, "after": time < 0.005}.get(broken, np.ones_like(time, dtype=bool))
    velocity = np.zeros((time.size, 7))
    velocity[60, 3] = np.nan if broken == "not finite" else 0.0
    with pytest.raises(InvalidInputError):
        velocities_around_impact(time[kept], velocity[kept], 0.0)


def test_gross_velocity_needs_enough_samples() -> None:
    time = np.linspace(0, 0.1, 11)
    gross_post_impact_velocity(time, np.zeros((11, 2)), 0.03)
    with pytest.raises(InvalidInputError, match="at least 8"):
        gross_post_impact_velocity(time, np.zeros((11, 2)), 0.04)


@pytest.mark.parametrize(("change", "name"), [({"window": -0.1}, "window"), ({"degree": 0}, "degree")])
def test_what_is_not_allowed_is_named(change, name) -> None:
    with pytest.raises(InvalidInputError, match=name):
        gross_post_impact_velocity(np.linspace(0, 0.1, 11), np.zeros((11, 2)), 0.03, **change)


def test_positions_that_are_not_finite_are_refused_where_they_count() -> None:
    time = np.linspace(0, 0.1, 11)
    position = np.zeros((11, 2))
    position[0] = np.nan
    gross_post_impact_velocity(time, position, 0.03)
    with pytest.raises(InvalidInputError, match="position"):
        gross_post_impact_velocity(time, position, 0.0)
    with pytest.raises(InvalidInputError, match="velocity"):
        ante_impact_velocity(time, position, 0.01)


def test_ante_velocity_is_the_last_before_the_impact() -> None:
    time, velocity = np.array([0.0, 1.0, 2.0]), np.array([[1.0], [2.0], [3.0]])
    assert ante_impact_velocity(time, velocity, 2.0)[0] == 2.0
    with pytest.raises(InvalidInputError, match="first sample"):
        ante_impact_velocity(time, velocity, 0.0)
