"""The arm as one free rigid body: what a stiffly velocity-controlled arm looks like to an impact, Wang 2022 IV-B."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from impact_control.util.checks import finite_array
from impact_control.util.types import Matrix, Vector
from impact_studies.models.impacts.inverse_inertia import composite_rigid_body_inverse_inertia


@dataclass(frozen=True, eq=False)
class CompositeRigidBody:
    """All moving links in one configuration, welded together and free. Axes of the world frame A.

    Attributes:
        mass: [kg]. The base link is bolted down and not part of it.
        centre: centre of mass (3,) [m].
        rotational_inertia: (3, 3) [kg m^2] about the centre of mass; with the mass crbI of Wang 2022 (13), (33).
        momentum_matrix: (6, n), rad/s -> kg m/s, kg m^2/s: linear and angular momentum about the centre of mass.
    """

    mass: float
    centre: Vector
    rotational_inertia: Matrix
    momentum_matrix: Matrix

    def inverse_inertia(self, point: Vector) -> Matrix:
        """Return W (3, 3) [1/kg] at a point (3,) [m] of the world frame. Wang 2022 (17). Raises InvalidInputError."""
        offset = finite_array("point", point, (3,)) - self.centre
        return composite_rigid_body_inverse_inertia(self.mass, self.rotational_inertia, offset)

    def velocity_jacobian(self, point: Vector) -> Matrix:
        """Return the Jacobian (3, n), rad/s -> m/s, of a point (3,) [m] moving with the average velocity of the arm.

        The average velocity is that of the rigid body with the momentum of the arm, crbI^-1 h, Wang 2022 (13)-(15).
        Raises InvalidInputError.
        """
        offset = finite_array("point", point, (3,)) - self.centre
        angular = np.linalg.solve(self.rotational_inertia, self.momentum_matrix[3:])
        jacobian: Matrix = self.momentum_matrix[:3] / self.mass + np.cross(angular, offset, axisa=0, axisc=0)
        return jacobian


def composite_rigid_body(model: pin.Model, q: Vector) -> CompositeRigidBody:
    """Return the composite rigid body of a Pinocchio model at q (n,) [rad]. Raises InvalidInputError."""
    configuration = finite_array("q", q, (model.nq,))
    data = model.createData()
    pin.ccrba(model, data, configuration, np.zeros(model.nv))
    return CompositeRigidBody(
        mass=float(data.Ig.mass),
        centre=np.array(data.com[0]),
        rotational_inertia=np.array(data.Ig.inertia),
        momentum_matrix=np.array(data.Ag),
    )
