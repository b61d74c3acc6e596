"""The laws of the limits: each as an interval for one joint, and what is done where they contradict each other.

Order in which they are kept, the first never gives way: torque rate, motor torque, acceleration, then position and
velocity, which never contradict each other inside the limits. What cannot be kept is not dropped: the admissible value
nearest to it is taken, so that a joint that cannot stop in time brakes as hard as it may.
"""

from __future__ import annotations

import math
from enum import IntFlag

from impact_control.compiled import compiled
from impact_control.types import Matrix, Vector


class Limit(IntFlag):
    """Limits that may have to be relaxed; the rate of the torque never is."""

    NONE = 0
    POSITION = 1
    VELOCITY = 2
    ACCELERATION = 4
    TORQUE = 8


_POSITION, _VELOCITY, _ACCELERATION, _TORQUE = 1, 2, 4, 8

SMALLEST_WAY = 2e-10
"""[rad] A way to stop on is taken to be at least that long: shorter ones are of the size of rounding."""

_ROUNDING = 1e-5
"""Part of the acceleration or torque limit. On the boundary of what can still stop, intervals cross by rounding."""

NUMBERS = 6
"""Rows of the numbers of the limits, see `write_limits`."""


@compiled
def _reachable_stop(distance: float, velocity: float, deceleration: float, horizon: float) -> float:
    """Largest acceleration after which, if it lasts for the horizon T, a stop within `distance` is still possible.

    Either the joint still moves on after T, and stops from there: q' = T dq + T^2/2 ddq, dq' = dq + T ddq > 0 with
    q' + dq'^2 / 2 deceleration <= distance, solved for ddq; or it stops within T, and dq^2 / 2 |ddq| <= distance.
    Outside the limit, distance <= 0, it is stopped at once and back after T.
    """
    square = horizon * horizon
    stop_here = -velocity * velocity / (2.0 * max(distance, SMALLEST_WAY)) if velocity > 0.0 else 0.0
    if distance <= 0.0:
        back = 2.0 * (distance - horizon * velocity) / square
        return min(back, stop_here) if velocity > 0.0 else back
    linear = horizon * (2.0 * velocity + deceleration * horizon)
    constant = velocity * velocity - 2.0 * deceleration * (distance - horizon * velocity)
    stop_then = -velocity / horizon
    discriminant = linear * linear - 4.0 * square * constant
    if discriminant >= 0.0:
        root = (-linear + math.sqrt(discriminant)) / (2.0 * square)
        if root >= stop_then:
            return root
    return min(stop_then, stop_here) if velocity > 0.0 else stop_then


@compiled
def position_interval(
    position: float, velocity: float, lower: float, upper: float, deceleration: float, horizon: float
) -> tuple[float, float]:
    """Return the accelerations [rad/s^2] that keep a joint inside its position limits, now and later.

    Van Steen 2024 (19) bounds the next position. That may come too late (Errata); here a stop before the limit has to
    stay possible with `deceleration` [rad/s^2], as in Del Prete 2018: from such a state there is such a next one, for
    any horizon [s] of at least the period. It bounds how suddenly the interval closes, from one end of the
    acceleration limit to the other in about a horizon, which torques of a limited rate can follow.
    """
    high = _reachable_stop(upper - position, velocity, deceleration, horizon)
    low = -_reachable_stop(position - lower, -velocity, deceleration, horizon)
    return low, high


@compiled
def velocity_interval(velocity: float, limit: float, horizon: float) -> tuple[float, float]:
    """Return the accelerations [rad/s^2] after which the speed is at most `limit` [rad/s]: van Steen 2024 (20)."""
    return (-limit - velocity) / horizon, (limit - velocity) / horizon


@compiled
def motor_torque_interval(feedforward: float, gravity: float, limit: float) -> tuple[float, float]:
    """Return the torques inertia ddq [Nm] with which the motor is inside its limit [Nm]: van Steen 2024 (21), (22).

    It exerts the command, inertia ddq and feed-forward [Nm], and gravity [Nm], which the arm adds itself.
    """
    return -limit - feedforward - gravity, limit - feedforward - gravity


