"""Planes that arms and boxes may touch, and their placement."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_control.impacts import LawKind, NormalForceLaw
from impact_control.util.checks import freeze, require_finite, require_not_negative, require_positive, unit_vector
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Vector


def require_contact(owner: str, law: NormalForceLaw, friction: float, slip_scale: float) -> None:
    """Raise InvalidInputError unless a scene can integrate a contact with these."""
    if law.kind == LawKind.MAXWELL:
        raise InvalidInputError(f"{owner} law", law, "a law without memory, which Maxwell's is not")
    require_not_negative(f"{owner} friction", friction)
    require_positive(f"{owner} slip_scale", slip_scale)


@dataclass(frozen=True, eq=False)
class Surface:
    """A plane that end-effectors and boxes may touch. Raises InvalidInputError.

    point (3,) [m] and normal (3,) unit, out of the material, world frame A. law: normal force without memory, one
    of impacts.contact_laws. friction mu [-]. slip_scale [m/s]: slip speed at which the smoothed Coulomb friction
    reaches 76 % of mu f_N; under a tangential load below that it creeps, see `impacts.regularised_coulomb_gain`.
    """

    point: Vector
    normal: Vector
    law: NormalForceLaw
    friction: float
    slip_scale: float = 2e-3

    def __post_init__(self) -> None:
        freeze(self, (3,), "point", "normal", owner="surface")
        unit_vector("surface normal", self.normal)
        require_contact("surface", self.law, self.friction, self.slip_scale)


def inclined_plane(inclination: float, elevation: float) -> tuple[Vector, Vector]:
    """Return point (3,) [m] and normal (3,) of the environment of a planar arm, frame A. Proper 2021, 2.2.1, Fig. 2.3.

    inclination beta [rad]: of the surface against the horizontal x of A, above 0 when it rises along x. elevation l
    [m]: its height above the origin of A. The arm moves in x-z of A: Proper's y is z here, and its z is -y.
    Raises InvalidInputError.
    """
    require_finite("inclination", inclination)
    require_finite("elevation", elevation)
    return np.array([0.0, 0.0, elevation]), np.array([-math.sin(inclination), 0.0, math.cos(inclination)])
