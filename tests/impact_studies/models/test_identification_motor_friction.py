"""Friction from the feedback of repeated runs, on a mass whose friction is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from impact_control.recording.net_feedback import Track
from impact_control.util.errors import InvalidInputError
from impact_studies.models.contact_identification.motor_friction import MotorFriction, identify_motor_friction

PERIOD, STIFFNESS = 1e-3, 2500.0
TIME = np.arange(1500) * PERIOD
RATES = np.array([2.0, 3.0])
REFERENCE = Track(0.2 * np.sin(TIME[:, None] * RATES), 0.2 * RATES * np.cos(TIME[:, None] * RATES))


def friction(velocity: np.ndarray) -> np.ndarray:
    """[m/s^2], dry and viscous, against the motion."""
    return -(0.6 * np.tanh(velocity / 0.05) + 0.8 * velocity)


def run(seed: int, noise: float = 1e-3, compensation: MotorFriction | None = None) -> Track:
    """A mass that follows REFERENCE with all but friction fed forward."""
    random = np.random.default_rng(seed)
    position, velocity = np.zeros((2, TIME.size, 2))
    p, v = REFERENCE.position[0].copy(), REFERENCE.velocity[0].copy()
    for k, t in enumerate(TIME):
        position[k], velocity[k] = p, v + noise * random.standard_normal(2)
        feed = -0.2 * RATES**2 * np.sin(RATES * t)
        if compensation is not None:
            feed = feed + compensation.at(t)
        back = 2.0 * math.sqrt(STIFFNESS) * (REFERENCE.velocity[k] - velocity[k])
        a = feed + back + STIFFNESS * (REFERENCE.position[k] - p) + friction(v)
        p = p + PERIOD * v + 0.5 * PERIOD**2 * a
        v = v + PERIOD * a
    return Track(position, velocity)


@pytest.fixture(scope="module")
def found() -> MotorFriction:
    return identify_motor_friction(TIME, REFERENCE, [run(seed) for seed in range(5)], STIFFNESS)


def left(identified: MotorFriction) -> np.ndarray:
    """What is wrong with it [m/s^2], after the start."""
    return (identified.acceleration + friction(REFERENCE.velocity))[200:]


def test_friction_comes_back(found):
    # Away from where a direction turns; the feedback lags by 2 / sqrt(k_p) = 40 ms and smooths what is there.
    steady = np.abs(REFERENCE.velocity[200:]) > 0.25
    assert np.abs(left(found)[steady]).mean() < 0.06
    assert np.abs(friction(REFERENCE.velocity[200:])[steady]).mean() > 0.8
    assert found.runs == 5


def test_runs_with_the_compensation_need_less_feedback_and_find_what_was_left(found):
    again = [run(seed, compensation=found) for seed in range(10, 15)]
    feedback = identify_motor_friction(TIME, REFERENCE, again, STIFFNESS).acceleration
    assert np.sqrt(np.mean(feedback[200:] ** 2)) < 0.35 * np.sqrt(np.mean(found.acceleration[200:] ** 2))
    both = identify_motor_friction(TIME, REFERENCE, again, STIFFNESS, compensation=found)
    np.testing.assert_allclose(both.acceleration, found.acceleration + feedback)
    # Without noise nothing but the lag is left, and each time less of it.
    first = identify_motor_friction(TIME, REFERENCE, 2 * [run(0, 0.0)], STIFFNESS)
    runs = 2 * [run(0, 0.0, compensation=first)]
    second = identify_motor_friction(TIME, REFERENCE, runs, STIFFNESS, compensation=first)
    assert np.sqrt(np.mean(left(second) ** 2)) < 0.5 * np.sqrt(np.mean(left(first) ** 2))


def test_standard_error_is_that_of_the_noise(found):
    # The noise of the velocity, 1 mm/s, times 2 sqrt(k_p) = 100 1/s; it comes back by the loop only a little.
    expected = 100.0 * 1e-3 / math.sqrt(5)
    assert np.sqrt(np.mean(found.standard_error**2)) == pytest.approx(expected, rel=0.1)


def test_without_friction_and_noise_there_is_nothing():
    measured = [REFERENCE, REFERENCE]
    nothing = identify_motor_friction(TIME, REFERENCE, measured, STIFFNESS)
    assert not nothing.acceleration.any() and not nothing.standard_error.any()


def test_between_the_stamps_it_is_linear_and_outside_it_stays(found):
    between = 0.75 * found.acceleration[7] + 0.25 * found.acceleration[8]
    np.testing.assert_allclose(found.at(TIME[7] + 0.25 * PERIOD), between)
    np.testing.assert_array_equal(found.at(-1.0), found.acceleration[0])
    np.testing.assert_array_equal(found.at(99.0), found.acceleration[-1])


def test_runs_that_do_not_fit_are_refused(found):
    short = Track(REFERENCE.position[:-1], REFERENCE.velocity[:-1])
    good = [REFERENCE, REFERENCE]
    for arguments, name in (
        ((TIME, REFERENCE, good[:1], STIFFNESS), "runs"),
        ((TIME, REFERENCE, [REFERENCE, short], STIFFNESS), "reference"),
        ((TIME[::-1], REFERENCE, good, STIFFNESS), "time"),
        ((TIME[:-1], REFERENCE, good, STIFFNESS), "time"),
        ((TIME, REFERENCE, good, -1.0), "stiffness"),
    ):
        with pytest.raises(InvalidInputError, match=name):
            identify_motor_friction(*arguments)
    with pytest.raises(InvalidInputError, match="compensation"):
        identify_motor_friction(TIME + 0.5, REFERENCE, good, STIFFNESS, compensation=found)
