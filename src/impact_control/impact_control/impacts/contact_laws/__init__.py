"""Force laws of compliant contact: normal force as interchangeable laws, smooth friction.

A normal force law maps the depth delta [m], positive inside the surface, and its rate ddelta [m/s], positive while
going in, to the force on the body [N], positive away from the surface. All but Maxwell's have no memory and the form

    f = k delta^eta g(ddelta),  g(0) = 1,

so that k delta^eta is the elastic force and the rest damps. Compiled code takes such a law as `law.kind` and
`law.parameters` and calls `normal_force`.
"""

from impact_control.impacts.contact_laws.kernel import (
    EXPONENT,
    LawKind,
    contact_damping,
    contact_stiffness,
    normal_force,
    regularised_coulomb_gain,
)
from impact_control.impacts.contact_laws.laws import (
    ExponentialHuntCrossley,
    HuntCrossley,
    LinearSpring,
    Maxwell,
    NonlinearViscoelastic,
    NormalForceLaw,
    RestitutionHuntCrossley,
)

__all__ = [
    "EXPONENT",
    "ExponentialHuntCrossley",
    "HuntCrossley",
    "LawKind",
    "LinearSpring",
    "Maxwell",
    "NonlinearViscoelastic",
    "NormalForceLaw",
    "RestitutionHuntCrossley",
    "contact_damping",
    "contact_stiffness",
    "normal_force",
    "regularised_coulomb_gain",
]
