"""From the momentum residual to the contact: the link it is on, its wrench, and the point where it pushes.

The steps of isolation and identification in the collision event pipeline, Proper 2021, 1.1 and 2.5. Everything is for
one residual, taken when it has settled: it follows the external torque with the time constant 1/K_O. What the joint
torques do not show is reported as unknown, not guessed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, erfc

from impact_control.detection.detector import NO_LINK
from impact_control.util.checks import checked_count, checked_vector, finite_array, positive_definite, require_positive
from impact_control.util.types import Matrix, Vector
from impact_studies.models.detection.contact_posterior import (
    ContactPosterior,
    checked_residual,
    contact_posterior,
    require_share,
)
from impact_studies.models.detection.line_of_action import Surfaces, first_entries, lines_of_action
from impact_studies.models.detection.surface_points import surface_points

LEVER = 0.1
"""[m] by which moments are made comparable with forces: half the length of a link."""


@dataclass(frozen=True, eq=False)
class ReactingLink:
    """The outermost joint that reacts.

    link: 1..n, the body behind that joint, or NO_LINK when no joint reacts. The contact is on this link or further
        out: a force whose line meets the axes of the joints beyond it, or is parallel to them, does not move them.
    significance: (n,) |r_i| over its standard deviation.
    confidence: probability that noise alone would not have made this joint, or one beyond it, react so much.
    """

    link: int
    significance: Vector
    confidence: float


@dataclass(frozen=True, eq=False)
class ContactWrench:
    """A wrench at the origin of a link, axes of the world frame A, force first [N, Nm].

    link: 1..n. wrench (6,): what the residual shows of it, 0 along the directions it does not show. covariance (6, 6)
    of that part. unobservable (6, u): basis of the directions it does not show; the wrench is known up to any
    combination of them, whole for u = 0. condition: largest over smallest singular value of the map from the wrench to
    the torques, both in units of their noise and moments over LEVER; infinite for a singular one. fit: probability
    that noise alone makes the torques differ as much from those of the wrench; 1 when nothing is left to compare.
    """

    link: int
    wrench: Vector
    covariance: Matrix
    unobservable: Matrix
    condition: float
    fit: float

    @property
    def complete(self) -> bool:
        """Return whether all six components are known."""
        return bool(self.unobservable.shape[1] == 0)


@dataclass(frozen=True, eq=False)
class ContactPoint:
    """Where a single force would push a link.

    link: 1..n. point (3,) [m], frame A. deviation [m]: root mean square distance of the points that the noise makes.
    confidence: probability of the link, times the share of the forces within the noise whose line meets it. wrench:
    at this link.
    """

    link: int
    point: Vector
    deviation: float
    confidence: float
    wrench: ContactWrench


@dataclass(frozen=True, eq=False)
class ContactLocation:
    """Contact estimated from a residual.

    isolation: the outermost link that reacts. wrench: the one there; posterior: how probable a single contact is at
    each place; both None when no joint reacts. points: of each link whose whole wrench is known and that could bear it
    as a single contact, the most confident first. reason: why there is no point, or not one only; empty for one point.
    """

    isolation: ReactingLink
    wrench: ContactWrench | None
    posterior: ContactPosterior | None
    points: tuple[ContactPoint, ...]
    reason: str


@dataclass(frozen=True)
class LocationOptions:
    """Tuning of `locate_contact`. Raises InvalidInputError.

    false_alarm: in (0, 1); probability with which noise is taken for a reaction, or a hypothesis is rejected.
    resolution [N]: see `estimate_wrench`. spacing [m]: of the places for which the posterior is computed, above 0.
    samples: of the noise, at least 2; seed: of their random numbers.
    """

    false_alarm: float = 1e-3
    resolution: float = 5.0
    spacing: float = 0.015
    samples: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        require_share("false_alarm", self.false_alarm)
        require_positive("resolution", self.resolution)
        require_positive("spacing", self.spacing)
        checked_count("samples", self.samples, 2)


def reacting_link(residual: Vector, deviation: Vector, false_alarm: float = 1e-3) -> ReactingLink:
    """Return the outermost joint whose residual is more than its noise.

    Joints beyond the link in contact do not react, Proper 2021, 2.5. A joint reacts when its residual is larger than
    Gaussian noise makes that of any joint with the probability false_alarm; each gets an equal share of it.

    Args:
        residual: r (n,) [Nm].
        deviation: standard deviation (n,) [Nm] of the residual without contact, above 0, the errors of the model
            included.
        false_alarm: in (0, 1).

    Raises:
        InvalidInputError: for anything else.
    """
    r = checked_residual(residual)
    sigma = checked_vector("deviation", deviation, r.size, zero_allowed=False)
    require_share("false_alarm", false_alarm)
    significance = np.abs(r) / sigma
    alone = erfc(significance / math.sqrt(2.0))  # probability that noise makes this joint react as much
    reacting = np.flatnonzero(alone < false_alarm / r.size)
    if not reacting.size:
        return ReactingLink(NO_LINK, significance, 0.0)
    outermost = int(reacting[-1])
    return ReactingLink(outermost + 1, significance, float(1.0 - r.size * alone[outermost]))


def estimate_wrench(
    residual: Vector, covariance: Matrix, jacobian: Matrix, link: int, resolution: float = 5.0
) -> ContactWrench:
    """Return the wrench at a link that explains the residual best: r = J^T w in the least squares of its noise.

    Proper 2021 (2.30), (2.31): tau_ext = J^T f. Joint torques behind which there are fewer than six joints do not show
    every wrench, and near a singular configuration some only badly. A direction whose standard deviation would be above
    `resolution` counts as not shown.

    Args:
        residual: r (n,) [Nm].
        covariance: of the residual (n, n) [Nm^2], positive definite.
        jacobian: J of the link (6, n), mixed frame, linear part first, columns beyond the link 0.
        link: 1..n, for the record.
        resolution: [N], above 0; of moments LEVER times it [Nm].

    Raises:
        InvalidInputError: for anything else.
    """
    r = checked_residual(residual)
    # W^T W is the inverse of the covariance.
    whiten = np.linalg.inv(np.linalg.cholesky(positive_definite("covariance", covariance, r.size)))
    J = finite_array("jacobian", jacobian, (6, r.size))
    require_positive("resolution", resolution)
    scale = np.array([1.0, 1.0, 1.0, LEVER, LEVER, LEVER])
    seen = whiten @ J.T * scale  # torques in units of their noise, for components of the wrench in N
    left, singular, right = np.linalg.svd(seen, full_matrices=True)
    padded = np.zeros(6)
    padded[: singular.size] = singular
    shown = padded * resolution >= 1.0
    strengths = padded[shown]
    directions = scale[:, None] * right[shown].T
    amounts = (left[:, : shown.size].T[shown[: left.shape[1]]] @ (whiten @ r)) / strengths
    wrench = directions @ amounts
    spread = directions / strengths
    rest = whiten @ (r - J.T @ wrench)
    freedom = r.size - strengths.size
    smallest = float(padded[-1])
    return ContactWrench(
        link=link,
        wrench=wrench,
        covariance=spread @ spread.T,
        unobservable=scale[:, None] * right[~shown].T,
        condition=float(padded[0]) / smallest if smallest > 0.0 else math.inf,
        fit=float(chdtrc(freedom, float(rest @ rest))) if freedom > 0 else 1.0,
    )


def locate_contact(
    residual: Vector,
    covariance: Matrix,
    jacobians: Matrix,
    positions: Matrix,
    surfaces: Surfaces,
    options: LocationOptions | None = None,
) -> ContactLocation:
    """Return link, wrench and point of a contact, as far as the residual shows them.

    The point is where the line of action of the force enters the surface of a link. Every link from the isolated one
    outwards is tried: of each the wrench has to be whole, to explain the torques of all joints, those beyond it too,
    and to be that of a force without a moment along it. What the noise of the residual makes of the point is found by
    drawing wrenches from their covariance.

    Args:
        residual, covariance: see `estimate_wrench`.
        jacobians: (n, 6, n) of the links, see `robots.link_shapes.LinkFrames`.
        positions: (n, 3) [m] origins of the links, frame A.
        surfaces: of the links, frame A.
        options: tuning; default: `LocationOptions()`.

    Raises:
        InvalidInputError: for anything else.
    """
    r = checked_residual(residual)
    options = options or LocationOptions()
    false_alarm, resolution = options.false_alarm, options.resolution
    variance = np.diagonal(positive_definite("covariance", covariance, r.size))
    isolation = reacting_link(r, np.sqrt(variance), false_alarm)
    if isolation.link == NO_LINK:
        return ContactLocation(isolation, None, None, (), "no joint reacts more than noise does")
    wrench = estimate_wrench(r, covariance, jacobians[isolation.link - 1], isolation.link, resolution)
    places = surface_points(surfaces, options.spacing)
    posterior = contact_posterior(r, covariance, jacobians, positions, places, options.spacing)
    noise = np.random.default_rng(options.seed).standard_normal((options.samples, 6))
    points, unknown = [], []
    for link in range(isolation.link, r.size + 1):
        candidate = estimate_wrench(r, covariance, jacobians[link - 1], link, resolution)
        if not candidate.complete:
            unknown.append(link)
        elif candidate.fit >= false_alarm and _is_pure_force(candidate, false_alarm):
            point = _point_on(candidate, positions[link - 1], surfaces, noise, posterior.link_probability[link - 1])
            if point.confidence > false_alarm:
                points.append(point)
    points.sort(key=lambda point: -point.confidence)
    # A link with an unknown wrench that is improbable anyway is not worth a word.
    unknown = [link for link in unknown if posterior.link_probability[link - 1] > false_alarm]
    return ContactLocation(isolation, wrench, posterior, tuple(points), _reason(points, unknown))


def _reason(points: list[ContactPoint], unknown: list[int]) -> str:
    words = []
    if unknown:
        links = ", ".join(map(str, unknown))
        words.append(f"of a contact on link {links} the joint torques do not show the whole wrench, so not its line")
    if len(points) > 1:
        words.append(f"the line of action meets the links {', '.join(str(point.link) for point in points)}")
    if not points:
        words.append("no link could bear this wrench as a single contact")
    return "; ".join(words)


def _is_pure_force(wrench: ContactWrench, false_alarm: float) -> bool:
    """Return whether the moment along the force is within its noise: a contact without a torque of its own."""
    force, moment = wrench.wrench[:3], wrench.wrench[3:]
    slope = np.concatenate([moment, force])  # of F . m
    variance = float(slope @ wrench.covariance @ slope)
    return math.erfc(abs(float(force @ moment)) / math.sqrt(2.0 * variance)) >= false_alarm if variance > 0.0 else True


def _point_on(
    wrench: ContactWrench, origin: Vector, surfaces: Surfaces, noise: Matrix, probability: float
) -> ContactPoint:
    root = np.linalg.cholesky(wrench.covariance)
    drawn = np.vstack([wrench.wrench, wrench.wrench + noise @ root.T])
    entries, misses = first_entries(*lines_of_action(drawn, origin), surfaces, wrench.link)
    hits = entries[1:][misses[1:] == 0.0]
    point = entries[0]
    deviation = math.sqrt(float(np.mean(np.sum((hits - point) ** 2, axis=1)))) if len(hits) else math.inf
    return ContactPoint(wrench.link, point, deviation, probability * len(hits) / len(noise), wrench)
