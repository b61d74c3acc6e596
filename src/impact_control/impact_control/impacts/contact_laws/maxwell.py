"""Maxwell's law, the only one with a memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from impact_control.checks import require_positive
from impact_control.impacts.contact_laws.kernel import LawKind
from impact_control.impacts.contact_laws.law import require_impact
from impact_control.impacts.restitution import maxwell_restitution
from impact_control.types import Vector


@dataclass(frozen=True)
class Maxwell:
    """Spring and dashpot in series: f = k (delta - creep), d creep/dt = f / c. Wang 2022 VII-A2. It never pulls.

    stiffness k [N/m], above 0; damping c [N s/m], above 0; infinite c would be the spring. The creep stays when the
    contact opens. Raises InvalidInputError.
    """

    kind: ClassVar[LawKind] = LawKind.MAXWELL
    stiffness: float
    damping: float

    def __post_init__(self) -> None:
        require_positive("stiffness", self.stiffness)
        require_positive("damping", self.damping)

    @property
    def parameters(self) -> Vector:
        """Return [k, c, 1, 0]."""
        return np.array([self.stiffness, self.damping, 1.0, 0.0])

    def force(self, depth: float, depth_rate: float, creep: float = 0.0) -> float:
        """Return the normal force [N] at depth [m] and creep [m]; depth_rate [m/s] acts through the creep only."""
        return self.stiffness * max(depth - creep, 0.0)

    def creep_rate(self, depth: float, creep: float) -> float:
        """Return f / c [m/s] at depth [m] and creep [m]."""
        return self.force(depth, 0.0, creep) / self.damping

    def stored_energy(self, depth: float, creep: float = 0.0) -> float:
        """Return k (delta - creep)^2 / 2 [J] at depth [m] and creep [m]. Wang 2022 (26)."""
        return 0.5 * self.stiffness * max(depth - creep, 0.0) ** 2

    def restitution(self, mass: float, speed: float) -> float:
        """Return `maxwell_restitution` for the mass [kg], the same for any speed [m/s]. Raises InvalidInputError."""
        require_impact(mass, speed)
        return maxwell_restitution(math.sqrt(self.stiffness * mass) / (2.0 * self.damping))
