"""Smooth motion between the events of a rigid contact: one sample of an arm in compiled code.

The classical Runge-Kutta scheme of fourth order with a fixed step, shorter only where friction turns the slip of a
point quickly, as it does in three dimensions before the point stops; each stage evaluates the rigid-body terms, the
transmission where there is one, and the forces of the closed contacts. An event ends the smooth motion: a point that
touches, leaves, starts to slip or stops. A step after which one is due is repeated with bisected length until the
event is located to rounding; the caller deals with it and enters again.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from impact_control.compiled import compiled
from impact_control.simulation.chain_dynamics import ChainTerms, SerialChain, chain_terms, update_chain
from impact_control.simulation.joint_kernel import (
    FILTER_RATE,
    MOTOR_INERTIA,
    joint_friction,
    torque_loop,
    transmission,
)
from impact_control.simulation.rigid_contact import (
    OPEN,
    SHORTEST_STEP,
    STICK,
    ContactGeometry,
    ContactState,
    Indices,
    contact_accelerations,
    contact_rows,
    delassus_matrix,
    factorise,
    hold_contacts,
    locate_contacts,
    solve_factorised,
)
from impact_control.types import Matrix, Vector

NO_EVENT, TOUCHES, LEAVES, STARTS, STOPS, JAMS = 0, 1, 2, 3, 4, 5
"""Events of a contact point: it touches, leaves, starts to slip, stops slipping, or its friction has no solution."""

SMALLEST_DEPTH = 1e-12
"""An open point touches when it is this deep [m] and still goes in: below, depths are rounding."""

TOUCHING = 1e-9
"""Points nearer to the surface than this [m] take part in an impact: two points of an edge touch at once."""

RELATIVE_ACCELERATION = 1e-7
"""Part of the largest acceleration of a joint, at least of 1 rad/s^2, above which a contact counts as accelerating."""

_SMALLEST_REVERSAL = 1e-12
_LARGEST_TURN = 0.25
_SMALLEST_INTERVAL = 1e-16
_RELATIVE_FORCE = 1e-9


class Joints(NamedTuple):
    """What drives the links.

    flexible: whether motors and transmissions stand between torque and links. gravity_compensation: whether the arm
    adds the torque that holds it. ticks: periods of the torque loop a sample. rows (1, 13, n): of `joint_kernel`.
    added_inertia (n,) [kg m^2]: what moves with the links, B_theta of Rey Arias 2024 (8) without flexible joints.
    """

    flexible: bool
    gravity_compensation: bool
    ticks: int
    rows: Matrix
    added_inertia: Vector


@compiled
def _drive_links(joints: Joints, terms: ChainTerms, state: Matrix, actuation: Vector, slope: Matrix) -> None:
    """Write the slope (5, n), but for the links the torque [Nm] in the place of the acceleration; no contact."""
    for j in range(state.shape[1]):
        velocity = state[1, j]
        if joints.flexible:
            spring, torque = transmission(joints.rows, 0, j, state[2, j] - state[0, j], state[3, j] - velocity)
            slope[2, j] = state[3, j]
            slope[3, j] = (actuation[j] - torque) / joints.rows[0, MOTOR_INERTIA, j]
            slope[4, j] = joints.rows[0, FILTER_RATE, j] * (spring - state[4, j])
        else:
            torque = actuation[j] + (terms.gravity[j] if joints.gravity_compensation else 0.0)
            slope[2, j], slope[3, j], slope[4, j] = 0.0, 0.0, 0.0
        slope[0, j] = velocity
        slope[1, j] = torque - terms.nonlinear[j] - joint_friction(joints.rows, 0, j, velocity)


@compiled
def _touches(gap: float, speed: float) -> bool:
    """Return whether an open point is inside the surface and goes in, or so deep that it went in within the step."""
    return (gap < -SMALLEST_DEPTH and speed < 0.0) or gap < -2.0 * TOUCHING


@compiled
def _evaluate(
    fixed: tuple[SerialChain, Joints, ContactGeometry, ContactState],
    actuation: Vector,
    state: Matrix,
    hold: bool,
    terms: ChainTerms,
    slope: Matrix,
    gap: Vector,
    velocity: Vector,
    acceleration: Vector,
    slip_direction: Matrix,
    event: Indices,
) -> tuple[bool, float]:
    """Write the slope (5, n) of the state, gaps, contact velocities and due events; return whether one is due.

    Also returned: the rate [1/s] at which friction can turn the slip, see `contact_accelerations`.

    hold: take the drift of the closed contacts out of the state, in place. Contact forces go to contacts.force.
    """
    chain, joints, geometry, contacts = fixed
    n = state.shape[1]
    update_chain(chain, state[0], state[1], terms)
    locate_contacts(geometry, terms, gap, velocity)
    factor = terms.mass_matrix
    for j in range(n):
        factor[j, j] += joints.added_inertia[j]
    factorise(factor)
    count = 0
    for i in range(gap.size):
        count += contacts.mode[i] != OPEN
    if count == 0:
        _drive_links(joints, terms, state, actuation, slope)
        solve_factorised(factor, slope, 1)
        due = False
        for i in range(gap.size):
            event[i] = TOUCHES if _touches(gap[i], velocity[3 * i]) else NO_EVENT
            due = due or event[i] != NO_EVENT
        return due, 0.0
    chosen = np.empty(count, dtype=np.int64)
    count = 0
    for i in range(gap.size):
        if contacts.mode[i] != OPEN:
            chosen[count] = i
            count += 1
    jacobian, response, bias = np.empty((3 * count, n)), np.empty((3 * count, n)), np.empty(3 * count)
    contact_rows(geometry, terms, chosen, jacobian, bias)
    delassus = delassus_matrix(factor, jacobian, response)
    if hold:
        hold_contacts(response, delassus, gap, velocity, chosen, contacts.mode, state[0], state[1])
        for c in range(count):
            gap[chosen[c]] = 0.0
            for k in range(3):
                speed = 0.0
                for j in range(n):
                    speed += jacobian[3 * c + k, j] * state[1, j]
                velocity[3 * chosen[c] + k] = speed
    _drive_links(joints, terms, state, actuation, slope)
    solve_factorised(factor, slope, 1)
    largest = 1.0
    for j in range(n):
        largest = max(largest, abs(slope[1, j]))
    friction = geometry.plane[4]
    solved, rate = contact_accelerations(
        jacobian, response, delassus, bias, velocity, chosen, contacts, friction, slope[1], acceleration, slip_direction
    )
    smallest = RELATIVE_ACCELERATION * largest
    due = False
    for i in range(gap.size):
        a = 3 * i
        event[i] = NO_EVENT
        if contacts.mode[i] == OPEN:
            if _touches(gap[i], velocity[a]):
                event[i] = TOUCHES
        elif not solved:
            event[i] = JAMS
        elif acceleration[a] > smallest:
            event[i] = LEAVES
        elif contacts.mode[i] == STICK:
            pull = math.hypot(contacts.force[a + 1], contacts.force[a + 2])
            speeds_up = math.hypot(acceleration[a + 1], acceleration[a + 2]) > smallest
            if pull > (1.0 + _RELATIVE_FORCE) * friction * contacts.force[a] or speeds_up:
                event[i] = STARTS
        elif friction > 0.0:
            along = velocity[a + 1] * contacts.direction[i, 0] + velocity[a + 2] * contacts.direction[i, 1]
            if along < -_SMALLEST_REVERSAL:
                event[i] = STOPS
        due = due or event[i] != NO_EVENT
    return due, rate


@compiled
def _copy(source: Matrix, target: Matrix) -> None:
    for r in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[r, j] = source[r, j]


@compiled
def _actuate(joints: Joints, terms: ChainTerms, state: Matrix, command: Vector, actuation: Vector) -> None:
    """Write the actuation (n,) [Nm] of one period of the torque loop, or without flexible joints the command."""
    for j in range(command.size):
        actuation[j] = command[j]
        if joints.flexible:
            wanted = command[j] + (terms.gravity[j] if joints.gravity_compensation else 0.0)
            twist, twist_rate = state[2, j] - state[0, j], state[3, j] - state[1, j]
            actuation[j] = torque_loop(joints.rows, 0, j, wanted, twist, twist_rate, state[4, j])


@compiled
def advance_smooth(
    chain: tuple[Any, ...],
    joints: tuple[Any, ...],
    geometry: tuple[Any, ...],
    contact_state: tuple[Any, ...],
    command: Vector,
    actuation: Vector,
    period: float,
    steps: int,
    clock: Vector,
    state: Matrix,
    gap: Vector,
    velocity: Vector,
    acceleration: Vector,
    event: Indices,
) -> bool:
    """Integrate to the end of the sample, or to the next event; return whether there is one.

    chain, joints, geometry, contact_state: fields of SerialChain, Joints, ContactGeometry, ContactState. command
    (n,) [Nm]. actuation (n,): kept between calls. period [s] of a sample, of `steps` steps. clock (2,): step in the
    sample, time since its start [s]; carried on. state (5, n): link position [rad], link velocity, motor position,
    motor velocity, filtered torque [Nm]; without flexible joints the first two count. gap (n_c,) [m],
    velocity (3 n_c,) [m/s], acceleration (3 n_c,) of the closed points [m/s^2], event (n_c,): what holds where the
    motion ends.
    """
    fixed = SerialChain(*chain), Joints(*joints), ContactGeometry(*geometry), ContactState(*contact_state)
    contacts, n = fixed[3], state.shape[1]
    flexible, ticks = fixed[1].flexible, fixed[1].ticks
    terms = chain_terms(n)
    start, slope, first, total = np.empty((5, n)), np.empty((5, n)), np.empty((5, n)), np.empty((5, n))
    slip_direction = contacts.direction.copy()
    fresh, rate = True, 0.0
    while clock[0] < steps:
        if clock[1] == 0.0 and int(clock[0]) * ticks % steps == 0:
            if flexible:
                update_chain(fixed[0], state[0], state[1], terms)
            _actuate(fixed[1], terms, state, command, actuation)
            fresh = True
        if fresh:
            due, rate = _evaluate(
                fixed, actuation, state, fresh, terms, first, gap, velocity, acceleration, slip_direction, event
            )
            if due:
                return True
            fresh = False
        _copy(slip_direction, contacts.direction)
        _copy(state, start)
        remaining = period / steps - clock[1]
        whole = remaining
        if rate * remaining > _LARGEST_TURN:
            whole = min(remaining, max(_LARGEST_TURN / rate, SHORTEST_STEP))
        shortest, longest, step = 0.0, whole, whole
        while True:
            # A Runge-Kutta step of length `step` from `start`, whose slope is `first`; then what holds at its end.
            _copy(first, total)
            _copy(first, slope)
            due = False
            for stage in range(4):
                reach = 0.5 * step if stage < 2 else step
                for r in range(5):
                    for j in range(n):
                        if stage == 3:
                            state[r, j] = start[r, j] + step / 6.0 * total[r, j]
                        else:
                            state[r, j] = start[r, j] + reach * slope[r, j]
                due, rate = _evaluate(
                    fixed,
                    actuation,
                    state,
                    stage == 3,
                    terms,
                    slope,
                    gap,
                    velocity,
                    acceleration,
                    slip_direction,
                    event,
                )
                weight = 1.0 if stage == 2 else 2.0
                for r in range(5):
                    for j in range(n):
                        total[r, j] += weight * slope[r, j]
            if due:
                longest = step
                if longest - shortest <= _SMALLEST_INTERVAL:
                    clock[1] += step
                    return True
            elif step == whole:
                break
            else:
                shortest = step
            step = 0.5 * (shortest + longest) if longest - shortest > _SMALLEST_INTERVAL else longest
        _copy(slope, first)
        if whole == remaining:
            clock[0] += 1.0
            clock[1] = 0.0
        else:
            clock[1] += whole
    return False


@compiled
def contact_problem(
    chain: tuple[Any, ...], joints: tuple[Any, ...], geometry: tuple[Any, ...], state: Matrix, chosen: Indices
) -> tuple[Matrix, Matrix]:
    """Return J M^-1 (3 m, n) and W = J M^-1 J^T (3 m, 3 m) [1/kg] of the m points `chosen`, see `contact_rows`."""
    joints, n = Joints(*joints), state.shape[1]
    terms = chain_terms(n)
    update_chain(SerialChain(*chain), state[0], state[1], terms)
    for j in range(n):
        terms.mass_matrix[j, j] += joints.added_inertia[j]
    factorise(terms.mass_matrix)
    jacobian, response = np.empty((3 * chosen.size, n)), np.empty((3 * chosen.size, n))
    contact_rows(ContactGeometry(*geometry), terms, chosen, jacobian, np.empty(3 * chosen.size))
    return response, delassus_matrix(terms.mass_matrix, jacobian, response)