@compiled
def command_interval(previous: float, feedforward: float, limit: float, step: float) -> tuple[float, float]:
    """Return the torques inertia ddq [Nm] whose command, with the feed-forward, is inside limit and change per sample.

    Never empty, as the previous command [Nm] was inside the limit [Nm]; step [Nm].
    """
    return max(previous - step, -limit) - feedforward, min(previous + step, limit) - feedforward


@compiled
def acceleration_bounds(
    position: Vector,
    velocity: Vector,
    position_lower: Vector,
    position_upper: Vector,
    velocity_limit: Vector,
    acceleration_limit: Vector,
    horizon: float,
    lower: Vector,
    upper: Vector,
) -> int:
    """Write the interval of admissible joint accelerations (n,) [rad/s^2]; return what was relaxed for it, `Limit`.

    Position and velocity limits as far as the acceleration limit, with which a joint can stop, lets them be kept: the
    part of their interval inside it or, when there is none, the end of it that is nearest. That happens only when the
    state itself is outside of what can be kept.

    position, velocity (n,) [rad, rad/s]; limits (n,); horizon [s], at least the period of the control.
    """
    relaxed = 0
    for j in range(position.shape[0]):
        most = acceleration_limit[j]
        position_low, position_high = position_interval(
            position[j], velocity[j], position_lower[j], position_upper[j], most, horizon
        )
        velocity_low, velocity_high = velocity_interval(velocity[j], velocity_limit[j], horizon)
        low, high = max(position_low, velocity_low), min(position_high, velocity_high)
        if high < low:
            # Outside of both limits: the position counts.
            towards_upper = position[j] - position_lower[j] > position_upper[j] - position[j]
            low = high if towards_upper else low
            high = low
        low, high = min(max(low, -most), most), min(max(high, -most), most)
        margin = _ROUNDING * most
        if low < position_low - margin or high > position_high + margin:
            relaxed |= _POSITION
        if low < velocity_low - margin or high > velocity_high + margin:
            relaxed |= _VELOCITY
        lower[j], upper[j] = low, high
    return relaxed


@compiled
def write_limits(
    numbers: Matrix, horizon: float, position: Vector, velocity: Vector, gravity: Vector, feedforward: Vector,
    previous: Vector, bounds: Matrix,
) -> int:  # fmt: skip
    """Write lower and upper bounds of ddq [rad/s^2] and of inertia ddq [Nm]; return what was relaxed, `Limit`.

    numbers (6, n): position lower, upper [rad], velocity [rad/s], acceleration, torque [Nm], change of torque [Nm].
    bounds (4, n). Where the command cannot be inside the limits of the motor, which carries gravity, and change by no
    more than its step, the step is what is kept: the robot checks it. horizon [s]: see `acceleration_bounds`.
    """
    relaxed = acceleration_bounds(
        position, velocity, numbers[0], numbers[1], numbers[2], numbers[3], horizon, bounds[0], bounds[1]
    )
    for i in range(position.shape[0]):
        torque = numbers[4, i]
        least, most = command_interval(previous[i], feedforward[i], torque, numbers[5, i])
        motor_least, motor_most = motor_torque_interval(feedforward[i], gravity[i], torque)
        bounds[2, i] = min(max(motor_least, least), most)
        bounds[3, i] = min(max(motor_most, least), most)
        margin = _ROUNDING * torque
        if bounds[2, i] < motor_least - margin or bounds[3, i] > motor_most + margin:
            relaxed |= _TORQUE
    return relaxed


@compiled
def broken_limits(
    numbers: Matrix, horizon: float, position: Vector, velocity: Vector, acceleration: Vector, tolerance: float
) -> int:
    """Return which of position, velocity and acceleration limit, `Limit`, an acceleration (n,) [rad/s^2] breaks.

    By more than tolerance [-] times the acceleration limit; numbers as for `write_limits`.
    """
    broken = 0
    for j in range(position.shape[0]):
        most, value = numbers[3, j], acceleration[j]
        margin = tolerance * most
        low, high = position_interval(position[j], velocity[j], numbers[0, j], numbers[1, j], most, horizon)
        if value < low - margin or value > high + margin:
            broken |= _POSITION
        low, high = velocity_interval(velocity[j], numbers[2, j], horizon)
        if value < low - margin or value > high + margin:
            broken |= _VELOCITY
        if abs(value) > most + margin:
            broken |= _ACCELERATION
    return broken
