"""Standard deviation of the predicted joint velocity after an impact: what is not known exactly, through the map."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from impact_control.impacts import FrictionLaw, predict_post_impact_velocity
from impact_control.references.impact_geometry import ImpactGeometry
from impact_control.references.impact_map import simultaneous_impact
from impact_control.robots import Dynamics, InertiaModel, RobotDescription, contact_jacobians
from impact_control.scenario import Uncertainty
from impact_control.util.errors import ImpactControlError
from impact_control.util.types import Matrix, Vector


def jump_deviation(
    robot: RobotDescription,
    geometry: ImpactGeometry,
    q: Vector,
    before: Vector,
    after: Vector,
    friction: float,
    uncertainty: Uncertainty,
) -> Vector:
    """Return the standard deviation (n,) [rad/s] of dq^+, independent errors added by their squares.

    q (n,) [rad], before dq^-, after dq^+ (n,) [rad/s]: as planned. Errors of one standard deviation each: of M and
    B_theta (robot data), friction, restitution and normal of the surface (two ways), by a difference of the impact map;
    and the part `uncertainty.model` of each joint's own jump, which the map of one rigid inelastic impact leaves to
    flexible joints and to a contact that opens and closes.
    """
    dynamics = Dynamics(robot)
    dynamics.compute(q, before)
    links, motors = dynamics.inertia(InertiaModel.LINKS), np.diag(robot.transmission.reduced_motor_inertia)
    jacobians = contact_jacobians(dynamics.jacobian, geometry.contact_offsets)
    known = robot.deviation

    def velocity(inertia: Matrix, normal: Vector, mu: float, restitution: float) -> Vector:
        if len(jacobians) == 1:
            law = FrictionLaw.COULOMB
            return predict_post_impact_velocity(inertia, jacobians[0], normal, before, mu, restitution, law).velocity
        return simultaneous_impact(inertia, jacobians, normal, before, mu).velocity

    def changed() -> Iterator[Vector]:
        inertia, normal = links + motors, geometry.normal
        planned = velocity(inertia, normal, friction, 0.0)
        yield velocity(inertia + known.link_inertia * links, normal, friction, 0.0) - planned
        yield velocity(inertia + known.reduced_motor_inertia * motors, normal, friction, 0.0) - planned
        yield velocity(inertia, normal, friction + uncertainty.friction, 0.0) - planned
        yield velocity(inertia, normal, friction, uncertainty.restitution) - planned
        for tangent in (geometry.heading, np.cross(normal, geometry.heading)):
            tilted = normal + np.tan(uncertainty.normal) * tangent
            yield velocity(inertia, tilted / np.linalg.norm(tilted), friction, 0.0) - planned

    variance = (uncertainty.model * (after - before)) ** 2
    try:
        for change in changed():
            variance += change**2
    except ImpactControlError:
        # A grazing approach may miss the tilted surface: then nothing is known of the jump but its size.
        variance = (after - before) ** 2
    deviation: Vector = np.sqrt(variance)
    return deviation
