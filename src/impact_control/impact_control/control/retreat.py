"""Pull back: a straight motion of the end-effector away from a contact. Wang 2022 section VI."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_control.checks import require_positive
from impact_control.compiled import compiled
from impact_control.errors import InvalidInputError
from impact_control.types import Vector

ARRIVAL = 1e-4
"""[m] left of the way at which the retreat is over."""


@dataclass(frozen=True)
class RetreatParameters:
    """How far [m], how fast [m/s] and with which largest acceleration [m/s^2] the end-effector is pulled back."""

    distance: float
    speed: float
    acceleration: float

    def __post_init__(self) -> None:
        for name in ("distance", "speed", "acceleration"):
            require_positive(f"retreat {name}", getattr(self, name))


@compiled
def _advance(
    direction: Vector, remaining: float, speed: float, largest: float, period: float,
    position: Vector, velocity: Vector, acceleration: Vector,
) -> float:  # fmt: skip
    """Move the reference on by one period [s]; return the way that is left [m].

    Along the direction the speed goes towards the highest from which a stop at the end of the way is possible;
    across it, towards zero. Each of the two changes by at most `largest` [m/s^2].
    """
    along = 0.0
    for i in range(3):
        along += direction[i] * velocity[i]
    across = 0.0
    for i in range(3):
        across += (velocity[i] - along * direction[i]) ** 2
    across = math.sqrt(across)
    left = max(0.0, remaining)
    wanted = min(speed, min(math.sqrt(2.0 * largest * left), left / period))
    step = min(max(wanted - along, -largest * period), largest * period)
    kept = max(0.0, 1.0 - largest * period / across) if across > 0.0 else 0.0
    for i in range(3):
        new = (along + step) * direction[i] + kept * (velocity[i] - along * direction[i])
        acceleration[i] = (new - velocity[i]) / period
        velocity[i] = new
        position[i] += period * new
    return remaining - period * (along + step)


class Retreat:
    """The motion, one sample a period: position, velocity, acceleration (3,) [m, m/s, m/s^2] of E, frame A.

    It begins with the velocity the end-effector has, brakes it, and goes `distance` from where it began along the
    direction; speed and acceleration (a jump of it, not of the velocity) are bounded. After `start` it knows nothing
    of the arm: when the arm cannot follow, the motion ends all the same.
    """

    def __init__(self, period: float) -> None:
        self._period = period
        self._direction = np.array([0.0, 0.0, 1.0])
        self._remaining = 0.0
        self._speed = 0.0
        self._largest = 1.0
        self.position = np.zeros(3)
        self.velocity = np.zeros(3)
        self.acceleration = np.zeros(3)
        self.advance()  # compiles the kernel here and not in the loop

    def aim(self, direction: Vector, parameters: RetreatParameters) -> None:
        """Choose direction (3,), of any length above 0, away from the contact, and limits of the next retreat.

        Raises InvalidInputError for a direction that is none.
        """
        length = float(np.linalg.norm(direction))
        if np.shape(direction) != (3,) or not (math.isfinite(length) and length > 0.0):
            raise InvalidInputError("direction of the retreat", direction, "three finite numbers, not all 0")
        np.divide(direction, length, out=self._direction)
        self._remaining = parameters.distance
        self._speed = parameters.speed
        # Braking across and moving along may happen together: each gets the share that keeps their sum below it.
        self._largest = parameters.acceleration / math.sqrt(2.0)

    def start(self, position: Vector, velocity: Vector) -> None:
        """Begin at position (3,) [m] with velocity (3,) [m/s]."""
        self.position[:] = position
        self.velocity[:] = velocity

    def advance(self) -> bool:
        """Go on by one period; True when the way is done."""
        self._remaining = _advance(
            self._direction, self._remaining, self._speed, self._largest, self._period, self.position, self.velocity,
            self.acceleration,
        )  # fmt: skip
        return self._remaining <= ARRIVAL
