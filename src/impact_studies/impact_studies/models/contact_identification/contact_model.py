"""The candidates for a normal force law, and what is searched of each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum


class ContactModel(Enum):
    """A candidate of the comparison: the laws of `LawKind`, and the virtual spring with a restitution."""

    LINEAR_SPRING = "linear spring"
    VIRTUAL_SPRING = "virtual spring with restitution"
    MAXWELL = "Maxwell"
    NONLINEAR_VISCOELASTIC = "nonlinear viscoelastic"
    HUNT_CROSSLEY = "Hunt-Crossley"
    EXPONENTIAL_HUNT_CROSSLEY = "exponential Hunt-Crossley"
    RESTITUTION_HUNT_CROSSLEY = "exponential Hunt-Crossley with restitution"


@dataclass(frozen=True)
class Unknown:
    """One unknown of a search, in the form in which it is searched: starts and bounds."""

    name: str
    starts: tuple[float, ...]
    lower: float
    upper: float


# The searched forms: stiffness by the logarithm of the force at the reference depth over the peak force; exponent by
# its logarithm; damping by asinh(d v / k), Maxwell's by zeta = sqrt(k m) / (2 c), both smooth through 0.
_STIFFNESS = Unknown("stiffness", (0.0,), -12.0, 12.0)
EXPONENT = Unknown("exponent", (math.log(1.3),), math.log(0.2), math.log(6.0))
_DAMPING = Unknown("damping", (0.3, 1.5, 4.0), math.asinh(-0.9), math.asinh(1e4))
_MAXWELL_DAMPING = Unknown("damping", (0.1, 0.6), -0.9, 5.0)
_SPRING_RESTITUTION = Unknown("restitution", (0.7, 1.5), 0.01, 30.0)
_NEWTON_RESTITUTION = Unknown("newton_restitution", (0.05, 0.3), -1.0, 2.0)

SHAPES = {
    ContactModel.LINEAR_SPRING: (_STIFFNESS,),
    ContactModel.VIRTUAL_SPRING: (_STIFFNESS, _SPRING_RESTITUTION),
    ContactModel.MAXWELL: (_STIFFNESS, _MAXWELL_DAMPING),
    ContactModel.NONLINEAR_VISCOELASTIC: (_STIFFNESS, _DAMPING),
    ContactModel.HUNT_CROSSLEY: (_STIFFNESS, _DAMPING, EXPONENT),
    ContactModel.EXPONENTIAL_HUNT_CROSSLEY: (_STIFFNESS, _DAMPING, EXPONENT),
    ContactModel.RESTITUTION_HUNT_CROSSLEY: (_STIFFNESS, _DAMPING, EXPONENT, _NEWTON_RESTITUTION),
}
"""The unknowns of the shape of each candidate."""
