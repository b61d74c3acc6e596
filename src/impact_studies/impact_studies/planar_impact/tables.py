"""Tables of the study of Rey Arias 2024, Fig. 3."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from impact_control.robots import InertiaModel
from impact_control.util.types import Vector
from impact_studies.frame.study import Cell, Column, Judged, Table, columns
from impact_studies.planar_impact.figure3 import ANGLE, PRESSING_FORCE, SPEED
from impact_studies.planar_impact.jump import (
    BEST,
    GrossJump,
    best_model,
    is_best,
    mean_error,
    relative_error,
    worse_joints,
)
from impact_studies.planar_impact.response import AfterImpact

NAMES = {InertiaModel.LINKS: "M", InertiaModel.REDUCED_MOTORS: "M + B_theta", InertiaModel.MOTORS: "M + B_rho"}

Impacts = Mapping[AfterImpact, Mapping[tuple[float, float], GrossJump]]
"""By what the torque does after the impact, then by approach angle [deg] and velocity [m/s]."""


def claims_table(jump: GrossJump, offsets: Mapping[InertiaModel, Vector]) -> Table:
    """Statements of the source on each inertia beside the numbers; offsets (n,) [rad/s] by model."""
    fitted = jump.fitted - jump.ante
    return Table.of(
        "claims",
        "What section III says of Fig. 3, and what comes out (controller goes on)",
        (
            *columns(("inertia", "jump,\npublished")),
            *columns((f"jump of joint {j}\nover the fit's" for j in (1, 2, 3)), decimals=3),
            Column("flexible response,\npublished"),
            Column("mean distance from\nit over 30 ms", "deg/s", 2),
        ),
        (
            (
                *(NAMES[model], "matches" if model is BEST else "does not match"),
                *((jump.predictions[model].velocity - jump.ante) / fitted),
                "oscillates around it" if model is BEST else "does not",
                np.degrees(np.abs(offsets[model]).mean()),
            )
            for model in InertiaModel
        ),
        "The figure itself is not in the text of the source; its text gives no number.",
    )


def joints_table(shown: Mapping[AfterImpact, GrossJump]) -> Table:
    """Velocities and errors of each joint at the impact of Fig. 3, by what the torque does after it."""

    def rows() -> Iterable[Iterable[Cell | Judged | np.generic]]:
        for after, jump in shown.items():
            errors = {model: np.degrees(jump.error(model)) for model in InertiaModel}
            velocities = (jump.ante, jump.fitted, *(jump.predictions[model].velocity for model in InertiaModel))
            for j in range(jump.ante.size):
                best = best_model(jump, j)
                common = np.degrees(jump.common[j]) if after is AfterImpact.HOLD else None
                own = (
                    Judged(float(error[j]), best is BEST) if model is best else error[j]
                    for model, error in errors.items()
                )
                yield (str(after), j + 1, *(np.degrees(velocity[j]) for velocity in velocities), common, *own)
            means = {model: mean_error(jump, model) for model in InertiaModel}
            judged = (Judged(mean, is_best(jump)) if model is BEST else mean for model, mean in means.items())
            yield (str(after), "mean", *(None,) * 6, *judged)

    return Table.of(
        "joints",
        f"Joint velocities at the impact of Fig. 3: {ANGLE:g} deg, {SPEED:g} m/s",
        (
            *columns(("torque after impact", "joint")),
            *columns(("before", "after,\nfit", *_heads("after")), "deg/s", 2),
            *columns(("after,\ncommon motion", *_heads("error")), "deg/s", 2),
        ),
        rows(),
        "Errors against the fit, Rey Arias 2024 (17). Common motion: momentum of links and motors over M + B_theta "
        "from 20 ms to 100 ms after a free impact, taken back to the impact; it does not ring.",
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

    def row(after: AfterImpact, angle: float, speed: float, jump: GrossJump) -> Iterable[Cell | Judged]:
        rest = jump.restitution if after is AfterImpact.HOLD else None
        links, reduced, *others = _errors(jump)
        return (str(after), angle, speed, links, Judged(reduced, is_best(jump)), *others, rest)

    return Table.of(
        "sweep",
        "Mean absolute error of the gross jump over approach angles and velocities",
        (
            Column("torque after impact"),
            Column("angle", "deg", 0),
            Column("velocity", "m/s", 2),
            *_error_columns(),
            Column("restitution", "-", 3),
        ),
        (row(after, *case, jump) for after, by_case in impacts.items() for case, jump in by_case.items()),
        "Restitution: normal speed of the common motion after a free impact over that before.",
    )


def variants_table(variants: Mapping[str, Mapping[AfterImpact, GrossJump]]) -> Table:
    """Mean errors of the impact of Fig. 3 by variant and by what the torque does after it."""
    return Table.of(
        "variants",
        "The impact of Fig. 3 with what the source leaves open chosen otherwise",
        (Column("variant"), Column("torque after impact"), *_error_columns()),
        ((name, str(after), *_errors(jump)) for name, ends in variants.items() for after, jump in ends.items()),
    )


def limit_table(scales: tuple[float, ...], stiff: Mapping[str, list[GrossJump]]) -> Table:
    """Errors of M + B_theta by ending and by factor on the joint stiffness."""
    return Table.of(
        "limit",
        "Stiff joints: does the flexible arm come to the map of M + B_theta?",
        (
            Column("torque after impact"),
            Column("factor on K", "-", 0),
            Column("mean error of\nM + B_theta", "deg/s", 4),
            Column("error of\nM + B_theta", "% of jump", 3),
            Column("restitution of the\ncommon motion", "-", 4),
        ),
        (
            (name, scale, mean_error(jump, BEST), relative_error(jump, BEST), jump.restitution)
            for name, jumps in stiff.items()
            for scale, jump in zip(scales, jumps, strict=True)
        ),
        "Impact of Fig. 3 with K and the surface scaled by the factor, D by its root, and B_rho = B_theta, so that "
        f"(5) holds exactly. Pressed: {PRESSING_FORCE:g} N along the normal keep the contact closed.",
    )
