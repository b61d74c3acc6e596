"""Limits of the joints: each law as an interval for one joint, and what gives way where they contradict each other.

Order in which they are kept, the first never gives way: torque rate, motor torque, acceleration, then position and
velocity, which never contradict each other inside the limits. What cannot be kept is not dropped: the admissible value
nearest to it is taken, so that a joint that cannot stop in time brakes with its full deceleration.
"""

from __future__ import annotations

import math
from enum import IntFlag

import numpy as np

from impact_control.robots import Dynamics, JointLimits
from impact_control.util.checks import checked_vector, require_positive
from impact_control.util.compiled import compiled_in_place
from impact_control.util.errors import InvalidInputError
from impact_control.util.memory import Memory, named_memory
from impact_control.util.types import Vector


class Limit(IntFlag):
    """Limits that may have to be relaxed; the torque rate never is."""

    NONE = 0
    POSITION = 1
    VELOCITY = 2
    ACCELERATION = 4
    TORQUE = 8


_POSITION, _VELOCITY, _ACCELERATION, _TORQUE = 1, 2, 4, 8
_NONE = Limit.NONE  # read in every sample

HORIZON = 0.06
"""[s] in which position and velocity limits take effect. Torques of a limited rate need that long to reverse the
acceleration of a heavy joint: with one period, limits of the Panda cannot be kept."""

SHORTEST_STOP = 2e-10
"""[rad] Lower bound of the distance in which to stop: shorter ones are of the size of rounding."""

_ROUNDING = 1e-5
"""Part of the acceleration or torque limit. On the boundary of what can still stop, intervals cross by rounding."""


@compiled_in_place
def _reachable_stop(distance: float, velocity: float, deceleration: float, horizon: float) -> float:
    """Largest acceleration after which, if it lasts for the horizon T, a stop within `distance` is still possible.

    Either the joint still moves on after T, and stops from there: q' = T dq + T^2/2 ddq, dq' = dq + T ddq > 0 with
    q' + dq'^2 / 2 deceleration <= distance, solved for ddq; or it stops within T, and dq^2 / 2 |ddq| <= distance.
    Outside the limit, distance <= 0, it is stopped at once and back after T.
    """
    square = horizon * horizon
    stop_here = -velocity * velocity / (2.0 * max(distance, SHORTEST_STOP)) if velocity > 0.0 else 0.0
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


@compiled_in_place
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


@compiled_in_place
def velocity_interval(velocity: float, limit: float, horizon: float) -> tuple[float, float]:
    """Return the accelerations [rad/s^2] after which the speed is at most `limit` [rad/s]: van Steen 2024 (20)."""
    return (-limit - velocity) / horizon, (limit - velocity) / horizon


@compiled_in_place
def motor_torque_interval(feedforward: float, gravity: float, limit: float) -> tuple[float, float]:
    """Return the torques inertia ddq [Nm] with which the motor is inside its limit [Nm]: van Steen 2024 (21), (22).

    It exerts the command, inertia ddq and feed-forward [Nm], and gravity [Nm], which the arm adds itself.
    """
    return -limit - feedforward - gravity, limit - feedforward - gravity


@compiled_in_place
def command_interval(
    previous: float, halfway: float, feedforward: float, limit: float, step: float, smoothing: float
) -> tuple[float, float]:
    """Return the torques inertia ddq [Nm] that are, with the feed-forward, inside the limit, and whose command
    changes by a step per sample at most.

    Never empty: halfway [Nm], between the stages of the low-pass, is inside the limit [Nm] and at most
    (1 - smoothing) / smoothing steps [Nm] off the previous command [Nm], and to ask for it again moves the command by
    no more than a step. smoothing [-]: see `smooth_command`; with 1 the previous command counts alone.
    """
    kept, reach = (1.0 - smoothing) * halfway, step / smoothing
    low, high = (previous - reach - kept) / smoothing, (previous + reach - kept) / smoothing
    return max(low, -limit) - feedforward, min(high, limit) - feedforward


def bound_fields(n: int) -> dict[str, tuple[int, ...]]:
    """Return the fields that the memory of a problem has for its bounds, and for the low-pass of its command.

    Bounds of ddq [rad/s^2], of inertia ddq [Nm], and of the motion in which nothing answers the force [rad/s^2];
    command, the last one, and halfway, between the stages of the low-pass [Nm].
    """
    sides = ("acceleration_lower", "acceleration_upper", "torque_lower", "torque_upper")
    return dict.fromkeys((*sides, "unanswered_lower", "unanswered_upper", "command", "halfway"), (n,))


