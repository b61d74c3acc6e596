"""The wrench that moves an object, van Steen 2024 (26): clamping, weight, inertia, and friction on the table."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from impact_control.control.contact_force import act_at, sliding_share
from impact_control.references import ReferenceColumns
from impact_control.util.checks import freeze, require_not_negative
from impact_control.util.compiled import compiled_in_place
from impact_control.util.memory import Memory, named_memory
from impact_control.util.types import Matrix, Vector


@compiled_in_place
def _move(force: Memory, share: float, reference: Memory, jacobian: Matrix, wrench: Vector, torque: Vector) -> None:
    f, desired = force[()], reference[()]
    velocity, acceleration = desired.velocity, desired.acceleration
    along = sliding_share(f.drag, velocity[0], velocity[1], velocity[2])
    for i in range(3):
        wrench[i] = share * (f.clamping[i] + f.support[i] + f.mass * acceleration[i] + along * velocity[i])
    act_at(f.offset, jacobian, wrench, torque)


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
    inward: Vector = field(init=False, default_factory=lambda: np.zeros(3))
    _memory: Memory = field(init=False, repr=False)

    def __post_init__(self) -> None:
        freeze(self, (3,), "clamping", "support", "offset")
        require_not_negative("mass", self.mass)
        require_not_negative("drag", self.drag)
        memory = named_memory(clamping=(3,), mass=(), support=(3,), drag=(), offset=(3,))
        for name in ("clamping", "mass", "support", "drag", "offset"):
            memory[name] = getattr(self, name)
        object.__setattr__(self, "_memory", memory)

    def exert(self, share: float, desired: ReferenceColumns, jacobian: Matrix, wrench: Vector, torque: Vector) -> None:
        """Add this force, as `DesiredForce`."""
        _move(self._memory, share, desired.memory, jacobian, wrench, torque)
