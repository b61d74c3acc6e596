"""Forces of closed rigid contacts while nothing changes its mode, and the drift of such contacts.

The contact forces follow from the accelerations (Proper 2021 (2.57)-(2.60)), but unlike there they never pull: a
point that would be held back leaves. A point that slips rubs with mu times its normal force, one that sticks is held.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from impact_control.util.compiled import compiled_in_place
from impact_control.util.dense import solve_in_place
from impact_control.util.types import Matrix, Vector
from impact_studies.models.rigid_contact.surface import SLIP, SMALLEST_SLIP, STICK, ContactState, ContactWork

SHORTEST_STEP = 1e-6
"""[s] To which the integration step is cut where friction turns the slip of a point quickly."""

_RELATIVE_TOLERANCE = 1e-9
"""Part of the largest force and acceleration, of at least 1 N and 1 m/s^2, that is rounding."""

_PROXIMAL = 1e-9
_PIVOTS = 6
_SHARINGS = 3
_SMALLEST_SHARE = 1e-3


@compiled_in_place
def _shortest_solution(matrix: Matrix, used: NDArray[np.bool_], sign: float, work: ContactWork) -> bool:
    """Write the x of matrix x = sign * work.free to work.result, of a singular matrix the one with shortest x / share.

    Only the used rows and columns count; the other entries of x are zero.

    By three proximal steps, as in Pinocchio's constrained dynamics. Returned: whether there is a solution.
    """
    rows, right, solution, share = work.rows, work.free, work.result, work.share
    count, largest = 0, 0.0
    for row in range(used.size):
        solution[row] = 0.0
        if used[row]:
            rows[count] = row
            count += 1
            largest = max(largest, abs(matrix[row, row]))
    if largest == 0.0:
        return True
    if count == 1:
        solution[rows[0]] = sign * right[rows[0]] / matrix[rows[0], rows[0]]
        return True
    rest, damped = work.rest[:count], work.damped[: count * count].reshape((count, count))
    for _ in range(3):
        for r in range(count):
            rest[r] = share[rows[r]] * sign * right[rows[r]]
            for c in range(count):
                entry = share[rows[r]] * matrix[rows[r], rows[c]]
                damped[r, c] = entry * share[rows[c]]
                rest[r] -= entry * solution[rows[c]]
            damped[r, r] += _PROXIMAL * largest
        if not solve_in_place(damped, rest):
            return False
        for r in range(count):
            solution[rows[r]] += share[rows[r]] * rest[r]
    return True


@compiled_in_place
def _mobility_across(delassus: Matrix, a: int, first: float, second: float) -> float:
    """Return the mobility [1/kg] of the point with the rows a, a+1, a+2 across the direction (first, second)."""
    squares = second * second * delassus[a + 1, a + 1] + first * first * delassus[a + 2, a + 2]
    across: float = squares - 2.0 * first * second * delassus[a + 1, a + 2]
    return across


@compiled_in_place
def _friction_direction(
    delassus: Matrix, contacts: ContactState, friction: float, i: int, a: int
) -> tuple[float, float]:
    """Return the direction (2,) along the tangents against which friction acts on point i, of the rows from a on.

    That of the slip. The last one is kept past the end of the slip, as the end itself is found as an event, and while
    the slip is so slow that friction turns it faster than the shortest step can follow.
    """
    kept = contacts.direction[i, 0], contacts.direction[i, 1]
    first, second = contacts.velocity[3 * i + 1], contacts.velocity[3 * i + 2]
    speed = math.hypot(first, second)
    if not (first * kept[0] + second * kept[1] > 0.0 and speed > SMALLEST_SLIP):
        return kept
    moving = first / speed, second / speed
    turning = friction * contacts.force[3 * i] * _mobility_across(delassus, a, moving[0], moving[1])
    return moving if speed > turning * SHORTEST_STEP else kept


@compiled_in_place
def _set_up(contacts: ContactState, work: ContactWork, count: int, friction: float, joint_acceleration: Vector) -> None:
    """Write to work what `_pivot` reads: accelerations without forces, matrix with friction in it, first guess."""
    size = 3 * count
    for row in range(size):
        work.share[row] = 1.0
        work.free[row] = work.bias[row]
        for j in range(joint_acceleration.size):
            work.free[row] += work.jacobian[row, j] * joint_acceleration[j]
        for column in range(size):
            work.shaped[row, column] = work.delassus[row, column]
    for c in range(count):
        i, a = work.chosen[c], 3 * c
        for k in range(3):
            work.used[a + k] = k == 0 or contacts.mode[i] == STICK
        work.slip_direction[i, 0], work.slip_direction[i, 1] = 0.0, 0.0
        if contacts.mode[i] == SLIP and friction > 0.0:
            first, second = _friction_direction(work.delassus, contacts, friction, i, a)
            work.slip_direction[i, 0], work.slip_direction[i, 1] = first, second
            for row in range(size):
                along = first * work.shaped[row, a + 1] + second * work.shaped[row, a + 2]
                work.shaped[row, a] -= friction * along
            # Painleve: a normal force that presses the point in. If anything it leaves.
            work.used[a] = work.shaped[a, a] > 0.0


@compiled_in_place
def _pivot(contacts: ContactState, work: ContactWork, count: int) -> bool:
    """Find forces, in work.result, with which no closed point pulls and none goes in; write the accelerations."""
    size = 3 * count
    used, force, shaped = work.used[:size], work.result, work.shaped
    fastest = 1.0
    for row in range(size):
        fastest = max(fastest, abs(work.free[row]))
    for _ in range(_PIVOTS * count):
        if not _shortest_solution(shaped, used, -1.0, work):
            return False
        strongest, change = 1.0, -1
        for c in range(count):
            strongest = max(strongest, force[3 * c])
        worst = -_RELATIVE_TOLERANCE * strongest
        for c in range(count):
            if force[3 * c] < worst:
                worst, change = force[3 * c], c
        worst = -_RELATIVE_TOLERANCE * fastest
        for c in range(count):
            place = 3 * work.chosen[c]
            for k in range(3):
                entry = work.free[3 * c + k]
                for column in range(size):
                    entry += shaped[3 * c + k, column] * force[column]
                contacts.acceleration[place + k] = entry
            if change < 0 and not used[3 * c] and contacts.acceleration[place] < worst:
                worst, change = contacts.acceleration[place], c
        if change < 0:
            return True
        sticks = contacts.mode[work.chosen[change]] == STICK
        used[3 * change] = not used[3 * change]
        for k in range(1, 3):
            used[3 * change + k] = used[3 * change] and sticks
    return False


@compiled_in_place
def is_outside(first: float, second: float, limit: float) -> bool:
    """Return whether a force along the surface [N] is larger than friction may be, `limit` [N]."""
    return math.hypot(first, second) > limit + _RELATIVE_TOLERANCE * max(limit, 1.0)


@compiled_in_place
def _share_friction(contacts: ContactState, work: ContactWork, count: int, friction: float) -> bool:
    """Let points that stick share what holds them by their normal forces; return whether that changes anything.

    It does where more than one sticks and the shortest forces are outside of the cone of one.
    """
    stuck, strongest, outside = 0, 0.0, False
    for c in range(count):
        if contacts.mode[work.chosen[c]] == STICK:
            first, second, limit = work.result[3 * c + 1], work.result[3 * c + 2], friction * work.result[3 * c]
            stuck += 1
            strongest = max(strongest, work.result[3 * c])
            outside = outside or is_outside(first, second, limit)
    if stuck < 2 or not outside or strongest <= 0.0:
        return False
    for c in range(count):
        if contacts.mode[work.chosen[c]] == STICK:
            share = max(math.sqrt(max(work.result[3 * c] / strongest, 0.0)), _SMALLEST_SHARE)
            work.share[3 * c + 1], work.share[3 * c + 2] = share, share
    return True


@compiled_in_place
def contact_accelerations(
    contacts: ContactState, work: ContactWork, count: int, friction: float, joint_acceleration: Vector
) -> tuple[bool, float]:
    """Let the `count` closed contacts act on the joints, as their modes say; return whether forces were found that can.

    Also returned: the rate [1/s] at which friction can turn the slip, mu f_N over the slip speed times the mobility
    across it; zero where points can only move to and fro, as those of a planar arm.

    work: as `update_closed` writes it; slip_direction is written. joint_acceleration: ddq (n,) without contact,
    overwritten by the one with. contacts.force and, of the closed ones, contacts.acceleration are written. Where no
    forces were found they are zero.

    The normal forces are at least 0, those of points that would leave are 0, by pivoting: a point that pulls is let
    go, one that goes in is taken back. A point in STICK is held along the surface with whatever force that takes; the
    caller judges it. The friction of a point in SLIP is mu times the normal force against its velocity, which goes
    into the column of the normal force. With more points than are independent, the shortest forces are taken, or, where
    these ask for too much friction of a point, those shared by the normal forces.
    """
    _set_up(contacts, work, count, friction, joint_acceleration)
    solved = _pivot(contacts, work, count)
    for _ in range(_SHARINGS):
        if not solved or not _share_friction(contacts, work, count, friction):
            break
        solved = _pivot(contacts, work, count)
    force, rate = work.result, 0.0
    for c in range(count):
        i, a = work.chosen[c], 3 * c
        if not solved:
            for k in range(3):
                force[a + k], contacts.acceleration[3 * i + k] = 0.0, work.free[a + k]
        force[a] = max(force[a], 0.0)
        if contacts.mode[i] == SLIP:
            first, second = work.slip_direction[i, 0], work.slip_direction[i, 1]
            force[a + 1] = -friction * force[a] * first
            force[a + 2] = -friction * force[a] * second
            turning = friction * force[a] * _mobility_across(work.delassus, a, first, second)
            speed = math.hypot(contacts.velocity[3 * i + 1], contacts.velocity[3 * i + 2])
            rate = max(rate, turning / max(speed, SMALLEST_SLIP, turning * SHORTEST_STEP))
        for k in range(3):
            contacts.force[3 * i + k] = force[a + k]
            for j in range(joint_acceleration.size):
                joint_acceleration[j] += work.response[a + k, j] * force[a + k]
    return solved, rate


@compiled_in_place
def hold_contacts(contacts: ContactState, work: ContactWork, count: int, state: Matrix) -> None:
    """Take the drift out: close the gaps of the `count` chosen points, and stop what may not move there, in place.

    Along the normal all of them are held, along the surface those in STICK. The changes of q and dq, the first rows
    of state, are the least in the metric of the inertia, so that kinetic energy can only be lost.
    """
    used = work.used[: 3 * count]
    for c in range(count):
        for k in range(3):
            work.share[3 * c + k] = 1.0
            used[3 * c + k] = k == 0 or contacts.mode[work.chosen[c]] == STICK
    for row in range(2):
        for c in range(count):
            i = work.chosen[c]
            for k in range(3):
                depth = contacts.gap[i] if k == 0 else 0.0
                work.free[3 * c + k] = depth if row == 0 else contacts.velocity[3 * i + k]
        _shortest_solution(work.delassus, used, 1.0, work)
        for a in range(3 * count):
            for j in range(state.shape[1]):
                state[row, j] -= work.response[a, j] * work.result[a]
    for c in range(count):
        i = work.chosen[c]
        contacts.gap[i] = 0.0
        for k in range(3):
            speed = 0.0
            for j in range(state.shape[1]):
                speed += work.jacobian[3 * c + k, j] * state[1, j]
            contacts.velocity[3 * i + k] = speed
