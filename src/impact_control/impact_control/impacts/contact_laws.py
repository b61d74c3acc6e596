"""Force laws of compliant contact: normal force without adhesion, smooth friction, stiffness by Hertz."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_control.compiled import compiled
from impact_control.errors import InvalidInputError
from impact_control.types import Vector


@compiled
def exponential_hunt_crossley_force(
    depth: float, depth_rate: float, stiffness: float, damping: float, exponent: float
) -> float:
    """Normal force [N], at least 0, of the exponentially extended Hunt-Crossley law. Rey Arias 2024 (6).

    depth delta [m], positive inside the surface; depth_rate [m/s]; stiffness k_c [N/m^eta]; damping d_c
    [N s/m^(eta+1)]; exponent eta [-]. Going in, k_c delta^eta + d_c delta^eta ddelta; going out,
    k_c exp(d_c/k_c ddelta) delta^eta, which never pulls. Value and slope are continuous at ddelta = 0.
    Proper 2021 (2.38) prints the second branch with the rate of the impact instead of ddelta, see Errata.
    """
    if depth <= 0.0:
        return 0.0
    elastic: float = stiffness * depth**exponent
    relative_rate = damping / stiffness * depth_rate
    if relative_rate >= 0.0:
        return elastic * (1.0 + relative_rate)
    return elastic * math.exp(relative_rate)


@compiled
def regularised_coulomb_gain(slip_speed: float, friction: float, velocity_scale: float) -> float:
    """Friction force per normal force and slip velocity [s/m]: mu tanh(|v|/v_s) / |v|, and mu/v_s at rest.

    slip_speed |v| [m/s], at least 0; friction mu [-]; velocity_scale v_s [m/s], above 0. The force is
    -gain * normal force * slip velocity.
    """
    ratio = slip_speed / velocity_scale
    # Below this the next term of the series, ratio^2 / 3, is lost in rounding.
    if ratio < 1e-8:
        return friction / velocity_scale
    return friction * math.tanh(ratio) / slip_speed


@dataclass(frozen=True)
class ExponentialHuntCrossley:
    """The law of `exponential_hunt_crossley_force` with its parameters.

    stiffness k_c [N/m^eta] above 0, damping d_c [N s/m^(eta+1)] at least 0, exponent eta [-] above 0; 3/2 for
    a sphere on a plane (Hertz). Raises InvalidInputError.
    """

    stiffness: float
    damping: float
    exponent: float

    def __post_init__(self) -> None:
        _require_positive("stiffness", self.stiffness)
        _require_not_negative("damping", self.damping)
        _require_positive("exponent", self.exponent)

    def force(self, depth: float, depth_rate: float) -> float:
        """Return the normal force [N] at depth [m], positive inside the surface, and depth_rate [m/s]."""
        return exponential_hunt_crossley_force(depth, depth_rate, self.stiffness, self.damping, self.exponent)


@dataclass(frozen=True)
class RegularisedCoulomb:
    """Coulomb friction mu f_N against the slip, smoothed at low speed: mu f_N tanh(|v|/v_s).

    friction mu [-], at least 0; velocity_scale v_s [m/s], above 0: 76 % of mu f_N is reached there. It cannot
    stick: under a tangential load the contact creeps. Raises InvalidInputError.
    """

    friction: float
    velocity_scale: float

    def __post_init__(self) -> None:
        _require_not_negative("friction", self.friction)
        _require_positive("velocity_scale", self.velocity_scale)

    def force(self, normal_force: float, slip_velocity: Vector) -> Vector:
        """Return the friction force (3,) [N] at normal_force [N] and slip_velocity (3,) [m/s], same axes."""
        speed = float(np.linalg.norm(slip_velocity))
        gain = regularised_coulomb_gain(speed, self.friction, self.velocity_scale)
        return -gain * normal_force * slip_velocity


@dataclass(frozen=True)
class Material:
    """Elastic material: young_modulus E [Pa], above 0; poisson_ratio nu [-], -1 < nu <= 0.5.

    Raises InvalidInputError.
    """

    young_modulus: float
    poisson_ratio: float

    def __post_init__(self) -> None:
        _require_positive("young_modulus", self.young_modulus)
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
    _require_positive("radius", radius)
    return 4.0 * math.sqrt(radius) / (3.0 * (material_a.plane_compliance + material_b.plane_compliance))


def _require_positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0.0):
        raise InvalidInputError(name, value, "a finite number above 0")


def _require_not_negative(name: str, value: float) -> None:
    if not (math.isfinite(value) and value >= 0.0):
        raise InvalidInputError(name, value, "a finite number of at least 0")
