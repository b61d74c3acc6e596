"""Velocity of a robot after an impact at one contact point, with friction and restitution.

The joints enter by the inertia M that the control mode gives them, see `robots.InertiaModel`; friction and restitution
act at the contact, see `contact_map`. Coulomb's law is the default: it has a solution for every friction, gains no
energy, and where the slip keeps its direction it is Rey Arias 2024 (9)-(16). Those equations alone, right only there,
are FrictionLaw.FIXED_DIRECTION, written for any normal: with n the unit normal of the surface and u_T the unit vector
of the slip before the impact, both in three dimensions, J_N = n^T J and J_mu = (n - mu u_T)^T J.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_control.impacts.contact_map import (
    OUTCOMES,
    SOLVED,
    ContactImpact,
    FrictionLaw,
    checked_law,
    impulse_at_contact,
    refusal,
)
from impact_control.util.checks import float_array
from impact_control.util.compiled import compiled
from impact_control.util.dense import all_finite, dot, factorise, is_symmetric, solve_lower, solve_upper
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

# Statuses of `_joint_impact` beyond those of `impulse_at_contact`.
_NOT_FINITE, _NOT_SYMMETRIC, _NOT_POSITIVE_DEFINITE = range(10, 13)


@dataclass(frozen=True, eq=False)
class ImpactPrediction(ContactImpact):
    """Effect of an impact on the joints, besides that at the contact.

    Attributes:
        velocity: of the joints after the impact, dq^+ (n,) [rad/s].
    """

    velocity: Vector


def predict_post_impact_velocity(
    inertia: Matrix,
    contact_jacobian: Matrix,
    normal: Vector,
    velocity: Vector,
    friction: float,
    restitution: float = 0.0,
    law: FrictionLaw = FrictionLaw.COULOMB,
) -> ImpactPrediction:
    """Predict the impact at one contact point, by default inelastic and under Coulomb's law.

    inertia: (n, n) [kg m^2], symmetric positive definite: M, M + B_theta or M + B_rho, see
        robots.InertiaModel. An arm without joint-space form (composite rigid body) has `predict_contact_impact`.
    contact_jacobian: J (3, n), rad/s -> m/s, linear velocity of the contact point in the axes of any fixed
        frame (mixed frame E[A]: the axes of the world frame A). For a sphere the contact point is not its
        centre: see robots.contact_point_jacobian.
    normal: n (3,), unit normal of the surface, from the surface to the robot, same axes.
    velocity: of the joints before the impact, dq^- (n,) [rad/s]; the contact point has to move into the
        surface.
    friction: mu, Coulomb's coefficient, at least 0.
    restitution: e, from 0 to 1. J_N dq^+ = -e J_N dq^- with FIXED_DIRECTION (Proper 2021 (2.49) with the sign of
        the Errata) and for any law without friction; with COULOMB of energy, see `coulomb_map`.
    law: of friction. FIXED_DIRECTION is Rey Arias 2024 (15), (16) as printed: without slip there is no
        friction, and a slip may be turned around.

    Raises InvalidInputError; `friction` is also refused when the impact jams with FIXED_DIRECTION,
    J_N M^-1 J_mu^T <= 0: the friction then drives the contact point into the surface faster than the normal
    impulse drives it out, and (15) has no solution with a normal impulse above 0. `mobility`, J M^-1 J^T: see
    `predict_contact_impact`.
    """
    size = np.size(velocity)
    M = float_array("inertia", inertia, (size, size))
    J = float_array("contact_jacobian", contact_jacobian, (3, size))
    n = float_array("normal", normal, (3,))
    before = float_array("velocity", velocity, (size,))
    checked = checked_law(friction, restitution, law)
    results = after, mobility, vectors = np.empty(size), np.empty((3, 3)), np.empty((4, 3))
    status, normal_impulse, outcome, jammed, work = _joint_impact(M, J, n, before, checked, results)
    if status == SOLVED:
        impulse, contact_before, contact_after, slip_direction = vectors
        return ImpactPrediction(
            normal_impulse,
            impulse,
            contact_before,
            contact_after,
            slip_direction,
            OUTCOMES[outcome],
            jammed,
            work,
            after,
        )
    if status == _NOT_FINITE:
        for name, array in (("inertia", M), ("contact_jacobian", J), ("normal", n), ("velocity", before)):
            if not np.all(np.isfinite(array)):
                raise InvalidInputError(name, array, "finite numbers")
    if status == _NOT_SYMMETRIC:
        raise InvalidInputError("inertia", inertia, "a symmetric matrix")
    if status == _NOT_POSITIVE_DEFINITE:
        raise InvalidInputError("inertia", inertia, f"positive definite; the eigenvalues are {np.linalg.eigvalsh(M)}")
    raise refusal(status, mobility, n, J @ before, checked[0], "velocity", velocity)


@compiled
def _joint_impact(
    inertia: Matrix,
    jacobian: Matrix,
    normal: Vector,
    velocity: Vector,
    law: tuple[float, float, bool],
    results: tuple[Vector, Matrix, Matrix],
) -> tuple[int, float, int, bool, float]:
    """Write the joint velocity after the impact, G = J M^-1 J^T and the vectors of `impulse_at_contact` to `results`.

    law: from `checked_law`. Returned: as by `impulse_at_contact`. With M = L L^T and Y = L^-1 J^T: G = Y^T Y and
    dq^+ = dq^- + L^-T Y P.
    """
    if not (all_finite(inertia) and all_finite(jacobian) and all_finite(normal) and all_finite(velocity)):
        return _NOT_FINITE, 0.0, 0, False, 0.0
    if not is_symmetric(inertia):
        return _NOT_SYMMETRIC, 0.0, 0, False, 0.0
    after, mobility, vectors = results
    size = velocity.shape[0]
    factor = inertia.copy()
    if not factorise(factor):
        return _NOT_POSITIVE_DEFINITE, 0.0, 0, False, 0.0

    responses = np.empty((3, size))  # Y^T
    contact_velocity = np.empty(3)
    for axis in range(3):
        contact_velocity[axis] = dot(jacobian[axis], velocity)
        for i in range(size):
            responses[axis, i] = jacobian[axis, i]
        solve_lower(factor, responses[axis])
    for i in range(3):
        for j in range(3):
            mobility[i, j] = dot(responses[i], responses[j])

    result = impulse_at_contact(mobility, normal, contact_velocity, law, vectors)
    if result[0] != SOLVED:
        return result
    for i in range(size):
        after[i] = dot(responses[:, i], vectors[0])
    solve_upper(factor, after)
    for i in range(size):
        after[i] += velocity[i]
    return result
