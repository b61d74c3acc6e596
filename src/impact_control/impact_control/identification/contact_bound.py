"""How well contact parameters can be known from force profiles at all: the bound of Cramer and Rao."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from impact_control.errors import InvalidInputError
from impact_control.identification.contact_model import ContactModel
from impact_control.identification.contact_profile import ForceProfile
from impact_control.identification.contact_search import Point, Search, slopes


def contact_parameter_bound(
    model: ContactModel,
    parameters: Mapping[str, float],
    profiles: Sequence[ForceProfile],
    onsets: Sequence[float],
    mass: float,
    *,
    exponent_known: bool = False,
) -> dict[str, float]:
    """Return the least standard errors that unbiased estimates of the law's parameters can have, in their SI units.

    With independent Gaussian noise of standard deviation s in the samples, and J their derivatives by all that is
    unknown, the onsets included, no unbiased estimate has a covariance below (J^T J / s^2)^-1, Cramer and Rao. The
    derivatives are taken at the true values. So before an experiment it says which speeds and how many impacts it
    needs; a fit that reaches it has nothing to gain from another search.

    Args:
        model: the law; it has to be the true one.
        parameters: true values by name, as in `ContactFit.parameters`.
        profiles: recorded or simulated ones, each with true speed and noise.
        onsets: true times [s] of first contact, one a profile.
        mass: the effective mass [kg], known to the fit as the speeds are.
        exponent_known: whether it is, for a law that has one.

    Raises InvalidInputError for a speed or a noise that is not given, parameters of another law, and profiles that do
    not determine the parameters.
    """
    noise = [profile.noise for profile in profiles]
    speeds = [profile.speed for profile in profiles]
    if None in noise or None in speeds or len(onsets) != len(profiles):
        given = (noise, speeds, tuple(onsets))
        raise InvalidInputError("profiles, onsets", given, "noise, speed and onset of every profile")
    exponent = parameters.get("exponent") if exponent_known else None
    search = Search(model, profiles, mass, exponent)
    known = [speed for speed in speeds if speed is not None]
    try:
        x = search.locate(Point(dict(parameters), mass, tuple(known), tuple(onsets)))
    except (KeyError, ValueError) as error:
        raise InvalidInputError("parameters", dict(parameters), f"those of the law {model.value}") from error
    scale = search.weights[0] / search.peak * float(noise[0] or 0.0)
    jacobian = slopes(search.residuals, x) / scale
    if np.linalg.matrix_rank(jacobian) < x.size:
        raise InvalidInputError("profiles", [profile.time.size for profile in profiles], "ones that tell the law")
    covariance = np.linalg.inv(jacobian.T @ jacobian)
    names = list(search.point(x).law)
    by_unknowns = slopes(search.reported, x)[: len(names)]
    errors = np.sqrt(np.einsum("ij,jk,ik->i", by_unknowns, covariance, by_unknowns))
    return dict(zip(names, (float(error) for error in errors), strict=True))
