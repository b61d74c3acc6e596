"""Hunt-Crossley's law, whose damping grows with depth and may pull; for exponent 1 nonlinear viscoelasticity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from impact_control.checks import require_not_negative, require_positive
from impact_control.impacts.contact_laws.kernel import LawKind
from impact_control.impacts.contact_laws.law import LawWithoutMemory, require_impact
from impact_control.impacts.restitution import hunt_crossley_restitution
from impact_control.types import Vector


@dataclass(frozen=True)
class NonlinearViscoelastic(LawWithoutMemory):
    """f = k delta + c delta ddelta: spring beside a dashpot that grows with depth. Wang 2022 (23), delta = -x.

    It is Hunt-Crossley's law with eta = 1. stiffness k [N/m], above 0; damping c [N s/m^2], at least 0. It pulls
    when torn off faster than k/c. Raises InvalidInputError.
    """

    kind: ClassVar[LawKind] = LawKind.NONLINEAR_VISCOELASTIC
    stiffness: float
    damping: float

    def __post_init__(self) -> None:
        require_positive("stiffness", self.stiffness)
        require_not_negative("damping", self.damping)

    @property
    def parameters(self) -> Vector:
        """Return [k, c, 1, 0]."""
        return np.array([self.stiffness, self.damping, 1.0, 0.0])

    def restitution(self, mass: float, speed: float) -> float:
        """Return `hunt_crossley_restitution` at speed [m/s], for any mass [kg]. Raises InvalidInputError.

        Wang 2022 (25), k/(c v), is `vanishing_force_restitution`: its limit for large c v / k.
        """
        require_impact(mass, speed)
        return hunt_crossley_restitution(self.damping * speed / self.stiffness)


@dataclass(frozen=True)
class WithExponent(LawWithoutMemory):
    """Laws with stiffness k [N/m^eta], above 0, damping d [N s/m^(eta+1)], at least 0, exponent eta [-], above 0."""

    stiffness: float
    damping: float
    exponent: float

    def __post_init__(self) -> None:
        require_positive("stiffness", self.stiffness)
        require_not_negative("damping", self.damping)
        require_positive("exponent", self.exponent)

    @property
    def parameters(self) -> Vector:
        """Return [k, d, eta, 0]."""
        return np.array([self.stiffness, self.damping, self.exponent, 0.0])


@dataclass(frozen=True)
class HuntCrossley(WithExponent):
    """f = (k + d ddelta) delta^eta. Proper 2021 (2.35).

    stiffness k [N/m^eta], above 0; damping d [N s/m^(eta+1)], at least 0; exponent eta [-], above 0. It pulls when
    torn off faster than k/d. Raises InvalidInputError.
    """

    kind: ClassVar[LawKind] = LawKind.HUNT_CROSSLEY

    def restitution(self, mass: float, speed: float) -> float:
        """Return `hunt_crossley_restitution` at speed [m/s], for any mass [kg]. Raises InvalidInputError."""
        require_impact(mass, speed)
        return hunt_crossley_restitution(self.damping * speed / self.stiffness)
