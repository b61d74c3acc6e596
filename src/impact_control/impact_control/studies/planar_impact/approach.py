"""How the end-effector comes to the impact: a straight line, and the controller that follows it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from impact_control.errors import InvalidInputError
from impact_control.robots import Dynamics, InertiaModel, RobotDescription
from impact_control.types import Matrix, Vector

PLANAR_TASK = (0, 2, 4)
"""Rows of the mixed twist of E that an arm in the plane x-z can choose: along x, along z, turn about y."""


@dataclass(frozen=True, eq=False)
class StraightApproach:
    """Straight line at constant orientation: from rest to a constant velocity, through the impact and on.

    The speed rises by a quintic over `ramp`, is constant for `cruise` until the impact is expected, and stays so
    afterwards: the line goes on below the surface, as in Rey Arias 2024, section III.

    Attributes:
        impact_position: origin of E at the impact (3,) [m], world frame A.
        rotation: axes of E as columns in A (3, 3).
        direction: of the motion (3,), unit, axes of A.
        speed: at the impact [m/s], above 0.
        ramp, cruise: [s], above 0.
    """

    impact_position: Vector
    rotation: Matrix
    direction: Vector
    speed: float
    ramp: float = 0.4
    cruise: float = 0.2

    def __post_init__(self) -> None:
        for name in ("speed", "ramp", "cruise"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise InvalidInputError(name, value, "a finite number above 0")

    @property
    def impact_time(self) -> float:
        """When the impact is expected [s]."""
        return self.ramp + self.cruise

    def at(self, time: float) -> tuple[Vector, Vector, Vector]:
        """Return position [m], velocity [m/s], acceleration [m/s^2] of the origin of E, each (3,), axes of A."""
        distance = self.speed * (time - 0.5 * self.ramp)
        speed, acceleration = self.speed, 0.0
        if time < self.ramp:
            x = time / self.ramp
            distance = self.speed * self.ramp * x**4 * (2.5 - 3.0 * x + x**2)
            speed = self.speed * x**3 * (10.0 - 15.0 * x + 6.0 * x**2)
            acceleration = self.speed / self.ramp * 30.0 * x**2 * (1.0 - x) ** 2
        left = self.speed * (0.5 * self.ramp + self.cruise) - distance
        position: Vector = self.impact_position - left * self.direction
        return position, speed * self.direction, acceleration * self.direction


def planar_approach(angle: float, speed: float, distance: float, height: float) -> StraightApproach:
    """Return the approach of the planar arm to a horizontal surface, with z of E against its normal.

    angle [deg] as in Proper 2021 (3.2): between the path, seen from where it comes, and x of A; 90 is straight down,
    less is towards the base, more is away from it. The path inclines to the surface by `angle` in Rey Arias 2024,
    section III. distance [m] of the impact from the base, height [m] of E at the impact.
    """
    if not 0.0 < angle < 180.0:
        raise InvalidInputError("approach angle", angle, "above 0 and below 180 deg: into the surface")
    radians = math.radians(angle)
    return StraightApproach(
        impact_position=np.array([distance, 0.0, height]),
        rotation=np.diag([1.0, -1.0, -1.0]),
        direction=np.array([-math.cos(radians), 0.0, -math.sin(radians)]),
        speed=speed,
    )


class TaskController:
    """Torque that moves E along an approach: the QP of Proper 2021 (2.62)-(2.66) with one task and no limit active.

    The pose task then is met exactly, ddq = J^-1 (dv_d - dJ dq), and the torque is that of the rigid model that
    belongs to the torque-controlled arm, (M + B_theta) ddq + h: Rey Arias 2024 (8).
    """

    def __init__(
        self, robot: RobotDescription, approach: StraightApproach, stiffness: float = 400.0, damping: float = 40.0
    ) -> None:
        """stiffness [1/s^2], damping [1/s]: k_p, k_d of Proper 2021 (2.66), critically damped by default."""
        self.approach = approach
        self._dynamics = Dynamics(robot)
        self._stiffness = stiffness
        self._damping = damping

    def torque(self, time: float, q: Vector, dq: Vector) -> Vector:
        """Return the torque (n,) [Nm] without gravity, which the arm adds itself; q [rad], dq [rad/s] (n,)."""
        dynamics, task = self._dynamics, list(PLANAR_TASK)
        dynamics.update(q, dq)
        position, velocity, acceleration = self.approach.at(time)
        turn = pin.log3(self.approach.rotation @ dynamics.rotation.T)
        error = np.concatenate((position - dynamics.position, turn))
        error_rate = np.concatenate((velocity, np.zeros(3))) - dynamics.twist
        wanted = np.concatenate((acceleration, np.zeros(3))) + self._damping * error_rate + self._stiffness * error
        ddq = np.linalg.solve(dynamics.jacobian[task], (wanted - dynamics.jacobian_rate_velocity)[task])
        torque: Vector = dynamics.inertia(InertiaModel.REDUCED_MOTORS) @ ddq + dynamics.coriolis
        return torque

    def pressing_torque(self, q: Vector, normal: Vector, force: float) -> Vector:
        """Return the torque (n,) [Nm] that presses E with `force` [N] against a surface of `normal` (3,) at q (n,)."""
        self._dynamics.update(q, np.zeros_like(q))
        torque: Vector = -force * (normal @ self._dynamics.jacobian[:3])
        return torque
