"""All that the tables, findings and figures of the experiments are made from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from impact_control.studies.rey_arias import published
from impact_control.studies.rey_arias.evaluation import TypeEvaluation, error_of_noise
from impact_control.studies.rey_arias.experiments import Trial
from impact_control.types import Matrix, Vector


@dataclass(frozen=True, eq=False)
class Errors:
    """Mean absolute errors (10, 7) [deg/s] with B_theta, with B_rho, and with B_theta without friction."""

    reduced_motors: Matrix
    motors: Matrix
    without_friction: Matrix


PUBLISHED = Errors(published.ERROR_REDUCED_MOTORS, published.ERROR_MOTORS, published.ERROR_WITHOUT_FRICTION)
"""Tables III and IV as printed."""


@dataclass(frozen=True)
class Outcome:
    """Evaluations of the ten types in their order, and one trial of the first to show.

    position_noise: half-widths (7,) [rad]; period [s] of the samples.
    """

    evaluations: tuple[TypeEvaluation, ...]
    shown: Trial
    position_noise: Vector
    period: float

    @cached_property
    def errors(self) -> Errors:
        """Return ours in the form of the published ones."""
        return Errors(
            np.array([evaluation.error_reduced_motors for evaluation in self.evaluations]),
            np.array([evaluation.error_motors for evaluation in self.evaluations]),
            np.array([evaluation.error_without_friction for evaluation in self.evaluations]),
        )

    @cached_property
    def error_exact(self) -> Matrix:
        """(10, 7) [deg/s] with B_theta and friction in samples without noise."""
        return np.array([evaluation.error_exact for evaluation in self.evaluations])

    @cached_property
    def error_restitution(self) -> Matrix:
        """(10, 7) [deg/s] with B_theta, friction and the observed restitution."""
        return np.array([evaluation.error_restitution for evaluation in self.evaluations])

    @cached_property
    def error_of_noise(self) -> float:
        """Mean error [deg/s] that the position noise alone causes; three deviations are its half-width."""
        return error_of_noise(float(np.mean(self.position_noise)) / 3.0, self.period)

    @cached_property
    def delays(self) -> Matrix:
        """(10, repetitions) [ms] from the contact to the impact as found."""
        return 1e3 * np.array([[impact.delay for impact in one.impacts] for one in self.evaluations])
