"""The wrench that moves an object, van Steen 2024 (26): clamping, weight, inertia, and friction on the table."""

from __future__ import annotations

import math
from dataclasses import dataclass

from impact_control.checks import freeze, require_not_negative
from impact_control.compiled import compiled
from impact_control.control.contact_force import SLIDING_SPEED
from impact_control.references import ReferenceColumns
from impact_control.types import Matrix, Vector


@compiled
def _move(
    share: float, clamping: Vector, mass: float, support: Vector, drag: float, offset: Vector, wanted: Vector,
    jacobian: Matrix, wrench: Vector, torque: Vector,
) -> None:  # fmt: skip
    x, y, z = wanted[3], wanted[4], wanted[5]
    speed = math.sqrt(x * x + y * y + z * z)
    along = drag * math.tanh(speed / SLIDING_SPEED) / speed if speed > 1e-9 else 0.0
    for i in range(3):
        wrench[i] = share * (clamping[i] + support[i] + mass * wanted[6 + i] + along * wanted[3 + i])
    wrench[3] = offset[1] * wrench[2] - offset[2] * wrench[1]
    wrench[4] = offset[2] * wrench[0] - offset[0] * wrench[2]
    wrench[5] = offset[0] * wrench[1] - offset[1] * wrench[0]
    for j in range(torque.shape[0]):
        torque[j] = 0.0
        for i in range(6):
            torque[j] += jacobian[i, j] * wrench[i]


@dataclass(frozen=True, eq=False)
class ObjectForce:
    """Desired force of one of several end-effectors on an object that moves as the reference does.

    clamping (3,) [N]: on the object; what the arms clamp with adds up to zero. mass [kg]: the part of the object that
    this arm accelerates; support (3,) [N]: and carries; drag [N]: friction of the table that it overcomes, along the
    velocity of the reference. offset (3,) [m]: from the origin of E to where the force acts. World frame A. Raises
    InvalidInputError.
    """

    clamping: Vector
    mass: float
    support: Vector
    drag: float
    offset: Vector

    def __post_init__(self) -> None:
        freeze(self, (3,), "clamping", "support", "offset")
        require_not_negative("mass", self.mass)
        require_not_negative("drag", self.drag)

    def exert(self, share: float, wanted: ReferenceColumns, jacobian: Matrix, wrench: Vector, torque: Vector) -> None:
        """See `DesiredForce`."""
        _move(
            share, self.clamping, self.mass, self.support, self.drag, self.offset, wanted.data, jacobian, wrench, torque
        )
