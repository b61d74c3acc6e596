"""What every normal force law offers, and what those without memory share."""

from __future__ import annotations

from typing import ClassVar, Protocol

from impact_control.checks import require_positive
from impact_control.impacts.contact_laws.kernel import LawKind, normal_force
from impact_control.types import Vector


class NormalForceLaw(Protocol):
    """What every normal force law offers.

    Only Maxwell's has a memory: its creep [m], the length its dashpot has given way, 0 at first contact. All laws
    take a creep so that they can be exchanged; without memory it is a shift of the surface and stays 0.
    """

    @property
    def kind(self) -> LawKind:
        """Return which law it is."""
        ...

    @property
    def parameters(self) -> Vector:
        """Return its parameters (4,) for compiled code; see `normal_force`."""
        ...

    def force(self, depth: float, depth_rate: float, creep: float = 0.0) -> float:
        """Return the normal force [N] at depth [m], positive inside the surface, depth_rate [m/s], creep [m]."""
        ...

    def creep_rate(self, depth: float, creep: float) -> float:
        """Return the rate of the creep [m/s] at depth [m] and creep [m]; 0 without memory."""
        ...

    def stored_energy(self, depth: float, creep: float = 0.0) -> float:
        """Return the elastic energy [J] at depth [m] and creep [m]. Wang 2022 (26) for eta = 1."""
        ...

    def restitution(self, mass: float, speed: float) -> float:
        """Return the speed after over the speed before [-] of a free mass [kg] that hits at speed [m/s]."""
        ...


class LawWithoutMemory:
    """What the laws without memory share: all of it follows from kind and parameters."""

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
    """Let a free mass [kg] and the speed [m/s] at which it hits pass if both are above 0. Raises InvalidInputError."""
    require_positive("mass", mass)
    require_positive("speed", speed)
