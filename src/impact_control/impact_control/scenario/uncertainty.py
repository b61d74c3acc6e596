"""Uncertainty of an impact that is as expected: standard deviations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from impact_control.scenario.fields import NOT_NEGATIVE, POSITIVE, Number, Range
from impact_control.scenario.settings import Settings


@dataclass(frozen=True, eq=False, kw_only=True)
class Uncertainty(Settings):
    """One standard deviation each; those of M and B_theta stand in the data of the robot."""

    friction: Annotated[float, Number("", NOT_NEGATIVE), "of the friction of the expected surface", 0.02]
    restitution: Annotated[float, Number("", Range(0.0, 1.0)), "of the restitution, which is planned as 0", 0.05]
    normal: Annotated[
        float,
        Number("rad", Range(0.0, math.pi / 6.0, open_lower=True)),
        "of the slope of the expected surface, about any axis in it",
        "0.2 deg",
    ]
    height: Annotated[
        float,
        Number("m", POSITIVE),
        "of the mean height of a contact over the surface: noise, and compression with the force",
        "0.05 mm",
    ]
    model: Annotated[
        float,
        Number("", NOT_NEGATIVE),
        "of a joint's velocity after the impact, as a part of its jump: flexible joints, contact that opens again",
        0.1,
    ]
    tracking: Annotated[
        float, Number("rad/s", NOT_NEGATIVE), "of the joint velocities when that is over", "0.006 rad/s"
    ]
    limit: Annotated[float, Number("", POSITIVE), "standard deviations beyond which a behaviour is unexpected", 3.3]
