"""Closed points where their motion is not smooth: they open, close, start to slip, stop, or jam.

One step of Moreau's and Jean's time-stepping scheme decides that for all closed points at once, by the law of an
impact with what the forces do in the step in the place of the approach: `impacts.contact_solver`. Accelerations
alone could not: they need not have a solution (Painleve: friction presses a point in faster than its normal force
holds it off), and of more points than are independent, which start and stop together but for rounding, each would be
an event of its own, without end. Impulses always exist, also where they have to be finite, and time goes on.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from impact_control.impacts.contact_solver import ITERATIONS, RELATIVE_TOLERANCE, solve_contacts
from impact_control.util.compiled import compiled, compiled_in_place
from impact_control.util.dense import apply_affine
from impact_control.util.types import Matrix, Vector
from impact_studies.models.rigid_contact.arm_drive import (
    FILTERED,
    MOTOR_POSITION,
    MOTOR_VELOCITY,
    POSITION,
    STATE,
    VELOCITY,
    drive_links,
    fastest_mode,
)
from impact_studies.models.rigid_contact.surface import (
    OPEN,
    SLIP,
    SMALLEST_SLIP,
    STICK,
    ContactState,
    locate_contacts,
    update_closed,
)
from impact_studies.models.rigid_contact.system import TOUCHING, RigidSystem, rigid_system, update_inertia

SHORTEST_LENGTH = 1e-9
"""[s] Shorter steps are not made: they would end where they start."""

_RELATIVE_SPEED = 1e-8


@compiled_in_place
def open_point(contacts: ContactState, i: int) -> None:
    """Let point i go."""
    contacts.mode[i] = OPEN
    for k in range(3):
        contacts.force[3 * i + k] = 0.0


@compiled_in_place
def close_point(contacts: ContactState, i: int, first: float, second: float, friction: float, still: float) -> None:
    """Keep point i on the surface, along which it moves with (first, second) [m/s]: with friction mu [-] it sticks
    below the speed `still` [m/s].
    """
    speed = math.hypot(first, second)
    moves = speed > still
    contacts.mode[i] = SLIP if moves or friction == 0.0 else STICK
    contacts.direction[i, 0] = first / speed if moves else 0.0
    contacts.direction[i, 1] = second / speed if moves else 0.0


@compiled_in_place
def _closing_time(system: RigidSystem) -> float:
    """Return the time [s] until the next open point touches at its speed."""
    contacts, time = system.contacts, math.inf
    for i in range(contacts.mode.size):
        speed = -contacts.velocity[3 * i]
        if contacts.mode[i] == OPEN and contacts.gap[i] > TOUCHING and speed > 0.0:
            time = min(time, contacts.gap[i] / speed)
    return time


@compiled
def step_over(fields: tuple[Any, ...], duration: float, length: float, clock: Vector, arm: Matrix) -> float:
    """Move the arm by one step of at most `length` [s]; its end gives the closed points their modes.

    Written: arm, contacts, clock. duration [s] of a step of the smooth motion, past whose end it does not go; others
    as in `advance_smooth`. First order in its length. Only loses energy to the contacts. Returned: what is left of the
    contact law, as part of the largest speed; it is to be at most RELATIVE_TOLERANCE.
    """
    system = rigid_system(fields, arm.shape[1])
    state, work, friction = system.contacts, system.work, system.geometry.friction
    system.known[0, 0] = math.nan
    update_inertia(system, arm)
    locate_contacts(system.geometry, system.terms, state.gap, state.velocity)
    slope = system.slopes[:STATE]
    drive_links(system.joints, system.terms, arm, slope)
    count = 0
    for i in range(state.mode.size):
        if state.mode[i] != OPEN or state.gap[i] <= TOUCHING:
            work.chosen[count] = i
            count += 1
    update_closed(system.geometry, system.terms, system.terms.mass_matrix, work, count)
    # Explicit in what drives the links: a mode that decays may at most come to rest.
    length = min(length, 1.0 / (fastest_mode(system.joints, system.terms, system.slopes[STATE]) + 1.0))
    length = max(min(length, duration - clock[1], _closing_time(system)), SHORTEST_LENGTH)
    size, fastest = 3 * count, 0.0
    free, impulse = np.empty(size), np.zeros(size)
    for c in range(count):
        for row in range(3 * c, 3 * c + 3):
            pushed = work.bias[row]
            for j in range(arm.shape[1]):
                pushed += work.jacobian[row, j] * slope[VELOCITY, j]
            free[row] = state.velocity[3 * work.chosen[c] + row - 3 * c] + length * pushed
            fastest = max(fastest, abs(free[row]))
    delassus = work.delassus[:size, :size].copy()
    residual = 0.0
    if fastest > 0.0:
        tolerance = RELATIVE_TOLERANCE * fastest
        residual, _ = solve_contacts(delassus, free, np.full(count, friction), impulse, tolerance, ITERATIONS)
        residual /= fastest
    for j in range(arm.shape[1]):
        arm[VELOCITY, j] += length * slope[VELOCITY, j]
        for row in range(size):
            arm[VELOCITY, j] += work.response[row, j] * impulse[row]
        arm[POSITION, j] += length * arm[VELOCITY, j]
        if system.joints.flexible:
            arm[MOTOR_VELOCITY, j] += length * slope[MOTOR_VELOCITY, j]
            arm[MOTOR_POSITION, j] += length * arm[MOTOR_VELOCITY, j]
            arm[FILTERED, j] += length * slope[FILTERED, j]
    velocity = np.empty(size)
    apply_affine(delassus, impulse, free, velocity)
    still = max(SMALLEST_SLIP, _RELATIVE_SPEED * fastest)
    for c in range(count):
        i, a = work.chosen[c], 3 * c
        if impulse[a] == 0.0 and velocity[a] > still:
            open_point(state, i)
        else:
            close_point(state, i, velocity[a + 1], velocity[a + 2], friction, still)
            for k in range(3):
                state.force[3 * i + k] = impulse[a + k] / length
    clock[1] += length
    if clock[1] >= duration:
        clock[0] += 1.0
        clock[1] = 0.0
    return residual
