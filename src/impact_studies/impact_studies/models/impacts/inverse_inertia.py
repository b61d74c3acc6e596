"""Inverse inertia matrices at a contact point: the jump of its velocity that an impulse brings about, dv = W impulse.

Wang 2022 (1), section IV and appendix A. Which one holds is a matter of what the controller lets the joints do:

- torque control lets them give way: `generalized_momentum_inverse_inertia` with the inertia M + B_theta, or M + B_rho
  where no torque loop moves the motors;
- stiff velocity control does not: `CompositeRigidBody.inverse_inertia`, the arm as one rigid body. No joint velocity
  follows from it, only that of the contact, see `predict_contact_impact`.

(7) and (20) are what Wang compares these with. For one free rigid body (6), (17) and (20) are the same matrix.

All in the axes of one fixed frame; normals point from the surface to the robot, so that v_N < 0 is into the surface.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_control.util.checks import (
    ROUNDING,
    finite_array,
    positive_definite,
    require_between,
    require_positive,
    unit_vector,
)
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector


def _joint_space(inertia: Matrix, name: str, jacobian: Matrix, rows: int) -> tuple[Matrix, Matrix]:
    """Return an inertia (n, n), symmetric positive definite, and a Jacobian (rows, n). Raises InvalidInputError."""
    size = np.shape(jacobian)[-1] if np.ndim(jacobian) else 0
    return positive_definite("inertia", inertia, size), finite_array(name, jacobian, (rows, size))


def generalized_momentum_inverse_inertia(inertia: Matrix, contact_jacobian: Matrix) -> Matrix:
    """Return W_gm = J M^-1 J^T (3, 3) [1/kg]. Wang 2022 (6).

    inertia M (n, n) [kg m^2], symmetric positive definite; contact_jacobian J (3, n), linear, rad/s -> m/s. The
    upper-left corner that (6) takes of the six rows is that of the linear ones. Raises InvalidInputError.
    """
    M, J = _joint_space(inertia, "contact_jacobian", contact_jacobian, 3)
    factor = np.linalg.cholesky(M)
    response = np.linalg.solve(factor, J.T)
    result: Matrix = response.T @ response
    return result


def projected_mass(inertia: Matrix, jacobian: Matrix) -> Matrix:
    """Return m_em (3, 3) [kg], upper-left corner of (J M^-1 J^T)^-1. Wang 2022 (7).

    inertia M (n, n) [kg m^2], symmetric positive definite; jacobian J (6, n) of full row rank, linear part first,
    at the contact point. m_em is the mass of a contact that is kept from turning, so that it is never below that of
    (6): m_em^-1 <= W_gm. The equality of energies (5) it comes from holds for the dq = M^-1 J^T f only; for others,
    with motion in the null space of J, the joints have more. Raises InvalidInputError.
    """
    M, J = _joint_space(inertia, "jacobian", jacobian, 6)
    singular_values = np.linalg.svd(J, compute_uv=False)
    if J.shape[1] < 6 or singular_values[-1] <= ROUNDING * singular_values[0]:
        raise InvalidInputError("jacobian", jacobian, f"full row rank; the singular values are {singular_values}")
    corner: Matrix = np.linalg.inv(J @ np.linalg.solve(M, J.T))[:3, :3]
    return corner


def composite_rigid_body_inverse_inertia(mass: float, rotational_inertia: Matrix, offset: Vector) -> Matrix:
    """Return W = 1/m - [r]x I^-1 [r]x (3, 3) [1/kg] of a free rigid body at a point of it. Wang 2022 (17).

    mass m [kg], above 0; rotational_inertia I (3, 3) [kg m^2] about the centre of mass, symmetric positive definite;
    offset r (3,) [m] from the centre of mass to the point. Raises InvalidInputError.
    """
    require_positive("mass", mass)
    inertia = positive_definite("rotational_inertia", rotational_inertia, 3)
    x, y, z = finite_array("offset", offset, (3,))
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    result: Matrix = np.eye(3) / mass - cross @ np.linalg.solve(inertia, cross)
    return 0.5 * (result + result.T)


def joint_motion_inverse_inertia(
    composite: Matrix, inertia: Matrix, contact_jacobian: Matrix, average_jacobian: Matrix
) -> Matrix:
    """Return W + W_flexibility (3, 3) [1/kg], the composite body whose joints move nevertheless. Wang 2022 (20).

    composite: W (3, 3) [1/kg] of (17). inertia M (n, n) [kg m^2], symmetric positive definite. contact_jacobian
    (3, n): of the contact point, average_jacobian (3, n): of that point as part of the composite body, (15), see
    `CompositeRigidBody.velocity_jacobian`; W_flexibility is their difference times M^-1 J^T, (21), (22). Not
    symmetric in general: W takes the impulse to act on a free body, M on one that is bolted to the ground.
    Raises InvalidInputError.
    """
    W = finite_array("composite", composite, (3, 3))
    M, J = _joint_space(inertia, "contact_jacobian", contact_jacobian, 3)
    average = finite_array("average_jacobian", average_jacobian, J.shape)
    result: Matrix = W + (J - average) @ np.linalg.solve(M, J.T)
    return result


def effective_mass(inverse_inertia: Matrix, normal: Vector) -> float:
    """Return m_W = 1 / (n^T W n) [kg], what the contact weighs along the normal. Wang 2022 (31).

    inverse_inertia W (3, 3) [1/kg], n^T W n above 0; normal n (3,), unit. Raises InvalidInputError.
    """
    W = finite_array("inverse_inertia", inverse_inertia, (3, 3))
    n = unit_vector("normal", normal)
    mobility = float(n @ W @ n)
    if mobility <= ROUNDING * float(np.max(np.abs(W))):
        raise InvalidInputError("inverse_inertia", inverse_inertia, f"n^T W n above 0, not {mobility:.6g}")
    return 1.0 / mobility


def end_of_compression_impulse(inverse_inertia: Matrix, normal: Vector, contact_velocity: Vector) -> float:
    """Return iota_nc = -m_W v_N^- [Ns], the normal impulse that stops a contact without friction. Wang 2022 (32).

    inverse_inertia W (3, 3) [1/kg], n^T W n above 0; normal n (3,), unit; contact_velocity v^- (3,) [m/s], into the
    surface. Raises InvalidInputError.
    """
    mass = effective_mass(inverse_inertia, normal)
    speed = -float(unit_vector("normal", normal) @ finite_array("contact_velocity", contact_velocity, (3,)))
    if speed <= 0.0:
        allowed = f"into the surface; its speed along the normal is {-speed:.6g} m/s"
        raise InvalidInputError("contact_velocity", contact_velocity, allowed)
    return mass * speed


def projected_impulse(mass_matrix: Matrix, contact_velocity: Vector, restitution: float = 0.0) -> Vector:
    """Return iota = -(1 + e) m_em v^- (3,) [Ns], of all of the contact velocity. Wang 2022 (8).

    Corrects the printed sign, see Errata: m_em times the jump of the velocity from v^- to -e v^-. mass_matrix m_em
    (3, 3) [kg] of `projected_mass`; contact_velocity v^- (3,) [m/s]; restitution e from 0 to 1. Raises
    InvalidInputError.
    """
    m_em = positive_definite("mass_matrix", mass_matrix, 3)
    velocity = finite_array("contact_velocity", contact_velocity, (3,))
    impulse: Vector = -(1.0 + require_between("restitution", restitution, 0.0, 1.0)) * (m_em @ velocity)
    return impulse


@dataclass(frozen=True, eq=False)
class ContactVelocityTable:
    """Table I of Wang 2022: a row for each configuration, a column for each speed.

    Attributes:
        exact: speed of the contact point into the surface, -n^T v_Op [m/s], (14).
        approximation: that of the composite rigid body there, -n^T (v_Op - v_cp) [m/s], (15).
    """

    exact: Matrix
    approximation: Matrix

    @property
    def ratio(self) -> Matrix:
        """e_a, approximation over exact, (29). Near 1 the arm does move like a rigid body."""
        return self.approximation / self.exact
