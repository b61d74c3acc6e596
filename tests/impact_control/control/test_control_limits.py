"""Limits of the joints: each law, how they are put together, and that no sequence of controls leaves them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.control import Limit
from impact_control.control.limits import (
    HORIZON,
    ControlLimits,
    acceleration_bounds,
    bound_fields,
    command_interval,
    motor_torque_interval,
    position_interval,
    velocity_interval,
)
from impact_control.robots import Dynamics, load_robot
from impact_control.util.errors import InvalidInputError
from impact_control.util.memory import named_memory

PERIOD = 1e-3
ROBOT = load_robot()
LIMITS = ROBOT.limits
ACCELERATION = np.array([15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0])
HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
STEP = LIMITS.torque_rate * PERIOD


def bounds(q, dq, acceleration=ACCELERATION, horizon=PERIOD):
    lower, upper = np.empty(7), np.empty(7)
    limits = ControlLimits(LIMITS, ACCELERATION, PERIOD, horizon)
    limits.memory["acceleration"] = acceleration
    relaxed = acceleration_bounds(limits.memory, q, dq, lower, upper)
    return not relaxed, lower, upper


def relaxed_by(q, dq):
    limits = ControlLimits(LIMITS, ACCELERATION, PERIOD, PERIOD)
    return Limit(acceleration_bounds(limits.memory, q, dq, np.empty(7), np.empty(7)))


def step(q, dq, ddq):
    return q + PERIOD * dq + 0.5 * PERIOD**2 * ddq, dq + PERIOD * ddq


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


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.5, 0.9, 0.99, 1.0]), st.sampled_from([PERIOD, 0.013, 0.06]))
def test_no_long_sequence_of_adversaries_gets_out_or_stuck(seed, boldness, horizon):
    """From any state that can still stop, with whole pushes for random times: 5 s inside all limits, none relaxed."""
    random = np.random.default_rng(seed)
    width = LIMITS.position_upper - LIMITS.position_lower
    q = LIMITS.position_lower + random.uniform(0.0, 1.0, 7) * width
    sign = random.choice([-1.0, 1.0], 7)
    way = np.where(sign > 0, LIMITS.position_upper - q, q - LIMITS.position_lower)
    dq = sign * np.minimum(LIMITS.velocity, boldness * np.sqrt(2.0 * ACCELERATION * way))
    push = random.choice([-1.0, 1.0], 7)
    for _ in range(5000):
        viable, lower, upper = bounds(q, dq, horizon=horizon)
        assert viable
        assert (lower <= upper).all()
        turned = random.random(7) < 0.005
        push[turned] = random.choice([-1.0, 0.0, 1.0], int(turned.sum()))
        q, dq = step(q, dq, np.where(push > 0, upper, np.where(push < 0, lower, np.clip(-dq / PERIOD, lower, upper))))
        assert (q <= LIMITS.position_upper + 1e-9).all()
        assert (q >= LIMITS.position_lower - 1e-9).all()
        assert (np.abs(dq) <= LIMITS.velocity + 1e-9).all()


@settings(deadline=None, max_examples=100)
@given(st.floats(-1.0, 0.99), st.floats(-1.0, 1.0), st.floats(1.0, 30.0), st.sampled_from([PERIOD, 0.02, 0.1]))
def test_the_largest_acceleration_is_the_one_after_which_braking_ends_at_the_limit(q, share, deceleration, horizon):
    """By the way of a braking joint, dq^2 / 2 a, from the end of the horizon on, or inside it."""
    velocity = share * np.sqrt(2.0 * deceleration * (1.0 - q))
    _, high = position_interval(q, velocity, -2.0, 1.0, deceleration, horizon)
    after, speed = q + horizon * velocity + 0.5 * horizon**2 * high, velocity + horizon * high
    if speed > 1e-9:
        assert after + speed**2 / (2.0 * deceleration) == pytest.approx(1.0, abs=1e-9)
    else:
        assert velocity > 0.0
        assert q + velocity**2 / (-2.0 * high) == pytest.approx(1.0, abs=1e-9)
    assert high >= -deceleration * (1.0 + 1e-6)


def test_what_gives_way_is_named():
    middle = 0.5 * (LIMITS.position_lower + LIMITS.position_upper)
    assert relaxed_by(middle, np.zeros(7)) is Limit.NONE
    near, fast = middle.copy(), np.zeros(7)
    near[0], fast[0] = LIMITS.position_upper[0] - 0.01, 2.0
    assert relaxed_by(near, fast) == Limit.POSITION
    fast[0] = -2.0
    assert relaxed_by(near, fast) is Limit.NONE
    fast[0] = LIMITS.velocity[0] + 0.1
    assert relaxed_by(middle, fast) == Limit.VELOCITY
    assert relaxed_by(near, fast) == Limit.POSITION | Limit.VELOCITY
    outside = middle.copy()
    outside[3] = LIMITS.position_lower[3] - 0.01
    assert relaxed_by(outside, np.zeros(7)) == Limit.POSITION


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_outside_a_position_limit_it_is_brought_back(side):
    q = 0.5 * (LIMITS.position_lower + LIMITS.position_upper)
    q[3] = LIMITS.position_upper[3] + 0.01 if side > 0 else LIMITS.position_lower[3] - 0.01
    for velocity in (0.0, 0.5 * side):
        _, lower, upper = bounds(q, np.where(np.arange(7) == 3, velocity, 0.0))
        assert lower[3] == upper[3] == -side * ACCELERATION[3]


def dynamics_at(q, dq):
    dynamics = Dynamics(ROBOT)
    dynamics.compute(q, dq)
    return dynamics


def written(limits, dynamics, feedforward, previous, halfway=None, smoothing=1.0):
    problem = named_memory(**bound_fields(7))
    problem["command"], problem["halfway"] = previous, previous if halfway is None else halfway
    sides = ("acceleration_lower", "acceleration_upper", "torque_lower", "torque_upper")
    for side in sides:
        problem[side] = np.nan
    limits.write_bounds(dynamics, feedforward, smoothing, problem)
    return [problem[side] for side in sides]


def intervals(law, *arguments):
    """One law for all joints: lower and upper (n,)."""
    return np.array([law(*values) for values in np.broadcast(*arguments)]).T


def laws(dynamics, feedforward, previous, halfway=None, smoothing=1.0):
    """Interval that each law allows by itself."""
    halfway = previous if halfway is None else halfway
    q, dq, torque = dynamics.q, dynamics.dq, LIMITS.torque
    position = intervals(position_interval, q, dq, LIMITS.position_lower, LIMITS.position_upper, ACCELERATION, HORIZON)
    velocity = intervals(velocity_interval, dq, LIMITS.velocity, HORIZON)
    motor = intervals(motor_torque_interval, feedforward, dynamics.gravity, torque)
    command = intervals(command_interval, previous, halfway, feedforward, torque, STEP, smoothing)
    return position, velocity, motor, command


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, 0.27]))
def test_where_nothing_contradicts_the_bounds_are_the_intersection(seed, smoothing):
    random = np.random.default_rng(seed)
    dynamics = dynamics_at(HOME + random.uniform(-0.3, 0.3, 7), random.uniform(-0.5, 0.5, 7))
    feedforward, previous = random.normal(0.0, 1.0, 7), random.normal(0.0, 3.0, 7)
    limits = ControlLimits(LIMITS, ACCELERATION, PERIOD)
    halfway = previous + random.uniform(-1.0, 1.0, 7) * STEP * (1.0 - smoothing) / smoothing
    found = written(limits, dynamics, feedforward, previous, halfway, smoothing)
    position, velocity, motor, command = laws(dynamics, feedforward, previous, halfway, smoothing)
    assert limits.relaxed is Limit.NONE
    np.testing.assert_array_equal(found[0], np.max([position[0], velocity[0], -ACCELERATION], axis=0))
    np.testing.assert_array_equal(found[1], np.min([position[1], velocity[1], ACCELERATION], axis=0))
    np.testing.assert_array_equal(found[2], np.maximum(motor[0], command[0]))
    np.testing.assert_array_equal(found[3], np.minimum(motor[1], command[1]))


def test_each_interval_is_the_printed_inequality():
    """Van Steen 2024 (19)-(21) at the ends of the intervals, and a command at its limit or a step away."""
    q, dq = HOME.copy(), np.linspace(-0.3, 0.4, 7)
    q[1] = LIMITS.position_upper[1] - 1e-7
    dq[1] = 0.0
    dynamics = dynamics_at(q, dq)
    feedforward, previous = np.linspace(-1.0, 1.0, 7), np.linspace(0.0, 2.0, 7)
    previous[0] = LIMITS.torque[0] - 0.1
    position, velocity, motor, command = laws(dynamics, feedforward, previous)
    assert q[1] + HORIZON * dq[1] + 0.5 * HORIZON**2 * position[1][1] <= LIMITS.position_upper[1] + 1e-12
    for k, side in ((0, -1.0), (1, 1.0)):
        np.testing.assert_allclose(dq + HORIZON * velocity[k], side * LIMITS.velocity)
        np.testing.assert_allclose(motor[k] + feedforward + dynamics.gravity, side * LIMITS.torque)
    commands = command + feedforward
    assert commands[1][0] == pytest.approx(LIMITS.torque[0])
    np.testing.assert_allclose(commands[0], previous - STEP)
    np.testing.assert_allclose(commands[1][1:], (previous + STEP)[1:])


def test_the_change_of_the_command_is_kept_before_the_torque_of_the_motor():
    """Near its limit with gravity, the command cannot jump: the motor torque gives way, by name."""
    stretched = np.array([0.0, 1.2, 0.0, -0.5, 0.0, 1.6, 0.0])
    dynamics = dynamics_at(stretched, np.zeros(7))
    previous = np.zeros(7)
    previous[1] = -LIMITS.torque[1]
    assert previous[1] + STEP[1] + dynamics.gravity[1] < -LIMITS.torque[1]
    limits = ControlLimits(LIMITS, ACCELERATION, PERIOD)
    found = written(limits, dynamics, np.zeros(7), previous)
    assert limits.relaxed == Limit.TORQUE
    assert found[2][1] == found[3][1] == previous[1] + STEP[1]


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_whatever_the_state_no_interval_is_empty(seed):
    random = np.random.default_rng(seed)
    dynamics = dynamics_at(random.uniform(-4.0, 4.0, 7), random.uniform(-6.0, 6.0, 7))
    previous = random.uniform(-1.0, 1.0, 7) * LIMITS.torque
    limits = ControlLimits(LIMITS, ACCELERATION, PERIOD)
    found = written(limits, dynamics, random.normal(0.0, 20.0, 7), previous)
    assert np.isfinite(found).all()
    assert (found[0] <= found[1]).all() and (found[2] <= found[3]).all()
    assert (np.abs(found[:2]) <= ACCELERATION).all()


@pytest.mark.parametrize(
    ("acceleration", "period", "horizon", "name"),
    [
        (-ACCELERATION, PERIOD, HORIZON, "acceleration_limit"),
        (np.full(7, np.nan), PERIOD, HORIZON, "acceleration_limit"),
        (np.ones(6), PERIOD, HORIZON, "acceleration_limit"),
        (ACCELERATION, 0.0, HORIZON, "period"),
        (ACCELERATION, PERIOD, 0.0, "horizon"),
        (ACCELERATION, PERIOD, 0.2, "acceleration limit"),
        (np.full(7, 1e3), PERIOD, HORIZON, r"acceleration limit .* at most .* rad/s\^2"),
    ],
)
def test_wrong_settings_are_refused(acceleration, period, horizon, name):
    with pytest.raises(InvalidInputError, match=name):
        ControlLimits(LIMITS, acceleration, period, horizon)
