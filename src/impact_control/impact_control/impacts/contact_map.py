"""Impact at one contact point, seen from the contact: from its mobility and velocity to its impulse.

The contact does not depend on the mechanism behind it. Any inverse inertia matrix will do: that of the joints, or one
without joint-space form, such as the composite rigid body of a stiffly velocity-controlled arm (`inverse_inertia`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from impact_control.impacts.coulomb_map import REVERSES, SLIPS, SMALLEST_SLIP_RATIO, STICKS, UNSOLVED, coulomb_impulse
from impact_control.util.checks import (
    ROUNDING,
    finite_array,
    require_between,
    require_not_negative,
    symmetric,
    unit_vector,
)
from impact_control.util.compiled import compiled
from impact_control.util.dense import dot
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

_SMALLEST_DRIVE_RATIO = 1e-9
"""J_N M^-1 J_mu^T below this part of J_N M^-1 J_N^T counts as zero."""

# Statuses of `impulse_at_contact` and of the kernels that call it.
SOLVED, NOT_UNIT, NOT_APPROACHING, JAMS, NOT_FOLLOWED = range(5)


class FrictionLaw(IntEnum):
    """Law of friction during the impact."""

    FIXED_DIRECTION = 0
    """mu times the normal impulse against the slip before the impact, Rey Arias 2024 (10), (11), (16). Right as
    long as the slip keeps its direction. It does not end with the slip: it can turn it around, and gain energy
    then, which real friction does not; and there is no solution where the impact jams, J_N M^-1 J_mu^T <= 0."""

    COULOMB = 1
    """Coulomb's law at every instant of the impact: the slip may turn, stop, stick or go on the other way. There
    is a solution for every mu, and none gains energy. See `coulomb_map`."""


class SlipOutcome(IntEnum):
    """Slip of the contact point after the impact, relative to that before."""

    SLIPS = SLIPS
    """It slips after the impact, not against its direction before; also when it did not slip before."""

    STICKS = STICKS
    """It does not slip after the impact: friction stopped it, or kept it from starting."""

    REVERSES = REVERSES
    """It slips after the impact with a component against its direction before."""


OUTCOMES = tuple(SlipOutcome)
"""By the number that the kernels return; the constructor of the enumeration takes a microsecond."""


@dataclass(frozen=True, eq=False)
class ContactImpact:
    """Effect of an impact at the contact. All vectors (3,), in the axes of the input.

    Attributes:
        normal_impulse: Lambda_N [Ns], above 0.
        impulse: on the robot [Ns], normal and friction.
        contact_velocity_before, contact_velocity_after: of the contact point [m/s].
        slip_direction: u_T, unit vector of the tangential velocity before the impact; zero without slip.
        slip: outcome of the slip.
        jammed: friction drove the contact point into the surface, faster than the normal impulse drove
            it out, during a part of the impact: J_N M^-1 J_mu^T < 0 with the slip direction of that instant. Only
            with FrictionLaw.COULOMB; the other law has no solution then.
        kinetic_energy_change: after less before [J]. At most 0, but for a slip that the friction of
            FrictionLaw.FIXED_DIRECTION turned around: read that as a contact that sticks.
    """

    normal_impulse: float
    impulse: Vector
    contact_velocity_before: Vector
    contact_velocity_after: Vector
    slip_direction: Vector
    slip: SlipOutcome
    jammed: bool
    kinetic_energy_change: float


def predict_contact_impact(
    inverse_inertia: Matrix,
    normal: Vector,
    contact_velocity: Vector,
    friction: float = 0.0,
    restitution: float = 0.0,
    law: FrictionLaw = FrictionLaw.COULOMB,
) -> ContactImpact:
    """Predict an impact by the inverse inertia matrix W at the contact: dv = W impulse, Wang 2022 (1).

    inverse_inertia: W (3, 3) [1/kg], symmetric, positive semidefinite: a planar arm moves in its plane only.
    normal: n (3,), unit normal of the surface, from the surface to the robot.
    contact_velocity: v^- (3,) [m/s], into the surface, in the range of W.
    friction: mu, at least 0.
    restitution: e, from 0 to 1. Newton's with FIXED_DIRECTION, Stronge's (of energy) with COULOMB; the same
        without friction. With neither friction nor restitution the normal impulse is Wang 2022 (32).

    All in the axes of one fixed frame. Raises InvalidInputError; `friction` is also refused when the impact jams
    with FIXED_DIRECTION, `mobility` when the contact moves so much more easily one way than the other that COULOMB
    cannot follow its slip (ratios from some ten thousand on).
    """
    W = symmetric("inverse_inertia", inverse_inertia, 3)
    n = unit_vector("normal", normal)
    before = finite_array("contact_velocity", contact_velocity, (3,))
    checked = checked_law(friction, restitution, law)
    _require_mobility(W, before)
    vectors = np.empty((4, 3))
    status, normal_impulse, outcome, jammed, work = impulse_at_contact(W, n, before, checked, vectors)
    if status != SOLVED:
        raise refusal(status, W, n, before, checked[0], "contact_velocity", before)
    impulse, _, after, slip_direction = vectors
    return ContactImpact(normal_impulse, impulse, before, after, slip_direction, OUTCOMES[outcome], jammed, work)


def checked_law(friction: float, restitution: float, law: FrictionLaw) -> tuple[float, float, bool]:
    """Return mu, e and whether the law is Coulomb's. Raises InvalidInputError."""
    mu = require_not_negative("friction", friction)
    e = require_between("restitution", restitution, 0.0, 1.0)
    if law is not FrictionLaw.COULOMB and law is not FrictionLaw.FIXED_DIRECTION:
        raise InvalidInputError("law", law, "a FrictionLaw")
    return mu, e, law is FrictionLaw.COULOMB


