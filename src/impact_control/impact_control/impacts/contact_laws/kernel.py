"""Normal forces without memory with their derivatives, and smoothed friction, for compiled code.

A law is its kind and its parameters.
"""

from __future__ import annotations

import math
from enum import IntEnum

from impact_control.util.compiled import compiled
from impact_control.util.types import Vector


class LawKind(IntEnum):
    """Number of a law in compiled code. MAXWELL has a memory, the others have none."""

    LINEAR_SPRING = 0
    NONLINEAR_VISCOELASTIC = 1
    HUNT_CROSSLEY = 2
    EXPONENTIAL_HUNT_CROSSLEY = 3
    RESTITUTION_HUNT_CROSSLEY = 4
    MAXWELL = 5


STIFFNESS, DAMPING, EXPONENT, RELEASE = range(4)
"""Places of the parameters of a law, see `normal_force`."""

# Plain integers, so that a kernel takes an IntEnum and an int alike.
_LINEAR_SPRING = int(LawKind.LINEAR_SPRING)
_NONLINEAR_VISCOELASTIC = int(LawKind.NONLINEAR_VISCOELASTIC)
_HUNT_CROSSLEY = int(LawKind.HUNT_CROSSLEY)
_EXPONENTIAL_HUNT_CROSSLEY = int(LawKind.EXPONENTIAL_HUNT_CROSSLEY)
_RESTITUTION_HUNT_CROSSLEY = int(LawKind.RESTITUTION_HUNT_CROSSLEY)


@compiled
def _exponential_gain(relative_rate: float, release: float) -> float:
    """Return K/k_c [-] of Proper 2021 (2.36) over d_c/k_c ddelta, with release = rho mu_N. Corrected, see Errata.

    Without release, 0, it is the exponentially extended Hunt-Crossley law, Rey Arias 2024 (6).
    """
    if relative_rate >= -min(release, 1.0):
        return 1.0 + relative_rate
    remaining: float = 1.0 - release
    # The linear branch has reached zero already: the limit of the other one for release -> 1.
    if remaining <= 0.0:
        return 0.0
    return remaining * math.exp((relative_rate + release) / remaining)


@compiled
def _exponential_gain_slope(relative_rate: float, release: float) -> float:
    """Return the derivative [-] of `_exponential_gain` by the relative rate."""
    if relative_rate >= -min(release, 1.0):
        return 1.0
    remaining: float = 1.0 - release
    if remaining <= 0.0:
        return 0.0
    return math.exp((relative_rate + release) / remaining)


@compiled
def _gain(kind: int, parameters: Vector, depth_rate: float) -> float:
    """Return g(ddelta) [-], force over elastic force; NaN for a kind with memory or unknown."""
    if kind == _LINEAR_SPRING:
        return 1.0
    damping_ratio: float = parameters[DAMPING] / parameters[STIFFNESS]
    if kind in (_NONLINEAR_VISCOELASTIC, _HUNT_CROSSLEY):
        return 1.0 + damping_ratio * depth_rate
    if kind in (_EXPONENTIAL_HUNT_CROSSLEY, _RESTITUTION_HUNT_CROSSLEY):
        return _exponential_gain(damping_ratio * depth_rate, damping_ratio * parameters[RELEASE])
    return math.nan


@compiled
def _gain_slope(kind: int, parameters: Vector, depth_rate: float) -> float:
    """Return dg/d(ddelta) [s/m]; NaN for a kind with memory or unknown."""
    if kind == _LINEAR_SPRING:
        return 0.0
    damping_ratio: float = parameters[DAMPING] / parameters[STIFFNESS]
    if kind in (_NONLINEAR_VISCOELASTIC, _HUNT_CROSSLEY):
        return damping_ratio
    if kind in (_EXPONENTIAL_HUNT_CROSSLEY, _RESTITUTION_HUNT_CROSSLEY):
        return damping_ratio * _exponential_gain_slope(damping_ratio * depth_rate, damping_ratio * parameters[RELEASE])
    return math.nan


@compiled
def normal_force(kind: int, parameters: Vector, depth: float, depth_rate: float) -> float:
    """Return the normal force [N] of the law without memory given by its `kind` and `parameters`.

    depth delta [m], positive inside the surface; depth_rate [m/s], positive while going in. 0 outside the surface.
    parameters (4,): stiffness k [N/m^eta], damping d [N s/m^(eta+1)], exponent eta [-], release rate [m/s], which
    is mu_N times the rate of the impact and 0 for laws without restitution. Nothing is checked here, the law
    objects do that; a kind with memory or unknown gives NaN.
    """
    if depth <= 0.0:
        return 0.0
    force: float = parameters[STIFFNESS] * depth ** parameters[EXPONENT] * _gain(kind, parameters, depth_rate)
    return force


@compiled
def contact_stiffness(kind: int, parameters: Vector, depth: float, depth_rate: float) -> float:
    """Return the derivative of `normal_force` by the depth [N/m]; 0 outside the surface. Arguments as there."""
    if depth <= 0.0:
        return 0.0
    exponent: float = parameters[EXPONENT]
    slope: float = parameters[STIFFNESS] * exponent * depth ** (exponent - 1.0) * _gain(kind, parameters, depth_rate)
    return slope


@compiled
def contact_damping(kind: int, parameters: Vector, depth: float, depth_rate: float) -> float:
    """Return the derivative of `normal_force` by the rate [N s/m]; 0 outside the surface. Arguments as there."""
    if depth <= 0.0:
        return 0.0
    slope: float = parameters[STIFFNESS] * depth ** parameters[EXPONENT] * _gain_slope(kind, parameters, depth_rate)
    return slope


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
