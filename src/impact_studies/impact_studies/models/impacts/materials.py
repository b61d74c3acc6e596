"""Contact stiffness from the materials of the bodies, by Hertz."""

from __future__ import annotations

import math
from dataclasses import dataclass

from impact_control.util.checks import require_positive
from impact_control.util.errors import InvalidInputError


@dataclass(frozen=True)
class Material:
    """Elastic material: young_modulus E [Pa], above 0; poisson_ratio nu [-], -1 < nu <= 0.5.

    Raises InvalidInputError.
    """

    young_modulus: float
    poisson_ratio: float

    def __post_init__(self) -> None:
        require_positive("young_modulus", self.young_modulus)
        if not -1.0 < self.poisson_ratio <= 0.5:
            raise InvalidInputError("poisson_ratio", self.poisson_ratio, "a number above -1, at most 0.5")

    @property
    def plane_compliance(self) -> float:
        """Return sigma = (1 - nu^2) / E [1/Pa]. Proper 2021 (2.40)."""
        return (1.0 - self.poisson_ratio**2) / self.young_modulus


def sphere_on_plane_stiffness(radius: float, material_a: Material, material_b: Material) -> float:
    """Return the stiffness k_c [N/m^1.5] of a sphere on a plane, by Hertz. Proper 2021 (2.39).

    k_c = 4 sqrt(r) / (3 (sigma_a + sigma_b)); radius r [m], above 0; which of the materials is the sphere's
    does not matter. Raises InvalidInputError.
    """
    require_positive("radius", radius)
    return 4.0 * math.sqrt(radius) / (3.0 * (material_a.plane_compliance + material_b.plane_compliance))
