"""A slip that turns in an impact, followed by Cash and Karp's pair of orders 5 and 4. Arguments: see `coulomb_map`."""

from __future__ import annotations

import math

import numpy as np

from impact_control.impacts.impact_phases import SingleContact, beyond_end
from impact_control.util.compiled import compiled
from impact_control.util.types import Matrix, Vector

# Cash and Karp 1990, orders 5 and 4. All weights of order 5 are at least 0: a sum of increments in the friction
# cone with such weights is in the cone too, whatever the step.
_STAGES = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [1 / 5, 0.0, 0.0, 0.0, 0.0],
        [3 / 40, 9 / 40, 0.0, 0.0, 0.0],
        [3 / 10, -9 / 10, 6 / 5, 0.0, 0.0],
        [-11 / 54, 5 / 2, -70 / 27, 35 / 27, 0.0],
        [1631 / 55296, 175 / 512, 575 / 13824, 44275 / 110592, 253 / 4096],
    ]
)
_WEIGHTS = np.array([37 / 378, 0.0, 250 / 621, 125 / 594, 0.0, 512 / 1771])
_ERROR_WEIGHTS = _WEIGHTS - np.array([2825 / 27648, 0.0, 18575 / 48384, 13525 / 55296, 277 / 14336, 1 / 4])


@compiled
def curved_step(contact: SingleContact, state: Vector, step: float, rates: Matrix, trial: Vector) -> float:
    """Write the state after one step to `trial`; return its estimated error [Ns].

    Along the variable tau with dp = |slip| dtau the slip obeys d slip = (|slip| G_TN - mu G_TT slip) dtau:
    smooth however small the slip gets, which along p it is not.
    """
    velocity, mobility, friction = contact
    for stage in range(6):
        for i in range(4):
            total = 0.0
            for j in range(stage):
                total += _STAGES[stage, j] * rates[i, j]
            trial[i] = state[i] + step * total
        v_n = velocity[0]
        v_1 = velocity[1]
        v_2 = velocity[2]
        for i in range(3):
            v_n += mobility[0, i] * trial[i]
            v_1 += mobility[1, i] * trial[i]
            v_2 += mobility[2, i] * trial[i]
        slip = math.sqrt(v_1 * v_1 + v_2 * v_2)
        rates[0, stage] = slip
        rates[1, stage] = -friction * v_1
        rates[2, stage] = -friction * v_2
        rates[3, stage] = friction * slip * slip
    error = 0.0
    for i in range(4):
        increment = 0.0
        difference = 0.0
        for stage in range(6):
            increment += _WEIGHTS[stage] * rates[i, stage]
            difference += _ERROR_WEIGHTS[stage] * rates[i, stage]
        trial[i] = state[i] + step * increment
        if i < 3:
            error = max(error, abs(step * difference))
    return error


@compiled
def step_to_end(
    contact: SingleContact, state: Vector, step: float, closing: bool, target: float, rates: Matrix, trial: Vector
) -> None:
    """Write the state at the end of closing or opening, inside the step, to `trial`. Regula falsi, Illinois."""
    low, high = 0.0, step
    value_low = beyond_end(contact, state, closing, target)
    value_high = beyond_end(contact, trial, closing, target)
    accepted = 1e-12 * -value_low
    side = 0
    for _ in range(60):
        part = high - value_high * (high - low) / (value_high - value_low)
        curved_step(contact, state, part, rates, trial)
        value = beyond_end(contact, trial, closing, target)
        if abs(value) <= accepted:
            return
        if value < 0.0:
            low, value_low = part, value
            if side < 0:
                value_high *= 0.5
            side = -1
        else:
            high, value_high = part, value
            if side > 0:
                value_low *= 0.5
            side = 1
