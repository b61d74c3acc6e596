"""Bayesian estimate of friction, restitution and motor inertia from observed impacts.

Bayes' rule on a grid of candidates: each is weighed by how well the impact map with it, under Coulomb's law, explains
the joint velocity after the impact. Not by a Kalman filter, which linearises the map about its estimate: where the
contact sticks the map does not depend on friction, so that a filter which believes in sticking would never learn that
the contact slips, and at the edge of sticking its slope is that of one side. On the grid an impact that sticks favours
all friction beyond the edge alike, one that says nothing of a parameter leaves its spread as it is, and no parameter
leaves its bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from impact_control.impacts.rigid_map import predict_post_impact_velocity
from impact_control.util.checks import finite_array, require_between, require_not_negative, require_positive
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

CANDIDATES = (41, 13, 41)
"""Candidates for friction, restitution and inertia scale, inside their bounds: an impact takes 0.1 to 0.2 s."""

REACH = 3.0
"""Standard deviations to either side of the prior that candidates cover."""

SMALLEST_SCALE = 0.05
"""Smallest scale of the motor inertia considered."""


@dataclass(frozen=True, eq=False)
class ObservedImpact:
    """A measured impact, and the arm in the configuration where it happened.

    Attributes:
        mass_matrix: M (n, n) [kg m^2], of the links.
        motor_inertia: B_theta (n,) [kg m^2], from the data of the robot.
        contact_jacobian: J (3, n) of the contact point, axes of A.
        normal: (3,) of the surface, to the robot, axes of A.
        velocity_before, velocity_after: dq^-, dq^+ (n,) [rad/s].
    """

    mass_matrix: Matrix
    motor_inertia: Vector
    contact_jacobian: Matrix
    normal: Vector
    velocity_before: Vector
    velocity_after: Vector

    def predict(self, friction: float, restitution: float, inertia_scale: float) -> Vector:
        """Return dq^+ (n,) [rad/s] by the impact map with M + inertia_scale B_theta. Raises InvalidInputError."""
        inertia = self.mass_matrix + inertia_scale * np.diag(self.motor_inertia)
        return predict_post_impact_velocity(
            inertia, self.contact_jacobian, self.normal, self.velocity_before, friction, restitution
        ).velocity


@dataclass(frozen=True, eq=False)
class ImpactBelief:
    """A distribution over candidates of (friction mu, restitution e, scale of B_theta).

    Attributes:
        axes: values of each of the three.
        log_prior, log_likelihood: (k_mu, k_e, k_s), of the start and of all impacts since.
    """

    axes: tuple[Vector, Vector, Vector]
    log_prior: NDArray[np.float64]
    log_likelihood: NDArray[np.float64]

    @classmethod
    def around(cls, mean: Vector, deviation: Vector) -> ImpactBelief:
        """Return independent normal distributions, cut off at their bounds and REACH deviations from the mean.

        mean, deviation: (3,) of friction (at least 0), restitution (0 to 1) and inertia scale (above 0); a deviation
        of 0 makes a parameter known. Raises InvalidInputError.
        """
        centre, spread = finite_array("mean", mean, (3,)), finite_array("deviation", deviation, (3,))
        require_not_negative("friction", centre[0])
        require_between("restitution", centre[1], 0.0, 1.0)
        require_positive("inertia_scale", centre[2])
        lower, upper = (0.0, 0.0, SMALLEST_SCALE), (np.inf, 1.0, np.inf)
        axes, offsets = [], []
        for i, count in enumerate(CANDIDATES):
            require_not_negative("deviation", spread[i])
            steps = np.linspace(-REACH, REACH, count) if spread[i] > 0.0 else np.zeros(1)
            axis = centre[i] + spread[i] * steps
            inside = (axis >= lower[i]) & (axis <= upper[i])
            axes.append(axis[inside])
            offsets.append(steps[inside])
        grid = np.meshgrid(*offsets, indexing="ij")
        log_prior = -0.5 * sum(offset**2 for offset in grid)
        return cls((axes[0], axes[1], axes[2]), log_prior, np.zeros_like(log_prior))

    @property
    def weights(self) -> NDArray[np.float64]:
        """Probability of each candidate."""
        log = self.log_prior + self.log_likelihood
        weights = np.exp(log - log.max())
        normalised: NDArray[np.float64] = weights / weights.sum()
        return normalised

    @property
    def estimate(self) -> Vector:
        """(3,) the most probable friction, restitution and inertia scale; at the start the mean it is `around`.

        Not the mean: that of what is cut off at 0 is not 0.
        """
        best = np.unravel_index(np.argmax(self.log_prior + self.log_likelihood), self.log_prior.shape)
        return np.array([axis[i] for axis, i in zip(self.axes, best, strict=True)])

    @property
    def covariance(self) -> Matrix:
        """(3, 3) of friction, restitution and inertia scale, about their means."""
        values = np.stack(np.meshgrid(*self.axes, indexing="ij"), axis=-1).reshape(-1, 3)
        covariance: Matrix = np.cov(values.T, ddof=0, aweights=self.weights.ravel())
        return covariance

    def predict(self, impact: ObservedImpact) -> Vector:
        """Return dq^+ (n,) [rad/s] of an impact by the estimate."""
        friction, restitution, inertia_scale = self.estimate
        return impact.predict(friction, restitution, inertia_scale)

    def updated(self, impact: ObservedImpact, covariance: Matrix, memory: float = np.inf) -> ImpactBelief:
        """Return the belief after an impact.

        covariance: (n, n) [rad^2/s^2], of the observed from the predicted velocity for the true parameters: noise,
        residual ringing, and errors of the map. memory: impacts after which one counts 1/e, so that a
        surface that changes is learned again, at least 1; without it all count alike.

        Raises InvalidInputError, also when the map has no solution for any candidate.
        """
        size = impact.velocity_before.size
        observed = finite_array("velocity_after", impact.velocity_after, (size,))
        try:
            factor = np.linalg.cholesky(finite_array("covariance", covariance, (size, size)))
        except np.linalg.LinAlgError:
            raise InvalidInputError("covariance", covariance, "a positive definite matrix") from None
        if not memory >= 1.0:
            raise InvalidInputError("memory", memory, "at least 1 impact")
        misfit = np.full((*self.log_prior.shape, size), np.inf)
        failure = InvalidInputError("impact", impact, "an impact that the map can predict")
        for index in np.ndindex(*self.log_prior.shape):
            try:
                candidate = (float(axis[i]) for axis, i in zip(self.axes, index, strict=True))
                misfit[index] = impact.predict(*candidate) - observed
            except InvalidInputError as error:
                failure = error
        solved = np.isfinite(misfit).all(axis=-1)
        if not solved.any():
            raise failure
        log_likelihood = np.full(self.log_prior.shape, -np.inf)
        whitened = np.linalg.solve(factor, misfit[solved].T)
        log_likelihood[solved] = -0.5 * np.sum(whitened**2, axis=0)
        kept = np.exp(-1.0 / memory)
        return replace(self, log_likelihood=kept * self.log_likelihood + log_likelihood - log_likelihood.max())
