"""The velocity after the planned impact, at one contact or at several at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from impact_control.impacts import (
    Body,
    Contact,
    SlipOutcome,
    predict_multi_contact_impact,
    predict_post_impact_velocity,
    slip_of_contacts,
)
from impact_control.robots import Dynamics, InertiaModel, RobotDescription, contact_jacobians
from impact_control.util.types import Matrix, Vector

_ARM = "arm"

_SLOW = 1e-12
"""Eigenvalues of L, of `links_in_impact`, below which (1 - exp(-x)) / x is 1: of joints without damper."""

DEPENDENT = 1e-9
"""Singular values below this part of the largest belong to contacts that depend on the others."""


SHORTEST_IMPULSE = 5e-5
"""[s] Until steel on steel has been compressed: half of its contact of 0.1 ms at some 0.1 m/s, Rey Arias 2024."""


class PredictedImpact(Protocol):
    """Prediction of an impact map; `impact_control.impacts.ImpactPrediction` is one."""

    @property
    def velocity(self) -> Vector:
        """Return dq^+ (n,) [rad/s]."""

    @property
    def normal_impulse(self) -> float:
        """Return the impulse along the normal [Ns]."""

    @property
    def slip(self) -> SlipOutcome:
        """Return what became of the slip along the surface."""


ImpactMap = Callable[[Vector, Vector, Matrix, Vector, float], PredictedImpact]
"""predict(q (n,), dq^- (n,), offsets, normal (3,), friction), Proper 2021 (3.17).

An inelastic impact. offsets [m]: from the origin of E to the contact point (3,), or to several (n_c, 3), axes of A;
normal: unit, to the robot, axes of A.
"""


@dataclass(frozen=True, eq=False)
class SimultaneousImpact:
    """An impact at several contacts: velocity dq^+ (n,) [rad/s], sum of the normal impulses [Ns], slip of them all."""

    velocity: Vector
    normal_impulse: float
    slip: SlipOutcome


def rigid_impact_map(robot: RobotDescription, model: InertiaModel = InertiaModel.REDUCED_MOTORS) -> ImpactMap:
    """Return the inelastic impact map with an inertia model, by default M + B_theta of a torque-controlled arm.

    Under Coulomb's law. One contact: `predict_post_impact_velocity`. Several: `simultaneous_impact`.
    """
    return _map_with(Dynamics(robot), lambda dynamics: dynamics.inertia(model))


def link_impact_map(robot: RobotDescription) -> ImpactMap:
    """Return the inelastic impact map of the links, before their joints have passed the impact on to the motors.

    Of the velocity that the links reach for less than a millisecond, a quarter above that of `rigid_impact_map` and
    more. The impulse acts evenly for `SHORTEST_IMPULSE`; see `links_in_impact`.
    """
    motors, damping = robot.transmission.motor_inertia, robot.transmission.damping
    return _map_with(
        Dynamics(robot), lambda dynamics: links_in_impact(dynamics.mass_matrix, motors, damping, SHORTEST_IMPULSE)
    )


def links_in_impact(mass_matrix: Matrix, motors: Vector, damping: Vector, duration: float) -> Matrix:
    """Return the inertia (n, n) [kg m^2] that the links oppose to an impulse of a duration [s].

    mass_matrix: M (n, n); motors: B (n,) [kg m^2]; damping: D (n,) [Nms/rad] of the joints, whose springs are too soft
    to matter meanwhile. Ours, from M ddq = f - D w and B ddtheta = D w with w = dq - dtheta and f constant:

        W = (M + B)^-1 (I + B phi M^-1),   phi = (I - exp(-L)) L^-1,   L = duration (M^-1 + B^-1) D

    of which the inverse is returned: M for a short impulse, M + B for a long one or stiff dampers.
    """
    mobility = np.linalg.inv(mass_matrix)
    factor = np.linalg.cholesky(mobility + np.diag(1.0 / motors))
    rates, axes = np.linalg.eigh(duration * (factor.T * damping) @ factor)
    left = np.where(rates > _SLOW, -np.expm1(-rates) / np.maximum(rates, _SLOW), 1.0)
    phi = factor @ (axes * left) @ axes.T @ np.linalg.inv(factor)
    moved = np.eye(len(motors)) + motors[:, None] * (phi @ mobility)
    inertia: Matrix = np.linalg.solve(moved, mass_matrix + np.diag(motors))
    return 0.5 * (inertia + inertia.T)


def _map_with(dynamics: Dynamics, inertia: Callable[[Dynamics], Matrix]) -> ImpactMap:
    def predict(q: Vector, dq: Vector, offsets: Matrix, normal: Vector, friction: float) -> PredictedImpact:
        dynamics.compute(q, dq)
        jacobians = contact_jacobians(dynamics.jacobian, np.atleast_2d(offsets))
        if len(jacobians) == 1:
            return predict_post_impact_velocity(inertia(dynamics), jacobians[0], normal, dq, friction)
        return simultaneous_impact(inertia(dynamics), jacobians, normal, dq, friction)

    return predict


def simultaneous_impact(
    inertia: Matrix, jacobians: Matrix, normal: Vector, velocity: Vector, friction: float
) -> SimultaneousImpact:
    """Return what an impact does at whose end all contacts rest on the surface, along its normal.

    inertia (n, n) [kg m^2]; jacobians (n_c, 3, n), of the contact points; normal (3,), to the robot; velocity
    dq^- (n,) [rad/s]; friction mu. The impulses push and keep to Coulomb's law, `impacts.predict_multi_contact_impact`.
    Where they would let a contact open it comes back, in further impacts under the force that presses on the
    surface, until it rests: what is left of its velocity is taken out as by Proper 2021 (2.51), which holds all
    contacts. Both steps lose energy. Raises InvalidInputError, ContactSolverError.
    """
    contacts = [Contact(_ARM, jacobian, normal, friction) for jacobian in jacobians]
    impact = predict_multi_contact_impact({_ARM: Body(inertia, velocity)}, contacts)
    rows = np.einsum("j,cjn->cn", normal, jacobians)
    response = np.linalg.solve(inertia, rows.T)
    opening = rows @ impact.velocities[_ARM]
    closing = response @ np.linalg.lstsq(rows @ response, opening, rcond=DEPENDENT)[0]
    after = impact.velocities[_ARM] - closing
    slip = slip_of_contacts(impact.contact_velocities_before, jacobians @ after, normal)
    return SimultaneousImpact(after, float(impact.normal_impulses.sum()), slip)
