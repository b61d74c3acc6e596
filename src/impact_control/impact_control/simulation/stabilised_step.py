"""Steps through stiff friction: an explicit scheme whose stability on the negative real axis grows with its stages.

Coulomb friction that is smoothed at low speed damps the slip of what is held at rates of 10^5 1/s and more, hundreds of
times faster than anything that moves. The classical Runge-Kutta scheme has to follow that with four evaluations for
2.8 time constants; the second-order Runge-Kutta-Chebyshev scheme of Sommeijer, Shampine and Verwer (J. Comput. Appl.
Math. 88, 1998) is stable for 2/3 (s^2 - 1) time constants with s of them, and damps what it does not resolve. That
holds for rates that are real and negative, as those of friction; what oscillates or is stiff along the normal has to be
resolved by the step as before.
"""

from __future__ import annotations

import math

from impact_control.compiled import compiled
from impact_control.simulation.body_motion import derivative
from impact_control.simulation.scene_arrays import Indices
from impact_control.types import Matrix, Vector

DAMPING = 2.0 / 13.0
"""epsilon: how much a mode is damped where it would otherwise just not grow; two thirds of the length is left."""

LENGTH = 2.0 / 3.0 * (1.0 - 2.0 / 15.0 * DAMPING)
"""The scheme with s stages is stable for rates up to this, times s^2 - 1, over the step."""

MOST_STAGES = 20
"""A longer way is gone in several steps."""


@compiled
def stages_for(rate: float, step: float, safety: float) -> int:
    """Return how many stages a step [s] takes through rates up to `rate` [1/s], with 1/safety of the stable length."""
    return max(2, math.ceil(math.sqrt(1.0 + rate * step * safety / LENGTH)))


@compiled
def advance_stabilised(
    stages: int,
    step: float,
    state: Vector,
    work: Matrix,
    layout: Indices,
    joints: Matrix,
    terms: Matrix,
    bodies: Matrix,
    pairs: Indices,
    contacts: Matrix,
) -> None:
    """Advance the state (n,) in place by a step [s] with 2 stages or more.

    work (5, >= n): its first row is the derivative at the state, and afterwards that at the last stage. Coefficients
    as in the source, (2.3) to (2.6): T_j, T_j', T_j'' at w_0 by their recurrences, those of w_1 in closed form.
    """
    size = state.shape[0]
    slope, first, last, torque, before = work[0], work[1], work[2], work[3], work[4]
    w0 = 1.0 + DAMPING / (stages * stages)
    # w_1 = T_s'(w_0) / T_s''(w_0) of T_s(w) = cosh(s arccosh(w)).
    angle, sinh = math.acosh(w0), math.sqrt(w0 * w0 - 1.0)
    w1 = sinh * sinh / (stages * sinh / math.tanh(stages * angle) - w0)
    # b_0 = b_1 = b_2, from T_2.
    weight_before = 1.0 / (4.0 * w0) ** 2 * 4.0
    weight = weight_before
    offset = 1.0 - weight * w0
    for i in range(size):
        first[i] = slope[i]
        before[i] = state[i]
        last[i] = state[i] + weight * w1 * step * slope[i]
    value, rate, curvature = w0, 1.0, 0.0
    value_before, rate_before, curvature_before = 1.0, 0.0, 0.0
    for _ in range(2, stages + 1):
        next_value = 2.0 * w0 * value - value_before
        next_rate = 2.0 * value + 2.0 * w0 * rate - rate_before
        next_curvature = 4.0 * rate + 2.0 * w0 * curvature - curvature_before
        value_before, rate_before, curvature_before = value, rate, curvature
        value, rate, curvature = next_value, next_rate, next_curvature
        next_weight = curvature / (rate * rate)
        mu = 2.0 * next_weight * w0 / weight
        nu = -next_weight / weight_before
        reach = 2.0 * next_weight * w1 / weight * step
        derivative(last, slope, torque, layout, joints, terms, bodies, pairs, contacts)
        for i in range(size):
            change = mu * (last[i] - state[i]) + nu * (before[i] - state[i]) + reach * (slope[i] - offset * first[i])
            before[i] = last[i]
            last[i] = state[i] + change
        weight_before, weight = weight, next_weight
        offset = 1.0 - weight * value
    for i in range(size):
        state[i] = last[i]
