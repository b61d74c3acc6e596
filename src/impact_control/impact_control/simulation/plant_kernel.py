"""The stiff part of a scene: flexible joints, torque loops, free boxes and contacts, in one integration scheme.

Over one refresh interval (a multiple of the period of the torque loops) the rigid-body terms of the arms, mass
matrix, nonlinear torques, gravity and Jacobian, are constants taken at the middle of the interval. What is stiff,
transmissions, torque filters and contacts, and the boxes, whose equations are short, are integrated here by the
classical Runge-Kutta scheme with a step that shrinks with the contacts' own rate.
"""

from __future__ import annotations

import math

from impact_control.compiled import compiled
from impact_control.dense import factorise, solve_lower, solve_upper
from impact_control.simulation.body_motion import derivative, normalise_orientations, note_acceleration, place_bodies
from impact_control.simulation.contact_kernel import contact_rates, find_mobility, resolve_contact
from impact_control.simulation.joint_kernel import BACKLASH, time_to_backlash_edge, torque_loop
from impact_control.simulation.scene_arrays import (
    ACCELERATION,
    ACTIVE,
    ACTUATION,
    BASE,
    CLOSING,
    COMMAND,
    COMPENSATION,
    CONTACT_FORCE,
    EXTERNAL,
    FIRST_BODY,
    FIRST_TOUCH,
    GAP,
    INVERSE_MASS,
    JACOBIAN,
    JOINT_COUNT,
    LAW_EXPONENT,
    LOAD,
    MIDDLE,
    MIDDLE_POSITION,
    MIDDLE_RATE,
    MIDDLE_ROTATION,
    MOBILITY,
    NEAR,
    NONLINEAR,
    NORMAL_FORCE,
    SECOND_BODY,
    TRUTH_FIRST,
    TRUTH_FORCE,
    TRUTH_GAP,
    TRUTH_NORMAL,
    TRUTH_PEAK,
    TRUTH_SUM,
    Indices,
)
from impact_control.types import Matrix, Vector

REACH = 0.005
"""[m] A pair farther apart than this, and than it closes in two intervals, is left out for one interval."""

LANDING = 0.005
"""Steps that end at an event overshoot it by this part of the largest step: the force starts from zero depth."""


@compiled
def _invert_mass_matrix(mass: Matrix, terms: Matrix, arm: int) -> None:
    """Write the inverse of a symmetric positive definite matrix (n, n) to the rows INVERSE_MASS of an arm's terms."""
    size = mass.shape[0]
    factor = mass.copy()
    factorise(factor)
    for j in range(size):
        column = terms[arm, INVERSE_MASS + j, :size]
        column[:] = 0.0
        column[j] = 1.0
        solve_lower(factor, column)
        solve_upper(factor, column)


@compiled
def predict_middle(
    arm: int, interval: float, predict_velocity: bool, state: Vector, layout: Indices, terms: Matrix
) -> None:
    """Write configuration and velocity of an arm at the middle of the next interval [s] to its terms.

    The middle makes the frozen terms and the linearised gaps second-order accurate. The velocity there is that of
    now, or with predict_velocity what the acceleration at the end of the last interval makes of it.
    """
    base, n = layout[arm, BASE], layout[arm, JOINT_COUNT]
    for j in range(n):
        terms[arm, MIDDLE, j] = 0.5 * interval * state[base + n + j] + state[base + j]
        terms[arm, MIDDLE_RATE, j] = state[base + n + j]
        if predict_velocity:
            terms[arm, MIDDLE_RATE, j] += 0.5 * interval * terms[arm, ACCELERATION, j]


@compiled
def freeze_arm(
    arm: int,
    mass_matrix: Matrix,
    nonlinear: Vector,
    gravity: Vector,
    jacobian: Matrix,
    position: Vector,
    rotation: Matrix,
    compensation: float,
    terms: Matrix,
    bodies: Matrix,
) -> None:
    """Take over the rigid-body terms of an arm for one interval; those of `robots.Dynamics` at row MIDDLE of terms.

    compensation: 1 when the arm adds its gravity torque to the command, 0 when not. terms, bodies: see `SceneArrays`.
    """
    n = nonlinear.shape[0]
    for j in range(n):
        outside = terms[arm, EXTERNAL, j]
        for i in range(6):
            terms[arm, JACOBIAN + i, j] = jacobian[i, j]
            outside += jacobian[i, j] * bodies[arm, LOAD + i]
        terms[arm, NONLINEAR, j] = nonlinear[j] - outside
        terms[arm, COMPENSATION, j] = compensation * gravity[j]
    for i in range(3):
        bodies[arm, MIDDLE_POSITION + i] = position[i]
        for j in range(3):
            bodies[arm, MIDDLE_ROTATION + 3 * i + j] = rotation[i, j]
    _invert_mass_matrix(mass_matrix, terms, arm)
    for h in range(6):
        for i in range(6):
            bodies[arm, MOBILITY + 6 * h + i] = 0.0
        for j in range(n):
            answer = 0.0
            for k in range(n):
                answer += jacobian[h, k] * terms[arm, INVERSE_MASS + k, j]
            for i in range(6):
                bodies[arm, MOBILITY + 6 * h + i] += answer * jacobian[i, j]


