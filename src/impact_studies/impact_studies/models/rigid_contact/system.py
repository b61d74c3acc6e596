"""An arm and its rigid contacts at one instant: where they are, what moves them, and which event is due.

What a command or the torque loop changes are forces. What place and velocity decide is kept with them, from one sample
to the next too, and used as long as the arm is there.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from impact_control.simulation.chain_dynamics import ChainTerms, SerialChain, terms_in, terms_length, update_chain
from impact_control.util.compiled import compiled, compiled_in_place
from impact_control.util.dense import factorise, take
from impact_control.util.types import Matrix, Vector
from impact_studies.models.rigid_contact.arm_drive import LINK_STATE, POSITION, STATE, VELOCITY, Joints, drive_links
from impact_studies.models.rigid_contact.forces import contact_accelerations, hold_contacts, is_outside
from impact_studies.models.rigid_contact.surface import (
    OPEN,
    STICK,
    ContactGeometry,
    ContactState,
    ContactWork,
    locate_contacts,
    update_closed,
    work_in,
    work_length,
)

NO_EVENT, TOUCHES, LEAVES, STARTS, STOPS, JAMS = 0, 1, 2, 3, 4, 5
"""Events of a contact point: it touches, leaves, starts to slip, stops slipping, or its friction has no solution."""

SMALLEST_DEPTH = 1e-12
"""An open point touches when it is this deep [m] and still goes in: below, depths are rounding."""

TOUCHING = 1e-9
"""Points nearer to the surface than this [m] take part in an impact: two points of an edge touch at once."""

RELATIVE_ACCELERATION = 1e-7
"""Part of the largest acceleration of a joint, at least of 1 rad/s^2, above which a contact counts as accelerating."""

_SMALLEST_REVERSAL = 1e-12


class RigidSystem(NamedTuple):
    """An arm and its contacts, with the workspaces of their evaluation.

    known (2, n): position and velocity at which the terms and those of the closed contacts hold, NaN for none. slopes
    (4 STATE, n): scratch of the integration. force (3 n_c,) [N]: of the contacts where a step starts.
    """

    chain: SerialChain
    joints: Joints
    geometry: ContactGeometry
    contacts: ContactState
    terms: ChainTerms
    work: ContactWork
    known: Matrix
    slopes: Matrix
    force: Vector


@compiled
def memory_length(points: int, size: int) -> int:
    """Return how many numbers the workspaces of an arm of `size` joints with `points` contact points have."""
    return terms_length(size) + work_length(points, size) + (LINK_STATE + 4 * STATE) * size + 3 * points


@compiled
def rigid_system(fields: tuple[Any, ...], size: int) -> RigidSystem:
    """Put an arm of `size` joints and its contacts together.

    fields: those of SerialChain, Joints, ContactGeometry and ContactState, each as a plain tuple, which passes into
    compiled code several times faster than a named one; and the memory (memory_length,) of the workspaces, kept from
    one call to the next, NaN at first.
    """
    chain, joints, geometry, contacts, memory = fields
    state = ContactState(*contacts)
    known, rest = take(memory, LINK_STATE, size)
    slopes, rest = take(rest, 4 * STATE, size)
    length, count = terms_length(size), state.force.size
    return RigidSystem(
        SerialChain(*chain),
        Joints(*joints),
        ContactGeometry(*geometry),
        state,
        terms_in(rest[count : count + length], size),
        work_in(rest[count + length :], state.gap.size, size),
        known,
        slopes,
        rest[:count],
    )


@compiled_in_place
def update_inertia(system: RigidSystem, arm: Matrix) -> None:
    """Write the rigid-body terms at the state of the arm; the mass matrix as factor, with what moves with the links."""
    terms, added = system.terms, system.joints.added_inertia
    update_chain(system.chain, arm[POSITION], arm[VELOCITY], terms)
    for j in range(added.size):
        terms.mass_matrix[j, j] += added[j]
    factorise(terms.mass_matrix)


@compiled_in_place
def _closed_event(contacts: ContactState, i: int, friction: float, smallest: float) -> int:
    """Return what is due at a closed point whose forces were found; smallest [m/s^2]: that is an acceleration."""
    a = 3 * i
    if contacts.acceleration[a] > smallest:
        return LEAVES
    if contacts.mode[i] == STICK:
        pulled = is_outside(contacts.force[a + 1], contacts.force[a + 2], friction * contacts.force[a])
        speeds_up = math.hypot(contacts.acceleration[a + 1], contacts.acceleration[a + 2]) > smallest
        if pulled or speeds_up:
            return STARTS
    elif friction > 0.0:
        first, second = contacts.direction[i, 0], contacts.direction[i, 1]
        if contacts.velocity[a + 1] * first + contacts.velocity[a + 2] * second < -_SMALLEST_REVERSAL:
            return STOPS
    return NO_EVENT


@compiled_in_place
def copy_rows(source: Matrix, target: Matrix, rows: int) -> None:
    """Copy the first rows of a matrix."""
    for r in range(rows):
        for j in range(source.shape[1]):
            target[r, j] = source[r, j]


@compiled_in_place
def _choose_closed(contacts: ContactState, work: ContactWork) -> int:
    """Write the closed points to work.chosen; return how many there are."""
    closed = 0
    for i in range(contacts.mode.size):
        if contacts.mode[i] != OPEN:
            work.chosen[closed] = i
            closed += 1
    return closed


@compiled_in_place
def locate(system: RigidSystem, arm: Matrix, hold: bool) -> None:
    """Write all that the place and the velocity of the arm decide: terms, gaps, closed contacts.

    hold: take the drift of the closed contacts out of the state, in place; the terms then count as known there.
    """
    contacts, work = system.contacts, system.work
    update_inertia(system, arm)
    locate_contacts(system.geometry, system.terms, contacts.gap, contacts.velocity)
    closed = _choose_closed(contacts, work)
    if closed > 0:
        update_closed(system.geometry, system.terms, system.terms.mass_matrix, work, closed)
        if hold:
            hold_contacts(contacts, work, closed, arm)
    if hold:
        copy_rows(arm, system.known, LINK_STATE)
    else:
        system.known[0, 0] = math.nan


@compiled_in_place
def is_known(system: RigidSystem, arm: Matrix) -> bool:
    """Return whether the arm is where the terms hold."""
    for row in range(LINK_STATE):
        for j in range(arm.shape[1]):
            if arm[row, j] != system.known[row, j]:
                return False
    return True


@compiled_in_place
def accelerate(system: RigidSystem, arm: Matrix, slope: Matrix) -> tuple[bool, float]:
    """Write the slope (5, n) of the located arm, and forces and events of the contacts; return whether one is due.

    Also returned: the rate [1/s] at which friction can turn the slip, see `contact_accelerations`.
    """
    contacts, work = system.contacts, system.work
    drive_links(system.joints, system.terms, arm, slope)
    friction, smallest, solved, rate = system.geometry.friction, 1.0, True, 0.0
    closed = _choose_closed(contacts, work)
    if closed > 0:
        for j in range(slope.shape[1]):
            smallest = max(smallest, abs(slope[VELOCITY, j]))
        solved, rate = contact_accelerations(contacts, work, closed, friction, slope[VELOCITY])
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
def contact_problem(fields: tuple[Any, ...], arm: Matrix) -> tuple[Matrix, Matrix]:
    """Return J M^-1 (3 n_c, n) and W = J M^-1 J^T (3 n_c, 3 n_c) [1/kg] of all points, views of the memory.

    fields: see `rigid_system`; arm (7, n): its state. The terms count as unknown after it: an event changes modes or
    velocities.
    """
    system = rigid_system(fields, arm.shape[1])
    system.known[0, 0] = math.nan
    update_inertia(system, arm)
    count = system.contacts.mode.size
    for i in range(count):
        system.work.chosen[i] = i
    update_closed(system.geometry, system.terms, system.terms.mass_matrix, system.work, count)
    return system.work.response, system.work.delassus
