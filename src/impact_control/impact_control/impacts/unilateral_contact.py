"""The law of a unilateral contact with friction, and its residual, which the solver drives to zero.

Three numbers per contact, in the axes of its contact frame: normal, first tangent, second tangent.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from impact_control.util.compiled import compiled
from impact_control.util.types import Matrix, Vector


class ContactProblem(NamedTuple):
    """W (3 m, 3 m) [1/kg], free velocity c (3 m,) [m/s], friction mu (m,), and the mean mobility of each contact (m,)
    [1/kg].
    """

    delassus: Matrix
    free_velocity: Vector
    friction: Vector
    mobility: Vector


class NewtonWork(NamedTuple):
    """Velocity v = W p + c (3 m,) [m/s], F (3 m,) and dF/dp (3 m, 3 m) of a Newton step."""

    velocity: Vector
    error: Vector
    jacobian: Matrix


@compiled
def contact_law_residual(velocity: Vector, impulse: Vector, friction: Vector, mobility: Vector) -> float:
    """Return the residual [m/s] of the contact law at velocity v (3 m,) [m/s] and impulse p (3 m,) [Ns], 0 if it holds.

    friction mu (m,); mobility (m,) [1/kg] turns impulses into velocities. The largest entry of
    mobility * (p - projection of p - v / mobility): the normal part projected on the numbers of at least 0, the
    tangential part on the disk of radius mu p_N.
    """
    largest = 0.0
    for i in range(friction.size):
        a = 3 * i
        inverse = 1.0 / mobility[i]
        pushed = max(0.0, impulse[a] - inverse * velocity[a])
        first, second = impulse[a + 1] - inverse * velocity[a + 1], impulse[a + 2] - inverse * velocity[a + 2]
        length, radius = math.hypot(first, second), friction[i] * impulse[a]
        shrink = radius / length if length > radius else 1.0
        for part in (
            impulse[a] - pushed,
            impulse[a + 1] - shrink * first,
            impulse[a + 2] - shrink * second,
        ):
            # Written so that a part that is not a number comes through.
            if not abs(mobility[i] * part) <= largest:
                largest = abs(mobility[i] * part)
    return largest


@compiled
def linearise(problem: ContactProblem, i: int, impulse: Vector, regularisation: float, work: NewtonWork) -> None:
    """Write the three rows of contact i of the law as F(p) = 0, and of dF/dp, at the velocity in `work`.

    With x = p - v / mobility: F = p where x_N <= 0 (open); F_N = p_N - x_N otherwise, and F_T = p_T less the
    projection of x_T on the disk of radius mu x_N: p_T - x_T inside of it (stick), p_T - mu x_N x_T / |x_T| outside.
    The regularisation [1/kg] takes the place of W where W has none: it gives the shortest step.
    """
    velocity, error, jacobian = work
    a, friction, inverse_mobility = 3 * i, problem.friction[i], 1.0 / problem.mobility[i]
    x_n = impulse[a] - velocity[a] * inverse_mobility
    x_1, x_2 = impulse[a + 1] - velocity[a + 1] * inverse_mobility, impulse[a + 2] - velocity[a + 2] * inverse_mobility
    if x_n <= 0.0:
        for row in range(a, a + 3):
            error[row] = impulse[row]
            for column in range(impulse.size):
                jacobian[row, column] = 0.0
            jacobian[row, row] = 1.0
        return
    for row in range(a, a + 3):
        error[row] = velocity[row] * inverse_mobility
        for column in range(impulse.size):
            jacobian[row, column] = problem.delassus[row, column] * inverse_mobility
        jacobian[row, row] += regularisation * inverse_mobility
    length, radius = math.hypot(x_1, x_2), friction * x_n
    if length <= radius:
        return
    d_1, d_2, ratio = x_1 / length, x_2 / length, radius / length
    error[a + 1] = impulse[a + 1] - radius * d_1
    error[a + 2] = impulse[a + 2] - radius * d_2
    for column in range(impulse.size):
        dx_n, dx_1, dx_2 = -jacobian[a, column], -jacobian[a + 1, column], -jacobian[a + 2, column]
        if column == a:
            dx_n += 1.0
        elif column == a + 1:
            dx_1 += 1.0
        elif column == a + 2:
            dx_2 += 1.0
        along = d_1 * dx_1 + d_2 * dx_2
        jacobian[a + 1, column] = -friction * d_1 * dx_n - ratio * (dx_1 - d_1 * along)
        jacobian[a + 2, column] = -friction * d_2 * dx_n - ratio * (dx_2 - d_2 * along)
    jacobian[a + 1, a + 1] += 1.0
    jacobian[a + 2, a + 2] += 1.0


@compiled
def cone_projection(normal: float, first: float, second: float, friction: float) -> tuple[float, float, float]:
    """Return the point of the cone |x_T| <= mu x_N nearest to (normal, first, second)."""
    length = math.hypot(first, second)
    if length <= friction * normal:
        return normal, first, second
    if friction * length <= -normal:
        return 0.0, 0.0, 0.0
    along = (normal + friction * length) / (1.0 + friction * friction)
    shrink = friction * along / length
    return along, shrink * first, shrink * second


@compiled
def into_cones(impulse: Vector, friction: Vector) -> None:
    """Cut negative normal impulses off, and the friction that is then too large."""
    for i in range(friction.size):
        a = 3 * i
        impulse[a] = max(impulse[a], 0.0)
        length, radius = math.hypot(impulse[a + 1], impulse[a + 2]), friction[i] * impulse[a]
        if length > radius:
            impulse[a + 1] *= radius / length
            impulse[a + 2] *= radius / length
