"""The impact time found offline in motions whose impact time is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.robots import load_robot
from impact_control.util.errors import InvalidInputError
from impact_studies.models.contact_identification.impact_time import offline_impact_time

PERIOD = 1e-3
TIME = 0.3 + PERIOD * np.arange(400)


def motion(impact, jumps, noise=0.0, seed=0):
    """Velocity of two joints that accelerate by 1 and -2 rad/s^2 and jump at an impact [s]."""
    smooth = np.outer(TIME - TIME[0], [1.0, -2.0])
    jumped = np.where(TIME[:, None] >= impact, smooth + np.asarray(jumps), smooth)
    return jumped + np.random.default_rng(seed).normal(0.0, noise, jumped.shape)


@settings(deadline=None, max_examples=60)
@given(st.floats(0.33, 0.67), st.floats(0.1, 2.0), st.sampled_from([-1.0, 1.0]), st.integers(0, 2**32 - 1))
def test_a_jump_is_found_at_the_last_sample_before_it(impact, jump, sign, seed):
    """With the velocity noise of a Panda, for either sign, in whichever joint: it shows one sample ahead."""
    jumps = np.roll([sign * jump, 0.0], seed % 2)
    found = offline_impact_time(TIME, motion(impact, jumps, 5e-3 / 3.0, seed))
    assert found == pytest.approx(TIME[impact > TIME][-1], abs=1e-9)


def test_the_first_growth_counts_not_the_largest():
    """A joint begins to answer two samples before the largest acceleration: 20 times its mean, then 400 times."""
    acceleration = np.full(400, 1.0)
    acceleration[[200, 201, 202]] = 20.0, 20.0, 400.0
    velocity = np.cumsum(acceleration)[:, None] * PERIOD
    # Central differences at i: half of the accelerations of the steps to i and from i.
    assert offline_impact_time(TIME, velocity) == pytest.approx(TIME[199])
    assert offline_impact_time(TIME, velocity, growth=50.0) == pytest.approx(TIME[201])


def test_other_stamps_scale_nothing_but_the_answer():
    velocity = motion(0.5, [0.3, 0.1], 1e-3)
    slow = offline_impact_time(7.0 + 10.0 * TIME, velocity)
    assert slow == pytest.approx(7.0 + 10.0 * offline_impact_time(TIME, velocity))


def test_without_an_impact_there_is_no_time():
    """The largest of 400 normal numbers is four of their deviations, five times their mean magnitude."""
    assert offline_impact_time(TIME, motion(9.0, [0.0, 0.0], 5e-3 / 3.0)) is None


def test_joints_that_are_left_out_give_no_false_positive():
    velocity = np.column_stack([motion(0.6, [0.3, 0.1], 1e-3), np.zeros(400)])
    velocity[100, 2] = 5.0
    assert offline_impact_time(TIME, velocity) < 0.41
    assert offline_impact_time(TIME, velocity, joints=range(2)) == pytest.approx(0.599)


def test_second_differences_of_noisy_positions_would_hide_an_impact():
    """Three independent samples with the weights 1, -2, 1: sqrt(6) deviations over the period squared."""
    noise = load_robot().noise
    deviation = float(noise.position[0]) / 3.0
    second = np.diff(np.random.default_rng(0).normal(0.0, deviation, 200_000), 2) / PERIOD**2
    assert np.std(second) == pytest.approx(np.sqrt(6.0) * deviation / PERIOD**2, rel=0.01)
    assert np.std(second) == pytest.approx(600.0, rel=0.05)
    jump = 0.4  # [rad/s], of joint 6 in the experiments of the source: 24 deg/s
    assert np.max(second) > jump / PERIOD
    central = np.sqrt(2.0) * float(noise.velocity[0]) / 3.0 / (2.0 * PERIOD)
    assert 8.0 * central < 0.05 * jump / (2.0 * PERIOD)


def test_a_jump_in_a_joint_that_is_not_searched_is_not_found():
    velocity = np.where(TIME[:, None] >= 0.5, [0.5, 0.0], 0.0) + TIME[:, None] ** 3
    assert offline_impact_time(TIME, velocity, joints=(0,)) == pytest.approx(0.499)
    assert offline_impact_time(TIME, velocity, joints=(1,)) is None


@pytest.mark.parametrize(
    ("time", "velocity", "changes", "words"),
    [
        (TIME[::-1], motion(0.5, [0.3, 0.1]), {}, "time"),
        (np.append(TIME[:-1], np.inf), motion(0.5, [0.3, 0.1]), {}, "time"),
        (np.append(TIME[:-1], np.nan), motion(0.5, [0.3, 0.1]), {}, "time"),
        (TIME, motion(0.5, [0.3, np.nan]), {}, "velocity"),
        (TIME[:-1], motion(0.5, [0.3, 0.1]), {}, "velocity"),
        (TIME, motion(0.305, [0.3, 0.1]), {}, "largest acceleration"),
        (TIME, motion(0.5, [0.3, 0.1]), {"growth": 1.0}, "growth"),
        (TIME, motion(0.5, [0.3, 0.1]), {"joints": ()}, "joints"),
        (TIME, motion(0.5, [0.3, 0.1]), {"joints": (2,)}, "joints"),
        (TIME, motion(0.5, [0.3, 0.1]), {"joints": (-1,)}, "joints"),
        (TIME, motion(0.5, [0.3, 0.1]), {"joints": (0, 5)}, "joints"),
    ],
)
def test_wrong_input_is_refused(time, velocity, changes, words):
    with pytest.raises(InvalidInputError, match=words):
        offline_impact_time(time, velocity, **changes)
