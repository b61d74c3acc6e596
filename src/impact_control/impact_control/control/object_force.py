"""The wrench that moves an object, van Steen 2024 (26): clamping, weight, inertia, and friction on the table."""

from __future__ import annotations

from dataclasses import dataclass

from impact_control.checks import freeze, require_not_negative
from impact_control.compiled import compiled
from impact_control.control.contact_force import act_at, sliding_share
from impact_control.references import ReferenceColumns
from impact_control.types import Matrix, Vector


@compiled
def _move(
    share: float, clamping: Vector, mass: float, support: Vector, drag: float, offset: Vector, wanted: Vector,
    jacobian: Matrix, wrench: Vector, torque: Vector,
) -> None:  # fmt: skip
    along = sliding_share(drag, wanted[3], wanted[4], wanted[5])
    for i in range(3):
        wrench[i] = share * (clamping[i] + support[i] + mass * wanted[6 + i] + along * wanted[3 + i])
    act_at(offset, jacobian, wrench, torque)


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
