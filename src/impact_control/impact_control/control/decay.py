"""The motion in which the joints come to rest by themselves."""

from __future__ import annotations

import math

import numpy as np

from impact_control.compiled import compiled
from impact_control.types import Vector


@compiled
def _decay(
    start: Vector, start_velocity: Vector, elapsed: float, rate: float, position: Vector, velocity: Vector,
    acceleration: Vector,
) -> None:  # fmt: skip
    left = math.exp(-rate * max(0.0, elapsed))
    for j in range(start.shape[0]):
        velocity[j] = start_velocity[j] * left
        position[j] = start[j] + start_velocity[j] * (1.0 - left) / rate
        acceleration[j] = -rate * velocity[j]


class Decay:
    """q(t) = q0 + dq0 (1 - exp(-rate t)) / rate of all joints.

    Attributes after `at`: position, velocity, acceleration (n,) [rad, rad/s, rad/s^2].
    """

    def __init__(self, joints: int, rate: float) -> None:
        """Rate [1/s] above 0 at which the velocities decay."""
        self._rate = rate
        self._start = np.zeros(joints)
        self._start_velocity = np.zeros(joints)
        self._start_time = 0.0
        self.position = np.zeros(joints)
        self.velocity = np.zeros(joints)
        self.acceleration = np.zeros(joints)
        self.at(0.0)  # compiles the kernel here and not in the loop

    def start(self, time: float, position: Vector, velocity: Vector) -> None:
        """Begin at `time` [s] in configuration position (n,) [rad] with velocity (n,) [rad/s]."""
        self._start_time = time
        self._start[:] = position
        self._start_velocity[:] = velocity

    def at(self, time: float) -> None:
        """Write the motion at `time` [s]."""
        _decay(
            self._start, self._start_velocity, time - self._start_time, self._rate, self.position, self.velocity,
            self.acceleration,
        )  # fmt: skip
