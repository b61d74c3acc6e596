"""Tables of the study of Rey Arias 2024, Fig. 3."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from impact_control.robots import InertiaModel
from impact_control.studies.planar_impact.figure3 import ANGLE, PRESSING_FORCE, SPEED
from impact_control.studies.planar_impact.jump import (
    BEST,
    GrossJump,
    best_model,
    is_best,
    mean_error,
    relative_error,
    worse_joints,
)
from impact_control.studies.planar_impact.response import AfterImpact
from impact_control.studies.study import Cell, Column, Mark, Table, columns
from impact_control.types import Vector

NAMES = {
    InertiaModel.LINKS: "M",
    InertiaModel.REDUCED_MOTORS: "M + B_theta",
    InertiaModel.MOTORS: "M + B_rho",
}

Impacts = Mapping[AfterImpact, Mapping[tuple[float, float], GrossJump]]
"""By what the torque does after the impact, then by approach angle [deg] and velocity [m/s]."""


def claims_table(jump: GrossJump, offsets: Mapping[InertiaModel, Vector]) -> Table:
    """What the text of the source says of each inertia beside the numbers; offsets (n,) [rad/s] by model."""
    fitted = jump.fitted - jump.ante
    rows: list[tuple[Cell, ...]] = []
    for model in InertiaModel:
        ratios = (jump.predictions[model].velocity - jump.ante) / fitted
        rows.append(
            (
                NAMES[model],
                "matches" if model is BEST else "does not match",
                *map(float, ratios),
                "oscillates around it" if model is BEST else "does not",
                float(np.degrees(np.abs(offsets[model]).mean())),
            )
        )
    return Table(
        name="claims",
        title="What section III says of Fig. 3, and what comes out (controller goes on)",
        columns=(
            *columns(("inertia", "jump,\npublished")),
            *columns((f"jump of joint {j}\nover the fit's" for j in (1, 2, 3)), decimals=3),
            Column("flexible response,\npublished"),
            Column("mean distance from\nit over 30 ms", "deg/s", 2),
        ),
        rows=tuple(rows),
        note="The figure itself is not in the text of the source; its text gives no number.",
    )


def joints_table(shown: Mapping[AfterImpact, GrossJump]) -> Table:
    """Velocities and errors of each joint at the impact of Fig. 3, by what the torque does after it."""
    rows: list[tuple[Cell, ...]] = []
    marks: dict[tuple[int, int], Mark] = {}
    for after, jump in shown.items():
        errors = {model: np.degrees(jump.error(model)) for model in InertiaModel}
        for j in range(jump.ante.size):
            best = best_model(jump, j)
            marks[len(rows), 8 + int(best)] = Mark.of(best is BEST)
            free = after is AfterImpact.HOLD
            velocities = (jump.ante, jump.fitted, *(jump.predictions[model].velocity for model in InertiaModel))
            rows.append(
                (
                    str(after),
                    j + 1,
                    *(float(np.degrees(velocity[j])) for velocity in velocities),
                    float(np.degrees(jump.common[j])) if free else None,
                    *(float(errors[model][j]) for model in InertiaModel),
                )
            )
        marks[len(rows), 8 + int(BEST)] = Mark.of(is_best(jump))
        rows.append((str(after), "mean", *(None,) * 6, *(mean_error(jump, model) for model in InertiaModel)))
    return Table(
        name="joints",
        title=f"Joint velocities at the impact of Fig. 3: {ANGLE:g} deg, {SPEED:g} m/s",
        columns=(
            *columns(("torque after impact", "joint")),
            *columns(("before", "after,\nfit", *_heads("after")), "deg/s", 2),
            *columns(("after,\ncommon motion", *_heads("error")), "deg/s", 2),
        ),
        rows=tuple(rows),
        marks=marks,
        note=(
            "Errors against the fit, Rey Arias 2024 (17). Common motion: momentum of links and motors over M + B_theta "
            "from 20 ms to 100 ms after a free impact, taken back to the impact; it does not ring."
        ),
    )


def _heads(what: str) -> tuple[str, ...]:
    """Return a head for each inertia."""
    return tuple(f"{what},\n{NAMES[model]}" for model in InertiaModel)


def _errors(jump: GrossJump) -> tuple[Cell, ...]:
    """Cells: mean errors by model, error of M + B_theta in percent, and joints where another one is better."""
    worse = ", ".join(f"{joint}: {NAMES[model]}" for joint, model in worse_joints(jump))
    return (*(mean_error(jump, model) for model in InertiaModel), relative_error(jump, BEST), worse or "none")


def _error_columns() -> tuple[Column, ...]:
    return (
        *columns(_heads("mean error"), "deg/s", 2),
        Column("error of\nM + B_theta", "% of jump", 2),
        Column("joints where\nanother is better"),
    )


def sweep_table(impacts: Impacts) -> Table:
    """Mean errors over approach angles and velocities."""
    rows: list[tuple[Cell, ...]] = []
    marks: dict[tuple[int, int], Mark] = {}
    for after, by_case in impacts.items():
        for (angle, speed), jump in by_case.items():
            marks[len(rows), 4] = Mark.of(is_best(jump))
            rest = jump.restitution if after is AfterImpact.HOLD else None
            rows.append((str(after), angle, speed, *_errors(jump), rest))
    return Table(
        name="sweep",
        title="Mean absolute error of the gross jump over approach angles and velocities",
        columns=(
            Column("torque after impact"),
            Column("angle", "deg", 0),
            Column("velocity", "m/s", 2),
            *_error_columns(),
            Column("restitution", "-", 3),
        ),
        rows=tuple(rows),
        marks=marks,
        note="Restitution: normal speed of the common motion after a free impact over that before.",
    )


def variants_table(variants: Mapping[str, Mapping[AfterImpact, GrossJump]]) -> Table:
    """Mean errors of the impact of Fig. 3 by variant and by what the torque does after it."""
    rows = [(name, str(after), *_errors(jump)) for name, ends in variants.items() for after, jump in ends.items()]
    return Table(
        name="variants",
        title="The impact of Fig. 3 with what the source leaves open chosen otherwise",
        columns=(Column("variant"), Column("torque after impact"), *_error_columns()),
        rows=tuple(rows),
    )


def limit_table(scales: tuple[float, ...], stiff: Mapping[str, list[GrossJump]]) -> Table:
    """Errors of M + B_theta by ending and by factor on the joint stiffness."""
    rows: list[tuple[Cell, ...]] = [
        (name, scale, mean_error(jump, BEST), relative_error(jump, BEST), jump.restitution)
        for name, jumps in stiff.items()
        for scale, jump in zip(scales, jumps, strict=True)
    ]
    return Table(
        name="limit",
        title="Stiff joints: does the flexible arm come to the map of M + B_theta?",
        columns=(
            Column("torque after impact"),
            Column("factor on K", "-", 0),
            Column("mean error of\nM + B_theta", "deg/s", 4),
            Column("error of\nM + B_theta", "% of jump", 3),
            Column("restitution of the\ncommon motion", "-", 4),
        ),
        rows=tuple(rows),
        note=(
            "Impact of Fig. 3 with K and the surface scaled by the factor, D by its root, and B_rho = B_theta, so that "
            f"(5) holds exactly. Pressed: {PRESSING_FORCE:g} N along the normal keep the contact closed."
        ),
    )
