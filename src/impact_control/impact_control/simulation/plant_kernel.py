"""The stiff part of a scene: flexible joints, torque loops, free boxes and contacts, in one integration scheme.

Over one refresh interval (a multiple of the period of the torque loops) the rigid-body terms of the arms, mass
matrix, nonlinear torques, gravity and Jacobian, are constants taken at the middle of the interval. What is stiff,
transmissions, torque filters and contacts, and the boxes, whose equations are short, are integrated here by the
classical Runge-Kutta scheme with a step that shrinks with the contacts' own rate; where only friction is stiff, by the
one of `stabilised_step`.
"""

from __future__ import annotations

import math

from impact_control.compiled import compiled
from impact_control.simulation.body_motion import derivative, normalise_orientations, note_acceleration, place_bodies
from impact_control.simulation.contact_kernel import find_mobility, resolve_contact
from impact_control.simulation.frozen_terms import freeze_arm
from impact_control.simulation.joint_kernel import torque_loop
from impact_control.simulation.scene_arrays import (
    ACTIVE,
    ACTUATION,
    BASE,
    CLOSING,
    COMMAND,
    COMPENSATION,
    CONTACT_FORCE,
    FIRST_BODY,
    FIRST_TOUCH,
    GAP,
    JOINT_COUNT,
    NEAR,
    NORMAL_FORCE,
    SECOND_BODY,
    TRUTH_FIRST,
    TRUTH_FORCE,
    TRUTH_GAP,
    TRUTH_NORMAL,
    TRUTH_PEAK,
    Indices,
)
from impact_control.simulation.stabilised_step import LENGTH, MOST_STAGES, advance_stabilised, stages_for
from impact_control.simulation.step_control import LANDING, contact_step, joint_step
from impact_control.types import Matrix, Vector

STABLE = 2.8
"""Largest step over the time constant of a decay with which the classical Runge-Kutta scheme is stable."""

REACH = 0.005
"""[m] A pair farther apart than this, and than it closes in two intervals, is left out for one interval."""


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
def advance_sample(
    intervals: int,
    interval: float,
    ticks: int,
    tick_period: float,
    largest_step: float,
    step_safety: float,
    stiff_friction: float,
    predict_velocity: bool,
    compensation: float,
    start_time: float,
    state: Vector,
    work: Matrix,
    layout: Indices,
    joints: Matrix,
    links: Matrix,
    ends: Matrix,
    terms: Matrix,
    bodies: Matrix,
    pairs: Indices,
    contacts: Matrix,
) -> tuple[int, float]:
    """Advance the state in place by `intervals` intervals [s] of `ticks` periods [s] of the torque loops each.

    largest_step [s], step_safety, stiff_friction, predict_velocity: see `PlantOptions`; compensation: see `freeze_arm`;
    the arrays: see `SceneArrays`. Returns the number of integration steps, and the time [s] at the end.
    """
    bodies[:, TRUTH_PEAK] = 0.0
    steps, time = 0, start_time
    for _ in range(intervals):
        for arm in range(terms.shape[0]):
            freeze_arm(arm, interval, predict_velocity, compensation, state, layout, links, ends, terms, bodies)
        steps += _advance_interval(
            ticks,
            tick_period,
            largest_step,
            step_safety,
            stiff_friction,
            time,
            state,
            work,
            layout,
            joints,
            terms,
            bodies,
            pairs,
            contacts,
        )
        time += interval
    return steps, time


@compiled
def _advance_classically(
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
    """Advance the state in place by a step [s] of the classical Runge-Kutta scheme; its derivative is in work[0]."""
    size = state.shape[0]
    slope, total, trial, torque = work[0], work[1], work[2], work[3]
    for i in range(size):
        total[i] = slope[i]
        trial[i] = state[i] + 0.5 * step * slope[i]
    for stage in range(1, 4):
        derivative(trial, slope, torque, layout, joints, terms, bodies, pairs, contacts)
        reach = step if stage == 2 else 0.5 * step
        weight = 1.0 if stage == 3 else 2.0
        for i in range(size):
            total[i] += weight * slope[i]
            trial[i] = state[i] + reach * slope[i]
    for i in range(size):
        state[i] += step / 6.0 * total[i]


@compiled
def _advance_interval(
    ticks: int,
    tick_period: float,
    largest_step: float,
    step_safety: float,
    stiff_friction: float,
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
    """Integrate one interval with the terms that `freeze_arm` wrote; return the number of steps."""
    slope, torque = work[0], work[3]
    observe(ticks * tick_period, state, layout, terms, bodies, pairs, contacts)
    time = start_time
    steps = 0
    for _ in range(ticks):
        _actuate(state, layout, joints, terms)
        remaining = tick_period
        while remaining > 1e-12:
            derivative(state, slope, torque, layout, joints, terms, bodies, pairs, contacts)
            step, friction = contact_step(largest_step, step_safety, time, bodies, pairs, contacts)
            step = min(joint_step(step, LANDING * largest_step, state, layout, joints), remaining)
            if step >= min(largest_step, remaining) and friction * step > stiff_friction * step_safety:
                stages = stages_for(friction, step, STABLE / step_safety)
                if stages > MOST_STAGES:
                    stages = MOST_STAGES
                    step = (stages * stages - 1.0) * LENGTH * step_safety / STABLE / friction
                advance_stabilised(stages, step, state, work, layout, joints, terms, bodies, pairs, contacts)
            else:
                if friction > 0.0:
                    step = min(step, step_safety / friction)
                _advance_classically(step, state, work, layout, joints, terms, bodies, pairs, contacts)
            normalise_orientations(state, layout)
            time += step
            remaining -= step
            steps += 1
    note_acceleration(slope, layout, terms, bodies)
    # What holds at the end of the interval, for the record.
    observe(ticks * tick_period, state, layout, terms, bodies, pairs, contacts)
    return steps