class ControlLimits:
    """The limits of one arm as the solver keeps them: bounds of ddq, of inertia ddq, and of the command.

    position_lower, position_upper [rad], velocity [rad/s] and torque [Nm] are those of the robot; acceleration
    [rad/s^2] is what a joint may count on to stop; torque_step [Nm] is what the torque may change in a period [s];
    horizon [s]: see `position_interval`.

    Attributes: memory, of these fields, for the kernels; relaxed, what gave way in the last `write_bounds`.
    """

    def __init__(self, limits: JointLimits, acceleration: Vector, period: float, horizon: float = HORIZON) -> None:
        """Take an acceleration limit (n,); a horizon shorter than the period becomes the period.

        Raises InvalidInputError, also for an acceleration that reaches the speed limit from rest within the horizon.
        """
        n = limits.position_lower.size
        horizon = max(require_positive("horizon", horizon), require_positive("period", period))
        most = checked_vector("acceleration_limit", acceleration, n, zero_allowed=False)
        if np.any(horizon * most > limits.velocity):
            fastest = (limits.velocity / horizon).tolist()
            allowed = f"at most {fastest} rad/s^2, or the speed limit is reached from rest within {horizon:g} s"
            raise InvalidInputError("acceleration limit", most.tolist(), allowed)
        names = ("position_lower", "position_upper", "velocity", "acceleration", "torque", "torque_step")
        self.memory = named_memory(**dict.fromkeys(names, (n,)), horizon=(), period=())
        for name in ("position_lower", "position_upper", "velocity", "torque"):
            self.memory[name] = getattr(limits, name)
        self.memory["acceleration"] = most
        self.memory["torque_step"] = limits.torque_rate * period
        self.memory["horizon"], self.memory["period"] = horizon, period
        self.relaxed = Limit.NONE

    def write_bounds(self, dynamics: Dynamics, feedforward: Vector, smoothing: float, problem: Memory) -> None:
        """Write lower and upper bounds of ddq and of inertia ddq to a problem with `bound_fields`, none contradictory.

        feedforward (n,) [Nm]; smoothing [-]: see `command_interval`.
        """
        q, dq, gravity = dynamics.q, dynamics.dq, dynamics.gravity
        relaxed = _write_bounds(self.memory, q, dq, gravity, feedforward, smoothing, problem)
        self.relaxed = Limit(relaxed) if relaxed else _NONE

    def broken_by(self, acceleration: Vector, dynamics: Dynamics, tolerance: float) -> Limit:
        """Return which of position, velocity and acceleration limit an acceleration (n,) [rad/s^2] breaks.

        By more than tolerance [-] times the acceleration limit.
        """
        return Limit(_broken_limits(self.memory, dynamics.q, dynamics.dq, acceleration, tolerance))


@compiled_in_place
def acceleration_bounds(limits: Memory, position: Vector, velocity: Vector, lower: Vector, upper: Vector) -> int:
    """Write the interval of admissible joint accelerations (n,) [rad/s^2]; return what was relaxed for it, `Limit`.

    Position and velocity limits as far as the acceleration limit, with which a joint can stop, lets them be kept: the
    part of their interval inside it or, when there is none, the end of it that is nearest. That happens only when the
    state itself is outside of what can be kept. position, velocity (n,) [rad, rad/s]; limits: see `ControlLimits`.
    """
    limit = limits[()]
    relaxed = 0
    for j in range(position.shape[0]):
        most = limit.acceleration[j]
        position_low, position_high = position_interval(
            position[j], velocity[j], limit.position_lower[j], limit.position_upper[j], most, limit.horizon
        )
        velocity_low, velocity_high = velocity_interval(velocity[j], limit.velocity[j], limit.horizon)
        low, high = max(position_low, velocity_low), min(position_high, velocity_high)
        if high < low:
            # Outside of both limits: the position counts.
            towards_upper = position[j] - limit.position_lower[j] > limit.position_upper[j] - position[j]
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


