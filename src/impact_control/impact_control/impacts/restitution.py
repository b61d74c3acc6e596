"""Restitution of a free mass by the normal force laws, in closed form.

A mass m hits a law k delta^eta g(ddelta) at the speed v. With u = d/k ddelta its motion separates,

    k delta^eta ddelta dt = -m (k/d)^2 u du / g(u),

so the integral of u/g over the way from rho = d v / k to rest and from rest to -rho e vanishes: restitution e depends
on rho and the shape of g alone, not on mass, stiffness or exponent. Maxwell's law is linear and has its own form.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from impact_control.util.checks import require_not_negative, require_positive
from impact_control.util.errors import InvalidInputError

# Below these the first terms of the series are exact to rounding, the equations no longer.
_SLIGHT_DAMPING = 1e-8
_SLIGHT_LOSS = 1e-5


def vanishing_force_restitution(relative_damping: float) -> float:
    """Return e = k/(c v) = 1/rho [-], the speed at which the force of Wang 2022 (23) is zero. Wang 2022 (25).

    relative_damping rho = c v / k [-], above 0. A free mass comes near that speed only for large rho and never
    reaches it, as the deceleration vanishes there too: its restitution is `hunt_crossley_restitution`, always
    below this, which passes 1 for rho < 1. Raises InvalidInputError.
    """
    require_positive("relative_damping", relative_damping)
    return 1.0 / relative_damping


def hunt_crossley_restitution(relative_damping: float) -> float:
    """Return the restitution [-] of a free mass by Hunt-Crossley's law, any exponent; Wang 2022 (23) is eta = 1.

    It solves ln((1 + rho) / (1 - rho e)) = rho (1 + e), 1 for rho = 0, 1/rho for rho to infinity.
    relative_damping rho = d v / k [-], at least 0. Raises InvalidInputError.
    """
    require_not_negative("relative_damping", relative_damping)
    if relative_damping < _SLIGHT_DAMPING:
        return 1.0 - 2.0 / 3.0 * relative_damping
    return _linear_exit(_linear_work(relative_damping)) / relative_damping


def exponential_restitution(relative_damping: float, release: float = 0.0) -> float:
    """Return the restitution [-] of a free mass by the exponentially extended Hunt-Crossley law. Proper 2021 (2.36).

    relative_damping rho = d v / k [-], at least 0; release = rho mu_N [-], from 0 to 1. It is Hunt-Crossley's
    where that is at most mu_N, since the exponential branch is then not reached, and between mu_N and
    Hunt-Crossley's otherwise: mu_N = 0 does not make a free mass stop, its restitution only falls like
    ln(rho)/rho. Raises InvalidInputError.
    """
    require_not_negative("relative_damping", relative_damping)
    if not 0.0 <= release <= 1.0:
        raise InvalidInputError("release", release, "a number from 0 to 1")
    if relative_damping < _SLIGHT_DAMPING:
        return 1.0 - 2.0 / 3.0 * relative_damping
    work = _linear_work(relative_damping)
    linear_exit = _linear_exit(work)
    if linear_exit <= release:
        return linear_exit / relative_damping
    rest = work - _linear_work(-release)
    remaining = 1.0 - release

    def excess(beyond: float) -> float:
        return remaining * _exponential_work(beyond) + release * math.expm1(beyond) - rest

    upper = 1.0
    while excess(upper) < 0.0:
        upper *= 2.0
    beyond = _root(excess, 0.0, upper)
    return (release + remaining * beyond) / relative_damping


def relative_damping_for_restitution(restitution: float) -> float:
    """Return rho = d v / k [-] at which a free mass of speed v keeps the restitution e by Hunt-Crossley's law.

    The inverse of `hunt_crossley_restitution`, without the usual restriction to e near 1 (where it is
    3/2 (1 - e)). restitution e [-], above 0, at most 1. Raises InvalidInputError.
    """
    if not 0.0 < restitution <= 1.0:
        raise InvalidInputError("restitution", restitution, "a number above 0, at most 1")
    loss = 1.0 - restitution
    if loss < _SLIGHT_LOSS:
        return 1.5 * loss * (1.0 + loss)

    def excess(decay: float) -> float:
        return _linear_work_back(decay) - _linear_work(-math.expm1(-decay) / restitution)

    # rho lies between the loss, of which it is 3/2 where that is small, and 1/e.
    lower = -math.log1p(-restitution * loss)
    upper = _linear_work(1.0 / restitution) + 1.0
    decay = _root(excess, lower, upper)
    return -math.expm1(-decay) / restitution


def maxwell_restitution(damping_ratio: float) -> float:
    """Return the restitution [-] of a free mass by Maxwell's law: exp(-zeta pi / sqrt(1 - zeta^2)), 0 from 1 on.

    damping_ratio zeta = sqrt(k m) / (2 c) [-], at least 0, of f'' + k/c f' + k/m f = 0; the impact ends when f
    returns to zero. It does not depend on the speed, as Wang 2022 VII-A2 says. Raises InvalidInputError.
    """
    require_not_negative("damping_ratio", damping_ratio)
    if damping_ratio >= 1.0:
        return 0.0
    return math.exp(-damping_ratio * math.pi / math.sqrt(1.0 - damping_ratio**2))


def _linear_work(rate: float) -> float:
    """Return the integral of u/(1 + u) from 0 to `rate` > -1, exact near 0: rate - ln(1 + rate)."""
    if abs(rate) < 0.01:
        return sum((-rate) ** n / n for n in range(2, 10))
    return rate - math.log1p(rate)


def _linear_work_back(decay: float) -> float:
    """Return _linear_work(-w) with w = 1 - exp(-decay), which resolves w near 1: decay - 1 + exp(-decay)."""
    if decay < 0.01:
        return sum((-decay) ** n / math.factorial(n) for n in range(2, 10))
    return decay + math.expm1(-decay)


def _linear_exit(work: float) -> float:
    """Return w >= 0 with _linear_work(-w) = work."""

    def excess(decay: float) -> float:
        return _linear_work_back(decay) - work

    decay = _root(excess, 0.0, work + math.sqrt(2.0 * work) + 1.0)
    return -math.expm1(-decay)


def _exponential_work(rate: float) -> float:
    """Return the integral of u exp(-u) from 0 to -rate, rate >= 0, exact near 0: rate exp(rate) - (exp(rate) - 1)."""
    if rate < 0.01:
        return sum((n - 1) * rate**n / math.factorial(n) for n in range(2, 10))
    return rate * math.exp(rate) - math.expm1(rate)


def _root(function: Callable[[float], float], lower: float, upper: float) -> float:
    """Return where a function with one change of sign between `lower` and `upper` is zero."""
    # Every node loads this module, none needs this, and it takes a quarter of their time to start.
    from scipy.optimize import brentq

    return float(brentq(function, lower, upper, xtol=1e-300, rtol=1e-14))
