"""Velocity after a perfectly inelastic impact of a rigid robot at one point, with Coulomb friction.

Rey Arias 2024 (9)-(16), written for any normal: with n the unit normal of the surface and u_T the unit vector
of the slip before the impact, both in three dimensions, J_N = n^T J and J_mu = (n - mu u_T)^T J.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_control.errors import InvalidInputError
from impact_control.types import Matrix, Vector

_SMALLEST_SLIP_RATIO = 1e-9
"""Slip below this part of the speed of the contact point is rounding: it has no direction."""

_SMALLEST_MOBILITY_RATIO = 1e-9
"""J_N M^-1 J_mu^T below this part of J_N M^-1 J_N^T counts as zero."""


@dataclass(frozen=True, eq=False)
class ImpactPrediction:
    """What an impact does, by `predict_post_impact_velocity`. Contact quantities in the axes of its Jacobian.

    Attributes:
        velocity: of the joints after the impact, dq^+ (n,) [rad/s].
        normal_impulse: Lambda_N [Ns], above 0.
        impulse: on the robot (3,) [Ns], normal and friction.
        contact_velocity_before, contact_velocity_after: of the contact point (3,) [m/s].
        slip_direction: u_T (3,), unit vector of the tangential velocity before the impact; zero without slip.
        slip_reversed: whether the contact point slips against slip_direction after the impact. The friction
            of (10) keeps its direction throughout the impact, so that it can stop the slip and start one the
            other way, which real friction does not do: with friction, read such a result as a contact that
            sticks.
        kinetic_energy_change: 1/2 dq^T M dq after less before [J]. At most 0 unless the slip is reversed.
    """

    velocity: Vector
    normal_impulse: float
    impulse: Vector
    contact_velocity_before: Vector
    contact_velocity_after: Vector
    slip_direction: Vector
    slip_reversed: bool
    kinetic_energy_change: float


def predict_post_impact_velocity(
    inertia: Matrix, contact_jacobian: Matrix, normal: Vector, velocity: Vector, friction: float
) -> ImpactPrediction:
    """Return what a perfectly inelastic impact at one contact point does. Rey Arias 2024 (15), (16).

    inertia: (n, n) [kg m^2], symmetric positive definite: M, M + B_theta or M + B_rho, see
        robots.InertiaModel.
    contact_jacobian: J (3, n), rad/s -> m/s, linear velocity of the contact point in the axes of any fixed
        frame (mixed frame E[A]: the axes of the world frame A). For a sphere the contact point is not its
        centre: see robots.contact_point_jacobian.
    normal: n (3,), unit normal of the surface, from the surface to the robot, same axes.
    velocity: of the joints before the impact, dq^- (n,) [rad/s]; the contact point has to move into the
        surface.
    friction: mu, Coulomb's coefficient, at least 0. The direction of the friction is that of the slip before
        the impact (11); without slip there is no friction.

    Raises InvalidInputError; `friction` is also refused when the impact jams, J_N M^-1 J_mu^T <= 0: the
    friction then drives the contact point into the surface faster than the normal impulse drives it out, and
    (15) has no solution with a normal impulse above 0.
    """
    size = np.size(velocity)
    M = _finite("inertia", inertia, (size, size))
    J = _finite("contact_jacobian", contact_jacobian, (3, size))
    n = _finite("normal", normal, (3,))
    before = _finite("velocity", velocity, (size,))
    if abs(float(np.linalg.norm(n)) - 1.0) > 1e-6:
        raise InvalidInputError("normal", normal, f"a vector of length 1, not {np.linalg.norm(n):.9g}")
    if not (math.isfinite(friction) and friction >= 0.0):
        raise InvalidInputError("friction", friction, "a finite number of at least 0")
    _require_positive_definite(M)

    contact_before = J @ before
    approach = float(n @ contact_before)
    if approach >= 0.0:
        allowed = f"the contact point moving into the surface; its speed along the normal is {approach:.6g} m/s"
        raise InvalidInputError("velocity", velocity, allowed)
    slip_direction = _slip_direction(contact_before, n)
    impulse_direction = n - friction * slip_direction

    joint_response = np.linalg.solve(M, J.T)
    mobility = J @ joint_response
    normal_mobility = float(n @ mobility @ n)
    driven_out = float(n @ mobility @ impulse_direction)
    if driven_out <= _SMALLEST_MOBILITY_RATIO * normal_mobility:
        limit = normal_mobility / float(n @ mobility @ slip_direction)
        raise InvalidInputError(
            "friction", friction, f"below {limit:.6g}: from there on this impact jams, J_N M^-1 J_mu^T <= 0"
        )
    normal_impulse = -approach / driven_out
    impulse = normal_impulse * impulse_direction
    after = before + joint_response @ impulse
    contact_after = J @ after
    return ImpactPrediction(
        velocity=after,
        normal_impulse=normal_impulse,
        impulse=impulse,
        contact_velocity_before=contact_before,
        contact_velocity_after=contact_after,
        slip_direction=slip_direction,
        slip_reversed=bool(slip_direction @ contact_after < 0.0),
        # Work of the impulse at the mean of the contact velocities.
        kinetic_energy_change=0.5 * float(impulse @ (contact_before + contact_after)),
    )


def _slip_direction(contact_velocity: Vector, normal: Vector) -> Vector:
    """Return u_T (3,) of Rey Arias 2024 (11), or zero without slip."""
    slip = contact_velocity - (normal @ contact_velocity) * normal
    speed = float(np.linalg.norm(slip))
    if speed <= _SMALLEST_SLIP_RATIO * float(np.linalg.norm(contact_velocity)):
        return np.zeros(3)
    direction: Vector = slip / speed
    return direction


def _finite(name: str, value: Matrix, shape: tuple[int, ...]) -> Matrix:
    array = np.asarray(value, dtype=np.float64)
    if array.shape != shape or not np.all(np.isfinite(array)):
        raise InvalidInputError(name, value, f"finite numbers of shape {shape}")
    return array


def _require_positive_definite(inertia: Matrix) -> None:
    if not np.allclose(inertia, inertia.T, rtol=0.0, atol=1e-9 * float(np.max(np.abs(inertia)))):
        raise InvalidInputError("inertia", inertia, "a symmetric matrix")
    try:
        np.linalg.cholesky(inertia)
    except np.linalg.LinAlgError as error:
        raise InvalidInputError("inertia", inertia, "a positive definite matrix") from error
