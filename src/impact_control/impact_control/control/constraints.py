"""Constraints: what the accelerations, torques and contact forces may be, each as an interval or as a row.

Every constraint writes what it allows at a given state into arrays of the caller; `LimitStack` is the one place where
the limits of the joints are put together, for every formulation of the problem. Vectors are in frame A, twists and
Jacobians in the mixed frame E[A].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from impact_control.checks import checked_vector, require_not_negative, require_positive, unit_vector
from impact_control.compiled import compiled
from impact_control.control.limits import (
    NUMBERS,
    Limit,
    command_interval,
    motor_torque_interval,
    position_interval,
    velocity_interval,
    write_limits,
)
from impact_control.errors import InvalidInputError
from impact_control.robots import Dynamics, RobotDescription
from impact_control.types import Matrix, Vector

HORIZON = 0.06
"""[s] in which position and velocity limits make themselves felt. Torques of a limited rate need that long to turn the
acceleration of a heavy joint round: with one period, limits of the Panda cannot be kept."""


class Constraint(Protocol):
    """An interval for each joint. Attribute: limit, its name where it has to be relaxed."""

    limit: Limit

    def write(self, dynamics: Dynamics, lower: Vector, upper: Vector) -> None:
        """Write what is allowed at the state of `dynamics`, (n,) each; no allocation."""


@dataclass(frozen=True, eq=False)
class PositionLimit:
    """Joint positions inside lower and upper (n,) [rad], now and after the best stop: intervals of ddq.

    deceleration (n,) [rad/s^2]: with which a joint can stop; horizon [s]: see `limits.position_interval`.
    """

    lower: Vector
    upper: Vector
    deceleration: Vector
    horizon: float
    limit = Limit.POSITION

    def __post_init__(self) -> None:
        checked_vector("deceleration", self.deceleration, np.size(self.lower), zero_allowed=False)
        require_positive("horizon", self.horizon)
        if np.shape(self.lower) != np.shape(self.upper) or np.any(np.asarray(self.lower) >= np.asarray(self.upper)):
            raise InvalidInputError("position limits", (self.lower, self.upper), "each lower below its upper")

    def write(self, dynamics: Dynamics, lower: Vector, upper: Vector) -> None:
        """See `Constraint`; van Steen 2024 (19) made viable."""
        _position_intervals(
            dynamics.q, dynamics.dq, self.lower, self.upper, self.deceleration, self.horizon, lower, upper
        )


@dataclass(frozen=True, eq=False)
class VelocityLimit:
    """Joint speeds of at most `speed` (n,) [rad/s] after the horizon [s]: intervals of ddq."""

    speed: Vector
    horizon: float
    limit = Limit.VELOCITY

    def __post_init__(self) -> None:
        checked_vector("speed", self.speed, zero_allowed=False)
        require_positive("horizon", self.horizon)

    def write(self, dynamics: Dynamics, lower: Vector, upper: Vector) -> None:
        """See `Constraint`; van Steen 2024 (20)."""
        _velocity_intervals(dynamics.dq, self.speed, self.horizon, lower, upper)


@dataclass(frozen=True, eq=False)
class AccelerationLimit:
    """Joint accelerations of at most `acceleration` (n,) [rad/s^2], with which limits are kept viable."""

    acceleration: Vector
    limit = Limit.ACCELERATION

    def __post_init__(self) -> None:
        checked_vector("acceleration_limit", self.acceleration, zero_allowed=False)

    def write(self, dynamics: Dynamics, lower: Vector, upper: Vector) -> None:
        """See `Constraint`."""
        np.negative(self.acceleration, out=lower)
        upper[:] = self.acceleration


class MotorTorqueLimit:
    """Torques of the motors, with gravity, of at most `torque` (n,) [Nm]: intervals of inertia ddq.

    `follow` names the array it reads: feed-forward (n,) [Nm], which the command has beside inertia ddq.
    """

    limit = Limit.TORQUE

    def __init__(self, torque: Vector) -> None:
        self.torque = checked_vector("torque limit", torque, zero_allowed=False)
        self._feedforward = np.zeros(self.torque.size)

    def follow(self, feedforward: Vector) -> None:
        """Read it from now on; no copy."""
        self._feedforward = feedforward

    def write(self, dynamics: Dynamics, lower: Vector, upper: Vector) -> None:
        """See `Constraint`; van Steen 2024 (21)."""
        _motor_intervals(self._feedforward, dynamics.gravity, self.torque, lower, upper)


class CommandLimit:
    """Commands of at most `torque` (n,) [Nm] that change by at most `step` (n,) [Nm] a sample: of inertia ddq.

    `follow` names the arrays it reads: feed-forward (n,) [Nm], which the command has beside inertia ddq, and the
    previous command (n,) [Nm]. Never relaxed.
    """

    limit = Limit.NONE

    def __init__(self, torque: Vector, step: Vector) -> None:
        self.torque = checked_vector("torque limit", torque, zero_allowed=False)
        self.step = checked_vector("change of the torque", step, self.torque.size, zero_allowed=False)
        self._feedforward = self._previous = np.zeros(self.torque.size)

    def follow(self, feedforward: Vector, previous: Vector) -> None:
        """Read these from now on; no copies."""
        self._feedforward, self._previous = feedforward, previous

    def write(self, dynamics: Dynamics, lower: Vector, upper: Vector) -> None:
        """See `Constraint`."""
        _command_intervals(self._previous, self._feedforward, self.torque, self.step, lower, upper)


class LimitStack:
    """The limits of all joints, put together in the order in which they are kept, see `limits`.

    One kernel walks the laws of the five; numbers (6, n) is what they are made of. Attribute after `write`: relaxed.
    """

    def __init__(
        self, position: PositionLimit, velocity: VelocityLimit, acceleration: AccelerationLimit,
        torque: MotorTorqueLimit, command: CommandLimit,
    ) -> None:  # fmt: skip
        """Take five limits of one arm. Raises InvalidInputError where they do not fit to each other."""
        if position.horizon != velocity.horizon or np.any(position.deceleration != acceleration.acceleration):
            allowed = "the same horizon, and the deceleration of the position limit as acceleration limit"
            raise InvalidInputError("limits", (position, velocity, acceleration), allowed)
        if np.any(position.horizon * acceleration.acceleration > velocity.speed):
            most = (velocity.speed / position.horizon).tolist()
            allowed = f"at most {most} rad/s^2, or the speed limit is reached from rest within {position.horizon:g} s"
            raise InvalidInputError("acceleration limit", acceleration.acceleration.tolist(), allowed)
        if np.any(torque.torque != command.torque):
            raise InvalidInputError("torque limit of the command", command.torque, "that of the motors")
        self.parts: tuple[Constraint, ...] = (position, velocity, acceleration, torque, command)
        self.horizon = position.horizon
        self.numbers: Matrix = np.array(
            [position.lower, position.upper, velocity.speed, acceleration.acceleration, command.torque, command.step],
            dtype=float,
        )
        if self.numbers.shape != (NUMBERS, np.size(position.lower)):
            raise InvalidInputError("limits", self.numbers.shape, "as many numbers in each as joints")
        self.relaxed = Limit.NONE

    @classmethod
    def of_robot(cls, robot: RobotDescription, period: float, acceleration: Vector) -> LimitStack:
        """Return the limits of a robot with a control period [s] and an acceleration limit (n,) [rad/s^2].

        Their horizon is `HORIZON`, or the period where that is longer.
        """
        bound, n = robot.limits, len(robot.joint_names)
        require_positive("period", period)
        most = checked_vector("acceleration_limit", acceleration, n, zero_allowed=False)
        horizon = max(HORIZON, period)
        return cls(
            PositionLimit(bound.position_lower, bound.position_upper, most, horizon),
            VelocityLimit(bound.velocity, horizon),
            AccelerationLimit(most),
            MotorTorqueLimit(bound.torque),
            CommandLimit(bound.torque, bound.torque_rate * period),
        )

    def write(self, dynamics: Dynamics, feedforward: Vector, previous: Vector, bounds: Matrix) -> None:
        """Write lower and upper bounds of ddq and of inertia ddq to bounds (4, n), none of them contradictory.

        feedforward, previous (n,) [Nm]: see `CommandLimit`.
        """
        relaxed = write_limits(
            self.numbers, self.horizon, dynamics.q, dynamics.dq, dynamics.gravity, feedforward, previous, bounds
        )
        self.relaxed = Limit(relaxed)


class ContactConstraint:
    """A contact point that stays on the expected surface: Proper 2021 (2.57)-(2.59), without friction.

    The point is a ball of the end-effector. Its centre has no acceleration along the normal while the contact is
    closed, J_N ddq + dJ_N dq = 0 with lambda_N >= 0, and lambda_N = 0 while it is open.
    """

    def __init__(self, normal: Vector, centre: Vector) -> None:
        """Take the normal (3,) of the surface, frame A, and the centre (3,) [m] of the ball, frame E."""
        self._normal = unit_vector("normal", normal)
        self._centre = np.array(centre, dtype=float)
        require_not_negative("distance of the contact point", float(np.linalg.norm(self._centre)))
        self.closed = False

    def write(self, dynamics: Dynamics, jacobian: Vector) -> float:
        """Write J_N (n,) [m] and return -dJ_N dq [m/s^2] at the state of `dynamics`; no allocation."""
        right: float = _contact_row(
            self._normal, self._centre, dynamics.rotation, dynamics.jacobian, dynamics.jacobian_rate_velocity,
            dynamics.twist, jacobian,
        )  # fmt: skip
        return right


@compiled
def _position_intervals(
    position: Vector, velocity: Vector, least: Vector, most: Vector, deceleration: Vector, horizon: float,
    lower: Vector, upper: Vector,
) -> None:  # fmt: skip
    for j in range(position.shape[0]):
        lower[j], upper[j] = position_interval(position[j], velocity[j], least[j], most[j], deceleration[j], horizon)


@compiled
def _velocity_intervals(velocity: Vector, speed: Vector, horizon: float, lower: Vector, upper: Vector) -> None:
    for j in range(velocity.shape[0]):
        lower[j], upper[j] = velocity_interval(velocity[j], speed[j], horizon)


@compiled
def _motor_intervals(feedforward: Vector, gravity: Vector, torque: Vector, lower: Vector, upper: Vector) -> None:
    for j in range(gravity.shape[0]):
        lower[j], upper[j] = motor_torque_interval(feedforward[j], gravity[j], torque[j])


@compiled
def _command_intervals(
    previous: Vector, feedforward: Vector, torque: Vector, step: Vector, lower: Vector, upper: Vector
) -> None:
    for j in range(previous.shape[0]):
        lower[j], upper[j] = command_interval(previous[j], feedforward[j], torque[j], step[j])


@compiled
def _contact_row(
    normal: Vector, centre: Vector, rotation: Matrix, jacobian: Matrix, jacobian_rate_velocity: Vector, twist: Vector,
    row: Vector,
) -> float:  # fmt: skip
    """With r = R c the centre moves at v + omega x r: J_N = n^T (J_v + [r x n] row of J_omega), and likewise dJ dq."""
    arm_x = rotation[0, 0] * centre[0] + rotation[0, 1] * centre[1] + rotation[0, 2] * centre[2]
    arm_y = rotation[1, 0] * centre[0] + rotation[1, 1] * centre[1] + rotation[1, 2] * centre[2]
    arm_z = rotation[2, 0] * centre[0] + rotation[2, 1] * centre[1] + rotation[2, 2] * centre[2]
    # n . (omega x r) = omega . (r x n)
    lever_x = arm_y * normal[2] - arm_z * normal[1]
    lever_y = arm_z * normal[0] - arm_x * normal[2]
    lever_z = arm_x * normal[1] - arm_y * normal[0]
    for j in range(row.shape[0]):
        row[j] = normal[0] * jacobian[0, j] + normal[1] * jacobian[1, j] + normal[2] * jacobian[2, j]
        row[j] += lever_x * jacobian[3, j] + lever_y * jacobian[4, j] + lever_z * jacobian[5, j]
    bias: float = 0.0
    for i in range(3):
        bias += normal[i] * jacobian_rate_velocity[i]
    bias += lever_x * jacobian_rate_velocity[3] + lever_y * jacobian_rate_velocity[4]
    bias += lever_z * jacobian_rate_velocity[5]
    # n . (omega x (omega x r)) = (omega . r)(omega . n) - |omega|^2 (r . n)
    x, y, z = twist[3], twist[4], twist[5]
    along_arm = x * arm_x + y * arm_y + z * arm_z
    along_normal = x * normal[0] + y * normal[1] + z * normal[2]
    height = arm_x * normal[0] + arm_y * normal[1] + arm_z * normal[2]
    bias += along_arm * along_normal - (x * x + y * y + z * z) * height
    return -bias
