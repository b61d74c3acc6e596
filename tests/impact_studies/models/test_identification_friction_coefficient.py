"""The friction coefficient of impacts that the impact map itself made, with and without disturbance."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.impacts import FrictionLaw, predict_post_impact_velocity
from impact_control.util.errors import InvalidInputError
from impact_studies.models.contact_identification.friction_coefficient import identify_friction_coefficient

UP = np.array([0.0, 0.0, 1.0])


def impacts(seed, count=4):
    """Impacts of random arms: inertia, Jacobian, velocity before; the contact slips and approaches."""
    random = np.random.default_rng(seed)
    made = []
    while len(made) < count:
        root = random.normal(0.0, 0.3, (7, 7))
        inertia, jacobian = root @ root.T + np.eye(7), random.normal(0.0, 0.5, (3, 7))
        velocity = random.normal(0.0, 0.5, 7)
        if UP @ jacobian @ velocity < -0.05:
            made.append((inertia, jacobian, velocity))
    return made


def predictor(cases):
    """The map of Rey Arias 2024 (16), with which the source identifies: no friction is beyond its sticking."""
    predict = partial(predict_post_impact_velocity, law=FrictionLaw.FIXED_DIRECTION)
    return lambda mu: np.array([predict(M, J, UP, dq, mu).velocity for M, J, dq in cases])


@settings(deadline=None, max_examples=25)
@given(st.floats(0.0, 0.4), st.integers(0, 2**32 - 1))
def test_the_coefficient_that_made_the_impacts_comes_back(friction, seed):
    predict = predictor(impacts(seed))
    try:
        observed = predict(friction)
    except InvalidInputError:  # this impact jams: the map has no answer
        return
    estimate = identify_friction_coefficient(predict, observed)
    assert estimate.coefficient == pytest.approx(friction, abs=1e-4)
    assert estimate.error < 1e-4


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_no_other_coefficient_errs_less(seed):
    """Against a search on ten thousand points, over impacts that no coefficient explains."""
    random = np.random.default_rng(seed)
    slopes, observed = random.normal(0.0, 1.0, (3, 2)), random.normal(0.0, 1.0, (3, 2))

    def predict(mu):
        return slopes * mu

    estimate = identify_friction_coefficient(predict, observed)
    errors = [np.mean(np.abs(predict(mu) - observed)) for mu in np.linspace(0.0, 1.0, 10_001)]
    assert estimate.error <= min(errors) + 1e-4
    assert np.min(estimate.errors) >= estimate.error


def test_what_the_map_refuses_does_not_come_into_question():
    def predict(mu):
        if mu > 0.5:
            raise InvalidInputError("friction", mu, "below 0.5")
        return np.array([[mu]])

    estimate = identify_friction_coefficient(predict, np.array([[0.9]]))
    assert estimate.coefficient == pytest.approx(0.5)
    assert np.all(np.isinf(estimate.errors[estimate.coefficients > 0.5]))


@pytest.mark.parametrize("observed", [np.zeros(7), np.zeros((0, 7)), np.full((2, 7), np.nan)])
def test_wrong_observations_are_refused(observed):
    with pytest.raises(InvalidInputError):
        identify_friction_coefficient(lambda mu: np.zeros((2, 7)), observed)


def test_a_map_that_accepts_nothing_is_refused():
    def predict(mu):
        raise InvalidInputError("friction", mu, "nothing")

    with pytest.raises(InvalidInputError):
        identify_friction_coefficient(predict, np.zeros((2, 7)))
