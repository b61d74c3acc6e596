"""How long an integration step of a scene may be: contacts and backlash set it."""

from __future__ import annotations

import math

from impact_control.compiled import compiled
from impact_control.simulation.contact_kernel import contact_rates
from impact_control.simulation.joint_kernel import BACKLASH, time_to_backlash_edge
from impact_control.simulation.scene_arrays import (
    ACTIVE,
    BASE,
    CLOSING,
    FIRST_BODY,
    FIRST_TOUCH,
    GAP,
    JOINT_COUNT,
    LAW_EXPONENT,
    NORMAL_FORCE,
    SECOND_BODY,
    TRUTH_PEAK,
    TRUTH_SUM,
    Indices,
)
from impact_control.types import Matrix, Vector

LANDING = 0.005
"""Steps that end at an event overshoot it by this part of the largest step: the force starts from zero depth."""


@compiled
def contact_step(
    largest_step: float, step_safety: float, time: float, bodies: Matrix, pairs: Indices, contacts: Matrix
) -> tuple[float, float]:
    """Return the largest step [s] that the contacts allow but for their friction, and the rate of that [1/s].

    Notes first touches and peak forces. The rates of all contacts together are at most their sum, the trace of what
    they do to the bodies.
    """
    step = largest_step
    damping = 0.0
    stiffness = 0.0
    friction = 0.0
    for body in range(bodies.shape[0]):
        bodies[body, TRUTH_SUM] = 0.0
    for pair in range(pairs.shape[0]):
        if contacts[pair, ACTIVE] == 0.0:
            continue
        gap, closing = contacts[pair, GAP], contacts[pair, CLOSING]
        if gap >= 0.0:
            if closing > 0.0 and gap < closing * largest_step:
                step = min(step, gap / closing + LANDING * largest_step)
            continue
        for side in (FIRST_BODY, SECOND_BODY):
            if pairs[pair, side] >= 0:
                bodies[pairs[pair, side], TRUTH_SUM] += contacts[pair, NORMAL_FORCE]
        rates = contact_rates(pairs, contacts, pair)
        damping += rates[0]
        stiffness += rates[1]
        friction += rates[2]
        if closing > 0.0:
            # The depth may not outrun the force that it calls up.
            step = min(step, max(0.1 * -gap / closing, LANDING * largest_step))
        elif -gap < -closing * largest_step and contacts[pair, LAW_EXPONENT] < 1.5:
            # Land outside: the force of such a law ends with a kink.
            step = min(step, gap / closing + LANDING * largest_step)
        if math.isinf(contacts[pair, FIRST_TOUCH]):
            contacts[pair, FIRST_TOUCH] = time + gap / closing if closing > 0.0 else time
    for body in range(bodies.shape[0]):
        bodies[body, TRUTH_PEAK] = max(bodies[body, TRUTH_PEAK], bodies[body, TRUTH_SUM])
    rate = damping + math.sqrt(stiffness)
    if rate > 0.0:
        step = min(step, step_safety / rate)
    return step, friction


@compiled
def joint_step(step: float, overshoot: float, state: Vector, layout: Indices, joints: Matrix) -> float:
    """Return the step [s], shortened so that it ends, but for the overshoot, where a backlash begins or ends."""
    for arm in range(joints.shape[0]):
        base, n = layout[arm, BASE], layout[arm, JOINT_COUNT]
        for j in range(n):
            if joints[arm, BACKLASH, j] > 0.0:
                twist = state[base + 2 * n + j] - state[base + j]
                twist_rate = state[base + 3 * n + j] - state[base + n + j]
                step = min(step, time_to_backlash_edge(joints, arm, j, twist, twist_rate) + overshoot)
    return step
