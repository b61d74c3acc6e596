"""Posterior probability of a single contact at each place of the arm, given the momentum residual."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from impact_control.util.checks import finite_array, positive_definite, require_positive
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector
from impact_studies.models.detection.surface_points import SurfacePoints


@dataclass(frozen=True, eq=False)
class ContactPosterior:
    """Posterior of a contact over the surface of an arm.

    probability: (k,) of each surface point, of sum 1. link_probability: (n,) of each link. link: 1..n, the most
    probable one. point (3,) [m]: mean of the points of that link, which need not lie on its surface. deviation [m]:
    root mean square distance of its points from there: as large as the link when the torques do not show the place.
    force (3,) [N], frame A, and force_deviation [N]: mean and root mean square distance from it, on that link.
    fit: the smallest squared distance between the residual and what a contact can explain, in units of the noise:
    about n - 5 or less for a single contact; much larger values say that it is none.
    """

    probability: Vector
    link_probability: Vector
    link: int
    point: Vector
    deviation: float
    force: Vector
    force_deviation: float
    fit: float


@dataclass(frozen=True)
class ContactPrior:
    """Force of a contact before the residual is known. Raises InvalidInputError.

    strength: standard deviation [N], above 0. friction: largest ratio of tangential to normal force, above 0. smooth:
    probability of a force along the normal, in (0, 1).
    """

    strength: float = 50.0
    friction: float = 1.0
    smooth: float = 0.5

    def __post_init__(self) -> None:
        require_positive("strength", self.strength)
        require_positive("friction", self.friction)
        require_share("smooth", self.smooth)


def require_share(name: str, value: float) -> None:
    """Raise InvalidInputError for a number that is not between 0 and 1."""
    if not 0.0 < value < 1.0:
        raise InvalidInputError(name, value, "between 0 and 1")


def checked_residual(residual: Vector) -> Vector:
    """Return a residual (n,), one finite number for each joint."""
    return finite_array("residual", residual, (max(1, np.size(residual)),))


def contact_posterior(
    residual: Vector,
    covariance: Matrix,
    jacobians: Matrix,
    positions: Matrix,
    places: SurfacePoints,
    spacing: float,
    prior: ContactPrior | None = None,
) -> ContactPosterior:
    """Return the probability of a contact at each place, Bayes' rule for r = J_p^T F + noise.

    Before the residual is known every place is as probable as any other of the same area. With the probability `smooth`
    of the prior the force is along the normal, else anywhere in its friction cone; it is Gaussian with the standard
    deviation `strength`, cut to what pushes. The force can then be integrated out: for a basis B of it, r is Gaussian
    with the covariance Sigma + strength^2 (B J_p)^T B J_p, times the share of the force's own Gaussian that pushes,
    which for the cone is approximated at its mean. Without the smooth ones, a force whose line meets a joint's axis
    would be a coincidence of probability 0; against a round link it is the rule.

    A contact lies between the places, `spacing` over sqrt(12) off in each direction. The torques that makes are added
    to the noise: for a rough contact the moment of the force moved; for a smooth one, whose line goes through the axis
    of its capsule wherever it touches, its turn about the foot and its move along the axis.

    Args:
        residual: r (n,) [Nm]; covariance: its own (n, n) [Nm^2], positive definite.
        jacobians: (n, 6, n) of the links, mixed frame; positions: (n, 3) [m] their origins, frame A.
        places: of `surface_points`; spacing: theirs [m].
        prior: of the force; default: `ContactPrior()`.

    Raises:
        InvalidInputError: for anything else.
    """
    r = checked_residual(residual)
    sigma = positive_definite("covariance", covariance, r.size)
    require_positive("spacing", spacing)
    prior = prior or ContactPrior()
    strength, friction, smooth = prior.strength, prior.friction, prior.smooth

    linear, angular = jacobians[places.link - 1, :3], jacobians[places.link - 1, 3:]
    origin = positions[places.link - 1]
    off = spacing / math.sqrt(12.0)

    J = _at(linear, angular, places.point - origin)
    first = _given(r, sigma + np.zeros((len(J), 1, 1)), J, strength)
    moved = off**2 * np.sum(first.mean**2, axis=1)[:, None, None] * _square(angular)
    rough = _given(r, sigma + moved, J, strength)
    in_cone = 0.5 * (1.0 - 1.0 / math.hypot(1.0, friction))  # share of all directions
    rough_weight = rough.evidence + np.log((1.0 - smooth) / in_cone * _share_in_cone(rough, places.normal, friction))

    at_foot = _at(linear, angular, places.foot - origin)
    push = -np.einsum("kij,ki->kj", at_foot, places.normal)[:, None, :]
    first = _given(r, sigma + np.zeros((len(J), 1, 1)), push, strength)
    turn = at_foot + np.einsum("kij,ki->kj", at_foot, -places.normal)[:, None, :] * places.normal[:, :, None]
    radius = np.linalg.norm(places.point - places.foot, axis=1)
    slide = np.einsum("kij,ki->kj", angular, np.cross(places.axis, places.normal))[:, None, :]
    amount = (off * first.mean[:, 0]) ** 2
    moved = amount[:, None, None] * (_square(turn) / radius[:, None, None] ** 2 + _square(slide))
    even = _given(r, sigma + moved, push, strength)
    pushing = np.maximum(ndtr(even.mean[:, 0] / np.sqrt(even.spread[:, 0, 0])), 1e-300)
    even_weight = even.evidence + np.log(smooth / 0.5 * pushing)

    log_weight = np.concatenate([rough_weight, even_weight]) + np.tile(np.log(places.area), 2)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    force = np.vstack([rough.mean, -even.mean * places.normal])
    variance = np.concatenate([np.trace(rough.spread, axis1=1, axis2=2), even.spread[:, 0, 0]])
    return _summary(weight, force, variance, places, r.size, float(min(rough.misfit.min(), even.misfit.min())))


def _summary(
    weight: Vector, force: Matrix, variance: Vector, places: SurfacePoints, size: int, fit: float
) -> ContactPosterior:
    """Gather the weights (2 k,) of rough and smooth contacts with their forces (2 k, 3) and variances (2 k,)."""
    probability = weight.reshape(2, -1).sum(axis=0)
    by_link = np.asarray(np.bincount(places.link - 1, weights=probability, minlength=size), dtype=float)
    link = int(np.argmax(by_link)) + 1
    here = np.where(np.tile(places.link == link, 2), weight, 0.0) / by_link[link - 1]
    points = np.tile(places.point, (2, 1))
    point, mean = here @ points, here @ force
    return ContactPosterior(
        probability=probability,
        link_probability=by_link,
        link=link,
        point=point,
        deviation=math.sqrt(float(here @ np.sum((points - point) ** 2, axis=1))),
        force=mean,
        force_deviation=math.sqrt(float(here @ (np.sum((force - mean) ** 2, axis=1) + variance))),
        fit=fit,
    )


class _Given(NamedTuple):
    """Contact at each of k places: force in components (k, d), covariance (k, d, d), log evidence, misfit (k,)."""

    mean: Matrix
    spread: Matrix
    evidence: Vector
    misfit: Vector


def _at(linear: Matrix, angular: Matrix, arm: Matrix) -> Matrix:
    """Return the Jacobians (k, 3, n) at points `arm` (k, 3) [m] from the origins: v_p = v + omega x arm."""
    jacobian: Matrix = linear + np.cross(angular.transpose(0, 2, 1), arm[:, None, :]).transpose(0, 2, 1)
    return jacobian


def _square(jacobian: Matrix) -> Matrix:
    square: Matrix = jacobian.transpose(0, 2, 1) @ jacobian
    return square


def _given(r: Vector, noise: Matrix, torques: Matrix, strength: float) -> _Given:
    """Return what the residual says of a force whose components make the torques (k, d, n) [Nm/N]."""
    inverse = np.linalg.inv(noise)
    size = torques.shape[1]
    information = torques @ inverse @ torques.transpose(0, 2, 1) + np.eye(size) / strength**2
    spread = np.asarray(np.linalg.inv(information), dtype=np.float64)
    mean = (spread @ (torques @ (inverse @ r)[..., None]))[..., 0]
    rest = r - np.einsum("kij,ki->kj", torques, mean)
    misfit = np.einsum("ki,kij,kj->k", rest, inverse, rest)
    # The exponent of the evidence, r^T (N + s^2 T^T T)^-1 r, is misfit and what the force itself costs.
    exponent = misfit + np.sum(mean**2, axis=1) / strength**2
    volume = np.linalg.slogdet(spread)[1] - np.linalg.slogdet(noise)[1] - 2.0 * size * math.log(strength)
    return _Given(mean, spread, 0.5 * (volume - exponent), misfit)


def _share_in_cone(given: _Given, normal: Matrix, friction: float) -> Vector:
    """Return about which share (k,) of Gaussian forces pushes the surface inside its friction cone; above 0.

    The margin friction * pressing - sliding is taken as linear around the mean.
    """
    pressing = -np.sum(given.mean * normal, axis=1)
    sliding = given.mean + pressing[:, None] * normal
    size = np.linalg.norm(sliding, axis=1)
    slope = -friction * normal - sliding / np.maximum(size, 1e-12)[:, None]
    deviation = np.sqrt(np.einsum("ki,kij,kj->k", slope, given.spread, slope))
    share: Vector = np.maximum(ndtr((friction * pressing - size) / deviation), 1e-300)
    return share