def refusal(
    status: int, mobility: Matrix, normal: Vector, before: Vector, friction: float, name: str, velocity: Vector
) -> InvalidInputError:
    """Return the error of a status of `impulse_at_contact`; velocity: what the caller gave, under its name."""
    if status == NOT_UNIT:
        return InvalidInputError("normal", normal, f"a vector of length 1, not {np.linalg.norm(normal):.9g}")
    if status == NOT_APPROACHING:
        allowed = f"the contact point moving into the surface; its speed along the normal is {normal @ before:.6g} m/s"
        return InvalidInputError(name, velocity, allowed)
    if status == NOT_FOLLOWED:
        allowed = f"a contact that moves in all directions; the eigenvalues are {np.linalg.eigvalsh(mobility)}"
        return InvalidInputError("mobility", mobility, allowed)
    slip = before - (normal @ before) * normal
    limit = (normal @ mobility @ normal) * np.linalg.norm(slip) / (normal @ mobility @ slip)
    jams = "from there on this impact jams, J_N M^-1 J_mu^T <= 0"
    return InvalidInputError("friction", friction, f"below {limit:.6g}: {jams}; FrictionLaw.COULOMB has a solution")


def _require_mobility(inverse_inertia: Matrix, velocity: Vector) -> None:
    """Require W to be positive semidefinite, and the velocity to be one that W can bring about."""
    values, axes = np.linalg.eigh(inverse_inertia)
    if values[-1] <= 0.0 or values[0] < -ROUNDING * values[-1]:
        allowed = f"positive semidefinite and not zero; the eigenvalues are {values}"
        raise InvalidInputError("inverse_inertia", inverse_inertia, allowed)
    fixed = axes[:, values <= ROUNDING * values[-1]]
    if np.any(np.abs(fixed.T @ velocity) > ROUNDING * np.linalg.norm(velocity)):
        raise InvalidInputError("contact_velocity", velocity, f"no component along {fixed.T}, where W has no mobility")


