"""The wrench that presses on the expected surface, van Steen 2024 (26): normal force and sliding friction."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_control.compiled import compiled
from impact_control.types import Vector

SLIDING_SPEED = 5e-3
"""[m/s] reference speed above which the friction of sliding is fed forward nearly whole; it fades in below."""


@compiled
def _wrench(
    magnitude: float, friction: float, normal: Vector, offset: Vector, sliding_velocity: Vector, out: Vector
) -> None:
    speed = math.sqrt(sliding_velocity[0] ** 2 + sliding_velocity[1] ** 2 + sliding_velocity[2] ** 2)
    along = friction * math.tanh(speed / SLIDING_SPEED) / speed if speed > 1e-9 else 0.0
    for i in range(3):
        out[i] = magnitude * (along * sliding_velocity[i] - normal[i])
    out[3] = offset[1] * out[2] - offset[2] * out[1]
    out[4] = offset[2] * out[0] - offset[0] * out[2]
    out[5] = offset[0] * out[1] - offset[1] * out[0]


@dataclass(frozen=True, eq=False)
class ContactForce:
    """Desired force of the end-effector on the surface.

    magnitude [N] along the inward normal; friction mu [-]; normal (3,) out of the surface; offset (3,) [m]
    from the origin of E to the contact point. World frame A.
    """

    magnitude: float
    friction: float
    normal: Vector
    offset: Vector

    def wrench(self, sliding_velocity: Vector, out: Vector) -> Vector:
        """Write the wrench (6,) [N, Nm] the robot exerts at E, in axes of A, and return it.

        sliding_velocity (3,) [m/s]: reference of the motion along the surface. The robot carries the friction
        mu f_N against it. No allocation.
        """
        _wrench(self.magnitude, self.friction, self.normal, self.offset, sliding_velocity, out)
        return out


NO_FORCE = ContactForce(0.0, 0.0, np.array([0.0, 0.0, 1.0]), np.zeros(3))
"""Touches nothing."""