@compiled
def _contact_step(
    largest_step: float, step_safety: float, time: float, bodies: Matrix, pairs: Indices, contacts: Matrix
) -> float:
    """Return the largest step [s] that the contacts allow, and note first touches and peak forces.

    The rates of all contacts together are at most their sum, the trace of what they do to the bodies.
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
    rate = max(damping + math.sqrt(stiffness), friction)
    if rate > 0.0:
        step = min(step, step_safety / rate)
    return step


@compiled
def _joint_step(step: float, overshoot: float, state: Vector, layout: Indices, joints: Matrix) -> float:
    """Return the step [s], shortened so that it ends, but for the overshoot, where a backlash begins or ends."""
    for arm in range(joints.shape[0]):
        base, n = layout[arm, BASE], layout[arm, JOINT_COUNT]
        for j in range(n):
            if joints[arm, BACKLASH, j] > 0.0:
                twist = state[base + 2 * n + j] - state[base + j]
                twist_rate = state[base + 3 * n + j] - state[base + n + j]
                step = min(step, time_to_backlash_edge(joints, arm, j, twist, twist_rate) + overshoot)
    return step


@compiled
def _actuate(state: Vector, layout: Indices, joints: Matrix, terms: Matrix) -> None:
    """Compute the actuation torques (4b) with u = command + gravity; they are held for one period of the loop."""
    for arm in range(joints.shape[0]):
        base, n = layout[arm, BASE], layout[arm, JOINT_COUNT]
        for j in range(n):
            twist = state[base + 2 * n + j] - state[base + j]
            twist_rate = state[base + 3 * n + j] - state[base + n + j]
            wanted = terms[arm, COMMAND, j] + terms[arm, COMPENSATION, j]
            filtered = state[base + 4 * n + j]
            terms[arm, ACTUATION, j] = torque_loop(joints, arm, j, wanted, twist, twist_rate, filtered)


@compiled
def observe(
    interval: float,
    state: Vector,
    layout: Indices,
    terms: Matrix,
    bodies: Matrix,
    pairs: Indices,
    contacts: Matrix,
) -> None:
    """Write what holds now to contacts and bodies, and which of them are near for one interval [s]."""
    place_bodies(state, layout, terms, bodies, True)
    for body in range(bodies.shape[0]):
        bodies[body, NEAR] = 0.0
        for i in range(3):
            bodies[body, TRUTH_FORCE + i] = 0.0
        bodies[body, TRUTH_NORMAL] = 0.0
        bodies[body, TRUTH_GAP] = math.inf
        bodies[body, TRUTH_FIRST] = math.inf
    for pair in range(pairs.shape[0]):
        resolve_contact(bodies, pairs, contacts, pair)
        near = contacts[pair, GAP] < REACH + 2.0 * interval * abs(contacts[pair, CLOSING])
        contacts[pair, ACTIVE] = 1.0 if near else 0.0
        if near:
            find_mobility(layout, bodies, pairs, contacts, pair)
        for side in (FIRST_BODY, SECOND_BODY):
            body = pairs[pair, side]
            if body >= 0:
                if near:
                    bodies[body, NEAR] = 1.0
                sign = 1.0 if side == FIRST_BODY else -1.0
                for i in range(3):
                    bodies[body, TRUTH_FORCE + i] += sign * contacts[pair, CONTACT_FORCE + i]
                bodies[body, TRUTH_NORMAL] += contacts[pair, NORMAL_FORCE]
                bodies[body, TRUTH_GAP] = min(bodies[body, TRUTH_GAP], contacts[pair, GAP])
                bodies[body, TRUTH_FIRST] = min(bodies[body, TRUTH_FIRST], contacts[pair, FIRST_TOUCH])


@compiled
def advance_interval(
    ticks: int,
    tick_period: float,
    largest_step: float,
    step_safety: float,
    start_time: float,
    state: Vector,
    work: Matrix,
    layout: Indices,
    joints: Matrix,
    terms: Matrix,
    bodies: Matrix,
    pairs: Indices,
    contacts: Matrix,
) -> int:
    """Integrate `ticks` periods [s] of the torque loops; the state is advanced in place. Returns the number of steps.

    largest_step [s], step_safety: see `PlantOptions`; the arrays: see `SceneArrays`. The arms have to be frozen before
    by `freeze_arm`.
    """
    size = state.shape[0]
    slope, total, trial, torque = work[0], work[1], work[2], work[3]
    observe(ticks * tick_period, state, layout, terms, bodies, pairs, contacts)
    time = start_time
    steps = 0
    for _ in range(ticks):
        _actuate(state, layout, joints, terms)
        remaining = tick_period
        while remaining > 1e-12:
            for i in range(size):
                trial[i] = state[i]
                total[i] = 0.0
            step = remaining
            for stage in range(4):
                derivative(trial, slope, torque, layout, joints, terms, bodies, pairs, contacts)
                if stage == 0:
                    step = _contact_step(largest_step, step_safety, time, bodies, pairs, contacts)
                    step = min(_joint_step(step, LANDING * largest_step, state, layout, joints), remaining)
                reach = step if stage == 2 else 0.5 * step
                weight = 1.0 if stage == 0 or stage == 3 else 2.0
                for i in range(size):
                    total[i] += weight * slope[i]
                    trial[i] = state[i] + reach * slope[i]
            for i in range(size):
                state[i] += step / 6.0 * total[i]
            normalise_orientations(state, layout)
            time += step
            remaining -= step
            steps += 1
    note_acceleration(slope, layout, terms, bodies)
    # What holds at the end of the interval, for the record.
    observe(ticks * tick_period, state, layout, terms, bodies, pairs, contacts)
    return steps
