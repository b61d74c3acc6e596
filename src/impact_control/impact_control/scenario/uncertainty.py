"""Uncertainty of an impact that is as expected: standard deviations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from impact_control.scenario.fields import NOT_NEGATIVE, POSITIVE, Entry, Number, Range
from impact_control.scenario.settings import Settings


@dataclass(frozen=True, eq=False, kw_only=True)
class Uncertainty(Settings):
    """One standard deviation each; those of M and B_theta stand in the data of the robot."""

    friction: Annotated[float, Entry(Number("", NOT_NEGATIVE), "of the friction of the expected surface", default=0.02)]
    restitution: Annotated[
        float, Entry(Number("", Range(0.0, 1.0)), "of the restitution, which is planned as 0", default=0.05)
    ]
    normal: Annotated[
        float,
        Entry(
            Number("rad", Range(0.0, math.pi / 6.0, open_lower=True)),
            "of the slope of the expected surface, about any axis in it",
            default="0.2 deg",
        ),
    ]
    height: Annotated[
        float,
        Entry(
            Number("m", POSITIVE),
            "of the mean height of a contact over the surface: noise, and compression with the force",
            default="0.05 mm",
        ),
    ]
    model: Annotated[
        float,
        Entry(
            Number("", NOT_NEGATIVE),
            "of a joint's velocity after the impact, as a part of its jump: flexible joints, contact that opens again",
            default=0.1,
        ),
    ]
    tracking: Annotated[
        float, Entry(Number("rad/s", NOT_NEGATIVE), "of the joint velocities when that is over", default="0.006 rad/s")
    ]
    limit: Annotated[
        float,
        Entry(Number("", POSITIVE), "standard deviations beyond which a behaviour is unexpected", default=3.3),
    ]
