"""The contact models of Wang 2022, section VII-A, fitted to the first push of an impact: Figs 3, 4 and 5.

Each as a free mass that hits it with the measured speed. Stiffness and damping are identified; of the mass, without
which neither follows from a force, the source says nothing. Fitted too, the shape of the force alone decides; or it is
that of the composite rigid body, by which the source predicts the impulse.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_control.identification import ContactModel
from impact_control.impacts.restitution import vanishing_force_restitution
from impact_control.studies.trials import from_arrays
from impact_control.studies.wang.impacts import Impact, predicted_masses, simulate
from impact_control.studies.wang.measurement import fit_first_push
from impact_control.studies.wang.options import InertiaOption
from impact_control.studies.wang.trials import Trial
from impact_control.studies.wang.virtual_spring import SpringArea, spring_area
from impact_control.types import Matrix, Vector

MODELS = (ContactModel.VIRTUAL_SPRING, ContactModel.MAXWELL, ContactModel.NONLINEAR_VISCOELASTIC)
"""Of VII-A1, VII-A2 and VII-A3: (23) is the spring beside a dashpot of Fig. 5(a)."""

LOSSLESS = 1.0
"""[-] Restitution of the materials of a wall that is a spring."""


class MassOf(Enum):
    """Where the mass of a fitted model comes from."""

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
        """Whether the wall is a spring."""
        return self.restitution == LOSSLESS

    def estimated(self, model: ContactModel, mass: MassOf) -> Vector:
        """Return the restitutions (r,) [-] of the repetitions, see `ModelFits.estimated`."""
        return np.array([fits.estimated(model, mass) for fits in self.fits])

    def of_free_mass(self, model: ContactModel, mass: MassOf) -> Vector:
        """Return the restitutions (r,) [-] of the free masses."""
        place = _place(model, mass)
        return np.array([fits.restitution[place] for fits in self.fits])

    def misfits(self, model: ContactModel, mass: MassOf) -> Vector:
        """Return the misfits (r,) [-] of the repetitions."""
        place = _place(model, mass)
        return np.array([fits.misfit[place] for fits in self.fits])

    def masses(self, model: ContactModel, mass: MassOf) -> Vector:
        """Return the free masses (r,) [kg] of the repetitions."""
        place = _place(model, mass)
        return np.array([fits.mass[place] for fits in self.fits])


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
            profile, fit = fit_first_push(model, trial, masses[source])
            mass[place] = fit.mass.value
            stiffness[place] = fit.parameters["stiffness"].value
            if "damping" in fit.parameters:
                damping[place] = fit.parameters["damping"].value
            restitution[place] = fit.restitutions[0].value
            misfit[place] = fit.residual_rms / float(np.max(profile.force))
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