@compiled
def impulse_at_contact(
    mobility: Matrix, normal: Vector, velocity: Vector, law: tuple[float, float, bool], vectors: Matrix
) -> tuple[int, float, int, bool, float]:
    """Write impulse, velocity before and after, and slip direction to the rows of `vectors` (4, 3).

    Returns a status, the normal impulse, the SlipOutcome, whether it jammed, and the change of the kinetic
    energy. law: from `checked_law`. Of the input, only normal and approach are checked. All in the same axes.
    """
    friction, restitution, coulomb = law
    impulse, before, after, slip_direction = vectors[0], vectors[1], vectors[2], vectors[3]
    if not abs(math.sqrt(dot(normal, normal)) - 1.0) <= 1e-6:
        return NOT_UNIT, 0.0, SLIPS, False, 0.0
    axes = np.empty((3, 3))
    slips = contact_axes(normal, velocity, axes)
    # In contact axes: the normal, the slip, and across it.
    responses = np.empty((3, 3))
    local_mobility = np.empty((3, 3))
    local_velocity = np.empty(3)
    for i in range(3):
        before[i] = velocity[i]
        slip_direction[i] = axes[1, i] if slips else 0.0
        local_velocity[i] = dot(axes[i], velocity)
        for j in range(3):
            responses[i, j] = dot(mobility[j], axes[i])
    for i in range(3):
        for j in range(3):
            local_mobility[i, j] = dot(axes[i], responses[j])
    if not local_velocity[0] < 0.0:
        return NOT_APPROACHING, 0.0, SLIPS, False, 0.0

    local_impulse = np.zeros(3)
    outcome, jammed = SLIPS, False
    if coulomb:
        outcome, jammed = coulomb_impulse(local_mobility, local_velocity, friction, restitution, local_impulse)
        if outcome == UNSOLVED:
            return NOT_FOLLOWED, 0.0, SLIPS, jammed, 0.0
    else:
        along = -friction if slips else 0.0
        driven_out = local_mobility[0, 0] + along * local_mobility[0, 1]
        if driven_out <= _SMALLEST_DRIVE_RATIO * local_mobility[0, 0]:
            return JAMS, 0.0, SLIPS, True, 0.0
        local_impulse[0] = -(1.0 + restitution) * local_velocity[0] / driven_out
        local_impulse[1] = along * local_impulse[0]

    for i in range(3):
        impulse[i] = dot(axes[:, i], local_impulse)
        after[i] = before[i] + dot(responses[:, i], local_impulse)
    if not coulomb and dot(slip_direction, after) < 0.0:
        outcome = REVERSES
    # The impulse does work at the mean of the velocities.
    work = 0.5 * (dot(impulse, before) + dot(impulse, after))
    return SOLVED, local_impulse[0], outcome, jammed, work


@compiled
def contact_axes(normal: Vector, velocity: Vector, axes: Matrix) -> bool:
    """Write the normal, the direction of the slip and the one across it to the rows; return whether it slips.

    Without slip any tangents will do: they start from the world axis that is furthest from the normal.
    """
    n, tangent, across = axes[0], axes[1], axes[2]
    length = math.sqrt(dot(normal, normal))
    for i in range(3):
        n[i] = normal[i] / length
        tangent[i] = velocity[i]
    _remove_along(n, tangent)
    slips = math.sqrt(dot(tangent, tangent)) > SMALLEST_SLIP_RATIO * math.sqrt(dot(velocity, velocity))
    if not slips:
        furthest = 0
        for i in range(3):
            tangent[i] = 0.0
            if abs(n[i]) < abs(n[furthest]):
                furthest = i
        tangent[furthest] = 1.0
    # Twice, or what rounding leaves along the normal would count in a small slip.
    _remove_along(n, tangent)
    length = math.sqrt(dot(tangent, tangent))
    for i in range(3):
        tangent[i] /= length
    _remove_along(n, tangent)
    across[0] = n[1] * tangent[2] - n[2] * tangent[1]
    across[1] = n[2] * tangent[0] - n[0] * tangent[2]
    across[2] = n[0] * tangent[1] - n[1] * tangent[0]
    return slips


@compiled
def _remove_along(unit: Vector, vector: Vector) -> None:
    """Take the component along the unit vector out of the vector, in place."""
    along = dot(unit, vector)
    for i in range(3):
        vector[i] -= along * unit[i]
