"""The stiff part of a scene: flexible joints, torque loops, free boxes and contacts, in one integration scheme.

Over one refresh interval (a multiple of the period of the torque loops) the rigid-body terms of the arms, mass
matrix, nonlinear torques, gravity and Jacobian, are constants taken at the middle of the interval. The stiff parts,
transmissions, torque filters and contacts, and the boxes, whose equations are short, are integrated here by the
classical Runge-Kutta scheme with a step that shrinks with the contacts' own rate; where only friction or the joints are
stiff, by the one of `stabilised_step`. See `step_control`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from impact_control.simulation.body_motion import derivative, normalise_orientations, place_bodies, store_accelerations
from impact_control.simulation.chain_dynamics import SerialChain, chain_terms, point_jacobian, update_chain
from impact_control.simulation.contact_kernel import find_mobility, resolve_contact
from impact_control.simulation.joint_kernel import joint_state, torque_loop
from impact_control.simulation.scene_arrays import SceneArrays
from impact_control.simulation.stabilised_step import advance_stabilised
from impact_control.simulation.step_control import SHORTEST_STEP, Schedule, due_step, joint_rates
from impact_control.util.compiled import compiled, compiled_in_place
from impact_control.util.dense import factorise, solve_lower, solve_upper
from impact_control.util.types import Matrix, Vector

REACH = 0.005
"""[m] A pair farther apart than this, and than it closes in two intervals, is left out for one interval."""


@compiled_in_place
def _actuate(scene: SceneArrays) -> None:
    """Compute the actuation torques (4b) with u = command + gravity; they are held for one period of the loop."""
    for arm in range(scene.joints.shape[0]):
        for j in range(scene.bodies[arm].joint_count):
            joint = scene.joints[arm, j]
            q, dq, theta, dtheta, filtered = joint_state(scene.state, scene.bodies[arm], j)
            desired = joint.command + joint.compensation
            joint.actuation = torque_loop(joint, desired, theta - q, dtheta - dq, filtered)


@compiled_in_place
def observe(scene: SceneArrays, interval: float) -> None:
    """Write the present contacts and their sums on the bodies, and which of them are near for one interval [s]."""
    bodies = scene.bodies
    place_bodies(scene, scene.state, True)
    for index in range(bodies.shape[0]):
        body = bodies[index]
        body.near = False
        for i in range(3):
            body.total_force[i] = 0.0
        body.normal_force = 0.0
        body.gap = math.inf
        body.first_touch = math.inf
    for pair in range(scene.contacts.shape[0]):
        contact = scene.contacts[pair]
        resolve_contact(bodies, contact)
        near = contact.gap < REACH + 2.0 * interval * abs(contact.closing)
        contact.active = near
        if near:
            find_mobility(bodies, contact)
        sign = 1.0
        for index in (contact.first_body, contact.second_body):
            if index >= 0:
                body = bodies[index]
                body.near = body.near or near
                for i in range(3):
                    body.total_force[i] += sign * contact.force[i]
                body.normal_force += contact.normal_force
                body.gap = min(body.gap, contact.gap)
                body.first_touch = min(body.first_touch, contact.first_touch)
            sign = -1.0


@compiled
def freeze_arm(scene: SceneArrays, arm: int, interval: float, compensation: float) -> None:
    """Write the terms of an arm for the next interval [s].

    The middle makes the frozen terms and the linearised gaps second-order accurate. The velocity there is the one that
    the acceleration at the end of the last interval leads to: with that of now the energy of a free arm would drift by
    1e-3 of the kinetic energy in 1 s at 2 rad/s, instead of less than 1e-5. compensation: 1 when the arm adds its
    gravity torque to the command, 0 when not.
    """
    body, joints, n = scene.bodies[arm], scene.joints[arm], scene.bodies[arm].joint_count
    middle, rate = np.empty(n), np.empty(n)
    for j in range(n):
        q, dq, _, _, _ = joint_state(scene.state, body, j)
        middle[j] = 0.5 * interval * dq + q
        rate[j] = dq + 0.5 * interval * joints[j].acceleration
        joints[j].middle = middle[j]
    now = chain_terms(n)
    update_chain(SerialChain(scene.links[arm, :n], scene.ends[arm : arm + 1]), middle, rate, now)
    jacobian = np.empty((6, n))
    point_jacobian(now, (now.position[0], now.position[1], now.position[2]), jacobian)
    for j in range(n):
        joint = joints[j]
        external = joint.external
        for i in range(6):
            if i >= 3:
                jacobian[i, j] = now.twist_columns[j, i]
            external += jacobian[i, j] * body.load[i]
            joint.twist[i] = jacobian[i, j]
        joint.nonlinear = now.nonlinear[j] - external
        joint.compensation = compensation * now.gravity[j]
    for i in range(3):
        body.middle_position[i] = now.position[i]
        for j in range(3):
            body.middle_rotation[i, j] = now.rotation[i, j]
    inverse = scene.inverse_mass[arm, :n, :n]
    _invert(now.mass_matrix, inverse)
    _write_mobility(jacobian, inverse, body.mobility)


@compiled
def _write_mobility(jacobian: Matrix, inverse: Matrix, mobility: Matrix) -> None:
    """Write J M^-1 J^T (6, 6)."""
    n = inverse.shape[0]
    mobility[:] = 0.0
    for h in range(6):
        for j in range(n):
            response = 0.0
            for k in range(n):
                response += jacobian[h, k] * inverse[k, j]
            for i in range(6):
                mobility[h, i] += response * jacobian[i, j]


@compiled
def _invert(matrix: Matrix, inverse: Matrix) -> None:
    """Write the inverse of a symmetric positive definite matrix, which is overwritten by its factor."""
    factorise(matrix)
    for j in range(matrix.shape[0]):
        column: Vector = inverse[j]
        column[:] = 0.0
        column[j] = 1.0
        solve_lower(matrix, column)
        solve_upper(matrix, column)


@compiled
def advance_sample(schedule: tuple[Any, ...], arrays: tuple[Any, ...], time: float) -> tuple[int, float, float]:
    """Advance the state in place by one sample, which starts at a time [s].

    schedule, arrays: fields of Schedule and SceneArrays; plain tuples pass into compiled code twice as fast as named
    ones. Returns the number of integration steps, the time [s] at the end, and 0; or where it stalls, the step [s] of
    `due_step` that it did not take, and the first row of the work is the rate of the state there.
    """
    plan, scene, steps = Schedule(*schedule), SceneArrays(*arrays), 0
    for index in range(scene.bodies.shape[0]):
        scene.bodies[index].peak_normal_force = 0.0
    for _ in range(plan.intervals):
        for arm in range(scene.joints.shape[0]):
            freeze_arm(scene, arm, plan.interval, plan.compensation)
        taken, reached, step = _advance_interval(plan, scene, time)
        steps += taken
        if step != 0.0:
            return steps, reached, step
        time += plan.interval
    return steps, time, 0.0


@compiled_in_place
def advance_classically(scene: SceneArrays, state: Vector, step: float) -> None:
    """Advance a state in place by a step [s] of the classical Runge-Kutta scheme; its derivative is in work[0]."""
    size = state.shape[0]
    slope, total, trial = scene.work[0], scene.work[1], scene.work[2]
    for i in range(size):
        total[i] = slope[i]
        trial[i] = state[i] + 0.5 * step * slope[i]
    for stage in range(1, 4):
        derivative(scene, trial, slope)
        reach = step if stage == 2 else 0.5 * step
        weight = 1.0 if stage == 3 else 2.0
        for i in range(size):
            total[i] += weight * slope[i]
            trial[i] = state[i] + reach * slope[i]
    for i in range(size):
        state[i] += step / 6.0 * total[i]


@compiled_in_place
def _advance_interval(schedule: Schedule, scene: SceneArrays, start_time: float) -> tuple[int, float, float]:
    """Integrate one interval with the terms that `freeze_arm` wrote; returns as `advance_sample`."""
    state, slope, length = scene.state, scene.work[0], schedule.ticks * schedule.tick_period
    observe(scene, length)
    rates = joint_rates(scene)
    time = start_time
    steps = 0
    for _ in range(schedule.ticks):
        _actuate(scene)
        remaining = schedule.tick_period
        while remaining > 1e-12:
            derivative(scene, state, slope)
            step, stages = due_step(schedule, scene, rates, time, remaining)
            if not (step >= SHORTEST_STEP or step >= remaining):
                return steps, time, step
            if stages > 0:
                advance_stabilised(scene, state, step, stages)
            else:
                advance_classically(scene, state, step)
            normalise_orientations(scene)
            time += step
            remaining -= step
            steps += 1
    store_accelerations(scene, slope)
    # The state at the end of the interval, for the record.
    observe(scene, length)
    return steps, time, 0.0
