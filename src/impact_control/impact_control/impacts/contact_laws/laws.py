"""Normal force laws as objects: parameters with their checks, force, stored energy and restitution."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np

from impact_control.impacts.contact_laws.kernel import LawKind, normal_force
from impact_control.impacts.restitution import (
    exponential_restitution,
    hunt_crossley_restitution,
    maxwell_restitution,
    relative_damping_for_restitution,
)
from impact_control.util.checks import require_between, require_not_negative, require_positive
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Vector


class NormalForceLaw(Protocol):
    """Interface of a normal force law.

    Only Maxwell's has a memory: its creep [m], the length its dashpot has given way, 0 at first contact. All laws
    take a creep so that they can be exchanged; without memory it is a shift of the surface and stays 0.
    """

    @property
    def kind(self) -> LawKind:
        """Return which law it is."""

    @property
    def parameters(self) -> Vector:
        """Return its parameters (4,) for compiled code; see `normal_force`."""

    def force(self, depth: float, depth_rate: float, creep: float = 0.0) -> float:
        """Return the normal force [N] at depth [m], positive inside the surface, depth_rate [m/s], creep [m]."""

    def creep_rate(self, depth: float, creep: float) -> float:
        """Return the rate of the creep [m/s] at depth [m] and creep [m]; 0 without memory."""

    def stored_energy(self, depth: float, creep: float = 0.0) -> float:
        """Return the elastic energy [J] at depth [m] and creep [m]. Wang 2022 (26) for eta = 1."""

    def restitution(self, mass: float, speed: float) -> float:
        """Return the speed after over the speed before [-] of a free mass [kg] that hits at speed [m/s]."""


class LawWithoutMemory:
    """Base of the laws without memory, which follow from kind and parameters."""

    kind: ClassVar[LawKind]

    @property
    def parameters(self) -> Vector:
        """Return the parameters (4,) for compiled code; see `normal_force`."""
        raise NotImplementedError

    def force(self, depth: float, depth_rate: float, creep: float = 0.0) -> float:
        """Return the normal force [N] at depth [m], positive inside the surface, and depth_rate [m/s]."""
        return normal_force(int(self.kind), self.parameters, depth - creep, depth_rate)

    def creep_rate(self, depth: float, creep: float) -> float:
        """Return 0 [m/s]: the law has no memory."""
        return 0.0

    def stored_energy(self, depth: float, creep: float = 0.0) -> float:
        """Return k delta^(eta+1) / (eta+1) [J], the work against the elastic force; Wang 2022 (26) for eta = 1."""
        stiffness, _, exponent, _ = self.parameters.tolist()
        return float(stiffness * max(depth - creep, 0.0) ** (exponent + 1.0) / (exponent + 1.0))


def require_impact(mass: float, speed: float) -> None:
    """Require a free mass [kg] and its impact speed [m/s] to be above 0. Raises InvalidInputError."""
    require_positive("mass", mass)
    require_positive("speed", speed)


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


@dataclass(frozen=True)
class NonlinearViscoelastic(HuntCrossley):
    """f = k delta + c delta ddelta: spring beside a dashpot that grows with depth. Wang 2022 (23), delta = -x.

    It is Hunt-Crossley's law with eta = 1. stiffness k [N/m], above 0; damping c [N s/m^2], at least 0. It pulls
    when torn off faster than k/c. Wang 2022 (25), k/(c v), is `vanishing_force_restitution`: the limit of its
    restitution for large c v / k. Raises InvalidInputError.
    """

    kind: ClassVar[LawKind] = LawKind.NONLINEAR_VISCOELASTIC
    exponent: float = field(default=1.0, init=False)


@dataclass(frozen=True)
class ExponentialHuntCrossley(WithExponent):
    """Exponentially extended Hunt-Crossley law, Rey Arias 2024 (6). It never pulls.

    Going in, f = k_c delta^eta + d_c delta^eta ddelta; going out, k_c exp(d_c/k_c ddelta) delta^eta. Value and slope
    are continuous at ddelta = 0. Proper 2021 (2.38) prints the second branch with the rate of the impact instead of
    ddelta, see Errata. stiffness k_c [N/m^eta] above 0, damping d_c [N s/m^(eta+1)] at least 0, exponent eta [-]
    above 0; 3/2 for a sphere on a plane (Hertz). Raises InvalidInputError.
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
