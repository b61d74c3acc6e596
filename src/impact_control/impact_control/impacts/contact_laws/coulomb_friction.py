"""Coulomb friction smoothed at low speed, which turns a normal force into a friction force."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_control.checks import require_not_negative, require_positive
from impact_control.compiled import compiled
from impact_control.types import Vector


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
class RegularisedCoulomb:
    """Coulomb friction mu f_N against the slip, smoothed at low speed: mu f_N tanh(|v|/v_s).

    friction mu [-], at least 0; velocity_scale v_s [m/s], above 0: 76 % of mu f_N is reached there. It cannot
    stick: under a tangential load the contact creeps. Raises InvalidInputError.
    """

    friction: float
    velocity_scale: float

    def __post_init__(self) -> None:
        require_not_negative("friction", self.friction)
        require_positive("velocity_scale", self.velocity_scale)

    def force(self, normal_force: float, slip_velocity: Vector) -> Vector:
        """Return the friction force (3,) [N] at normal_force [N] and slip_velocity (3,) [m/s], same axes."""
        speed = float(np.linalg.norm(slip_velocity))
        gain = regularised_coulomb_gain(speed, self.friction, self.velocity_scale)
        return -gain * normal_force * slip_velocity
