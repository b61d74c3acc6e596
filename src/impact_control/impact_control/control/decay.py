"""The motion in which the joints come to rest by themselves."""

from __future__ import annotations

import math

from impact_control.util.compiled import compiled_in_place
from impact_control.util.memory import Memory, named_memory
from impact_control.util.types import Vector


@compiled_in_place
def _decay(motion: Memory, elapsed: float, rate: float) -> None:
    m = motion[()]
    left = math.exp(-rate * max(0.0, elapsed))
    for j in range(m.start.shape[0]):
        m.velocity[j] = m.start_velocity[j] * left
        m.position[j] = m.start[j] + m.start_velocity[j] * (1.0 - left) / rate
        m.acceleration[j] = -rate * m.velocity[j]


class Decay:
    """q(t) = q0 + dq0 (1 - exp(-rate t)) / rate of all joints.

    Attributes after `at`: position, velocity, acceleration (n,) [rad, rad/s, rad/s^2].
    """

    def __init__(self, joints: int, rate: float) -> None:
        """Rate [1/s] above 0 at which the velocities decay."""
        self._rate = rate
        n = (joints,)
        self._memory = memory = named_memory(start=n, start_velocity=n, position=n, velocity=n, acceleration=n)
        self._start, self._start_velocity = memory["start"], memory["start_velocity"]
        self._start_time = 0.0
        self.position: Vector = memory["position"]
        self.velocity: Vector = memory["velocity"]
        self.acceleration: Vector = memory["acceleration"]
        self.at(0.0)  # compiles the kernel here and not in the loop

    def begin(self, time: float, position: Vector, velocity: Vector) -> None:
        """Begin at `time` [s] in configuration position (n,) [rad] with velocity (n,) [rad/s]."""
        self._start_time = time
        self._start[:] = position
        self._start_velocity[:] = velocity

    def at(self, time: float) -> None:
        """Write the motion at `time` [s]."""
        _decay(self._memory, time - self._start_time, self._rate)
