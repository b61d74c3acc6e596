"""The law without loss: a linear spring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from impact_control.checks import require_positive
from impact_control.impacts.contact_laws.kernel import LawKind
from impact_control.impacts.contact_laws.law import LawWithoutMemory, require_impact
from impact_control.types import Vector


@dataclass(frozen=True)
class LinearSpring(LawWithoutMemory):
    """f = k delta: the virtual spring of Wang 2022 VII-A1 without loss. stiffness k [N/m], above 0.

    Raises InvalidInputError.
    """

    kind: ClassVar[LawKind] = LawKind.LINEAR_SPRING
    stiffness: float

    def __post_init__(self) -> None:
        require_positive("stiffness", self.stiffness)

    @property
    def parameters(self) -> Vector:
        """Return [k, 0, 1, 0]."""
        return np.array([self.stiffness, 0.0, 1.0, 0.0])

    def restitution(self, mass: float, speed: float) -> float:
        """Return 1: nothing is lost, whatever the mass [kg] and the speed [m/s]. Raises InvalidInputError."""
        require_impact(mass, speed)
        return 1.0
