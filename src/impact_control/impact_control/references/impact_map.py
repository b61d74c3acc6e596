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

_DEPENDENT = 1e-9
"""Singular values below this part of the largest belong to contacts that depend on the others."""


SHORTEST_CONTACT = 1e-4
"""[s] That of steel on steel, Rey Arias 2024, at some 0.1 m/s."""


class PredictedImpact(Protocol):
    """Prediction of an impact map; `impact_control.impacts.ImpactPrediction` is one."""

    @property
    def velocity(self) -> Vector:
        """Return dq^+ (n,) [rad/s]."""
        ...

    @property
    def normal_impulse(self) -> float:
        """Return the impulse along the normal [Ns]."""
        ...

    @property
    def slip(self) -> SlipOutcome:
        """Return what became of the slip along the surface."""
        ...


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
    more. A joint whose damper evens the two sides out within `SHORTEST_CONTACT` counts with its motor.
    """
    transmission = robot.transmission

    def inertia(dynamics: Dynamics) -> Matrix:
        rate = transmission.damping * np.diag(np.linalg.inv(dynamics.mass_matrix))
        passed_on = np.where(rate * SHORTEST_CONTACT > 1.0, transmission.motor_inertia, 0.0)
        of_links: Matrix = dynamics.mass_matrix + np.diag(passed_on)
        return of_links

    return _map_with(Dynamics(robot), inertia)


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
    closing = response @ np.linalg.lstsq(rows @ response, opening, rcond=_DEPENDENT)[0]
    after = impact.velocities[_ARM] - closing
    slip = slip_of_contacts(impact.contact_velocities_before, jacobians @ after, normal)
    return SimultaneousImpact(after, float(impact.normal_impulses.sum()), slip)
