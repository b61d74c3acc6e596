"""Learning of the impact map from the samples of a task, after it; the next one is planned with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_control.impacts import ImpactBelief, ObservedImpact, predict_post_impact_velocity
from impact_control.observation.post_impact_velocity import velocities_around_impact
from impact_control.references import PredictedImpact
from impact_control.robots import Dynamics, RobotDescription, contact_point_jacobian
from impact_control.scenario import Scenario
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector


@dataclass(frozen=True, eq=False)
class Lesson:
    """Predicted and observed dq^+ (n,) [rad/s] of one impact that was learned from."""

    predicted: Vector
    observed: Vector

    @property
    def error(self) -> float:
        """Mean absolute error of the prediction over the joints [rad/s], Rey Arias 2024 (17)."""
        return float(np.mean(np.abs(self.predicted - self.observed)))


class ImpactLearner:
    """Belief on the impacts of one robot on the expected surface of one scenario.

    Attributes:
        belief: of friction, restitution and the scale of B_theta.
        impacts: that were learned from.
    """

    def __init__(self, scenario: Scenario, robot: RobotDescription) -> None:
        """Begin with the scenario's friction, no restitution, and B_theta as in the data of the robot."""
        settings = scenario.prediction
        self._expected_friction = scenario.expected_environment.surface.friction
        self._covariance = settings.velocity_deviation**2 * np.eye(len(robot.joint_names))
        self._memory = float(settings.memory)
        self._dynamics = Dynamics(robot)
        self._motors = robot.transmission.reduced_motor_inertia
        self.belief = ImpactBelief.around(
            np.array([self._expected_friction, 0.0, 1.0]),
            np.array([settings.friction_deviation, settings.restitution_deviation, settings.inertia_scale_deviation]),
        )
        self.impacts = 0

    @property
    def inertia_scale(self) -> float:
        """The learned factor on B_theta."""
        return float(self.belief.estimate[2])

    def friction(self, expected: float) -> float:
        """Return the friction of a surface: what was learned of the scenario's, and what is expected of any other."""
        return float(self.belief.estimate[0]) if expected == self._expected_friction else expected

    def inertia(self, mass_matrix: Matrix) -> Matrix:
        """Return M + s B_theta (n, n) [kg m^2] with the learned scale s."""
        inertia: Matrix = mass_matrix + self.inertia_scale * np.diag(self._motors)
        return inertia

    def predict(self, q: Vector, dq: Vector, offsets: Matrix, normal: Vector, friction: float) -> PredictedImpact:
        """Return what an impact at one contact does, as `references.ImpactMap`.

        Inelastic, whatever was learned of restitution: the references after an impact need a contact that stays.
        """
        self._dynamics.compute(q, dq)
        jacobian = contact_point_jacobian(self._dynamics.jacobian, np.reshape(offsets, 3))
        inertia = self.inertia(self._dynamics.mass_matrix)
        return predict_post_impact_velocity(inertia, jacobian, normal, dq, self.friction(friction))

    def learn(
        self, time: Vector, position: Matrix, velocity: Matrix, impact_time: float, offset: Vector, normal: Vector
    ) -> Lesson:
        """Learn from an impact on the expected surface, and return what it taught.

        time (m,) [s], position, velocity (m, n) [rad, rad/s]: measured, from 25 ms before impact_time [s] to 50 ms
        after it. offset (3,) [m]: from the origin of E to the contact point; normal (3,): of the surface; axes of A.
        Raises InvalidInputError, and nothing is learned, where samples are missing or nothing moved into the surface.
        """
        before, after = velocities_around_impact(time, velocity, impact_time)
        at_impact = position[np.flatnonzero(time < impact_time)[-1]]
        if not np.all(np.isfinite(at_impact)):
            raise InvalidInputError("position", at_impact.tolist(), "finite numbers at the impact")
        self._dynamics.compute(at_impact, before)
        impact = ObservedImpact(
            mass_matrix=self._dynamics.mass_matrix.copy(),
            motor_inertia=self._motors,
            contact_jacobian=contact_point_jacobian(self._dynamics.jacobian, offset),
            normal=normal,
            velocity_before=before,
            velocity_after=after,
        )
        lesson = Lesson(self.belief.predict(impact), after)
        self.belief = self.belief.updated(impact, self._covariance, self._memory)
        self.impacts += 1
        return lesson
