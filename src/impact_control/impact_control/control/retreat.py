"""Pull back: a straight motion of the end-effector away from a contact. Wang 2022 section VI."""

from __future__ import annotations

import math

import numpy as np

from impact_control.scenario import PullBack
from impact_control.util.compiled import compiled_in_place
from impact_control.util.errors import InvalidInputError
from impact_control.util.memory import Memory, named_memory
from impact_control.util.types import Vector

ARRIVAL = 1e-4
"""[m] left of the way at which the retreat is over."""


@compiled_in_place
def _advance(motion: Memory) -> None:
    """Move the reference on by one period.

    Along the direction the speed goes towards the highest from which a stop at the end of the way is possible;
    across it, towards zero. Each of the two changes by at most `largest` [m/s^2].
    """
    m = motion[()]
    direction, velocity, largest, period = m.direction, m.velocity, m.largest, m.period
    along = 0.0
    for i in range(3):
        along += direction[i] * velocity[i]
    across = 0.0
    for i in range(3):
        across += (velocity[i] - along * direction[i]) ** 2
    across = math.sqrt(across)
    left = max(0.0, m.remaining)
    desired = min(m.speed, min(math.sqrt(2.0 * largest * left), left / period))
    step = min(max(desired - along, -largest * period), largest * period)
    kept = max(0.0, 1.0 - largest * period / across) if across > 0.0 else 0.0
    for i in range(3):
        new = (along + step) * direction[i] + kept * (velocity[i] - along * direction[i])
        m.acceleration[i] = (new - velocity[i]) / period
        velocity[i] = new
        m.position[i] += period * new
    m.remaining -= period * (along + step)


class Retreat:
    """The motion, one sample a period: position, velocity, acceleration (3,) [m, m/s, m/s^2] of E, frame A.

    It begins with the velocity the end-effector has, brakes it, and goes `distance` from where it began along the
    direction; speed and acceleration (a jump of it, not of the velocity) are bounded. after `begin` it knows nothing
    of the arm: when the arm cannot follow, the motion ends all the same.
    """

    def __init__(self, period: float) -> None:
        self._memory = memory = named_memory(
            direction=(3,),
            position=(3,),
            velocity=(3,),
            acceleration=(3,),
            remaining=(),
            speed=(),
            largest=(),
            period=(),
        )
        self._direction, self._remaining = memory["direction"], memory["remaining"]
        self._direction[2] = 1.0
        memory["largest"], memory["period"] = 1.0, period
        self.position: Vector = memory["position"]
        self.velocity: Vector = memory["velocity"]
        self.acceleration: Vector = memory["acceleration"]
        self.advance()  # compiles the kernel here and not in the loop

    def aim(self, direction: Vector, settings: PullBack) -> None:
        """Choose direction (3,), of any length above 0, away from the contact, and limits of the next retreat.

        Raises InvalidInputError for a direction that is none.
        """
        length = float(np.linalg.norm(direction))
        if np.shape(direction) != (3,) or not (math.isfinite(length) and length > 0.0):
            raise InvalidInputError("direction of the retreat", direction, "three finite numbers, not all 0")
        np.divide(direction, length, out=self._direction)
        self._remaining[()] = settings.distance
        self._memory["speed"] = settings.speed
        # Braking across and moving along may happen together: each gets the share that keeps their sum below it.
        self._memory["largest"] = settings.acceleration / math.sqrt(2.0)

    def begin(self, position: Vector, velocity: Vector) -> None:
        """Begin at position (3,) [m] with velocity (3,) [m/s]."""
        self.position[:] = position
        self.velocity[:] = velocity

    def advance(self) -> bool:
        """Advance by one period; True at the end of the path."""
        _advance(self._memory)
        return bool(self._remaining <= ARRIVAL)
