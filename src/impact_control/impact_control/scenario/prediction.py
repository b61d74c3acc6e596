"""Adaptation of the impact map to observed impacts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from impact_control.scenario.fields import POSITIVE, Count, Number, Range
from impact_control.scenario.settings import Settings


@dataclass(frozen=True, eq=False, kw_only=True)
class Prediction(Settings):
    """Prior belief about friction, restitution and motor inertia, see `impacts.ImpactBelief`."""

    adapt: Annotated[bool, "whether the predictor learns from each impact at the expected time and place", False]
    friction_deviation: Annotated[
        float,
        Number("", Range(0.0, 2.0)),
        "standard deviation of the friction of the expected surface; 0: it is known",
        0.15,
    ]
    restitution_deviation: Annotated[
        float, Number("", Range(0.0, 1.0)), "the same of its restitution, most probably 0; 0: it is known", 0.05
    ]
    inertia_scale_deviation: Annotated[
        float, Number("", Range(0.0, 5.0)), "the same of the factor on B_theta, most probably 1; 0: it is known", 0.4
    ]
    velocity_deviation: Annotated[
        float,
        Number("rad/s", POSITIVE),
        "standard deviation of the velocity of a joint after the impact from what the true parameters predict",
        "0.05 rad/s",
    ]
    memory: Annotated[int, Count(1), "impacts after which what one has taught counts 1/e", 20]
