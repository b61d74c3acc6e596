"""Impulses of many simultaneous contacts: Signorini's condition and Coulomb's law at velocity level.

With W = J M^-1 J^T the Delassus matrix of m contacts and c their velocities if there were no contact, find impulses
p so that for v = W p + c holds at every contact

    p_N >= 0,  v_N >= 0,  p_N v_N = 0                       (no adhesion, no penetration, one of them is zero)
    |p_T| <= mu p_N,  and p_T = -mu p_N v_T / |v_T| where v_T is not zero                            (Coulomb)

Three numbers per contact, in the axes of its contact frame: normal, first tangent, second tangent; one contact after
the other. This is Coulomb's law itself, not its convex relaxation: that one would lift every slipping contact with
v_N = mu |v_T|, and a single sliding impact would not come out as in Rey Arias 2024 (14).

The method: a semismooth Newton method on the law (Alart and Curnier 1991) finds the impulses to rounding once it has
found which contacts open, stick and slip. Where it does not, alternating directions (ADMM) on the cone problem
that De Saxce's shift mu |v_T| of the normal velocity makes of the law lead it there. Neither asks for an invertible W,
and no step depends on the order of the contacts.

Chosen by measurement, 400 random impacts of two arms with eight contacts on a free box, mu up to 0.6, one core, median
and 99th percentile, and how many come to 1e-6 of the largest speed:

    this solver                                     26 us     389 us    100 %
    Pinocchio 4.1, ADMM, tolerance 1e-9            231 us    1206 us    100 %
    Pinocchio 4.1, PGS, tolerance 1e-9              74 us    5040 us     99 %
    qpsolvers with daqp, friction pyramid, convex  291 us     583 us      1 %: another law
    qpsolvers with daqp, no friction                68 us     135 us    the tested reference

With more contacts than can be independent (Proper 2021, below (2.56)) many impulses belong to the same velocities.
Started from zero, the solver returns the shortest one as long as all contacts stay closed and stick, and otherwise one
that is symmetric where the problem is. Without friction the velocities are unique all the same. With friction they
need not be: how dependent contacts share the load decides what friction each of them can give, and with mu near or
above 1 there can be several solutions even for independent contacts.
"""

from __future__ import annotations

import math

import numpy as np

from impact_control.impacts.unilateral_contact import (
    ContactProblem,
    NewtonWork,
    cone_projection,
    contact_law_residual,
    into_cones,
    linearise,
)
from impact_control.util.compiled import compiled
from impact_control.util.dense import apply_affine, factorise, solve_in_place, solve_lower, solve_upper
from impact_control.util.errors import ImpactControlError
from impact_control.util.types import Matrix, Vector

RELATIVE_TOLERANCE = 1e-9
"""Residual to ask for, as part of the largest free velocity."""

ITERATIONS = 1000
"""Steps of the alternating directions in one search, before there most likely is no solution."""

_STEPS_BETWEEN_NEWTON = 20
_NEWTON_STEPS = 8
_REGULARISATION = 1e-8
_PENALTIES = (0.3, 0.1, 0.03, 1.0)
"""Penalties of the alternating directions, in turn: which is fast depends on the case, and changing breaks cycles."""

_FRICTION_STEPS = 8


class ContactSolverError(ImpactControlError):
    """No impulses were found that satisfy the contact law.

    Attributes:
        residual: of the law [m/s], see `contact_law_residual`.
        tolerance: largest accepted residual [m/s].
        iterations: their number.
        impulse: the best impulses found (3 m,) [Ns].
    """

    def __init__(self, residual: float, tolerance: float, iterations: int, impulse: Vector) -> None:
        self.residual, self.tolerance, self.iterations, self.impulse = residual, tolerance, iterations, impulse
        super().__init__(
            f"contact impulses not found: residual {residual:.3g} m/s after {iterations} iterations; "
            f"allowed: at most {tolerance:.3g} m/s"
        )


@compiled
def solve_contacts(
    delassus: Matrix, free_velocity: Vector, friction: Vector, impulse: Vector, tolerance: float, iterations: int
) -> tuple[float, int]:
    """Solve the contact law of this module for the impulses; return the residual [m/s] and the iterations made.

    delassus: W (3 m, 3 m) [1/kg], C-contiguous, symmetric positive semidefinite, of any rank, no contact without
        mobility.
    free_velocity: c (3 m,) [m/s]; for restitution, its normal part is lowered by the velocity to rebound with.
    friction: mu (m,), at least 0.
    impulse: p (3 m,) [Ns]; read as first guess (zeros will do), overwritten by the result, which lies in the friction
        cones exactly.
    tolerance: residual to reach [m/s], see `contact_law_residual`.
    iterations: of the alternating directions, at most this many in each of up to 10 searches. 0 returned: Newton's
        method needed none.

    It has converged if the returned residual is at most the tolerance. Nothing is validated.
    """
    mobility = np.empty(friction.size)
    for i in range(friction.size):
        a = 3 * i
        mobility[i] = (delassus[a, a] + delassus[a + 1, a + 1] + delassus[a + 2, a + 2]) / 3.0
    residual, made, last = 0.0, 0, _FRICTION_STEPS + 2
    part = friction.copy()
    problem = ContactProblem(delassus, free_velocity, part, mobility)
    for attempt in range(last + 1):
        if attempt == 1:
            # From the impulse that would stop every contact.
            _stopping_impulse(delassus, free_velocity, impulse)
        elif attempt > 1:
            # From the frictionless solution, which is unique, along growing friction.
            for i in range(friction.size):
                part[i] = (attempt - 2) / _FRICTION_STEPS * friction[i]
                if attempt == 2:
                    impulse[3 * i : 3 * i + 3] = 0.0
        residual, more = _search(problem, impulse, tolerance, iterations)
        made += more
        if residual <= tolerance and (attempt < 2 or attempt == last):
            break
    return residual, made


