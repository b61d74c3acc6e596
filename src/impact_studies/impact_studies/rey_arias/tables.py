"""The tables of the experiments, laid out as those of Rey Arias 2024, the published numbers below or beside ours."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from impact_control.util.types import Matrix, Vector
from impact_studies.frame.study import Cell, Column, Judged, Table, columns
from impact_studies.rey_arias import published
from impact_studies.rey_arias.evaluation import PUBLISHED, Outcome, TypeEvaluation
from impact_studies.rey_arias.experiments import TYPES, ExperimentType

_UNIT = "deg/s"
_JOINTS = range(7)
_WHOSE = ("ours", "published")


def tables(outcome: Outcome) -> tuple[Table, ...]:
    """Return all tables in the order of the report."""
    return (
        joint_means(outcome),
        motor_inertia(outcome),
        velocities(outcome),
        friction(outcome),
        friction_coefficient(outcome),
        observation(outcome),
    )


def joint_means(outcome: Outcome) -> Table:
    """Errors of each joint, means of the ten types."""
    ours = outcome.errors
    pairs = (
        (ours.reduced_motors, PUBLISHED.reduced_motors),
        (ours.motors, PUBLISHED.motors),
        (ours.without_friction, PUBLISHED.without_friction),
    )
    compared = [f"{what},\n{whose}" for what in ("B_theta", "B_rho", "B_theta, no friction") for whose in _WHOSE]
    arrays = [array for pair in pairs for array in pair] + [outcome.error_exact, outcome.error_restitution]
    return Table.of(
        "joint_means",
        "Mean absolute errors, means of the ten types",
        (Column("joint"), *columns((*compared, "B_theta,\nno noise", "B_theta,\nrestitution"), _UNIT, 2)),
        (
            *((str(j + 1), *(array[:, j].mean() for array in arrays)) for j in _JOINTS),
            ("mean", *(array.mean() for array in arrays)),
        ),
        "Last columns, ours: in samples without noise, and with the restitution of the observed gross velocity in the "
        "map, which the source takes as zero.",
    )


def motor_inertia(outcome: Outcome) -> Table:
    """Table III: errors with B_theta and B_rho."""
    ours, theirs = outcome.errors, PUBLISHED
    return _pairs(
        "table_iii",
        "Mean absolute errors with B_theta and B_rho (Table III)",
        ("B_theta", "B_rho"),
        ((ours.reduced_motors, ours.motors), (theirs.reduced_motors, theirs.motors)),
    )


def friction(outcome: Outcome) -> Table:
    """Table IV: errors with and without friction."""
    ours, theirs = outcome.errors, PUBLISHED
    return _pairs(
        "table_iv",
        "Mean absolute errors with friction 0.3 and without (Table IV)",
        ("0.3", "0.0"),
        ((ours.reduced_motors, ours.without_friction), (published.ERROR_WITH_FRICTION, theirs.without_friction)),
    )


def velocities(outcome: Outcome) -> Table:
    """The lower lines of Table III: velocities after and before the impact."""
    ours = (
        np.array([evaluation.gross for evaluation in outcome.evaluations]),
        np.array([evaluation.ante for evaluation in outcome.evaluations]),
    )
    theirs = (published.GROSS_POST_VELOCITY, published.ANTE_VELOCITY)
    title = "Mean velocities after and before the impact (Table III)"
    return _pairs("velocities", title, ("after", "before"), (ours, theirs), marked=False)


def friction_coefficient(outcome: Outcome) -> Table:
    """Identified friction coefficients, and what disturbs them."""

    def row(experiment: ExperimentType, found: TypeEvaluation) -> Iterable[Cell]:
        printed = published.FRICTION_COEFFICIENT if experiment.number == published.FRICTION_TYPE else None
        yield from (str(experiment.number), experiment.motion, printed)
        fits = (found.friction, found.friction_motors, found.friction_coulomb, found.friction_restitution)
        yield from (fit.coefficient for fit in fits)
        yield from (found.friction.error, found.restitution, 100.0 * found.slip_left)

    return Table.of(
        "friction_coefficient",
        "Friction coefficient of the smallest error",
        (
            *columns(("type", "motion")),
            Column("published", "", 2),
            *columns(("B_theta", "B_rho", "B_theta,\nCoulomb", "B_theta,\nrestitution"), "", 3),
            Column("error at\nB_theta", _UNIT, 2),
            Column("observed\nrestitution", "", 2),
            Column("slip left", "%", 0),
        ),
        map(row, TYPES, outcome.evaluations),
        "The plate has 0.3. The source identified type 4 only, with B_theta and B_rho alike. Coulomb: his law at every "
        "instant of the impact in place of (10), (11). Slip left: predicted with B_theta, along its direction before "
        "the impact.",
    )


def observation(outcome: Outcome) -> Table:
    """Delays of the detection offline, and differences of the motions from the published ones."""

    def row(i: int, found: TypeEvaluation) -> Iterable[Cell | np.generic]:
        delays, (x, y, z) = outcome.delays[i], 1e3 * found.motion
        yield from (str(i + 1), delays.mean(), delays.min(), delays.max())
        yield from (-float(z), np.hypot(x, y), 1e3 * float(np.mean([impact.rebound for impact in found.impacts])))
        yield np.max(np.abs(found.ante - published.ANTE_VELOCITY[i]))

    return Table.of(
        "observation",
        "Impacts as found in the samples",
        (
            Column("type"),
            *columns(("delay,\nmean", "delay,\nearliest", "delay,\nlatest"), "ms", 2),
            *columns(("approach", "slip", "rebound"), "mm/s", 1),
            Column("largest difference\nto published motion", _UNIT, 2),
        ),
        (row(i, found) for i, found in enumerate(outcome.evaluations)),
        "Delay: from the contact in the simulation to the impact as found offline, below 0 when found early. Rebound: "
        "speed at which the contact point leaves the plate with the gross velocity; the map has none.",
    )


def _pairs(
    name: str,
    title: str,
    names: tuple[str, str],
    arrays: tuple[tuple[Matrix, Matrix], tuple[Matrix, Matrix]],
    *,
    marked: bool = True,
) -> Table:
    """Two columns a joint and two rows a type, ours and published: (ours, published) of (first, second) (10, 7)."""

    def cells(first: Vector, second: Vector) -> Iterable[Cell | Judged]:
        for one, other in zip(map(float, first), map(float, second), strict=True):
            significant = marked and abs(other - one) >= published.SIGNIFICANT
            yield from (Judged(one, other > one) if significant else one, other)

    return Table.of(
        name,
        title,
        (*columns(("type", "from")), *columns((f"J{j + 1}\n{what}" for j in _JOINTS for what in names), _UNIT, 2)),
        (
            (str(i + 1), whose, *cells(first[i], second[i]))
            for i in range(len(TYPES))
            for whose, (first, second) in zip(_WHOSE, arrays, strict=True)
        ),
        f"Green: the first of the two is better by {published.SIGNIFICANT:g} deg/s or more; red: worse by as much."
        if marked
        else "",
    )
