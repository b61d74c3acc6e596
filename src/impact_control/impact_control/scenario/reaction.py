"""Reactions to a verdict, and their motions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from impact_control.scenario.fields import POSITIVE, Count, Number, Range, Refusal, each_joint
from impact_control.scenario.settings import Settings
from impact_control.util.types import Vector


class Reaction(StrEnum):
    """Reaction to an unexpected impact."""

    STOP = "stop"
    CONTINUE = "continue"
    PULL_BACK = "pull_back"
    ADMITTANCE = "admittance"


class RetreatDirection(StrEnum):
    """Direction of a pull-back: along the normal of the expected surface, or against the velocity of the approach."""

    SURFACE_NORMAL = "surface_normal"
    REVERSED_APPROACH = "reversed_approach"


@dataclass(frozen=True, eq=False, kw_only=True)
class PullBack(Settings):
    """The motion away from a contact, Wang 2022 section VI."""

    direction: Annotated[
        RetreatDirection,
        "along the normal of the expected surface, or against the velocity of the approach",
        "surface_normal",
    ]
    distance: Annotated[float, Number("m", POSITIVE), "way of the end-effector", "5 cm"]
    speed: Annotated[float, Number("m/s", POSITIVE), "largest speed on it", "0.2 m/s"]
    acceleration: Annotated[float, Number("m/s^2", POSITIVE), "largest acceleration of its reference", "2 m/s^2"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Admittance(Settings):
    """Yielding to external torques until nothing touches the arm, Flacco 2016 (15), and going on."""

    gain: Annotated[
        Vector,
        each_joint("rad/Nm/s", POSITIVE),
        "K_a, speed for the external torque beyond the threshold",
        "0.02 rad/Nm/s",
    ]
    threshold: Annotated[
        Vector,
        each_joint("Nm", POSITIVE),
        "external torque below which a joint is not touched; above friction and model errors",
        "2 Nm",
    ]
    speed: Annotated[
        Vector, each_joint("rad/s", POSITIVE), "largest speed of a joint that yields, and on the way back", "0.5 rad/s"
    ]
    acceleration: Annotated[
        Vector, each_joint("rad/s^2", POSITIVE), "largest acceleration of its reference", "5 rad/s^2"
    ]
    excursion: Annotated[
        Vector, each_joint("rad", POSITIVE), "how far a joint may be led from where it began to yield", "0.5 rad"
    ]
    quiet_time: Annotated[
        float, Number("s", Range(0.5, 60.0)), "time without a touch after which the task goes on", "2 s"
    ]
    time_limit: Annotated[float, Number("s", POSITIVE), "time of yielding after which the arm stops", "30 s"]
    attempts: Annotated[int, Count(), "how often a task is taken up again; at the next interruption the arm stops", 3]
    resume_duration: Annotated[
        float, Number("s", POSITIVE), "time in which the clock of the task comes back to full speed", "0.5 s"
    ]

    def check(self) -> None:
        """Require that there is time for the silence."""
        if self.time_limit < self.quiet_time:
            raise Refusal("time_limit", self.time_limit, f"at least quiet_time = {self.quiet_time:g} s")


@dataclass(frozen=True, eq=False, kw_only=True)
class ReactionSettings(Settings):
    """Reactions to a verdict."""

    on_unexpected_impact: Annotated[Reaction, "wrong time or place"]
    on_unexpected_post_impact: Annotated[Reaction, "wrong behaviour afterwards"]
    pull_back: Annotated[PullBack, "the motion of `pull_back`", {}]
    admittance: Annotated[Admittance, "the motion of `admittance`", {}]
