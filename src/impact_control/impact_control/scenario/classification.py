"""The classifier of a scenario and its tuning."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from impact_control.scenario.fields import NOT_NEGATIVE, POSITIVE, Choice, Count, Number, Refusal, each_joint
from impact_control.scenario.settings import Settings
from impact_control.scenario.uncertainty import Uncertainty
from impact_control.util.types import Vector

SINGLE, SIMULTANEOUS = "single", "simultaneous"
"""Proper 2021, Algorithms 1 and 2."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CompletionSettings(Settings):
    """Full contact of all contact points of the end-effector, Proper 2021 section 5.2."""

    window: Annotated[int, Count(2, 10_000), "samples over which the means are taken, and have to hold"]
    largest_speed: Annotated[
        float, Number("m/s", POSITIVE), "mean speed of a contact point along the normal of the face"
    ]
    least_force: Annotated[float, Number("N", POSITIVE), "mean force on the face"]


@dataclass(frozen=True, eq=False, kw_only=True)
class HeldForceSettings(Settings):
    """Check of the force with which an object or a surface pushes back; published, without a reaction."""

    after: Annotated[float, Number("s", NOT_NEGATIVE), "time after the impact from which the mean is taken"]
    window: Annotated[float, Number("s", POSITIVE), "time over which the mean is taken"]
    limit: Annotated[
        float, Number("N", POSITIVE), "largest mean of external force and force that is to be exerted, added up"
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class ContactPathSettings(Settings):
    """Times at which heights of the contact over the expected surface are compared."""

    begin: Annotated[float, Number("s", POSITIVE), "time after the impact, when the contact has closed", "60 ms"]
    window: Annotated[float, Number("s", POSITIVE), "time over which heights are averaged", "100 ms"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Classification(Settings):
    """The classifier and its tuning parameters, Proper 2021 sections 4.3 and 4.4.

    Zero stays inside the envelope for m samples after an impact, so m samples should last longer than the contact
    itself and the delay of the detection.
    """

    method: Annotated[
        str, Choice((SINGLE, SIMULTANEOUS)), "one impact, Algorithm 1, or many points, Algorithm 2", SINGLE
    ]
    window_length: Annotated[int, Count(1), "m, samples of the moving window"]
    decay_rate: Annotated[float, Number("1/s", POSITIVE), "a, rate at which the envelope closes"]
    envelope_margin: Annotated[
        Vector | float | None,
        each_joint("rad/s", NOT_NEGATIVE),
        "e_eta, fixed as by Proper 2021; when left out it follows from `classification.uncertainty`",
        None,
    ]
    uncertainty: Annotated[Uncertainty, "standard deviations, from which the margins follow", {}]
    contact_path: Annotated[
        ContactPathSettings | None,
        "after an expected behaviour, judge whether the contact stays on the expected surface",
        "none",
    ]
    configuration_error: Annotated[float, Number("rad", POSITIVE), "epsilon, largest norm of q(t_1) - q_ref(T_nom)"]
    time_error: Annotated[float, Number("s", POSITIVE), "zeta, largest |t_1 - T_nom|"]
    post_impact_time: Annotated[float, Number("s", POSITIVE), "t_xi, time until the behaviour counts as expected"]
    impact_interval: Annotated[
        float | None,
        Number("s", NOT_NEGATIVE),
        "simultaneous: t_int, largest time between two impacts; any when left out",
        None,
    ]
    completion: Annotated[
        CompletionSettings | None,
        "simultaneous: judge the behaviour from full contact on, and not after every impact",
        "none",
    ]
    held_force: Annotated[
        HeldForceSettings | None,
        "after an expected behaviour, judge the force with which the arm is pushed back",
        "none",
    ]

    @property
    def longest_interval(self) -> float:
        """t_int [s]; infinite where any is allowed."""
        return math.inf if self.impact_interval is None else self.impact_interval

    def check(self) -> None:
        """Require that what only the simultaneous classifier reads is given to it only."""
        if self.method == SINGLE:
            for key in ("impact_interval", "completion"):
                if getattr(self, key) is not None:
                    raise Refusal(key, "given", f"only with classification.method {SIMULTANEOUS}")
