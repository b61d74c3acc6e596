"""The task of an arm: the planned impact, and the references before and after it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

from impact_control.scenario.fields import JOINTS, NOT_NEGATIVE, POSITIVE, Direction, Number, Numbers, Range, Refusal
from impact_control.util.types import Vector


@dataclass(frozen=True, eq=False, kw_only=True)
class NominalImpact:
    """The time of a planned impact."""

    time: Annotated[float, Number("s", POSITIVE), "nominal impact time T_nom after the start of the task"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Impact(NominalImpact):
    """The impact as planned, Proper 2021 table 3.2."""

    position: Annotated[Vector, Numbers(3, "m"), "point of the expected surface that is hit"]
    speed: Annotated[float, Number("m/s", POSITIVE), "speed of the end-effector before the impact"]
    approach_angle: Annotated[
        float,
        Number("rad", Range(0.0, math.pi / 2.0, open_lower=True)),
        "angle between the velocity before the impact and the expected surface",
    ]
    heading: Annotated[
        Vector, Direction(), "direction of the motion along the surface; its projection onto the surface is used"
    ]
    orientation: Annotated[
        Vector,
        Numbers(3, "rad"),
        "roll, pitch, yaw of frame E: R_d = R_z(yaw) R_y(pitch) R_x(roll), kept during the task",
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class Ante:
    """The ante-impact reference, van Steen 2024 (11), (12): a straight approach that goes on past T_nom."""

    distance: Annotated[
        float,
        Number("m", POSITIVE),
        "length of the straight approach; the task starts at rest this far before the impact",
    ]
    extension_duration: Annotated[
        float, Number("s", POSITIVE), "time after T_nom in which the extended reference comes to rest"
    ]
    extension_depth: Annotated[
        float, Number("m", POSITIVE), "depth below the expected surface at which it rests, Proper 2021 delta y"
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class AfterImpact:
    """Force and times of the motion after the impact."""

    force: Annotated[float, Number("N", NOT_NEGATIVE), "normal force on the surface, lambda_ref"]
    duration: Annotated[float, Number("s", POSITIVE), "time after T_nom in which the motion comes to rest"]
    settle_duration: Annotated[
        float, Number("s", POSITIVE), "time after T_nom in which orientation and joint 1 return to their values"
    ]
    lead: Annotated[float, Number("s", POSITIVE), "time before T_nom at which the extended reference starts to move"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Post(AfterImpact):
    """The post-impact reference, van Steen 2024 (13), (14): sliding in contact along the heading."""

    FIRST: ClassVar = ("force", "slide")

    slide: Annotated[float, Number("m", NOT_NEGATIVE), "way along the heading after the impact, Proper 2021 delta x"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Posture:
    """The configuration in which an arm does its task."""

    home_configuration: Annotated[
        Vector, Numbers(JOINTS, "rad"), "configuration near which the inverse kinematics searches: it selects the elbow"
    ]
    joint_1: Annotated[
        float | None, Number("rad"), "value of joint 1 that resolves the redundancy; default: joint 1 at home", None
    ]

    @property
    def posture(self) -> float:
        """Return the value of joint 1 [rad] that is kept before the impact."""
        return float(self.home_configuration[0]) if self.joint_1 is None else self.joint_1


@dataclass(frozen=True, eq=False, kw_only=True)
class Motions:
    """The motions of a task around its impact."""

    FIRST: ClassVar = ("duration", "home_configuration", "joint_1", "impact", "ante", "post")

    duration: Annotated[float, Number("s", POSITIVE), "end of the task, at most 100 000 times `control.period`"]
    impact: NominalImpact
    ante: Annotated[Ante, "the motion before the impact, extended past it"]
    post: AfterImpact

    def check(self) -> None:
        """Require that all motions start and end inside the task."""
        if self.post.lead > self.impact.time:
            raise Refusal("post.lead", self.post.lead, f"at most impact.time = {self.impact.time:g} s")
        last = max(self.ante.extension_duration, self.post.duration, self.post.settle_duration)
        if self.impact.time + last > self.duration * (1.0 + 1e-12):
            raise Refusal("duration", self.duration, f"at least {self.impact.time + last:g} s, the end of the motions")


@dataclass(frozen=True, eq=False, kw_only=True)
class Task(Motions, Posture):
    """Task of an arm with one planned impact."""

    impact: Annotated[Impact, "the impact as planned"]
    post: Annotated[Post, "the motion after the impact, extended before it"]
