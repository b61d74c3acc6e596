"""Parameters of a normal force law from sampled force profiles of impacts, and which law fits. Wang 2022 VII-A.

Every candidate is fitted as a free mass that hits it, to one or several profiles at once (several speeds tell laws
apart whose single profiles look alike). The searches are not held to what is physical: a candidate that would need
a restitution above 1 or a negative damping to fit comes back with those values and an objection.

A force profile alone leaves one scale open: with depths s times larger, speed s v, mass m / s, stiffness k / s^eta
and damping d / s^(eta+1) give the same force. So the mass or the speeds have to be known. Any speed, 1 m/s for
instance, will do for what does not depend on the scale: quality of the fit, exponent, restitution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult

from impact_control.impacts.contact_laws import (
    ExponentialHuntCrossley,
    HuntCrossley,
    LinearSpring,
    Maxwell,
    NonlinearViscoelastic,
    NormalForceLaw,
    RestitutionHuntCrossley,
)
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector
from impact_studies.models.contact_identification.contact_model import ContactModel
from impact_studies.models.contact_identification.contact_profile import ForceProfile
from impact_studies.models.contact_identification.contact_search import Search, slopes

__all__ = ["ContactFit", "ContactModel", "Estimate", "ForceProfile", "compare_contact_models", "fit_contact_model"]

SIGNIFICANCE = 3.0
"""Standard errors by which a value has to leave its range before it counts as an objection."""


_LAWS: Mapping[ContactModel, Callable[..., NormalForceLaw]] = {
    ContactModel.LINEAR_SPRING: LinearSpring,
    ContactModel.MAXWELL: Maxwell,
    ContactModel.NONLINEAR_VISCOELASTIC: NonlinearViscoelastic,
    ContactModel.HUNT_CROSSLEY: HuntCrossley,
    ContactModel.EXPONENTIAL_HUNT_CROSSLEY: ExponentialHuntCrossley,
    ContactModel.RESTITUTION_HUNT_CROSSLEY: RestitutionHuntCrossley,
}


@dataclass(frozen=True)
class Estimate:
    """A value from a fit, and its standard error; 0 for what was given. Same unit."""

    value: float
    standard_error: float


@dataclass(frozen=True)
class ContactFit:
    """A candidate fitted to force profiles.

    parameters: by name, SI units of the law objects; for the virtual spring stiffness and restitution; mass [kg];
    speeds [m/s], onsets [s] of contact, restitutions [-] and fitted forces (m,) [N], one per profile;
    residual_rms [N]; aic, bic: Akaike's and Bayes's information criterion, smaller is better, comparable for the
    same profiles; objections: what is not physical about it, in words, empty if nothing.
    """

    model: ContactModel
    parameters: dict[str, Estimate]
    mass: Estimate
    speeds: tuple[Estimate, ...]
    onsets: tuple[Estimate, ...]
    restitutions: tuple[Estimate, ...]
    forces: tuple[Vector, ...]
    residual_rms: float
    aic: float
    bic: float
    objections: tuple[str, ...]

    def law(self) -> NormalForceLaw:
        """Return the fitted law, with the impact rate of the first profile where the law has one.

        Raises InvalidInputError if the fitted parameters are not physical, and for the virtual spring, whose
        restitution is not a force law.
        """
        if self.model not in _LAWS:
            raise InvalidInputError("model", self.model, "a model with a force law")
        values = {name: estimate.value for name, estimate in self.parameters.items()}
        if self.model is ContactModel.RESTITUTION_HUNT_CROSSLEY:
            values["impact_rate"] = self.speeds[0].value
        return _LAWS[self.model](**values)


def fit_contact_model(
    model: ContactModel,
    profiles: Sequence[ForceProfile],
    mass: float | None = None,
    exponent: float | None = None,
) -> ContactFit:
    """Return the least-squares fit of one candidate to profiles that share law and mass.

    mass [kg]: the effective mass along the normal, None if unknown. Either it or the speed of every profile has to
    be known. exponent [-]: of the laws that have one, None if unknown. With it unknown, stiffness and damping are
    determined only together with it: near a depth delta, d ln(k) = -ln(delta) d eta, so 1 % of the exponent is
    about 10 % of the stiffness. That is in the data, not in the search; profiles of several speeds together, each with
    its `noise`, are what makes it better. Raises InvalidInputError.
    """
    search = Search(model, profiles, mass, exponent)
    rough = [search.solve(start, 1e-4) for start in search.starts()]
    best = min(rough, key=lambda solution: float(solution.cost))
    return _report(search, search.solve(best.x, 1e-9))


def compare_contact_models(
    profiles: Sequence[ForceProfile],
    mass: float | None = None,
    exponent: float | None = None,
    models: Sequence[ContactModel] = tuple(ContactModel),
) -> tuple[ContactFit, ...]:
    """Return the fits of the candidates, the smallest BIC first. Wang 2022 VII-A.

    Fits with objections are kept, in their place: that one fits best is itself a finding. Arguments and errors as
    for `fit_contact_model`.
    """
    fits = [fit_contact_model(model, profiles, mass, exponent) for model in models]
    return tuple(sorted(fits, key=lambda fit: fit.bic))


def _report(search: Search, solution: OptimizeResult) -> ContactFit:
    """Return a solution in SI units with its standard errors."""
    x: Vector = solution.x
    samples = solution.fun.size
    unknowns = x.size + 1  # and the variance of the noise
    mean_square = float(np.mean((solution.fun * search.peak) ** 2))
    covariance = _covariance(solution.jac, float(solution.fun @ solution.fun) / max(samples - x.size, 1))
    by_unknowns = slopes(search.reported, x)
    errors = np.sqrt(np.einsum("ij,jk,ik->i", by_unknowns, covariance, by_unknowns))
    estimates = [Estimate(float(v), float(e)) for v, e in zip(search.reported(x), errors, strict=True)]
    point = search.point(x)
    n, shapes = len(search.profiles), len(point.law)
    parameters = dict(zip(point.law, estimates[:shapes], strict=True))
    rest = estimates[shapes + 1 :]
    forces = tuple(search.force(point, i) for i in range(n))
    differences = np.concatenate([f - profile.force for f, profile in zip(forces, search.profiles, strict=True)])
    restitutions = tuple(rest[2 * n :])
    log_likelihood = samples * math.log(max(mean_square, np.finfo(float).tiny))
    return ContactFit(
        model=search.model,
        parameters=parameters,
        mass=estimates[shapes],
        speeds=tuple(rest[:n]),
        onsets=tuple(rest[n : 2 * n]),
        restitutions=restitutions,
        forces=forces,
        residual_rms=math.sqrt(float(np.mean(differences**2))),
        aic=log_likelihood + 2.0 * unknowns,
        bic=log_likelihood + math.log(samples) * unknowns,
        objections=(*_objections(parameters, restitutions), *search.stopped_at(x)),
    )


def _objections(parameters: dict[str, Estimate], restitutions: Sequence[Estimate]) -> list[str]:
    """Name what leaves its physical range by more than SIGNIFICANCE standard errors."""
    found = [
        f"restitution {e.value:.3g} above 1"
        for e in restitutions
        if e.value - SIGNIFICANCE * e.standard_error > 1.0 + 1e-9
    ]
    ranges = {"damping": math.inf, "newton_restitution": 1.0}
    for name, highest in ranges.items():
        if name in parameters:
            value, margin = parameters[name].value, SIGNIFICANCE * parameters[name].standard_error
            if value + margin < 0.0:
                found.append(f"{name} {value:.3g} below 0")
            if value - margin > highest:
                found.append(f"{name} {value:.3g} above {highest:g}")
    return found


def _covariance(jacobian: Matrix, variance: float) -> Matrix:
    """Return the covariance of the unknowns; huge along directions that the data do not determine."""
    _, singular, directions = np.linalg.svd(jacobian, full_matrices=False)
    scaled = directions / np.maximum(singular, 1e-12 * singular[0])[:, None]
    covariance: Matrix = variance * scaled.T @ scaled
    return covariance
