"""What Rey Arias 2024 says of its Fig. 3 beside ours; its text has no number."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from impact_control.robots import InertiaModel
from impact_control.studies.planar_impact.figure3 import ANGLE, SPEED
from impact_control.studies.planar_impact.jump import BEST, GrossJump, is_best, relative_error
from impact_control.studies.planar_impact.tables import NAMES, Impacts
from impact_control.studies.study import Comparison, Mark
from impact_control.types import Vector

_SAME = 5.0
"""[% of the jump] of the fit up to which a prediction is taken to match it; our choice."""


def comparisons(shown: GrossJump, offsets: Mapping[InertiaModel, Vector], impacts: Impacts) -> tuple[Comparison, ...]:
    """Return the statements on the impact of Fig. 3, and ours on the sweep.

    shown: with the controller that goes on, as in the source. offsets (n,) [rad/s] by model: mean distance of the
    flexible response from the rigid one.
    """
    jumps = []
    for model in InertiaModel:
        error = relative_error(shown, model)
        jumps.append(
            Comparison(
                "Fig. 3",
                f"gross velocity jump at {ANGLE:g} deg, {SPEED:g} m/s, predicted with {NAMES[model]}",
                "matches" if model is BEST else "does not match",
                f"{error:.1f} % of the jump off",
                mark=Mark.of((error <= _SAME) == (model is BEST)),
            )
        )
    distance = {model: float(np.degrees(np.abs(offset).mean())) for model, offset in offsets.items()}
    nearest = min(distance, key=lambda model: distance[model])
    around = Comparison(
        "Fig. 3",
        "the flexible response oscillates around the rigid one with",
        NAMES[BEST],
        f"{NAMES[nearest]}, {distance[nearest]:.2f} deg/s from it over 30 ms",
        mark=Mark.of(nearest is BEST),
    )
    sweep = [
        Comparison(
            "III",
            f"{NAMES[BEST]} predicts best, other angles and speeds, {after}",
            "one impact shown",
            f"in {sum(map(is_best, by_case.values()))} of {len(by_case)} impacts",
            mark=Mark.of(all(map(is_best, by_case.values()))),
        )
        for after, by_case in impacts.items()
    ]
    return (*jumps, around, *sweep)
