"""Course of a trial without noise (Rey Arias 2024, section IV, Figs 4, 5), predictions and errors of each type."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin

from impact_control.impacts import FrictionLaw, ImpactPrediction, predict_post_impact_velocity
from impact_control.observation.post_impact_velocity import (
    GROSS_VELOCITY_WINDOW,
    ante_impact_velocity,
    gross_post_impact_velocity,
    gross_velocity_deviation,
)
from impact_control.robots import Dynamics, InertiaModel, RobotDescription, contact_point_jacobian
from impact_control.util.errors import ImpactControlError
from impact_control.util.types import Matrix, Vector
from impact_studies.models.contact_identification.friction_coefficient import (
    FrictionEstimate,
    identify_friction_coefficient,
)
from impact_studies.models.contact_identification.impact_time import offline_impact_time
from impact_studies.rey_arias import published
from impact_studies.rey_arias.experiments import PUSH, TOOL_DOWN, UP, Trial
from impact_studies.rey_arias.published import FRICTION_COEFFICIENT

RINGING_WINDOW = 0.025
"""[s] over which an oscillation is measured; our choice."""

RINGING_STEP = 5e-3
"""[s] between the beginnings of these windows; our choice."""

DAMPED = 0.05
"""Part of the largest oscillation below which it is damped out; the source does not say how far."""

AROUND = 0.05
"""[s] before and after the impact in which a joint is searched for it alone."""

FIRST, SIXTH = 0, 5
"""Joints 1 and 6."""


@dataclass(frozen=True)
class Course:
    """The course of one trial.

    Attributes:
        force_ends, before: norm of the joint velocities [rad/s] when the force ends, and in the last sample before
            the impact.
        ringing: [s] from the impact until the oscillation stays below DAMPED, see `ringing_time`.
        lag: [s] by which joint 1 shows the impact later than joint 6, each looked at alone; NaN where one does not.
        last, recorded: norm of the joint velocities [rad/s] in the last sample, and how long after the impact [s].
    """

    force_ends: float
    before: float
    ringing: float
    lag: float
    last: float
    recorded: float


def course_of(trial: Trial, impact_time: float) -> Course:
    """Return the course of a trial with its impact at `impact_time` [s], as found in these samples."""
    time, velocity = trial.time, trial.exact_velocity
    speed = np.linalg.norm(velocity, axis=1)
    near = np.abs(time - impact_time) <= AROUND
    first, sixth = (offline_impact_time(time[near], velocity[near], joints=[joint]) for joint in (FIRST, SIXTH))
    return Course(
        force_ends=float(speed[np.argmin(np.abs(time - PUSH))]),
        before=float(speed[time < impact_time][-1]),
        ringing=ringing_time(time - impact_time, velocity),
        lag=math.nan if first is None or sixth is None else first - sixth,
        last=float(speed[-1]),
        recorded=float(time[-1] - impact_time),
    )


def ringing_time(since: Vector, velocity: Matrix) -> float:
    """Return from when on [s] the oscillation of velocities (m, n) stays below DAMPED of the largest.

    since (m,) [s]: time after the impact. The oscillation is the root mean square, over samples and joints, of what
    straight lines leave of the velocities in RINGING_WINDOW from then on. Windows end with that of the fit, 100 ms
    after the impact; infinite when it is not below until then.
    """
    count = 1 + round((GROSS_VELOCITY_WINDOW - RINGING_WINDOW) / RINGING_STEP)
    begins = RINGING_STEP * np.arange(count)
    sizes = np.array([_oscillation(since, velocity, begin) for begin in begins])
    loud = np.flatnonzero(sizes > DAMPED * sizes.max())
    quiet = int(loud[-1]) + 1 if loud.size else 0
    return float(begins[quiet]) if quiet < count else math.inf


def _oscillation(since: Vector, velocity: Matrix, begin: float) -> float:
    """Return the oscillation [rad/s] in the window that begins at `begin` [s]."""
    # Round-off must not decide on a sample at the end of the window.
    inside = (since >= begin - 1e-9) & (since <= begin + RINGING_WINDOW + 1e-9)
    line = np.vander(since[inside] - begin, 2)
    fit, *_ = np.linalg.lstsq(line, velocity[inside], rcond=None)
    return float(np.sqrt(np.mean((velocity[inside] - line @ fit) ** 2)))


SEARCHED_JOINTS = range(6)
"""In which the impact is looked for: 1 to 6, section IV."""


@dataclass(frozen=True, eq=False)
class ObservedImpact:
    """An impact as it is seen in the samples of a trial.

    Attributes:
        time: of the impact [s], found offline.
        delay: [s] from the contact to it, below 0 when it is found too early.
        contact_jacobian: of the contact point (3, 7), axes of A, at the last sample before the impact.
        rotation: of the end-effector there, its axes as columns in A (3, 3).
        inertia: M, M + B_theta and M + B_rho (7, 7) [kg m^2] there.
        ante_velocity: last measured velocity before the impact (7,) [rad/s].
        gross_velocity: virtual rigid-body velocity after it (7,) [rad/s].
    """

    time: float
    delay: float
    contact_jacobian: Matrix
    rotation: Matrix
    inertia: dict[InertiaModel, Matrix]
    ante_velocity: Vector
    gross_velocity: Vector

    @property
    def rebound(self) -> float:
        """Speed [m/s] at which the contact point leaves the plate with the gross velocity."""
        return float(UP @ self.contact_jacobian @ self.gross_velocity)

    @property
    def approach(self) -> float:
        """Speed [m/s] at which the contact point came to the plate."""
        return -float(UP @ self.motion)

    @property
    def motion(self) -> Vector:
        """Velocity of the contact point before the impact (3,) [m/s], axes of A."""
        velocity: Vector = self.contact_jacobian @ self.ante_velocity
        return velocity

    @property
    def tilt(self) -> Vector:
        """Turn of the end-effector from pointing down, axis times angle (3,) [rad], axes of A."""
        turn: Vector = pin.log3(self.rotation @ TOOL_DOWN.T)
        return turn

    def predict(
        self,
        model: InertiaModel,
        friction: float,
        restitution: float = 0.0,
        law: FrictionLaw = FrictionLaw.FIXED_DIRECTION,
    ) -> ImpactPrediction:
        """Return the prediction of the rigid impact map; (16) without the last two arguments."""
        J, dq = self.contact_jacobian, self.ante_velocity
        return predict_post_impact_velocity(self.inertia[model], J, UP, dq, friction, restitution=restitution, law=law)


def observe(robot: RobotDescription, trial: Trial, *, exact: bool = False) -> ObservedImpact:
    """Find the impact of a trial and the velocities around it, in the measured or in the exact samples.

    Raises ImpactControlError when the sphere did not meet the plate or the impact is not found.
    """
    position = trial.exact_position if exact else trial.position
    velocity = trial.exact_velocity if exact else trial.velocity
    found = offline_impact_time(trial.time, velocity, joints=SEARCHED_JOINTS)
    if found is None or not np.isfinite(trial.contact_time):
        raise ImpactControlError(f"no impact: contact at {trial.contact_time} s, found at {found} s")
    before = int(np.flatnonzero(trial.time < found)[-1])
    ante = ante_impact_velocity(trial.time, velocity, found)
    dynamics = Dynamics(robot)
    dynamics.compute(position[before], ante)
    return ObservedImpact(
        time=found,
        delay=found - trial.contact_time,
        contact_jacobian=contact_point_jacobian(dynamics.jacobian, -robot.end_effector.radius * UP),
        rotation=dynamics.rotation.copy(),
        inertia={model: dynamics.inertia(model) for model in InertiaModel},
        ante_velocity=ante,
        gross_velocity=gross_post_impact_velocity(trial.time, position, found),
    )


def mean_restitution(impacts: Sequence[ObservedImpact]) -> float:
    """Return the mean rebound over the mean approach of repetitions, in [0, 1].

    Of the means, not the mean of ratios: cut off at 0 one by one, noise would make them too large.
    """
    rebound, approach = (sum(impact.rebound for impact in impacts), sum(impact.approach for impact in impacts))
    return min(max(0.0, rebound / approach), 1.0)


def mean_prediction_error(
    impacts: Sequence[ObservedImpact], model: InertiaModel, friction: float, restitution: float = 0.0
) -> Vector:
    """Return the mean absolute error (17) of each joint (7,) [deg/s] over repetitions."""
    predicted = np.array([impact.predict(model, friction, restitution).velocity for impact in impacts])
    observed = np.array([impact.gross_velocity for impact in impacts])
    mean: Vector = np.rad2deg(np.mean(np.abs(predicted - observed), axis=0))
    return mean


def identify_friction(
    impacts: Sequence[ObservedImpact],
    model: InertiaModel,
    restitution: float = 0.0,
    law: FrictionLaw = FrictionLaw.FIXED_DIRECTION,
) -> FrictionEstimate:
    """Return the friction coefficient with the smallest error over repetitions and joints; errors in deg/s."""

    def velocities(friction: float) -> Matrix:
        predictions = [impact.predict(model, friction, restitution, law) for impact in impacts]
        return np.rad2deg([prediction.velocity for prediction in predictions])

    return identify_friction_coefficient(velocities, np.rad2deg([impact.gross_velocity for impact in impacts]))


@dataclass(frozen=True, eq=False)
class TypeEvaluation:
    """All repetitions of one type of experiment; velocities and errors in deg/s. With friction: the plant's.

    Attributes:
        impacts: observed in the measured samples.
        courses: of the trials, in the samples without noise.
        ante, gross: mean velocities before and after the impact (7,).
        restitution: observed, see `mean_restitution`.
        error_reduced_motors, error_motors: with B_theta and B_rho, with friction (7,), Table III.
        error_without_friction: with B_theta (7,), Table IV.
        error_exact: with B_theta and friction in samples without noise (7,).
        error_restitution: with B_theta, friction and the observed restitution (7,).
        friction, friction_motors: identified with B_theta and B_rho by the map as printed.
        friction_coulomb: with B_theta and Coulomb's law during the impact.
        friction_restitution: with B_theta and the observed restitution.
    """

    impacts: tuple[ObservedImpact, ...]
    courses: tuple[Course, ...]
    ante: Vector
    gross: Vector
    restitution: float
    error_reduced_motors: Vector
    error_motors: Vector
    error_without_friction: Vector
    error_exact: Vector
    error_restitution: Vector
    friction: FrictionEstimate
    friction_motors: FrictionEstimate
    friction_coulomb: FrictionEstimate
    friction_restitution: FrictionEstimate

    @property
    def motion(self) -> Vector:
        """Velocity of the contact point before the impact (3,) [m/s], axes of A, mean."""
        return np.asarray(np.mean([impact.motion for impact in self.impacts], axis=0))

    @property
    def tilt(self) -> Vector:
        """Turn of the end-effector from pointing down at the impact (3,) [deg], axes of A, mean."""
        return np.asarray(np.rad2deg(np.mean([impact.tilt for impact in self.impacts], axis=0)))

    @property
    def slip_left(self) -> float:
        """Predicted part of the slip before the impact that is left after it along its direction, mean."""
        mu = FRICTION_COEFFICIENT
        predictions = [impact.predict(InertiaModel.REDUCED_MOTORS, mu) for impact in self.impacts]
        parts = [
            float(p.slip_direction @ p.contact_velocity_after) / float(p.slip_direction @ p.contact_velocity_before)
            for p in predictions
        ]
        return float(np.mean(parts))


def evaluate_type(robot: RobotDescription, trials: Sequence[Trial]) -> TypeEvaluation:
    """Compare the repetitions of one type of experiment with the predictions. Raises as `observe`."""
    impacts = tuple(observe(robot, trial) for trial in trials)
    exact = [observe(robot, trial, exact=True) for trial in trials]
    restitution = mean_restitution(impacts)
    reduced, motors, mu = InertiaModel.REDUCED_MOTORS, InertiaModel.MOTORS, FRICTION_COEFFICIENT
    return TypeEvaluation(
        impacts=impacts,
        courses=tuple(course_of(trial, impact.time) for trial, impact in zip(trials, exact, strict=True)),
        ante=np.rad2deg(np.mean([impact.ante_velocity for impact in impacts], axis=0)),
        gross=np.rad2deg(np.mean([impact.gross_velocity for impact in impacts], axis=0)),
        restitution=restitution,
        error_reduced_motors=mean_prediction_error(impacts, reduced, mu),
        error_motors=mean_prediction_error(impacts, motors, mu),
        error_without_friction=mean_prediction_error(impacts, reduced, 0.0),
        error_exact=mean_prediction_error(exact, reduced, mu),
        error_restitution=mean_prediction_error(impacts, reduced, mu, restitution),
        friction=identify_friction(impacts, reduced),
        friction_motors=identify_friction(impacts, motors),
        friction_coulomb=identify_friction(impacts, reduced, law=FrictionLaw.COULOMB),
        friction_restitution=identify_friction(impacts, reduced, restitution),
    )


def error_of_noise(position_deviation: float, period: float) -> float:
    """Return the mean absolute error of a fitted post-impact velocity [deg/s] by position noise alone.

    position_deviation [rad] of one sample, one every `period` [s]. The mean of |x| of a normal distribution is
    sqrt(2 / pi) deviations.
    """
    (deviation,) = gross_velocity_deviation(np.array([position_deviation]), period)
    return float(np.rad2deg(np.sqrt(2.0 / np.pi) * deviation))


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
