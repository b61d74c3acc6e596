"""Velocities after an impact at many contacts at once: edges, plates, several arms and free objects in one system.

The impulses p of all contacts act at the same instant, M (u^+ - u^-) = J^T p (Proper 2021 (2.47), van Steen 2024
Section III), and the law of `contact_solver` holds for the velocities after the impact: a contact does not penetrate
and does not pull, so it may also separate where Proper (2.51) would hold it; its friction stops the slip or opposes it
at its limit. (2.51) is the case in which all contacts stay closed, without friction, and are few enough for its matrix
to be regular; here they may be as many as one likes.

Restitution is Newton's, corrected in sign (Errata of Proper (2.49)), in the form of Moreau: v_N^+ >= e max(0, -v_N^-),
equal where there is an impulse. Poisson's law would make the velocities depend on how the impulse of the compression
is distributed, which is not determined when there are more contacts than can be independent; Newton's only asks
for velocities. Either can gain energy: Newton's with friction (the slip changes direction), with different restitutions
in contacts that act on each other, or when a separating contact is closed by the others. With e = 0 no impact
gains energy: the work is p^T (v^- + v^+) / 2, p_N v_N^+ is zero, friction gives p^T v^+ <= 0, and what is left is
-p^T W p / 2. Neither does one of equal e in approaching contacts without friction, p_N v_N^+ = -e p_N v_N^-. Where
energy would be gained all restitutions are reduced by one common factor until it is not; likewise where no impulses
reach them.

A single contact with friction does not come out as in Rey Arias 2024 (16) where that turns the slip around: it sticks.
It neither does as in `coulomb_map` where the slip turns during the impact: there friction follows the slip of every
instant, which for many contacts would depend on the order in which they close. Both agree as long as the
slip keeps its direction, and without friction always.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from impact_control.impacts.contact_map import SlipOutcome
from impact_control.impacts.contact_solver import (
    ITERATIONS,
    RELATIVE_TOLERANCE,
    ContactSolverError,
    solve_contacts,
)
from impact_control.impacts.contact_system import Body, Contact, assemble
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

_ENERGY_ROUNDING = 1e-9
"""A gain below this part of the energy of the change of the velocities is rounding."""

_HALVINGS = 12
_SEARCH_ITERATIONS = 80
"""With restitution there may be no solution: that is found out sooner than without, when there always is one."""

_IMPULSE_ROUNDING = 1e-9
"""Normal impulse below this part of the largest is none."""

_SLIP_ROUNDING = 1e-8
"""Slip below this part of the largest contact speed is none."""


class ContactMode(IntEnum):
    """Behaviour of a contact in an impact."""

    SEPARATES = 0
    """It takes no impulse: it opens, or just touches."""

    STICKS = 1
    """It takes an impulse and does not slip after the impact."""

    SLIPS = 2
    """It takes an impulse and slips after the impact."""


def slip_of_contacts(before: Matrix, after: Matrix, normal: Vector) -> SlipOutcome:
    """Return the outcome of the slip of a body that touches at several contacts.

    before, after: contact velocities (m, 3) [m/s]; normal (3,), unit, of all of them; in the same axes. It sticks where
    no contact slips afterwards, and reverses where one does against its own slip before.
    """
    slip_before, slip_after = (v - np.outer(v @ normal, normal) for v in (before, after))
    if float(np.linalg.norm(slip_after, axis=1).max()) <= _SLIP_ROUNDING * float(np.abs(before).max()):
        return SlipOutcome.STICKS
    turned = np.einsum("mi,mi->m", slip_before, slip_after) < 0.0
    return SlipOutcome.REVERSES if turned.any() else SlipOutcome.SLIPS


@dataclass(frozen=True, eq=False)
class MultiContactImpact:
    """Effect of an impact on a system, by `predict_multi_contact_impact`.

    Contact quantities (m, 3), one row per contact, in the axes of the Jacobians; of the body relative to the other
    body or the environment.

    Attributes:
        velocities: of every body after the impact, by name, each (n,).
        impulses: on the body, the opposite on the other [Ns].
        normal_impulses: Lambda_N (m,) [Ns], at least 0.
        modes: behaviour of each contact.
        contact_velocities_before, contact_velocities_after: [m/s].
        kinetic_energy_change: of the whole system, after less before [J]; at most 0 up to rounding.
        restitution_factor: common factor on all restitutions that keeps energy from growing; nearly always 1.
        residual: distance of the impulses from the contact law [m/s], see `contact_law_residual`.
    """

    velocities: dict[str, Vector]
    impulses: Matrix
    normal_impulses: Vector
    modes: tuple[ContactMode, ...]
    contact_velocities_before: Matrix
    contact_velocities_after: Matrix
    kinetic_energy_change: float
    restitution_factor: float
    residual: float


def predict_multi_contact_impact(bodies: Mapping[str, Body], contacts: Sequence[Contact]) -> MultiContactImpact:
    """Predict the impact of `bodies`, by name, at all `contacts` between them; see this module for the law.

    At least one contact has to approach; the others may rest on each other, or separate. Of more contacts than can
    be independent, the impulses are one choice of several that give the same velocities: the same for any order
    of the contacts, symmetric where the system is.

    Raises InvalidInputError; ContactSolverError when no impulses are found.
    """
    system = assemble(bodies, contacts)
    before = system.jacobian @ system.velocity
    approach = float(before[::3].min())
    if approach >= 0.0:
        allowed = f"at least one contact approaching; the smallest speed along a normal is {approach:.6g} m/s"
        raise InvalidInputError("velocity", system.velocity, allowed)
    impulse, factor, residual = impact_impulses(system.delassus, before, system.friction, system.restitution)
    after = before + system.delassus @ impulse
    velocity = system.velocity + impulse @ system.response
    return MultiContactImpact(
        velocities={name: velocity[part] for name, part in system.degrees.items()},
        impulses=system.in_world(impulse),
        normal_impulses=impulse[::3].copy(),
        modes=_modes(impulse, after, before),
        contact_velocities_before=system.in_world(before),
        contact_velocities_after=system.in_world(after),
        kinetic_energy_change=0.5 * float(impulse @ (before + after)),
        restitution_factor=factor,
        residual=residual,
    )


def _modes(impulse: Vector, after: Vector, before: Vector) -> tuple[ContactMode, ...]:
    """Return the behaviour of the contacts; all in the contact frames."""
    still = _SLIP_ROUNDING * np.abs(before).max()
    none = _IMPULSE_ROUNDING * impulse[::3].max()
    return tuple(
        ContactMode.SEPARATES if p <= none else ContactMode.STICKS if slip <= still else ContactMode.SLIPS
        for p, slip in zip(impulse[::3].tolist(), np.hypot(after[1::3], after[2::3]).tolist(), strict=True)
    )


def impact_impulses(
    delassus: Matrix, before: Vector, friction: Vector, restitution: Vector
) -> tuple[Vector, float, float]:
    """Return the impulses p (3 m,) [Ns] of an impact, the restitution factor, and the residual.

    delassus W (3 m, 3 m) [1/kg], before v^- (3 m,) [m/s] and friction mu (m,) are those of `solve_contacts`;
    restitution e (m,). The contact velocities after the impact are v^- + W p, the work of the impulses is
    p^T (v^- + W p / 2). See `MultiContactImpact` for factor and residual. Raises ContactSolverError; else nothing is
    validated.
    """
    tolerance = RELATIVE_TOLERANCE * float(np.abs(before).max())
    rebound = restitution * np.maximum(-before[::3], 0.0)

    def solve_with(factor: float) -> tuple[Vector, float]:
        free, impulse = before.copy(), np.zeros_like(before)
        free[::3] -= factor * rebound
        iterations = _SEARCH_ITERATIONS if factor > 0.0 and rebound.any() else ITERATIONS
        residual, _ = solve_contacts(delassus, free, friction, impulse, tolerance, iterations)
        return impulse, residual

    def is_valid(impulse: Vector, residual: float) -> bool:
        gained, moved = float(impulse @ before), 0.5 * float(impulse @ delassus @ impulse)
        return residual <= tolerance and gained + moved <= _ENERGY_ROUNDING * moved

    impulse, residual = solve_with(1.0)
    if is_valid(impulse, residual):
        return impulse, 1.0, residual
    factor, upper = 0.0, 1.0
    impulse, residual = solve_with(factor)
    if not is_valid(impulse, residual):
        raise ContactSolverError(residual, tolerance, ITERATIONS, impulse)
    for _ in range(_HALVINGS):
        middle = 0.5 * (factor + upper)
        trial, trial_residual = solve_with(middle)
        if is_valid(trial, trial_residual):
            factor, impulse, residual = middle, trial, trial_residual
        else:
            upper = middle
    return impulse, factor, residual
