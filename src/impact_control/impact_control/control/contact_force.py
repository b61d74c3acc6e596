"""The wrench that presses on the expected surface, van Steen 2024 (26): normal force and sliding friction."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from impact_control.references import ImpactReference, ReferenceColumns
from impact_control.scenario import Scenario
from impact_control.util.compiled import compiled_in_place
from impact_control.util.memory import Memory, named_memory
from impact_control.util.types import Matrix, Vector

SLIDING_SPEED = 5e-3
"""[m/s] reference speed above which the friction of sliding is fed forward nearly whole; it fades in below."""


@compiled_in_place
def act_at(offset: Vector, jacobian: Matrix, wrench: Vector, torque: Vector) -> None:
    """Complete the wrench (6,), whose force stands in it, by its moment about E; write J^T f (n,) [Nm].

    offset (3,) [m]: from the origin of E to where the force acts, axes of A.
    """
    wrench[3] = offset[1] * wrench[2] - offset[2] * wrench[1]
    wrench[4] = offset[2] * wrench[0] - offset[0] * wrench[2]
    wrench[5] = offset[0] * wrench[1] - offset[1] * wrench[0]
    for j in range(torque.shape[0]):
        torque[j] = 0.0
        for i in range(6):
            torque[j] += jacobian[i, j] * wrench[i]


@compiled_in_place
def sliding_share(friction: float, x: float, y: float, z: float) -> float:
    """Return the factor on a velocity [m/s] that makes it the friction [N] of sliding with it; it fades in."""
    speed = math.sqrt(x * x + y * y + z * z)
    return friction * math.tanh(speed / SLIDING_SPEED) / speed if speed > 1e-9 else 0.0


@compiled_in_place
def _press(
    force: Memory, share: float, sliding_velocity: Vector, jacobian: Matrix, wrench: Vector, torque: Vector
) -> None:
    f = force[()]
    magnitude = share * f.magnitude
    along = sliding_share(f.friction, sliding_velocity[0], sliding_velocity[1], sliding_velocity[2])
    for i in range(3):
        wrench[i] = magnitude * (along * sliding_velocity[i] - f.normal[i])
    act_at(f.offset, jacobian, wrench, torque)


class DesiredForce(Protocol):
    """Force of the end-effector on what it touches after the impact, van Steen 2024 (26).

    Attribute: inward (3,), unit vector into a surface that does not give way; zero where what is touched moves.
    """

    @property
    def inward(self) -> Vector:
        """Unit vector (3,), see the class."""

    def exert(self, share: float, desired: ReferenceColumns, jacobian: Matrix, wrench: Vector, torque: Vector) -> None:
        """Write f, the wrench (6,) [N, Nm] on what is touched at E in axes of A, and J^T f, torque (n,) [Nm].

        share [-] of the force; desired: one sample of the reference of the motion. J (6, n), mixed frame E[A]. No
        allocation.
        """


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
    inward: Vector = field(init=False)
    _memory: Memory = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "inward", -np.asarray(self.normal, dtype=float))
        memory = named_memory(magnitude=(), friction=(), normal=(3,), offset=(3,))
        for name in ("magnitude", "friction", "normal", "offset"):
            memory[name] = getattr(self, name)
        object.__setattr__(self, "_memory", memory)

    @classmethod
    def of(cls, scenario: Scenario, reference: ImpactReference) -> ContactForce:
        """Return the force the task asks for after the impact, on the expected surface."""
        surface, geometry = scenario.expected_environment.surface, reference.geometry
        return cls(scenario.task.post.force, surface.friction, geometry.normal, geometry.contact_offset)

    def press(self, share: float, sliding_velocity: Vector, jacobian: Matrix, wrench: Vector, torque: Vector) -> None:
        """Write f, the wrench (6,) [N, Nm] on the surface at E in axes of A, and J^T f, torque (n,) [Nm].

        share [-] of the force; sliding_velocity (3,) [m/s]: reference of the motion along the surface. The robot
        carries the friction mu f_N against it. J (6, n), mixed frame E[A]. No allocation.
        """
        _press(self._memory, share, sliding_velocity, jacobian, wrench, torque)

    def exert(self, share: float, desired: ReferenceColumns, jacobian: Matrix, wrench: Vector, torque: Vector) -> None:
        """Write force and torque as `DesiredForce`: `press` while sliding at the velocity of the reference."""
        self.press(share, desired.velocity, jacobian, wrench, torque)


NO_FORCE = ContactForce(0.0, 0.0, np.array([0.0, 0.0, 1.0]), np.zeros(3))
"""For motions in free air."""
