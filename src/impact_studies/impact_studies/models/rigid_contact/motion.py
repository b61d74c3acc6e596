"""Smooth motion of an arm between the events of its rigid contacts, and an impact: in compiled code.

The classical Runge-Kutta scheme of fourth order with a fixed step. It is shorter only where the joints are so stiff
that they ask for that, and where a backlash begins or ends. Each stage evaluates the rigid-body terms, the transmission
where there is one, and the forces of the closed contacts. An event ends the smooth motion: a point that touches or
leaves. A step after which one is due is repeated with bisected length until the event is located to rounding; the
caller deals with it and enters again.

What a command or the torque loop changes are forces. What place and velocity decide is kept with them, from one sample
to the next too, and used as long as the arm is there.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from impact_control.simulation.chain_dynamics import ChainTerms, SerialChain, update_chain
from impact_control.util.compiled import compiled, compiled_in_place
from impact_control.util.dense import factorise
from impact_control.util.types import Matrix, Vector
from impact_studies.models.rigid_contact.arm_drive import (
    LINK_STATE,
    POSITION,
    STATE,
    VELOCITY,
    Joints,
    actuate,
    drive_links,
    fastest_mode,
    time_to_any_edge,
)
from impact_studies.models.rigid_contact.contact import (
    ContactGeometry,
    ContactState,
    ContactWork,
    Flags,
    contact_accelerations,
    hold_contacts,
    locate_contacts,
    push,
    solve_unilateral,
    update_closed,
)

NO_EVENT, TOUCHES, LEAVES, JAMS = 0, 1, 2, 3
"""Events of a contact point: it touches, leaves, or no forces were found that hold it and the others."""

SMALLEST_DEPTH = 1e-12
"""An open point touches when it is this deep [m] and still goes in: below, depths are rounding."""

TOUCHING = 1e-9
"""Points nearer to the surface than this [m] take part in an impact: two points of an edge touch at once."""

_RELATIVE_ACCELERATION = 1e-7
"""Part of the largest acceleration of a joint, at least of 1 rad/s^2, above which a contact counts as accelerating."""

_END, _BEGIN, _SUM = STATE, 2 * STATE, 3 * STATE
"""First rows in the scratch of a step, whose start is above them: slope at its end, at its begin, sum of the stages."""

_LARGEST_DECAY = 0.5
"""Step over the time of the fastest mode of the joints: its oscillation after an impact is resolved."""

_SMALLEST_INTERVAL = 1e-16
_BACKLASH_OVERSHOOT = 0.005
"""Steps that end at the edge of a backlash overshoot it by this part of a whole step."""


class RigidSystem(NamedTuple):
    """An arm and its contacts, with the workspaces of their evaluation.

    known (2, n): position and velocity at which the terms and those of the closed contacts hold, NaN for none. slopes
    (4 STATE, n): scratch of the integration.
    """

    chain: SerialChain
    joints: Joints
    geometry: ContactGeometry
    contacts: ContactState
    terms: ChainTerms
    work: ContactWork
    known: Matrix
    slopes: Matrix


@compiled
def _rigid_system(fields: tuple[Any, ...]) -> RigidSystem:
    """Put an arm and its contacts together.

    fields: those of RigidSystem, the named tuples in it as plain ones, which pass into compiled code several times
    faster.
    """
    chain, joints, geometry, contacts, terms, work, known, slopes = fields
    return RigidSystem(
        SerialChain(*chain),
        Joints(*joints),
        ContactGeometry(*geometry),
        ContactState(*contacts),
        ChainTerms(*terms),
        ContactWork(*work),
        known,
        slopes,
    )


@compiled_in_place
def _update_inertia(system: RigidSystem, arm: Matrix) -> None:
    """Write the rigid-body terms at the state of the arm; the mass matrix as factor, with what moves with the links."""
    terms, added = system.terms, system.joints.added_inertia
    update_chain(system.chain, arm[POSITION], arm[VELOCITY], terms)
    for j in range(added.size):
        terms.mass_matrix[j, j] += added[j]
    factorise(terms.mass_matrix)


@compiled_in_place
def _copy_rows(source: Matrix, target: Matrix, rows: int) -> None:
    """Copy the first rows of a matrix."""
    for r in range(rows):
        for j in range(source.shape[1]):
            target[r, j] = source[r, j]


@compiled_in_place
def _choose(flags: Flags, work: ContactWork) -> int:
    """Write the points that are flagged to work.chosen; return how many there are."""
    count = 0
    for i in range(flags.size):
        if flags[i]:
            work.chosen[count] = i
            count += 1
    return count


@compiled_in_place
def _locate(system: RigidSystem, arm: Matrix, hold: bool) -> None:
    """Write all that the place and the velocity of the arm decide: terms, gaps, closed contacts.

    hold: take the drift of the closed contacts out of the state, in place; the terms then count as known there.
    """
    contacts, work = system.contacts, system.work
    _update_inertia(system, arm)
    locate_contacts(system.geometry, system.terms, contacts.gap, contacts.velocity)
    closed = _choose(contacts.closed, work)
    if closed > 0:
        update_closed(system.geometry, system.terms, system.terms.mass_matrix, work, closed)
        if hold:
            hold_contacts(contacts, work, closed, arm)
    if hold:
        _copy_rows(arm, system.known, LINK_STATE)
    else:
        system.known[0, 0] = math.nan


@compiled_in_place
def _is_known(system: RigidSystem, arm: Matrix) -> bool:
    """Return whether the arm is where the terms hold."""
    for row in range(LINK_STATE):
        for j in range(arm.shape[1]):
            if arm[row, j] != system.known[row, j]:
                return False
    return True


@compiled_in_place
def _accelerate(system: RigidSystem, arm: Matrix, slope: Matrix) -> bool:
    """Write the slope (5, n) of the located arm, and forces and events of the contacts; return whether one is due."""
    contacts, work = system.contacts, system.work
    drive_links(system.joints, system.terms, arm, slope)
    smallest, solved = 1.0, True
    closed = _choose(contacts.closed, work)
    if closed > 0:
        for j in range(slope.shape[1]):
            smallest = max(smallest, abs(slope[VELOCITY, j]))
        solved = contact_accelerations(contacts, work, closed, slope[VELOCITY])
    smallest *= _RELATIVE_ACCELERATION
    due = False
    for i in range(contacts.closed.size):
        event = NO_EVENT
        if not contacts.closed[i]:
            # It is inside the surface and goes in, or so deep that it went in within the step.
            gap = contacts.gap[i]
            if (gap < -SMALLEST_DEPTH and contacts.velocity[i] < 0.0) or gap < -2.0 * TOUCHING:
                event = TOUCHES
        elif not solved:
            event = JAMS
        elif contacts.acceleration[i] > smallest:
            event = LEAVES
        contacts.event[i] = event
        due = due or event != NO_EVENT
    return due


@compiled_in_place
def _runge_kutta(system: RigidSystem, step: float, rows: int, arm: Matrix) -> bool:
    """Move the first `rows` of the arm by one step [s]; return whether an event is due at its end.

    It takes the state at the start and the slope there from `system.slopes`, and writes the slope at the end to it.
    """
    slopes = system.slopes
    start, slope, first, total = slopes[:_END], slopes[_END:_BEGIN], slopes[_BEGIN:_SUM], slopes[_SUM:]
    _copy_rows(first, total, rows)
    _copy_rows(first, slope, rows)
    due = False
    for stage in range(4):
        reach = 0.5 * step if stage < 2 else step
        for r in range(rows):
            for j in range(arm.shape[1]):
                if stage == 3:
                    arm[r, j] = start[r, j] + step / 6.0 * total[r, j]
                else:
                    arm[r, j] = start[r, j] + reach * slope[r, j]
        _locate(system, arm, stage == 3)
        due = _accelerate(system, arm, slope)
        weight = 1.0 if stage == 2 else 2.0
        for r in range(rows):
            for j in range(arm.shape[1]):
                total[r, j] += weight * slope[r, j]
    return due


@compiled_in_place
def _advance(system: RigidSystem, period: float, steps: int, mode: float, clock: Vector, arm: Matrix) -> bool:
    drive, slopes = system.joints, system.slopes
    whole, rows = period / steps, STATE if drive.flexible else LINK_STATE
    start, slope, first = slopes[:_END], slopes[_END:_BEGIN], slopes[_BEGIN:_SUM]
    fresh = True
    while clock[0] < steps:
        ticks = clock[1] == 0.0 and int(clock[0]) * drive.ticks % steps == 0
        if fresh or ticks:
            if not _is_known(system, arm):
                _locate(system, arm, True)
            if ticks:
                actuate(drive, system.terms, arm)
            if _accelerate(system, arm, first):
                return True
            fresh = False
        _copy_rows(arm, start, rows)
        remaining = whole - clock[1]
        length = min(remaining, time_to_any_edge(drive, arm) + _BACKLASH_OVERSHOOT * whole)
        if mode * length > _LARGEST_DECAY:
            length /= math.ceil(mode * length / _LARGEST_DECAY)
        shortest, longest, step = 0.0, length, length
        while True:
            if _runge_kutta(system, step, rows, arm):
                longest = step
                if longest - shortest <= _SMALLEST_INTERVAL:
                    clock[1] += step
                    return True
            elif step == length:
                break
            else:
                shortest = step
            step = 0.5 * (shortest + longest) if longest - shortest > _SMALLEST_INTERVAL else longest
        _copy_rows(slope, first, rows)
        if length == remaining:
            clock[0] += 1.0
            clock[1] = 0.0
        else:
            clock[1] += length
    return False


@compiled
def advance_smooth(fields: tuple[Any, ...], period: float, steps: int, clock: Vector, arm: Matrix) -> bool:
    """Integrate to the end of the sample, or to the next event; return whether there is one.

    fields: see `_rigid_system`; the contacts are as they are where the motion ends.
    period [s] of a sample, of `steps` steps. clock (2,): step in the sample, time since its start [s]; carried on.
    arm (7, n): state, command and actuation, see `arm_drive`; without flexible joints only the first two rows of the
    state count.
    """
    system = _rigid_system(fields)
    mode = 0.0
    if clock[0] < steps:
        if not _is_known(system, arm):
            _locate(system, arm, True)
        mode = fastest_mode(system.joints, system.terms, system.slopes[_SUM])
    return _advance(system, period, steps, mode, clock, arm)


@compiled
def strike(fields: tuple[Any, ...], near: Flags, arm: Matrix, impulse: Vector) -> float:
    """Let the points `near` (n_c,) hit the surface, inelastically; return the change of the energy [J].

    Written: the velocity of the arm, that of the points near, and the impulse (n_c,) [Ns] at each point. NaN: no
    impulses were found. The terms count as unknown after it.
    """
    system = _rigid_system(fields)
    contacts, work, velocity = system.contacts, system.work, arm[VELOCITY]
    system.known[0, 0] = math.nan
    _update_inertia(system, arm)
    count = _choose(near, work)
    update_closed(system.geometry, system.terms, system.terms.mass_matrix, work, count)
    for row in range(count):
        work.free[row] = contacts.velocity[work.chosen[row]]
    if not solve_unilateral(contacts, work, count):
        return math.nan
    push(work, count, velocity, 1.0)
    change = 0.0
    impulse[:] = 0.0
    for row in range(count):
        i = work.chosen[row]
        impulse[i] = work.result[row]
        contacts.velocity[i] = contacts.acceleration[i]
        change += 0.5 * impulse[i] * (work.free[row] + contacts.velocity[i])
    return change
