"""The experiments of section VI, and which option predicts what was measured in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from impact_control.robots import RobotDescription
from impact_control.util.types import Vector
from impact_studies.models.impacts.inverse_inertia import ContactVelocityTable
from impact_studies.models.impacts.normal_impact import NormalImpact
from impact_studies.wang.impacts import Impact, ModelCase, Observation, predicted_masses
from impact_studies.wang.measurement import FittedStop, Impulses, fitted_impact
from impact_studies.wang.options import Approach, InertiaOption, contact_jacobians_of, predicted_impulses
from impact_studies.wang.trials import ControlMode, Trial


class Reading(Enum):
    """Moment up to which the impulse is measured."""

    FITTED = "stop of the fitted law"
    EXACT = "stop of the contact point"

    def of(self, impulses: Impulses) -> float:
        """Return the impulse [Ns] to this moment."""
        return impulses.fitted if self is Reading.FITTED else impulses.compression


@dataclass(frozen=True, eq=False)
class Case:
    """The repetitions of one configuration, reference speed [m/s] and mode.

    Attributes:
        approach, mode, speed: which.
        first: the first trial.
        impulses: one for each repetition.
        velocity: mean joint velocity before the impacts (n,) [rad/s].
        predictions: impulse [Ns] by every option at the mean configuration and velocity, as in Fig. 9.
    """

    approach: Approach
    mode: ControlMode
    speed: float
    first: Trial
    impulses: tuple[Impulses, ...]
    velocity: Vector
    predictions: Mapping[InertiaOption, float]

    def measured(self, reading: Reading) -> Vector:
        """Return the impulses (r,) [Ns] of the repetitions."""
        return np.array([reading.of(impulses) for impulses in self.impulses])

    def error(self, option: InertiaOption, reading: Reading) -> float:
        """Return the prediction over the mean of what was measured, less 1 [-]."""
        return float(self.predictions[option] / np.mean(self.measured(reading)) - 1.0)

    def nearest(self, options: Iterable[InertiaOption], reading: Reading) -> InertiaOption:
        """Return the option with the smallest error."""
        return min(options, key=lambda option: abs(self.error(option, reading)))


def evaluate_case(
    robot: RobotDescription, approach: Approach, mode: ControlMode, speed: float, found: Sequence[Observation]
) -> Case:
    """Return the repetitions at one reference speed [m/s] and what the options predict for them."""
    velocity: Vector = np.mean([one.trial.velocity for one in found], axis=0)
    position: Vector = np.mean([one.trial.position for one in found], axis=0)
    return Case(
        approach=approach,
        mode=mode,
        speed=speed,
        first=found[0].trial,
        impulses=tuple(one.impulses for one in found),
        velocity=velocity,
        predictions=predicted_impulses(robot, position, velocity, approach.normal),
    )


@dataclass(frozen=True, eq=False)
class FittedImpact:
    """One trial and (23) fitted to its first push.

    speed [m/s]: of the reference; onset [s]: when the fitted impact begins; misfit [-]: see `FittedStop`.
    """

    speed: float
    trial: Trial
    onset: float
    impact: NormalImpact
    misfit: float


def fitted_impacts(cases: Sequence[Case]) -> tuple[FittedImpact, ...]:
    """Return the first trial of each case with the fitted law."""
    return tuple(FittedImpact(case.speed, case.first, *fitted_impact(case.first)) for case in cases)


def winners(cases: Sequence[Case], options: Iterable[InertiaOption], reading: Reading) -> Counter[InertiaOption]:
    """Return how often each option is the nearest."""
    candidates = tuple(options)
    return Counter(case.nearest(candidates, reading) for case in cases)


def mean_error(cases: Sequence[Case], option: InertiaOption, reading: Reading) -> float:
    """Return the mean of the absolute errors [-]."""
    return float(np.mean([abs(case.error(option, reading)) for case in cases]))


def best(cases: Sequence[Case], options: Iterable[InertiaOption], reading: Reading) -> InertiaOption:
    """Return the option with the smallest mean error."""
    return min(options, key=lambda option: mean_error(cases, option, reading))


def ratio_table(robot: RobotDescription, cases: Sequence[Case]) -> ContactVelocityTable:
    """Return our Table I from the mean joint velocities of cases ordered by configuration and speed."""
    by_approach: dict[int, list[Case]] = {}
    for case in cases:
        by_approach.setdefault(id(case.approach), []).append(case)
    rows = []
    for group in by_approach.values():
        approach = group[0].approach
        velocities = np.array([case.velocity for case in group])
        jacobians = contact_jacobians_of(robot, approach.position, approach.normal)
        rows.append([-approach.normal @ jacobian @ velocities.T for jacobian in jacobians])
    exact, approximation = np.swapaxes(rows, 0, 1)
    return ContactVelocityTable(exact, approximation)


@dataclass(frozen=True, eq=False)
class Limit:
    """One noise-free impact: approach, mode, wall stiffness [N/m], restitution of the materials [-], what came out.

    masses: effective mass [kg] by every option, the prediction over the speed.
    """

    approach: Approach
    mode: ControlMode
    stiffness: float
    restitution: float
    impulses: Impulses
    detection: float
    masses: Mapping[InertiaOption, float]

    def mass(self, reading: Reading) -> float:
        """Return the measured impulse over the speed [kg]."""
        return reading.of(self.impulses) / self.impulses.speed

    def nearest(self, options: Iterable[InertiaOption], reading: Reading) -> InertiaOption:
        """Return the option whose mass is nearest to the measured one."""
        return min(options, key=lambda option: abs(self.masses[option] - self.mass(reading)))


def evaluate_limit(approach: Approach, impact: Impact, found: Observation) -> Limit:
    """Return a noise-free impact with what the options predict for it."""
    trial = found.trial
    masses = predicted_masses(trial, approach)
    return Limit(approach, impact.mode, impact.stiffness, impact.restitution, found.impulses, trial.detection, masses)


def crossing(limits: Sequence[Limit], option: InertiaOption, reading: Reading) -> float | None:
    """Return the wall stiffness [N/m] at which the measured mass is that of the option, None if it is nowhere.

    limits: of one approach and mode, by ascending stiffness; straight between them over the logarithm of it. The
    largest, if there are several.
    """
    excess = [limit.mass(reading) - limit.masses[option] for limit in limits]
    for i in range(len(limits) - 2, -1, -1):
        if excess[i] * excess[i + 1] <= 0.0 and excess[i] != excess[i + 1]:
            part = excess[i] / (excess[i] - excess[i + 1])
            low, high = np.log(limits[i].stiffness), np.log(limits[i + 1].stiffness)
            return float(np.exp(low + part * (high - low)))
    return None


@dataclass(frozen=True, eq=False)
class Outcome:
    """All simulated impacts.

    given: by impact and option whose mass is given, where the law fitted with it stops; None if no law fits.
    models: the models fitted to the impacts under stiff velocity control, by configuration and speed; then to those on
        a wall that is a spring.
    """

    cases: tuple[Case, ...]
    modes: tuple[Limit, ...]
    forces: tuple[tuple[str, ControlMode, Trial, Impulses], ...]
    sweeps: tuple[tuple[Limit, ...], ...]
    materials: tuple[Limit, ...]
    given: tuple[tuple[Limit, InertiaOption, FittedStop | None], ...]
    models: tuple[ModelCase, ...]

    def of(self, mode: ControlMode) -> list[Case]:
        """Return the cases of one control mode."""
        return [case for case in self.cases if case.mode is mode]

    def limits(self, mode: ControlMode) -> list[Limit]:
        """Return the noise-free impacts of one control mode on the wall of the study."""
        return [limit for limit in self.modes if limit.mode is mode]

    def sweeps_of(self, mode: ControlMode) -> list[tuple[Limit, ...]]:
        """Return the sweeps over the walls of one control mode."""
        return [sweep for sweep in self.sweeps if sweep[0].mode is mode]