@compiled_in_place
def _write_bounds(
    limits: Memory,
    position: Vector,
    velocity: Vector,
    gravity: Vector,
    feedforward: Vector,
    smoothing: float,
    problem: Memory,
) -> int:
    """Write the bounds as `ControlLimits.write_bounds`; return the relaxed ones, `Limit`.

    Where the command cannot be inside the limits of the motor, which carries gravity, and change by no more than its
    step, the step is what is kept: the robot checks it.
    """
    limit, p = limits[()], problem[()]
    relaxed = acceleration_bounds(limits, position, velocity, p.acceleration_lower, p.acceleration_upper)
    for i in range(position.shape[0]):
        torque = limit.torque[i]
        least, most = command_interval(
            p.command[i], p.halfway[i], feedforward[i], torque, limit.torque_step[i], smoothing
        )
        motor_least, motor_most = motor_torque_interval(feedforward[i], gravity[i], torque)
        p.torque_lower[i] = min(max(motor_least, least), most)
        p.torque_upper[i] = min(max(motor_most, least), most)
        margin = _ROUNDING * torque
        if p.torque_lower[i] < motor_least - margin or p.torque_upper[i] > motor_most + margin:
            relaxed |= _TORQUE
    return relaxed


@compiled_in_place
def unanswered_bounds(
    limits: Memory, position: Vector, velocity: Vector, force_torque: Vector, problem: Memory
) -> None:
    """Write the bounds of the motion under a contact force that meets no resistance to a problem with `bound_fields`.

    Position and velocity limits over the time in which the torque rate can take J^T f, force_torque (n,) [Nm], back:
    until then the joint goes on as it is pushed.
    """
    limit, p = limits[()], problem[()]
    for j in range(position.shape[0]):
        horizon = limit.period * (2.0 + abs(force_torque[j]) / limit.torque_step[j])
        low, high = position_interval(
            position[j], velocity[j], limit.position_lower[j], limit.position_upper[j], limit.acceleration[j], horizon
        )
        velocity_low, velocity_high = velocity_interval(velocity[j], limit.velocity[j], horizon)
        p.unanswered_lower[j], p.unanswered_upper[j] = max(low, velocity_low), min(high, velocity_high)


@compiled_in_place
def _broken_limits(limits: Memory, position: Vector, velocity: Vector, acceleration: Vector, tolerance: float) -> int:
    """Return the first broken limit as `ControlLimits.broken_by`."""
    limit = limits[()]
    broken = 0
    for j in range(position.shape[0]):
        most, value = limit.acceleration[j], acceleration[j]
        margin = tolerance * most
        low, high = position_interval(
            position[j], velocity[j], limit.position_lower[j], limit.position_upper[j], most, limit.horizon
        )
        if value < low - margin or value > high + margin:
            broken |= _POSITION
        low, high = velocity_interval(velocity[j], limit.velocity[j], limit.horizon)
        if value < low - margin or value > high + margin:
            broken |= _VELOCITY
        if abs(value) > most + margin:
            broken |= _ACCELERATION
    return broken


@compiled_in_place
def smooth_command(desired: Vector, limits: Memory, problem: Memory, smoothing: float, torque: Vector) -> None:
    """Write the torque that a low-pass of two equal stages makes of the desired one, all (n,) [Nm].

    problem has `bound_fields`; its last command stays. Each stage goes the part `smoothing` of its way in a sample, so
    the torque is between torques inside their limit; with 1 it is the desired one. What is not a number counts as
    zero: the stages would keep it.
    """
    limit, p = limits[()], problem[()]
    for i in range(desired.shape[0]):
        value = desired[i] if desired[i] == desired[i] else 0.0
        value = min(max(value, -limit.torque[i]), limit.torque[i])
        p.halfway[i] += smoothing * (value - p.halfway[i])
        torque[i] = p.command[i] + smoothing * (p.halfway[i] - p.command[i])


@compiled_in_place
def limit_command(desired: Vector, limits: Memory, previous: Vector, torque: Vector) -> tuple[bool, float, float]:
    """Write the admissible torque nearest to the desired one and keep it as the previous command, all (n,) [Nm].

    A desired torque that is not a number counts as zero: it would pass every comparison, and stay as `previous`.
    Returns whether a limit held it, the largest change of a torque [Nm] and the largest part of a torque limit [-].
    """
    limit = limits[()]
    limited = False
    largest_change = 0.0
    largest_share = 0.0
    for i in range(desired.shape[0]):
        largest, step = limit.torque[i], limit.torque_step[i]
        high = min(previous[i] + step, largest)
        low = max(previous[i] - step, -largest)
        value = desired[i] if desired[i] == desired[i] else 0.0
        value = min(max(value, low), high)
        margin = 1e-6 * step
        limited = limited or value <= low + margin or value >= high - margin
        largest_change = max(largest_change, abs(value - previous[i]))
        largest_share = max(largest_share, abs(value) / largest)
        torque[i] = value
        previous[i] = value
    return limited, largest_change, largest_share
