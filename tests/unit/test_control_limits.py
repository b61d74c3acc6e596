"""Acceleration bounds: limits are kept for ever, and what happens outside of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.control.limits import acceleration_bounds
from impact_control.robots import load_robot

PERIOD = 1e-3
LIMITS = load_robot().limits
ACCELERATION = np.array([15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0])


def bounds(q, dq, acceleration=ACCELERATION):
    lower, upper = np.empty(7), np.empty(7)
    viable = acceleration_bounds(
        q,
        dq,
        LIMITS.position_lower,
        LIMITS.position_upper,
        LIMITS.velocity,
        acceleration,
        PERIOD,
        lower,
        upper,
    )
    return viable, lower, upper


def step(q, dq, ddq):
    return q + PERIOD * dq + 0.5 * PERIOD**2 * ddq, dq + PERIOD * ddq


@settings(deadline=None, max_examples=15)
@given(
    st.lists(st.floats(0.1, 0.9), min_size=7, max_size=7),
    st.lists(st.sampled_from([-1.0, 1.0, 0.0, 0.3]), min_size=7, max_size=7),
    st.integers(0, 2**32 - 1),
)
def test_the_worst_control_inside_the_bounds_never_leaves_the_limits(place, push, seed):
    """Full throttle to a limit, with random relapses: position and velocity limits hold at every sample."""
    random = np.random.default_rng(seed)
    q = LIMITS.position_lower + np.array(place) * (LIMITS.position_upper - LIMITS.position_lower)
    dq = np.zeros(7)
    for _ in range(800):
        viable, lower, upper = bounds(q, dq)
        assert viable
        assert (lower <= upper).all()
        wanted = np.array(push) * 1e3 if random.random() < 0.9 else random.uniform(-1e3, 1e3, 7)
        q, dq = step(q, dq, np.clip(wanted, lower, upper))
        assert (q <= LIMITS.position_upper + 1e-9).all()
        assert (q >= LIMITS.position_lower - 1e-9).all()
        assert (np.abs(dq) <= LIMITS.velocity + 1e-9).all()


def test_bounds_do_not_bind_in_the_middle():
    q = 0.5 * (LIMITS.position_lower + LIMITS.position_upper)
    viable, lower, upper = bounds(q, np.zeros(7))
    assert viable
    np.testing.assert_allclose(upper, ACCELERATION)
    np.testing.assert_allclose(lower, -ACCELERATION)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_too_fast_near_a_limit_brakes_with_all_there_is(side):
    q = 0.5 * (LIMITS.position_lower + LIMITS.position_upper)
    dq = np.zeros(7)
    q[0] = LIMITS.position_upper[0] - 0.01 if side > 0 else LIMITS.position_lower[0] + 0.01
    dq[0] = side * 2.0
    viable, lower, upper = bounds(q, dq)
    assert not viable
    assert lower[0] == upper[0] == -side * ACCELERATION[0]
    np.testing.assert_allclose(upper[1:], ACCELERATION[1:])


def test_a_joint_above_its_velocity_limit_is_slowed_down():
    q = 0.5 * (LIMITS.position_lower + LIMITS.position_upper)
    dq = np.zeros(7)
    dq[2] = LIMITS.velocity[2] + 0.5
    viable, lower, upper = bounds(q, dq)
    assert not viable
    assert lower[2] == upper[2] == -ACCELERATION[2]


def test_a_larger_deceleration_allows_a_later_stop():
    q = LIMITS.position_upper - 0.05
    dq = np.full(7, 0.5)
    _, _, gentle = bounds(q, dq)
    _, _, strong = bounds(q, dq, 4.0 * ACCELERATION)
    assert (strong > gentle).all()
