"""The velocity fitted after an impact against exact motions, another fit, and ringing of known height."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.errors import InvalidInputError
from impact_control.identification import ante_impact_velocity, gross_post_impact_velocity
from impact_control.types import Vector


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
