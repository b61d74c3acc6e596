"""Constraints as objects: what each allows, how the stack puts them together, and the rows of a contact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.control import Limit
from impact_control.control.constraints import (
    HORIZON,
    AccelerationLimit,
    CommandLimit,
    ContactConstraint,
    LimitStack,
    MotorTorqueLimit,
    PositionLimit,
    VelocityLimit,
)
from impact_control.errors import InvalidInputError
from impact_control.robots import Dynamics, load_robot, lowest_points

ROBOT = load_robot()
LIMITS = ROBOT.limits
PERIOD = 1e-3
ACCELERATION = np.array([15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0])
HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
STEP = LIMITS.torque_rate * PERIOD


def stack():
    return LimitStack.of_robot(ROBOT, PERIOD, ACCELERATION)


def dynamics_at(q, dq):
    dynamics = Dynamics(ROBOT)
    dynamics.update(q, dq)
    return dynamics


def written(limits, dynamics, feedforward, previous):
    bounds = np.full((4, 7), np.nan)
    limits.write(dynamics, feedforward, previous, bounds)
    return bounds


def intervals(limits, dynamics, feedforward, previous):
    """What each part allows by itself."""
    found = []
    for part in limits.parts:
        if isinstance(part, CommandLimit):
            part.follow(feedforward, previous)
        elif isinstance(part, MotorTorqueLimit):
            part.follow(feedforward)
        lower, upper = np.full(7, np.nan), np.full(7, np.nan)
        part.write(dynamics, lower, upper)
        found.append((lower, upper))
    return found


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_where_nothing_contradicts_the_stack_is_the_intersection(seed):
    random = np.random.default_rng(seed)
    dynamics = dynamics_at(HOME + random.uniform(-0.3, 0.3, 7), random.uniform(-0.5, 0.5, 7))
    feedforward, previous = random.normal(0.0, 1.0, 7), random.normal(0.0, 3.0, 7)
    limits = stack()
    bounds = written(limits, dynamics, feedforward, previous)
    position, velocity, acceleration, motor, command = intervals(limits, dynamics, feedforward, previous)
    assert limits.relaxed is Limit.NONE
    np.testing.assert_array_equal(bounds[0], np.max([position[0], velocity[0], acceleration[0]], axis=0))
    np.testing.assert_array_equal(bounds[1], np.min([position[1], velocity[1], acceleration[1]], axis=0))
    np.testing.assert_array_equal(bounds[2], np.maximum(motor[0], command[0]))
    np.testing.assert_array_equal(bounds[3], np.minimum(motor[1], command[1]))


def test_each_interval_is_the_printed_inequality():
    """Van Steen 2024 (19)-(21) at the ends of the intervals, and a command at its limit or a step away."""
    q, dq = HOME.copy(), np.linspace(-0.3, 0.4, 7)
    q[1] = LIMITS.position_upper[1] - 1e-7
    dq[1] = 0.0
    dynamics = dynamics_at(q, dq)
    feedforward, previous = np.linspace(-1.0, 1.0, 7), np.linspace(0.0, 2.0, 7)
    previous[0] = LIMITS.torque[0] - 0.1
    position, velocity, acceleration, motor, command = intervals(stack(), dynamics, feedforward, previous)
    assert q[1] + HORIZON * dq[1] + 0.5 * HORIZON**2 * position[1][1] <= LIMITS.position_upper[1] + 1e-12
    for k, side in ((0, -1.0), (1, 1.0)):
        np.testing.assert_allclose(dq + HORIZON * velocity[k], side * LIMITS.velocity)
        np.testing.assert_array_equal(acceleration[k], side * ACCELERATION)
        np.testing.assert_allclose(motor[k] + feedforward + dynamics.gravity, side * LIMITS.torque)
    commands = np.array([command[0], command[1]]) + feedforward
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
    limits = stack()
    bounds = written(limits, dynamics, np.zeros(7), previous)
    assert limits.relaxed == Limit.TORQUE
    assert bounds[2][1] == bounds[3][1] == previous[1] + STEP[1]


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_whatever_the_state_no_interval_is_empty(seed):
    random = np.random.default_rng(seed)
    dynamics = dynamics_at(random.uniform(-4.0, 4.0, 7), random.uniform(-6.0, 6.0, 7))
    previous = random.uniform(-1.0, 1.0, 7) * LIMITS.torque
    bounds = written(stack(), dynamics, random.normal(0.0, 20.0, 7), previous)
    assert np.isfinite(bounds).all()
    assert (bounds[0] <= bounds[1]).all() and (bounds[2] <= bounds[3]).all()
    assert (np.abs(bounds[:2]) <= ACCELERATION).all()


@pytest.mark.parametrize("end_effector", ["sphere", "edge"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_contact_row_is_the_second_derivative_of_the_gap(end_effector, seed):
    """Proper 2021 (2.57), (2.58), by differences of the height of the lowest point along a motion with ddq."""
    robot = load_robot("panda", end_effector)
    random = np.random.default_rng(seed)
    normal = random.normal(size=3)
    normal /= np.linalg.norm(normal)
    q, dq, ddq = HOME + random.uniform(-0.2, 0.2, 7), random.uniform(-1.0, 1.0, 7), random.uniform(-5.0, 5.0, 7)
    tool, dynamics = robot.end_effector, Dynamics(robot)

    def height(time):
        dynamics.update(q + time * dq + 0.5 * time**2 * ddq, dq)
        offset = lowest_points(tool.contact_points, tool.radius, dynamics.rotation, normal)[-1]
        return normal @ (dynamics.position + offset)

    h = 1e-3
    samples = [height(k * h) for k in (-2, -1, 0, 1, 2)]
    rate = (samples[0] - 8 * samples[1] + 8 * samples[3] - samples[4]) / (12 * h)
    second = (-samples[0] + 16 * samples[1] - 30 * samples[2] + 16 * samples[3] - samples[4]) / (12 * h**2)
    dynamics.update(q, dq)
    row = np.zeros(7)
    right = ContactConstraint(normal, tool.contact_points[-1]).write(dynamics, row)
    assert row @ dq == pytest.approx(rate, rel=1e-7, abs=1e-9)
    assert row @ ddq - right == pytest.approx(second, rel=1e-5, abs=1e-6)


POSITION = PositionLimit(LIMITS.position_lower, LIMITS.position_upper, ACCELERATION, HORIZON)
VELOCITY = VelocityLimit(LIMITS.velocity, HORIZON)
MOST = AccelerationLimit(ACCELERATION)
TORQUE = MotorTorqueLimit(LIMITS.torque)
COMMAND = CommandLimit(LIMITS.torque, STEP)


@pytest.mark.parametrize(
    "parts",
    [
        (POSITION, VelocityLimit(LIMITS.velocity, 2e-3), MOST, TORQUE, COMMAND),
        (POSITION, VELOCITY, AccelerationLimit(2.0 * ACCELERATION), TORQUE, COMMAND),
        (POSITION, VELOCITY, MOST, TORQUE, CommandLimit(0.5 * LIMITS.torque, STEP)),
        (
            PositionLimit(LIMITS.position_lower, LIMITS.position_upper, ACCELERATION, 0.2),
            VelocityLimit(LIMITS.velocity, 0.2),
            MOST,
            TORQUE,
            COMMAND,
        ),
    ],
)
def test_limits_that_do_not_fit_to_each_other_are_refused(parts):
    with pytest.raises(InvalidInputError):
        LimitStack(*parts)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: PositionLimit(LIMITS.position_upper, LIMITS.position_lower, ACCELERATION, PERIOD), "position limits"),
        (lambda: PositionLimit(LIMITS.position_lower, LIMITS.position_upper, -ACCELERATION, PERIOD), "deceleration"),
        (lambda: VelocityLimit(np.zeros(7), PERIOD), "speed"),
        (lambda: VelocityLimit(LIMITS.velocity, 0.0), "horizon"),
        (lambda: AccelerationLimit(np.full(7, np.nan)), "acceleration_limit"),
        (lambda: LimitStack.of_robot(ROBOT, PERIOD, np.full(7, 1e3)), r"acceleration limit .* at most .* rad/s\^2"),
        (lambda: CommandLimit(LIMITS.torque, np.ones(6)), "change of the torque"),
        (lambda: ContactConstraint(np.array([0.0, 0.0, 2.0]), np.zeros(3)), "normal"),
    ],
)
def test_wrong_settings_are_refused(make, name):
    with pytest.raises(InvalidInputError, match=name):
        make()
