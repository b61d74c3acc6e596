"""Impacts of the study, each identified by its numbers, so that it is simulated once and kept.

And what is made of them when the mass of the fitted law is given: the source identifies k and c of (23) only (VII-A3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_control.impacts.restitution import vanishing_force_restitution
from impact_control.robots import RobotDescription, load_robot
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector
from impact_studies.frame.trials import from_arrays
from impact_studies.models.contact_identification.contact_model import ContactModel
from impact_studies.wang.measurement import Impulses, SpringArea, fit_first_push, fit_push, measure, spring_area
from impact_studies.wang.options import Approach, Configuration, InertiaOption, predicted_impulses, prepare_approach
from impact_studies.wang.trials import RESTITUTION, WALL_STIFFNESS, ControlMode, Trial, run_trial, wall


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
    """Record of an impact and the impulses measured from it."""

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


MODELS = (ContactModel.VIRTUAL_SPRING, ContactModel.MAXWELL, ContactModel.NONLINEAR_VISCOELASTIC)
"""Models of VII-A1, VII-A2 and VII-A3: (23) is the spring beside a dashpot of Fig. 5(a)."""

LOSSLESS = 1.0
"""[-] Restitution of the materials of a wall that is a spring."""


class MassOf(Enum):
    """Origin of the mass of a fitted model."""

    FIT = "fitted mass"
    COMPOSITE = "mass of the CRB"


@dataclass(frozen=True, eq=False)
class ModelFits:
    """The models fitted to one impact: arrays (3, 2), a row for each of MODELS, a column for each `MassOf`.

    speed [m/s]: before the impact; mass [kg]; stiffness [N/m]; damping: of Maxwell [N s/m], of (23) [N s/m^2], NaN for
    the virtual spring; restitution [-]: of the free mass, speed after over speed before; misfit [-]: root of the mean
    square of what the fit leaves, over the peak force.
    """

    speed: float
    mass: Matrix
    stiffness: Matrix
    damping: Matrix
    restitution: Matrix
    misfit: Matrix

    def estimated(self, model: ContactModel, mass: MassOf) -> float:
        """Return the restitution [-] as the source takes it: for (23) by (25), which is not that of its free mass.

        NaN where the force of (23) never vanishes, without damping.
        """
        i, j = _place(model, mass)
        if model is not ContactModel.NONLINEAR_VISCOELASTIC:
            return float(self.restitution[i, j])
        relative_damping = float(self.damping[i, j]) * self.speed / float(self.stiffness[i, j])
        return vanishing_force_restitution(relative_damping) if relative_damping > 0.0 else math.nan


@dataclass(frozen=True, eq=False)
class ModelCase:
    """The repetitions of one configuration at one reference speed [m/s], on one wall, with what is made of each.

    name: of the configuration; restitution [-]: of the materials; trials, fits, areas: one a repetition.
    """

    name: str
    speed: float
    restitution: float
    trials: tuple[Trial, ...]
    fits: tuple[ModelFits, ...]
    areas: tuple[SpringArea, ...]

    @property
    def lossless(self) -> bool:
        """True for a wall that is a spring."""
        return self.restitution == LOSSLESS

    def estimated(self, model: ContactModel, mass: MassOf) -> Vector:
        """Return the restitutions (r,) [-] of the repetitions, see `ModelFits.estimated`."""
        return np.array([fits.estimated(model, mass) for fits in self.fits])

    def fitted(self, name: str, model: ContactModel, mass: MassOf) -> Vector:
        """Return an attribute of the fits (r,), such as the misfits, see `ModelFits`."""
        place = _place(model, mass)
        return np.array([getattr(fits, name)[place] for fits in self.fits])


def fit_models(impact: Impact) -> Mapping[str, NDArray[Any]]:
    """Simulate an impact and fit the models; arrays by the name of the attribute of `Trial` and `ModelFits`."""
    trial, approach = simulate(impact)
    given = {MassOf.FIT: None, MassOf.COMPOSITE: predicted_masses(trial, approach)[InertiaOption.COMPOSITE]}
    return vars(trial) | vars(model_fits(trial, given))


def model_fits(trial: Trial, masses: Mapping[MassOf, float | None]) -> ModelFits:
    """Fit the models to the first push of a trial, with each of the masses [kg], fitted too where it is None."""
    shape = (len(MODELS), len(MassOf))
    mass, stiffness, damping, restitution, misfit = (np.full(shape, np.nan) for _ in range(5))
    for model in MODELS:
        for source in MassOf:
            place = _place(model, source)
            fit, misfit[place] = fit_first_push(model, trial, masses[source])
            mass[place] = fit.mass.value
            stiffness[place] = fit.parameters["stiffness"].value
            if "damping" in fit.parameters:
                damping[place] = fit.parameters["damping"].value
            restitution[place] = fit.restitutions[0].value
    return ModelFits(trial.speed, mass, stiffness, damping, restitution, misfit)


def model_case(impact: Impact, found: Sequence[Mapping[str, NDArray[Any]]]) -> ModelCase:
    """Return the repetitions of an impact from what `fit_models` found of them."""
    trials = tuple(from_arrays(Trial, arrays) for arrays in found)
    return ModelCase(
        name=impact.configuration.name,
        speed=impact.speed,
        restitution=impact.restitution,
        trials=trials,
        fits=tuple(from_arrays(ModelFits, arrays) for arrays in found),
        areas=tuple(spring_area(trial) for trial in trials),
    )


def _place(model: ContactModel, mass: MassOf) -> tuple[int, int]:
    return MODELS.index(model), tuple(MassOf).index(mass)
