"""The gross velocity jump of an impact: from the samples, without the ringing, and as the rigid maps predict it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_control.impacts import ImpactPrediction, predict_post_impact_velocity
from impact_control.observation.post_impact_velocity import gross_post_impact_velocity
from impact_control.robots import Dynamics, InertiaModel, contact_point_jacobian
from impact_control.util.types import Matrix, Vector
from impact_studies.planar_impact.response import OBSERVED, FlexibleResponse

SETTLED = (0.02, OBSERVED)
"""[s] after a free impact: the contact has opened, and what the joints transmit cancels in the common motion."""

BEST = InertiaModel.REDUCED_MOTORS
"""The inertia that Rey Arias 2024 finds best: M + B_theta."""


@dataclass(frozen=True, eq=False)
class GrossJump:
    """Velocities at one impact, each (n,) [rad/s].

    Attributes:
        ante: dq^-.
        fitted: dq^+ by the cubic fit of Rey Arias 2024, section IV.
        common: dq^+ of the common motion of links and motors, see `common_motion`.
        predictions: of the rigid map by inertia model.
        normal_speed_before, normal_speed_common: of the contact point along the normal [m/s], before the impact
            and in the common motion after it.
        common_energy_change: 1/2 dq^T (M + B_theta) dq of the common motion after less before [J].
    """

    ante: Vector
    fitted: Vector
    common: Vector
    predictions: dict[InertiaModel, ImpactPrediction]
    normal_speed_before: float
    normal_speed_common: float
    common_energy_change: float

    @property
    def restitution(self) -> float:
        """Speed of the contact point with which links and motors together leave the surface, over that before."""
        return -self.normal_speed_common / self.normal_speed_before

    def error(self, model: InertiaModel) -> Vector:
        """Absolute error (n,) [rad/s] of the prediction, the fit taken as the truth: Rey Arias 2024 (17)."""
        error: Vector = np.abs(self.predictions[model].velocity - self.fitted)
        return error

    @property
    def fit_bias(self) -> Vector:
        """Fit less common motion (n,) [rad/s]: what the ringing leaves in the fit, when the impact is free."""
        return self.fitted - self.common


def common_motion(response: FlexibleResponse) -> tuple[Vector, Matrix]:
    """Return time (k,) [s] and velocity (k, n) [rad/s] of links and motors together, after the impact.

    (M + B_theta)^-1 (M dq + B_theta dtheta): the momentum of both over their inertia. What the joints transmit
    cancels in it, so that it does not ring; by Rey Arias 2024 (2), (5) only h, u and the contact change it. Needs the
    motor velocities.
    """
    dynamics = Dynamics(response.robot)
    motors = response.robot.transmission.reduced_motor_inertia
    after = np.flatnonzero(response.time >= 0.0)
    velocities = []
    for i in after:
        dq, dtheta = response.link_velocity[i], response.motor_velocity[i]
        dynamics.compute(response.link_position[i], dq)
        momentum = dynamics.mass_matrix @ dq + motors * dtheta
        velocities.append(np.linalg.solve(dynamics.inertia(InertiaModel.REDUCED_MOTORS), momentum))
    return response.time[after], np.array(velocities)


def gross_jump(response: FlexibleResponse) -> GrossJump:
    """Return the jump of a response and what the rigid maps make of its q^-, dq^-, without friction."""
    q, ante = response.at_impact
    normal = response.surface.normal
    dynamics = Dynamics(response.robot)
    dynamics.compute(q, ante)
    tool = response.robot.end_effector
    jacobian = contact_point_jacobian(dynamics.jacobian, -tool.radius * normal)
    predictions = {
        model: predict_post_impact_velocity(dynamics.inertia(model), jacobian, normal, ante, friction=0.0)
        for model in InertiaModel
    }
    fitted = gross_post_impact_velocity(response.time, response.link_position, 0.0)
    time, velocity = common_motion(response)
    settled = (time >= SETTLED[0]) & (time <= SETTLED[1])
    # Straight line back to the impact: the arm goes on accelerating while it coasts.
    common: Vector = np.polyfit(time[settled], velocity[settled], 1)[1]
    inertia = dynamics.inertia(InertiaModel.REDUCED_MOTORS)
    return GrossJump(
        ante=ante,
        fitted=fitted,
        common=common,
        predictions=predictions,
        normal_speed_before=float(normal @ jacobian @ ante),
        normal_speed_common=float(normal @ jacobian @ common),
        common_energy_change=0.5 * float(common @ inertia @ common - ante @ inertia @ ante),
    )


def mean_error(jump: GrossJump, model: InertiaModel) -> float:
    """Return the mean over the joints of the absolute error [deg/s]."""
    return float(np.degrees(jump.error(model)).mean())


def common_error(jump: GrossJump) -> float:
    """Return the mean over the joints of the absolute error [deg/s] of M + B_theta against the common motion."""
    return float(np.degrees(np.abs(jump.predictions[BEST].velocity - jump.common)).mean())


def relative_error(jump: GrossJump, model: InertiaModel) -> float:
    """Return the sum of the absolute errors over the sum of the fitted jumps, in percent."""
    return float(100.0 * jump.error(model).sum() / np.abs(jump.fitted - jump.ante).sum())


def best_model(jump: GrossJump, joint: int) -> InertiaModel:
    """Return the inertia with the smallest error in a joint, counted from 0."""
    return min(InertiaModel, key=lambda model: float(jump.error(model)[joint]))


def worse_joints(jump: GrossJump) -> list[tuple[int, InertiaModel]]:
    """Return the joints, from 1, where another inertia than M + B_theta predicts better, and which."""
    best = [best_model(jump, joint) for joint in range(jump.ante.size)]
    return [(j, model) for j, model in enumerate(best, 1) if model is not BEST]


def is_best(jump: GrossJump) -> bool:
    """Check that M + B_theta has the smallest mean error."""
    return min(InertiaModel, key=lambda model: mean_error(jump, model)) is BEST


def direction_error(jump: GrossJump) -> float:
    """Return the angle [deg] in joint space between the jump of the common motion and that of M + B_theta.

    By (M + B_theta)(dq^+ - dq^-) = J_N^T Lambda_N they are parallel whatever the restitution is.
    """
    found = jump.common - jump.ante
    predicted = jump.predictions[BEST].velocity - jump.ante
    cosine = float(found @ predicted / (np.linalg.norm(found) * np.linalg.norm(predicted)))
    return float(np.degrees(np.arccos(min(1.0, cosine))))
