"""What contact points do after an event: they open, close, start to slip or stop, without a jump of the velocity."""

from __future__ import annotations

import numpy as np

from impact_control.impacts.contact_solver import contact_impulses
from impact_control.simulation.rigid_contact import OPEN, SLIP, SMALLEST_SLIP, STICK, ContactState, Indices
from impact_control.simulation.rigid_contact_system import JAMS, LEAVES, RELATIVE_ACCELERATION, STARTS, STOPS
from impact_control.types import Matrix, Vector

STOPPED = 2e-6
"""Speed [m/s] below which a point whose slip turns back has stopped. In a plane it is zero then, but for rounding;
in three dimensions the slip turns ever faster before it stops, faster than the shortest step can follow."""


def open_point(contacts: ContactState, i: int) -> None:
    """Let point i go."""
    contacts.mode[i] = OPEN
    contacts.force[3 * i : 3 * i + 3] = 0.0


def close_point(contacts: ContactState, i: int, slip: Vector, friction: float) -> None:
    """Keep point i on the surface, along which it moves with slip (2,) [m/s]; friction mu [-]."""
    speed = float(np.linalg.norm(slip))
    contacts.mode[i] = STICK if speed <= SMALLEST_SLIP and friction > 0.0 else SLIP
    contacts.direction[i] = slip / speed if speed > SMALLEST_SLIP else 0.0


def change_modes(contacts: ContactState, delassus: Matrix, friction: float) -> None:
    """Give the points at which something is due, but for those that touch, the mode they go on in.

    delassus W (3 n_c, 3 n_c) [1/kg] of all points; friction mu [-]. Raises ContactSolverError.
    """
    event = contacts.event
    loose = np.flatnonzero((event == STARTS) | ((contacts.mode == STICK) & (event == JAMS)))
    if loose.size:
        _start_slip(contacts, delassus, friction, loose)
        return
    for i in range(event.size):
        if event[i] == LEAVES:
            open_point(contacts, i)
        elif event[i] == STOPS:
            slip = contacts.velocity[3 * i + 1 : 3 * i + 3]
            close_point(contacts, i, slip if np.linalg.norm(slip) > STOPPED else np.zeros(2), friction)
        elif event[i] == JAMS:
            # Painleve: friction presses the point in faster than the normal force can hold it off. It stops
            # in no time: sticking takes out what is left of the slip.
            contacts.mode[i] = STICK


def _start_slip(contacts: ContactState, delassus: Matrix, friction: float, loose: Indices) -> None:
    """Let the points slip that cannot be held, in the direction in which Coulomb's law lets them accelerate.

    That is the contact law of an impact with accelerations in the place of velocities. Where it holds all points
    after all, which can only be with more points than are independent, `loose` (indices) carry as much as they
    can and leave the rest to the others.
    """
    closed = np.flatnonzero(contacts.mode != OPEN)
    rows = (3 * closed[:, None] + np.arange(3)).ravel()
    W = delassus[np.ix_(rows, rows)]
    force = contacts.force[rows]
    free = contacts.acceleration[rows] - W @ force
    sticks = contacts.mode[closed] == STICK
    # What slips already keeps its friction.
    moving = force * np.repeat(~sticks, 3)
    moving[::3] = 0.0
    free += W @ moving
    acceleration = (free + W @ contact_impulses(W, free, friction * sticks)).reshape(-1, 3)
    smallest = RELATIVE_ACCELERATION * max(1.0, float(np.abs(free).max()))
    leaves = acceleration[:, 0] > smallest
    moves = sticks & ~leaves & (np.linalg.norm(acceleration[:, 1:], axis=1) > smallest)
    for i in closed[leaves]:
        open_point(contacts, i)
    for i, a in zip(closed[moves], acceleration[moves], strict=True):
        contacts.mode[i] = SLIP
        contacts.direction[i] = a[1:] / np.linalg.norm(a[1:])
    if not np.any(moves | leaves):
        for i in loose:
            against = contacts.force[3 * i + 1 : 3 * i + 3]
            contacts.mode[i] = SLIP
            contacts.direction[i] = -against / max(float(np.linalg.norm(against)), 1e-300)
