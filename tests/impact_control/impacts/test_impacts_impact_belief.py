"""Friction, restitution and motor inertia estimated from impacts of the map, and what these leave undetermined."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.impacts import ImpactBelief, ObservedImpact, SlipOutcome, predict_post_impact_velocity
from impact_control.impacts.impact_belief import CANDIDATES, REACH
from impact_control.util.errors import InvalidInputError

UP = np.array([0.0, 0.0, 1.0])
NOISE = 0.02
"""[rad/s]"""
COVARIANCE = NOISE**2 * np.eye(7)
EXPECTED, DEVIATION = np.array([0.2, 0.0, 1.0]), np.array([0.15, 0.1, 0.4])


def made_impact(seed: int, friction: float, restitution: float, scale: float, noise: float = NOISE) -> ObservedImpact:
    """A random arm that slides well along the surface, observed as the map says, with noise."""
    random = np.random.default_rng(seed)
    root = random.normal(0.0, 0.3, (7, 7))
    while True:
        jacobian, before = random.normal(0.0, 0.5, (3, 7)), random.normal(0.0, 0.5, 7)
        if (jacobian @ before)[2] < -0.2 and np.hypot(*(jacobian @ before)[:2]) > 0.3:
            break
    blank = np.zeros(7)
    impact = ObservedImpact(root @ root.T + np.eye(7), random.uniform(0.3, 0.8, 7), jacobian, UP, before, blank)
    observed = impact.predict(friction, restitution, scale) + random.normal(0.0, 1.0, 7) * noise
    return replace(impact, velocity_after=observed)


def outcome(impact: ObservedImpact, friction: float) -> SlipOutcome:
    inertia = impact.mass_matrix + np.diag(impact.motor_inertia)
    before = impact.velocity_before
    return predict_post_impact_velocity(inertia, impact.contact_jacobian, UP, before, friction).slip


def learned(belief: ImpactBelief, impacts: list[ObservedImpact], **options) -> ImpactBelief:
    for impact in impacts:
        belief = belief.updated(impact, COVARIANCE, **options)
    return belief


@settings(deadline=None, max_examples=3)
@given(st.integers(0, 2**32 - 9), st.floats(0.05, 0.4), st.floats(0.0, 0.2), st.floats(0.5, 1.8))
def test_the_parameters_that_made_the_impacts_come_back(seed, friction, restitution, scale):
    truth = np.array([friction, restitution, scale])
    belief = learned(ImpactBelief.around(EXPECTED, DEVIATION), [made_impact(seed + k, *truth) for k in range(8)])
    spread = np.sqrt(np.diag(belief.covariance))
    cell = 2.0 * REACH * DEVIATION / (np.array(CANDIDATES) - 1)
    assert np.all(np.abs(belief.estimate - truth) < 4.0 * spread + cell)
    assert np.all(spread < 0.7 * DEVIATION)


def test_at_the_start_it_is_what_was_expected():
    belief = ImpactBelief.around(np.array([0.1, 0.0, 1.0]), np.array([0.02, 0.0, 0.1]))
    np.testing.assert_allclose(belief.estimate, [0.1, 0.0, 1.0], rtol=1e-12)
    assert np.sqrt(belief.covariance[0, 0]) == pytest.approx(0.02, rel=0.03)
    assert np.sqrt(belief.covariance[2, 2]) == pytest.approx(0.1, rel=0.03)
    assert belief.covariance[1, 1] == 0.0
    # Cut off at its bound, where its mean is another one.
    assert ImpactBelief.around(EXPECTED, DEVIATION).estimate[1] == 0.0


def test_with_one_unknown_it_is_bayes_rule():
    """Against a fine quadrature of prior times likelihood."""
    belief = ImpactBelief.around(EXPECTED, np.array([0.15, 0.0, 0.0]))
    impact = made_impact(5, 0.3, 0.0, 1.0)
    assert outcome(impact, 0.3) is not SlipOutcome.STICKS
    after = belief.updated(impact, 25.0 * COVARIANCE)
    values = np.linspace(0.0, 0.65, 2001)
    misfits = np.array([impact.predict(mu, 0.0, 1.0) - impact.velocity_after for mu in values]) / (5.0 * NOISE)
    density = np.exp(-0.5 * ((values - 0.2) / 0.15) ** 2 - 0.5 * np.sum(misfits**2, axis=1))
    density /= density.sum()
    mean = values @ density
    assert after.estimate[0] == pytest.approx(values[np.argmax(density)], abs=0.012)
    assert after.covariance[0, 0] == pytest.approx((values - mean) ** 2 @ density, rel=0.05)


def test_where_it_sticks_whatever_the_friction_nothing_is_learned_of_it():
    belief = ImpactBelief.around(np.array([4.0, 0.0, 1.0]), np.array([0.3, 0.0, 0.4]))
    impact = next(
        impact
        for impact in (made_impact(k, 4.0, 0.0, 0.8) for k in range(50))
        if {outcome(impact, mu) for mu in belief.axes[0]} == {SlipOutcome.STICKS}
    )
    after = learned(belief, [impact] * 3)
    assert after.estimate[0] == belief.estimate[0]
    assert after.covariance[0, 0] == pytest.approx(belief.covariance[0, 0], rel=1e-6)
    assert after.covariance[2, 2] < belief.covariance[2, 2]


def test_who_believes_that_it_sticks_learns_that_it_slips():
    """The map does not change with friction about what is believed: its slope there would never tell."""
    belief = ImpactBelief.around(np.array([1.5, 0.0, 1.0]), np.array([0.5, 0.0, 0.0]))
    impacts = [
        impact
        for impact in (made_impact(k, 0.1, 0.0, 1.0) for k in range(100))
        if {outcome(impact, mu) for mu in (1.4, 1.5, 1.6)} == {SlipOutcome.STICKS}
        and outcome(impact, 0.1) is not SlipOutcome.STICKS
    ]
    assert len(impacts) >= 3
    after = learned(belief, impacts[:3])
    assert after.estimate[0] == pytest.approx(0.1, abs=0.08)


def test_an_impact_that_sticks_says_that_friction_is_at_least_that():
    belief = ImpactBelief.around(np.array([0.3, 0.0, 1.0]), np.array([0.3, 0.0, 0.0]))
    impact = next(
        impact
        for impact in (made_impact(k, 1.2, 0.0, 1.0, 0.0) for k in range(100))
        if outcome(impact, 1.1) is SlipOutcome.STICKS and outcome(impact, 0.3) is not SlipOutcome.STICKS
    )
    after = learned(belief, [impact] * 3)
    sticking = np.array([outcome(impact, mu) is SlipOutcome.STICKS for mu in after.axes[0]])
    chance, before = (one.weights[sticking, 0, 0].sum() for one in (after, belief))
    assert chance > before and after.estimate[0] > belief.estimate[0]
    within = after.weights[sticking, 0, 0] / belief.weights[sticking, 0, 0]
    np.testing.assert_allclose(within, within[0], rtol=1e-6)


def test_the_order_of_impacts_does_not_matter_and_bounds_hold():
    impacts = [made_impact(k, 0.0, 0.0, 0.2) for k in range(4)]
    belief = ImpactBelief.around(EXPECTED, DEVIATION)
    one, other = learned(belief, impacts), learned(belief, impacts[::-1])
    np.testing.assert_allclose(one.weights, other.weights, atol=1e-9)
    friction, restitution, scale = belief.axes
    assert friction.min() >= 0.0 and restitution.min() >= 0.0 and scale.min() > 0.0
    assert restitution.max() <= 1.0
    np.testing.assert_allclose(friction.max(), 0.2 + 3.0 * 0.15)
    assert np.all(one.estimate >= [0.0, 0.0, 0.05])


def test_with_a_memory_a_surface_that_changes_is_learned_anew():
    before = [made_impact(k, 0.1, 0.0, 1.0) for k in range(20)]
    after = [made_impact(100 + k, 0.35, 0.0, 1.0) for k in range(5)]
    belief = ImpactBelief.around(EXPECTED, np.array([0.15, 0.0, 0.0]))
    forgetful, keen = (learned(learned(belief, before, memory=m), after, memory=m) for m in (3.0, np.inf))
    assert forgetful.estimate[0] == pytest.approx(0.35, abs=0.04)
    assert abs(keen.estimate[0] - 0.35) > abs(forgetful.estimate[0] - 0.35)
    assert forgetful.covariance[0, 0] > keen.covariance[0, 0]


@pytest.mark.parametrize(
    ("mean", "deviation", "name"),
    [
        ([-0.1, 0.0, 1.0], [0.1, 0.1, 0.1], "friction"),
        ([0.1, 1.1, 1.0], [0.1, 0.1, 0.1], "restitution"),
        ([0.1, 0.0, 0.0], [0.1, 0.1, 0.1], "inertia_scale"),
        ([0.1, 0.0, 1.0], [0.1, -0.1, 0.1], "deviation"),
        ([0.1, 0.0, np.nan], [0.1, 0.1, 0.1], "mean"),
    ],
)
def test_beliefs_without_meaning_are_refused(mean, deviation, name):
    with pytest.raises(InvalidInputError) as caught:
        ImpactBelief.around(mean, deviation)
    assert caught.value.name == name


def test_impacts_that_teach_nothing_are_refused():
    belief = ImpactBelief.around(EXPECTED, np.zeros(3))
    impact = made_impact(1, 0.2, 0.0, 1.0)
    leaving = replace(impact, velocity_before=-impact.velocity_before)
    unseen = replace(impact, velocity_after=np.full(7, np.nan))
    for wrong, covariance, memory, name in (
        (leaving, COVARIANCE, 20.0, "velocity"),
        (unseen, COVARIANCE, 20.0, "velocity_after"),
        (impact, -COVARIANCE, 20.0, "covariance"),
        (impact, COVARIANCE, 0.5, "memory"),
    ):
        with pytest.raises(InvalidInputError) as caught:
            belief.updated(wrong, covariance, memory)
        assert caught.value.name == name
