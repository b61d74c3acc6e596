"""Tables of the contact models: the area of Fig. 3(b), and the restitutions of Figs 4(b) and 5(b)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from impact_control.studies.study import Cell, Column, Table, columns
from impact_control.studies.wang.models import MODELS, MassOf, ModelCase

_SPRING, _MAXWELL, _VISCOELASTIC = MODELS


def area_table(cases: Sequence[ModelCase]) -> Table:
    """How the forces lie to the area of a virtual spring."""
    rows: list[tuple[Cell, ...]] = []
    for case in cases:
        leaves = [area.leaves for area in case.areas]
        rows.append(
            (
                *_head(case),
                1e3 * _mean([area.peak_time for area in case.areas]),
                1e3 * _mean([area.stop for area in case.areas]),
                _mean([area.phase for area in case.areas]),
                _mean([area.required_restitution for area in case.areas]),
                1e3 * _mean(leaves),
                100.0 * _mean([area.outside for area in case.areas]),
            )
        )
    return Table(
        name="virtual_spring",
        title="Forces under stiff velocity control against the area of a virtual spring (Fig. 3(b)), means",
        columns=(
            *_HEAD,
            *columns(("largest\nforce at", "contact point\nstops at"), "ms", 2),
            Column("first over\nsecond", "-", 3),
            Column("impulse after\nover before", "-", 2),
            Column("leaves the\narea at", "ms", 2),
            Column("outside", "% of impulse after", 1),
        ),
        rows=tuple(rows),
        note=(
            "Impulse after over before: the largest force, what the restitution of a virtual spring had to be. Area: "
            "all that restitutions up to 1 allow."
        ),
    )


def model_table(cases: Sequence[ModelCase], mass: MassOf) -> Table:
    """What the models find with the mass from one of the sources."""
    rows: list[tuple[Cell, ...]] = []
    for case in cases:
        maxwell, printed = (case.estimated(model, mass) for model in (_MAXWELL, _VISCOELASTIC))
        misfits = (100.0 * float(case.misfits(model, mass).mean()) for model in MODELS)
        rows.append(
            (
                *_head(case),
                *(float(case.masses(model, mass).mean()) for model in MODELS),
                float(case.estimated(_SPRING, mass).mean()),
                float(maxwell.mean()),
                float(maxwell.std()),
                float(printed.mean()),
                float(printed.std()),
                float(case.of_free_mass(_VISCOELASTIC, mass).mean()),
                *misfits,
            )
        )
    return Table(
        name=f"models_{mass.name.lower()}",
        title=f"Contact models fitted under stiff velocity control, {mass.value}, means (Figs 4(b) and 5(b))",
        columns=(
            *_HEAD,
            *columns(("mass,\nspring", "mass,\nMaxwell", "mass,\n(23)"), "kg", 2),
            *columns(
                (
                    "restitution,\nspring",
                    "restitution,\nMaxwell",
                    "std,\nMaxwell",
                    "(25)",
                    "std,\n(25)",
                    "free mass\nof (23)",
                ),
                "-",
                3,
            ),
            *columns(("misfit,\nspring", "misfit,\nMaxwell", "misfit,\n(23)"), "% of peak", 1),
        ),
        rows=tuple(rows),
        note="Each force is fitted alone, with the speed given. Wall 'spring': no loss, one impact without noise.",
    )


_HEAD = (*columns(("configuration", "wall")), Column("reference", "m/s", 2))


def _head(case: ModelCase) -> tuple[Cell, ...]:
    return case.name, "spring" if case.lossless else f"restitution {case.restitution:g}", case.speed


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
