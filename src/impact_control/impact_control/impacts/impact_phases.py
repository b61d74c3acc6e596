"""End of the closing and of the opening of a contact in an impact: by its normal velocity, and by energy.

Closing ends where the normal velocity is zero, opening where the normal force has done the work that is its target.
state (4,): impulse P (3,) [Ns] in contact axes, normal first, and the energy that friction has taken [J].
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from impact_control.util.compiled import compiled
from impact_control.util.types import Matrix, Vector


class SingleContact(NamedTuple):
    """Velocity v^- (3,) [m/s] before the impact, mobility G (3, 3) [1/kg], in contact axes, and friction mu."""

    velocity: Vector
    mobility: Matrix
    friction: float


@compiled
def normal_work(state: Vector, before: Vector, now: Vector) -> float:
    """Return the work of the normal force until now [J], at most 0: change of kinetic energy plus loss in friction.

    Taken from the energy of the whole impact, so that its balance holds however accurate the steps were.
    """
    total: float = state[3]
    for i in range(3):
        total += 0.5 * state[i] * (before[i] + now[i])
    return total


@compiled
def length_to_end(normal_velocity: float, change: float, closing: bool, missing: float) -> float:
    """Return the normal impulse [Ns] after which closing or opening ends, where v_N grows by `change` per impulse.

    Closing ends with v_N = 0, opening when the normal force has done the work `missing` [J]; infinite: it does not.
    """
    length: float = math.inf
    if closing:
        if change > 0.0:
            length = -normal_velocity / change
        return length
    square = normal_velocity**2 + 2.0 * change * missing
    mean = normal_velocity + math.sqrt(max(square, 0.0))  # twice the mean of v_N until then
    if square >= 0.0 and mean > 0.0:
        length = 2.0 * missing / mean
    return length


@compiled
def beyond_end(contact: SingleContact, state: Vector, closing: bool, target: float) -> float:
    """Return a number that turns positive where closing or opening ends: normal velocity, or work over the target."""
    velocity, mobility = contact.velocity, contact.mobility
    now = np.empty(3)
    for i in range(3):
        now[i] = velocity[i] + mobility[i, 0] * state[0] + mobility[i, 1] * state[1] + mobility[i, 2] * state[2]
    beyond: float = now[0]
    return beyond if closing else normal_work(state, velocity, now) - target