@compiled
def _search(problem: ContactProblem, impulse: Vector, tolerance: float, iterations: int) -> tuple[float, int]:
    """Newton's method from `impulse`, and alternating directions until it converges; the best goes into `impulse`."""
    size = impulse.size
    delassus, free_velocity, friction, mobility = problem
    velocity, x, y, z = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    matrix = np.empty((size, size))
    work = NewtonWork(velocity, np.empty(size), matrix)
    into_cones(impulse, friction)
    apply_affine(delassus, impulse, free_velocity, velocity)
    best = contact_law_residual(velocity, impulse, friction, mobility)
    if best <= tolerance:
        return best, 0
    # The alternating directions work in units in which every contact has mobility 1.
    for row in range(size):
        z[row] = impulse[row] * math.sqrt(mobility[row // 3])
        y[row] = -velocity[row] / math.sqrt(mobility[row // 3])
    candidate = impulse.copy()
    made = 0
    while True:
        best = _newton(problem, work, candidate, impulse, best, tolerance)
        if best <= tolerance or made >= iterations:
            return best, made
        penalty = _PENALTIES[made // _STEPS_BETWEEN_NEWTON % len(_PENALTIES)]
        for row in range(size):
            for column in range(row + 1):
                scale = math.sqrt(mobility[row // 3] * mobility[column // 3])
                matrix[row, column] = delassus[row, column] / scale
            matrix[row, row] += penalty
        factorise(matrix)
        for _ in range(_STEPS_BETWEEN_NEWTON):
            for i in range(friction.size):
                a = 3 * i
                for row in range(a, a + 3):
                    x[row] = penalty * z[row] - y[row] - free_velocity[row] / math.sqrt(mobility[i])
                x[a] -= friction[i] * math.hypot(y[a + 1], y[a + 2])
            solve_lower(matrix, x)
            solve_upper(matrix, x)
            for i in range(friction.size):
                a = 3 * i
                for row in range(a, a + 3):
                    x[row] += y[row] / penalty
                z[a], z[a + 1], z[a + 2] = cone_projection(x[a], x[a + 1], x[a + 2], friction[i])
                for row in range(a, a + 3):
                    y[row] = penalty * (x[row] - z[row])
        made += _STEPS_BETWEEN_NEWTON
        for row in range(size):
            candidate[row] = z[row] / math.sqrt(mobility[row // 3])


@compiled
def _newton(
    problem: ContactProblem, work: NewtonWork, candidate: Vector, impulse: Vector, best: float, tolerance: float
) -> float:
    """Semismooth Newton steps from `candidate`; a residual below `best` is returned, its impulses in `impulse`.

    `candidate` and `work` are overwritten.
    """
    delassus, free_velocity, friction, mobility = problem
    velocity, error, jacobian = work
    regularisation = 0.0
    for i in range(friction.size):
        regularisation += _REGULARISATION / friction.size * mobility[i]
    for _ in range(_NEWTON_STEPS):
        apply_affine(delassus, candidate, free_velocity, velocity)
        for i in range(friction.size):
            linearise(problem, i, candidate, regularisation, work)
        if not solve_in_place(jacobian, error):
            return best
        for row in range(error.size):
            candidate[row] -= error[row]
            error[row] = candidate[row]
        into_cones(error, friction)
        apply_affine(delassus, error, free_velocity, velocity)
        residual = contact_law_residual(velocity, error, friction, mobility)
        if residual < best:
            best = residual
            impulse[:] = error
            if best <= tolerance:
                return best
    return best


@compiled
def _stopping_impulse(delassus: Matrix, free_velocity: Vector, impulse: Vector) -> None:
    """Write the impulse after which no contact moves, the shortest one of a singular W."""
    factor = delassus.copy()
    largest = 0.0
    for row in range(impulse.size):
        largest = max(largest, delassus[row, row])
        impulse[row] = -free_velocity[row]
    for row in range(impulse.size):
        factor[row, row] += _REGULARISATION * largest
    factorise(factor)
    solve_lower(factor, impulse)
    solve_upper(factor, impulse)
