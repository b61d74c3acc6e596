"""Pulling back: straight, bounded, as far as asked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.control.retreat import ARRIVAL, Retreat
from impact_control.scenario import PullBack
from impact_control.util.errors import InvalidInputError

PERIOD = 1e-3
UP = np.array([0.0, 0.0, 1.0])


def run(velocity, direction=UP, distance=0.05, speed=0.2, acceleration=2.0):
    """Return the positions, velocities and accelerations (k, 3) of a retreat that begins at 0."""
    retreat = Retreat(PERIOD)
    retreat.aim(direction, PullBack(distance=distance, speed=speed, acceleration=acceleration))
    retreat.begin(np.zeros(3), np.asarray(velocity, dtype=float))
    states = []
    for _ in range(60000):
        done = retreat.advance()
        states.append((retreat.position.copy(), retreat.velocity.copy(), retreat.acceleration.copy()))
        if done:
            return [np.array(column) for column in zip(*states, strict=True)]
    raise AssertionError("never arrives")


def test_from_rest_it_takes_the_time_of_a_trapezoid():
    """With the bound b of the speed's change along the way: d/v + v/b, and d from the start."""
    bound = 2.0 / np.sqrt(2.0)
    position, velocity, _ = run(np.zeros(3), distance=0.1)
    np.testing.assert_allclose(position[-1], [0.0, 0.0, 0.1], atol=2 * ARRIVAL)
    # The last ARRIVAL of the way, with that bound, takes sqrt(2 ARRIVAL / bound).
    rest = np.sqrt(2.0 * ARRIVAL / bound)
    assert PERIOD * len(position) == pytest.approx(0.1 / 0.2 + 0.2 / bound - rest, abs=5 * PERIOD)
    assert (velocity[:, 2] >= 0.0).all()


@settings(deadline=None)
@given(
    velocity=st.tuples(*[st.floats(-0.5, 0.5)] * 3),
    direction=st.tuples(*[st.floats(-1.0, 1.0)] * 3).filter(lambda d: np.linalg.norm(d) > 0.1),
    distance=st.floats(0.01, 0.1),
    speed=st.floats(0.05, 0.5),
    acceleration=st.floats(0.5, 10.0),
)
def test_from_any_velocity_it_is_bounded_and_ends_at_the_distance(velocity, direction, distance, speed, acceleration):
    unit = np.array(direction) / np.linalg.norm(direction)
    first = np.array(velocity)
    position, velocities, accelerations = run(velocity, np.array(direction), distance, speed, acceleration)
    assert (np.linalg.norm(accelerations, axis=1) <= acceleration * (1 + 1e-9)).all()
    along = velocities @ unit
    assert along.max() <= max(speed, first @ unit) * (1 + 1e-9)
    across = velocities - np.outer(along, unit)
    assert np.linalg.norm(across, axis=1).max() <= np.linalg.norm(first - (first @ unit) * unit) + 1e-12
    # A start too fast to stop in time goes further by its braking distance.
    share = acceleration / np.sqrt(2.0)
    too_far = max(0.0, max(0.0, first @ unit) ** 2 / (2.0 * share) - distance)
    reached = (position @ unit)[-1]
    assert distance - ARRIVAL <= reached + 1e-12
    assert reached <= distance + too_far + np.abs(along[-1]) * 2 * PERIOD
    # The velocity belongs to the position, the acceleration to the velocity.
    np.testing.assert_allclose(np.diff(position, axis=0), PERIOD * velocities[1:], atol=1e-12)
    np.testing.assert_allclose(np.diff(velocities, axis=0), PERIOD * accelerations[1:], atol=1e-12)


def test_towards_the_contact_it_only_brakes():
    """It goes on by v^2 / 2 b at most."""
    position, _, _ = run([0.0, 0.0, -0.2])
    deepest = 0.2**2 / (2.0 * 2.0 / np.sqrt(2.0))
    assert position[:, 2].min() == pytest.approx(-deepest, abs=0.2 * PERIOD)


@pytest.mark.parametrize("direction", [np.zeros(3), np.array([np.nan, 0.0, 1.0]), np.array([1.0, 0.0])])
def test_a_direction_that_is_none_is_refused(direction):
    with pytest.raises(InvalidInputError, match="direction"):
        Retreat(PERIOD).aim(direction, PullBack())


@pytest.mark.parametrize("values", [(0.0, 0.2, 2.0), (0.05, np.inf, 2.0), (0.05, 0.2, -1.0)])
def test_senseless_limits_are_refused(values):
    with pytest.raises(InvalidInputError, match=r"distance|speed|acceleration"):
        PullBack(**dict(zip(("distance", "speed", "acceleration"), values, strict=True)))
