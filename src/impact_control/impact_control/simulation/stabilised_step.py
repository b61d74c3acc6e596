"""Steps through stiff friction: an explicit scheme whose stability on the negative real axis grows with its stages.

Coulomb friction that is smoothed at low speed damps the slip of what is held at rates of 10^5 1/s and more, hundreds of
times faster than any motion. The classical Runge-Kutta scheme has to follow that with four evaluations for
2.8 time constants; the second-order Runge-Kutta-Chebyshev scheme of Sommeijer, Shampine and Verwer (J. Comput. Appl.
Math. 88, 1998) is stable for about half of s^2 - 1 time constants with s of them, and damps what it does not resolve.
That holds for rates that are real and negative, as those of friction; oscillations and stiffness along the normal have
to be resolved by the step as before. A light link on a stiff damper is of the same kind.
"""

from __future__ import annotations

import math

from impact_control.simulation.body_motion import derivative
from impact_control.simulation.scene_arrays import SceneArrays
from impact_control.util.compiled import compiled_in_place
from impact_control.util.types import Vector

DAMPING = 4.0
"""epsilon: how much is damped that the step does not resolve, to about half of itself in a step.

With 2/13, as in the source, 0.95 of it may be left: what an impact stirs up in the light last link of an FR3 then lasts
for milliseconds, and is 1e-2 of the jump.
"""

LENGTH = (math.sqrt(2.0 * DAMPING) / math.tanh(math.sqrt(2.0 * DAMPING)) - 1.0) / DAMPING
"""The scheme with s stages is stable for rates up to this, 0.46, times s^2 - 1, over the step.

It is the limit of 2 w_0 / w_1 for many stages, which for few is above it; for a small epsilon 2/3 (1 - 2/15 epsilon).
"""

MOST_STAGES = 20
"""More stages are divided into several steps."""


@compiled_in_place
def stages_for(rate: float, step: float, safety: float) -> int:
    """Return how many stages a step [s] takes through rates up to `rate` [1/s], with 1/safety of the stable length."""
    return max(2, math.ceil(math.sqrt(1.0 + rate * step * safety / LENGTH)))


@compiled_in_place
def advance_stabilised(scene: SceneArrays, state: Vector, step: float, stages: int) -> None:
    """Advance a state in place by a step [s] with 2 stages or more.

    The first row of the work is the derivative at the state, and afterwards that at the last stage. Coefficients
    as in the source, (2.3) to (2.6): T_j, T_j', T_j'' at w_0 by their recurrences, those of w_1 in closed form.
    """
    size = state.shape[0]
    slope, first, last, before = scene.work[0], scene.work[1], scene.work[2], scene.work[3]
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
        derivative(scene, last, slope)
        for i in range(size):
            change = mu * (last[i] - state[i]) + nu * (before[i] - state[i]) + reach * (slope[i] - offset * first[i])
            before[i] = last[i]
            last[i] = state[i] + change
        weight_before, weight = weight, next_weight
        offset = 1.0 - weight * value
    for i in range(size):
        state[i] = last[i]
