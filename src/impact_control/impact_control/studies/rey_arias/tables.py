"""The tables of the experiments, laid out as those of Rey Arias 2024, the published numbers below or beside ours."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from impact_control.studies.rey_arias import published
from impact_control.studies.rey_arias.experiments import TYPES
from impact_control.studies.rey_arias.outcome import PUBLISHED, Outcome
from impact_control.studies.study import Cell, Column, Mark, Table, columns
from impact_control.types import Matrix

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
    head = (Column("joint"), *columns((*compared, "B_theta,\nno noise", "B_theta,\nrestitution"), _UNIT, 2))
    arrays = [array for pair in pairs for array in pair] + [outcome.error_exact, outcome.error_restitution]
    rows: list[tuple[Cell, ...]] = [(str(j + 1), *(float(array[:, j].mean()) for array in arrays)) for j in _JOINTS]
    rows.append(("mean", *(float(array.mean()) for array in arrays)))
    note = (
        "Last columns, ours: in samples without noise, and with the restitution of the observed gross velocity in the "
        "map, which the source takes as zero."
    )
    return Table("joint_means", "Mean absolute errors, means of the ten types", head, tuple(rows), note=note)


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
    head = (
        *columns(("type", "motion")),
        Column("published", "", 2),
        *columns(("B_theta", "B_rho", "B_theta,\nCoulomb", "B_theta,\nrestitution"), "", 3),
        Column("error at\nB_theta", _UNIT, 2),
        Column("observed\nrestitution", "", 2),
        Column("slip left", "%", 0),
    )
    rows = tuple(
        (
            str(experiment.number),
            experiment.motion,
            published.FRICTION_COEFFICIENT if experiment.number == published.FRICTION_TYPE else None,
            evaluation.friction.coefficient,
            evaluation.friction_motors.coefficient,
            evaluation.friction_coulomb.coefficient,
            evaluation.friction_restitution.coefficient,
            evaluation.friction.error,
            evaluation.restitution,
            100.0 * evaluation.slip_left,
        )
        for experiment, evaluation in zip(TYPES, outcome.evaluations, strict=True)
    )
    note = (
        "The plate has 0.3. The source identified type 4 only, with B_theta and B_rho alike. Coulomb: his law at every "
        "instant of the impact in place of (10), (11). Slip left: predicted with B_theta, along its direction before "
        "the impact."
    )
    return Table("friction_coefficient", "Friction coefficient of the smallest error", head, rows, note=note)


def observation(outcome: Outcome) -> Table:
    """How well impacts were found, and how near the motions are to the published ones."""
    head = (
        Column("type"),
        *columns(("delay,\nmean", "delay,\nearliest", "delay,\nlatest"), "ms", 2),
        *columns(("approach", "slip", "rebound"), "mm/s", 1),
        Column("largest difference\nto published motion", _UNIT, 2),
    )
    rows: list[tuple[Cell, ...]] = []
    for i, evaluation in enumerate(outcome.evaluations):
        before = 1e3 * evaluation.motion
        rebound = 1e3 * float(np.mean([impact.rebound for impact in evaluation.impacts]))
        difference = float(np.max(np.abs(evaluation.ante - published.ANTE_VELOCITY[i])))
        delays = outcome.delays[i]
        found = (float(delays.mean()), float(delays.min()), float(delays.max()))
        speeds = (-float(before[2]), float(np.hypot(before[0], before[1])), rebound)
        rows.append((str(i + 1), *found, *speeds, difference))
    note = (
        "Delay: from the contact in the simulation to the impact as found offline, below 0 when found early. Rebound: "
        "speed at which the contact point leaves the plate with the gross velocity; the map has none."
    )
    return Table("observation", "Impacts as found in the samples", head, tuple(rows), note=note)


def _pairs(
    name: str,
    title: str,
    names: tuple[str, str],
    arrays: tuple[tuple[Matrix, Matrix], tuple[Matrix, Matrix]],
    *,
    marked: bool = True,
) -> Table:
    """Two columns a joint and two rows a type, ours and published: (ours, published) of (first, second) (10, 7)."""
    joints = columns((f"J{j + 1}\n{what}" for j in _JOINTS for what in names), _UNIT, 2)
    rows: list[tuple[Cell, ...]] = []
    marks: dict[tuple[int, int], Mark] = {}
    for i in range(len(TYPES)):
        for whose, (first, second) in zip(_WHOSE, arrays, strict=True):
            cells = np.column_stack((first[i], second[i])).ravel()
            if marked:
                marks.update(_significant(len(rows), second[i] - first[i]))
            rows.append((str(i + 1), whose, *map(float, cells)))
    note = (
        f"Green: the first of the two is better by {published.SIGNIFICANT:g} deg/s or more; red: worse by as much."
        if marked
        else ""
    )
    return Table(name, title, (*columns(("type", "from")), *joints), tuple(rows), marks, note)


def _significant(row: int, gain: Matrix) -> Mapping[tuple[int, int], Mark]:
    """Marks of the first cell of each pair in a row; gain (7,): by how much the first error is smaller."""
    return {
        (row, 2 + 2 * j): Mark.of(value > 0.0) for j, value in enumerate(gain) if abs(value) >= published.SIGNIFICANT
    }
