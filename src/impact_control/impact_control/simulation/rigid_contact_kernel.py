"""Smooth motion between the events of a rigid contact: one sample of an arm in compiled code.

The classical Runge-Kutta scheme of fourth order with a fixed step, shorter only where friction turns the slip of a
point quickly, as it does in three dimensions before the point stops, and where a backlash begins or ends; each stage
evaluates the rigid-body terms, the transmission where there is one, and the forces of the closed contacts. An event
ends the smooth motion: a point that touches, leaves, starts to slip or stops. A step after which one is due is
repeated with bisected length until the event is located to rounding; the caller deals with it and enters again.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from impact_control.compiled import compiled
from impact_control.dense import factorise
from impact_control.simulation.arm_drive import Joints, actuate, drive_links, time_to_any_edge
from impact_control.simulation.chain_dynamics import ChainTerms, SerialChain, chain_terms, update_chain
from impact_control.simulation.rigid_contact import (
    OPEN,
    STICK,
    ContactGeometry,
    ContactState,
    ContactWork,
    contact_work,
    locate_contacts,
    update_closed,
)
from impact_control.simulation.rigid_contact_forces import SHORTEST_STEP, contact_accelerations, hold_contacts
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
_BACKLASH_OVERSHOOT = 0.005
"""Steps that end at the edge of a backlash overshoot it by this part of a whole step."""


class _System(NamedTuple):
    """An arm and its contacts, with the workspaces of their evaluation."""

    chain: SerialChain
    joints: Joints
    geometry: ContactGeometry
    contacts: ContactState
    terms: ChainTerms
    work: ContactWork


@compiled
def _system(
    chain: tuple[Any, ...], joints: tuple[Any, ...], geometry: tuple[Any, ...], contacts: tuple[Any, ...], size: int
) -> _System:
    state = ContactState(*contacts)
    return _System(
        SerialChain(*chain),
        Joints(*joints),
        ContactGeometry(*geometry),
        state,
        chain_terms(size),
        contact_work(state.gap.size, size),
    )


@compiled
def _update_inertia(system: _System, arm: Matrix) -> None:
    """Write the rigid-body terms at the state of the arm; the mass matrix as factor, with what moves with the links."""
    terms, added = system.terms, system.joints.added_inertia
    update_chain(system.chain, arm[0], arm[1], terms)
    for j in range(added.size):
        terms.mass_matrix[j, j] += added[j]
    factorise(terms.mass_matrix)


@compiled
def _closed_event(contacts: ContactState, i: int, friction: float, smallest: float) -> int:
    """Return what is due at a closed point whose forces were found; smallest [m/s^2]: that is an acceleration."""
    a = 3 * i
    if contacts.acceleration[a] > smallest:
        return LEAVES
    if contacts.mode[i] == STICK:
        pull = math.hypot(contacts.force[a + 1], contacts.force[a + 2])
        speeds_up = math.hypot(contacts.acceleration[a + 1], contacts.acceleration[a + 2]) > smallest
        if pull > (1.0 + _RELATIVE_FORCE) * friction * contacts.force[a] or speeds_up:
            return STARTS
    elif friction > 0.0:
        first, second = contacts.direction[i, 0], contacts.direction[i, 1]
        if contacts.velocity[a + 1] * first + contacts.velocity[a + 2] * second < -_SMALLEST_REVERSAL:
            return STOPS
    return NO_EVENT


@compiled
def _evaluate(system: _System, arm: Matrix, hold: bool, slope: Matrix) -> tuple[bool, float]:
    """Write the slope (5, n) of the arm and all of the contacts but their modes; return whether an event is due.

    Also returned: the rate [1/s] at which friction can turn the slip, see `contact_accelerations`.

    hold: take the drift of the closed contacts out of the state, in place.
    """
    joints, terms, contacts, work = system.joints, system.terms, system.contacts, system.work
    _update_inertia(system, arm)
    locate_contacts(system.geometry, terms, contacts.gap, contacts.velocity)
    closed = 0
    for i in range(contacts.mode.size):
        if contacts.mode[i] != OPEN:
            work.chosen[closed] = i
            closed += 1
    if closed > 0:
        update_closed(system.geometry, terms, terms.mass_matrix, work, closed)
        if hold:
            hold_contacts(contacts, work, closed, arm)
    drive_links(joints, terms, arm, slope)
    friction, smallest, solved, rate = system.geometry.plane[4], 1.0, True, 0.0
    if closed > 0:
        for j in range(slope.shape[1]):
            smallest = max(smallest, abs(slope[1, j]))
        solved, rate = contact_accelerations(contacts, work, closed, friction, slope[1])
    smallest *= RELATIVE_ACCELERATION
    due = False
    for i in range(contacts.mode.size):
        event = NO_EVENT
        if contacts.mode[i] == OPEN:
            # It is inside the surface and goes in, or so deep that it went in within the step.
            gap = contacts.gap[i]
            if (gap < -SMALLEST_DEPTH and contacts.velocity[3 * i] < 0.0) or gap < -2.0 * TOUCHING:
                event = TOUCHES
        else:
            event = _closed_event(contacts, i, friction, smallest) if solved else JAMS
        contacts.event[i] = event
        due = due or event != NO_EVENT
    return due, rate


@compiled
def _copy(source: Matrix, target: Matrix, rows: int) -> None:
    for r in range(rows):
        for j in range(source.shape[1]):
            target[r, j] = source[r, j]


@compiled
def _runge_kutta(
    system: _System, step: float, rows: int, start: Matrix, first: Matrix, slope: Matrix, total: Matrix, arm: Matrix
) -> tuple[bool, float]:
    """Move the first `rows` of the arm by one step [s] from `start`, where their slope is `first`.

    slope: written, at the end of the step. total: scratch, both (5, n). Returned: as by `_evaluate`, at the end.
    """
    _copy(first, total, rows)
    _copy(first, slope, rows)
    due, rate = False, 0.0
    for stage in range(4):
        reach = 0.5 * step if stage < 2 else step
        for r in range(rows):
            for j in range(arm.shape[1]):
                if stage == 3:
                    arm[r, j] = start[r, j] + step / 6.0 * total[r, j]
                else:
                    arm[r, j] = start[r, j] + reach * slope[r, j]
        due, rate = _evaluate(system, arm, stage == 3, slope)
        weight = 1.0 if stage == 2 else 2.0
        for r in range(rows):
            for j in range(arm.shape[1]):
                total[r, j] += weight * slope[r, j]
    return due, rate


@compiled
def advance_smooth(
    chain: tuple[Any, ...],
    joints: tuple[Any, ...],
    geometry: tuple[Any, ...],
    contacts: tuple[Any, ...],
    period: float,
    steps: int,
    clock: Vector,
    arm: Matrix,
) -> bool:
    """Integrate to the end of the sample, or to the next event; return whether there is one.

    chain, joints, geometry, contacts: fields of SerialChain, Joints, ContactGeometry, ContactState, the last of
    them as it is where the motion ends. period [s] of a sample, of `steps` steps. clock (2,): step in the sample, time
    since its start [s]; carried on. arm (7, n): state, command and actuation, see `arm_drive`; without flexible joints
    only the first two rows of the state count.
    """
    n = arm.shape[1]
    system = _system(chain, joints, geometry, contacts, n)
    drive, state, work = system.joints, system.contacts, system.work
    whole, rows = period / steps, 5 if drive.flexible else 2
    start, slope, first, total = np.empty((5, n)), np.empty((5, n)), np.empty((5, n)), np.empty((5, n))
    _copy(state.direction, work.slip_direction, state.mode.size)
    fresh, rate = True, 0.0
    while clock[0] < steps:
        if clock[1] == 0.0 and int(clock[0]) * drive.ticks % steps == 0:
            if drive.flexible:
                update_chain(system.chain, arm[0], arm[1], system.terms)
            actuate(drive, system.terms, arm)
            fresh = True
        if fresh:
            due, rate = _evaluate(system, arm, True, first)
            if due:
                return True
            fresh = False
        _copy(work.slip_direction, state.direction, state.mode.size)
        _copy(arm, start, rows)
        remaining = whole - clock[1]
        length = min(remaining, time_to_any_edge(drive, arm) + _BACKLASH_OVERSHOOT * whole)
        if rate * length > _LARGEST_TURN:
            length = min(length, max(_LARGEST_TURN / rate, SHORTEST_STEP))
        shortest, longest, step = 0.0, length, length
        while True:
            due, rate = _runge_kutta(system, step, rows, start, first, slope, total, arm)
            if due:
                longest = step
                if longest - shortest <= _SMALLEST_INTERVAL:
                    clock[1] += step
                    return True
            elif step == length:
                break
            else:
                shortest = step
            step = 0.5 * (shortest + longest) if longest - shortest > _SMALLEST_INTERVAL else longest
        _copy(slope, first, rows)
        if length == remaining:
            clock[0] += 1.0
            clock[1] = 0.0
        else:
            clock[1] += length
    return False


@compiled
def contact_problem(
    chain: tuple[Any, ...], joints: tuple[Any, ...], geometry: tuple[Any, ...], contacts: tuple[Any, ...], arm: Matrix
) -> tuple[Matrix, Matrix]:
    """Return J M^-1 (3 n_c, n) and W = J M^-1 J^T (3 n_c, 3 n_c) [1/kg] of all points; arguments as above."""
    system = _system(chain, joints, geometry, contacts, arm.shape[1])
    _update_inertia(system, arm)
    count = system.contacts.mode.size
    for i in range(count):
        system.work.chosen[i] = i
    update_closed(system.geometry, system.terms, system.terms.mass_matrix, system.work, count)
    return system.work.response, system.work.delassus
