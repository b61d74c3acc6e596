"""Hunt-Crossley's law extended exponentially so that it never pulls, without and with restitution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from impact_control.checks import require_between, require_positive
from impact_control.errors import InvalidInputError
from impact_control.impacts.contact_laws.hunt_crossley import WithExponent
from impact_control.impacts.contact_laws.kernel import LawKind
from impact_control.impacts.contact_laws.law import require_impact
from impact_control.impacts.restitution import exponential_restitution, relative_damping_for_restitution
from impact_control.types import Vector


@dataclass(frozen=True)
class ExponentialHuntCrossley(WithExponent):
    """The law of `exponential_hunt_crossley_force` with its parameters. It never pulls.

    stiffness k_c [N/m^eta] above 0, damping d_c [N s/m^(eta+1)] at least 0, exponent eta [-] above 0; 3/2 for
    a sphere on a plane (Hertz). Raises InvalidInputError.
    """

    kind: ClassVar[LawKind] = LawKind.EXPONENTIAL_HUNT_CROSSLEY

    def restitution(self, mass: float, speed: float) -> float:
        """Return `exponential_restitution` at speed [m/s], for any mass [kg]. Raises InvalidInputError."""
        require_impact(mass, speed)
        return exponential_restitution(self.damping * speed / self.stiffness)


@dataclass(frozen=True)
class RestitutionHuntCrossley(WithExponent):
    """Exponentially extended Hunt-Crossley law with restitution: Proper 2021 (2.36), (2.37). It never pulls.

    The force is Hunt-Crossley's down to ddelta = -mu_N ddelta^-, and below decays exponentially with

        k_c (1 - rho mu_N) exp(rho / (1 - rho mu_N) (ddelta + mu_N ddelta^-) / ddelta^-),  rho = d_c/k_c ddelta^-,

    which corrects the printed sign of the first factor, see Errata. stiffness k_c [N/m^eta], above 0; damping d_c
    [N s/m^(eta+1)], at least 0; exponent eta [-], above 0; restitution mu_N [-], from 0 to 1; impact_rate ddelta^-
    [m/s], above 0, the rate at first contact; rho mu_N at most 1. A free mass that hits at impact_rate keeps mu_N if
    the damping suits it: build that law by `with_exact_restitution`. Raises InvalidInputError.
    """

    kind: ClassVar[LawKind] = LawKind.RESTITUTION_HUNT_CROSSLEY
    newton_restitution: float
    impact_rate: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require_between("newton_restitution", self.newton_restitution, 0.0, 1.0)
        require_positive("impact_rate", self.impact_rate)
        # Rounding is let pass: exact damping for a small restitution is 1 / mu_N but for less than that.
        if not self._release <= 1.0 + 1e-12:
            most = self.stiffness / (self.impact_rate * self.newton_restitution)
            raise InvalidInputError(
                "damping", self.damping, f"at most stiffness / (impact_rate newton_restitution) = {most}"
            )

    @property
    def _release(self) -> float:
        """Return rho mu_N [-]."""
        return self.damping / self.stiffness * self.impact_rate * self.newton_restitution

    @classmethod
    def with_exact_restitution(
        cls, stiffness: float, exponent: float, newton_restitution: float, impact_rate: float
    ) -> RestitutionHuntCrossley:
        """Return the law by which a free mass that hits at impact_rate keeps exactly newton_restitution (0, 1].

        Its damping is that of `relative_damping_for_restitution`. Units as above. Raises InvalidInputError.
        """
        require_positive("stiffness", stiffness)
        require_positive("impact_rate", impact_rate)
        relative_damping = relative_damping_for_restitution(newton_restitution)
        return cls(stiffness, relative_damping * stiffness / impact_rate, exponent, newton_restitution, impact_rate)

    @property
    def parameters(self) -> Vector:
        """Return [k, d, eta, mu_N ddelta^-]."""
        return np.array([self.stiffness, self.damping, self.exponent, self.newton_restitution * self.impact_rate])

    def restitution(self, mass: float, speed: float) -> float:
        """Return `exponential_restitution` at speed [m/s], for any mass [kg]. Raises InvalidInputError."""
        require_impact(mass, speed)
        return exponential_restitution(self.damping * speed / self.stiffness, min(self._release, 1.0))
