"""The impacts of the study, each told by its numbers, so that it is simulated once and kept.

And what is made of them when the mass of the fitted law is given: the source identifies k and c of (23) only (VII-A3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from numpy.typing import NDArray

from impact_control.errors import InvalidInputError
from impact_control.robots import RobotDescription, load_robot
from impact_control.studies.trials import from_arrays
from impact_control.studies.wang.measurement import Impulses, fit_push, measure
from impact_control.studies.wang.options import (
    Approach,
    Configuration,
    InertiaOption,
    predicted_impulses,
    prepare_approach,
)
from impact_control.studies.wang.trials import RESTITUTION, WALL_STIFFNESS, ControlMode, Trial, run_trial, wall


@dataclass(frozen=True)
class Impact:
    """One impact: reference speed [m/s], stiffness of the wall [N/m], restitution of the materials [-].

    seed: of scatter and noise, None for none of both.
    """

    configuration: Configuration
    mode: ControlMode
    speed: float
    stiffness: float = WALL_STIFFNESS
    restitution: float = RESTITUTION
    seed: tuple[int, ...] | None = None


@dataclass(frozen=True, eq=False)
class Observation:
    """What an impact left: its record, and what is measured of it."""

    trial: Trial
    impulses: Impulses


def run_impact(impact: Impact) -> Mapping[str, NDArray[Any]]:
    """Simulate and measure an impact; arrays by the name of the attribute of `Trial` and `Impulses`."""
    trial, _ = simulate(impact)
    # The speed that both have is the same.
    return vars(trial) | vars(measure(trial))


def observation(arrays: Mapping[str, NDArray[Any]]) -> Observation:
    """Return what `run_impact` found."""
    return Observation(from_arrays(Trial, arrays), from_arrays(Impulses, arrays))


@dataclass(frozen=True)
class GivenMass:
    """An impact to whose force (23) is fitted with the effective mass of an option."""

    impact: Impact
    option: InertiaOption


def fit_given_mass(case: GivenMass) -> Mapping[str, NDArray[Any]]:
    """Fit (23) with a given mass; arrays by the name of the attribute of `FittedStop`, none where no law fits."""
    trial, approach = simulate(case.impact)
    try:
        return vars(fit_push(trial, predicted_masses(trial, approach)[case.option]))
    except InvalidInputError:
        return {}


def simulate(impact: Impact) -> tuple[Trial, Approach]:
    """Return the record of an impact, and the way into it."""
    approach = prepare_approach(_panda(), impact.configuration)
    surface = wall(approach, impact.stiffness, impact.restitution)
    return run_trial(_panda(), approach, impact.mode, impact.speed, surface=surface, seed=impact.seed), approach


def predicted_masses(trial: Trial, approach: Approach) -> Mapping[InertiaOption, float]:
    """Return the effective mass [kg] by every option at the touch of a trial, the predicted impulse over the speed."""
    predicted = predicted_impulses(_panda(), trial.position, trial.velocity, approach.normal)
    return {option: impulse / trial.speed for option, impulse in predicted.items()}


@lru_cache(maxsize=1)
def _panda() -> RobotDescription:
    return load_robot()
