"""What the arms of a scene are to do together: one nominal time of impact, one motion of the object after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from impact_control.robots import InertiaModel
from impact_control.scenario.fields import (
    NOT_NEGATIVE,
    POSITIVE,
    Choice,
    Entry,
    Flag,
    Number,
    Numbers,
    Range,
    Refusal,
    Section,
)
from impact_control.scenario.task import Ante
from impact_control.types import Vector

INERTIA_MODELS = {
    "links": InertiaModel.LINKS,
    "reduced_motors": InertiaModel.REDUCED_MOTORS,
    "motors": InertiaModel.MOTORS,
}
"""The inertia of an arm in the impact map: M, M + B_theta, M + B_rho."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ScenePost:
    """The motion after the impact, van Steen 2024 (13), (14), (26): every arm moves as the object is to move."""

    displacement: Annotated[Vector, Entry(Numbers(3, "m"), "way of the end-effectors from the impact to rest, frame A")]
    force: Annotated[
        float,
        Entry(Number("N", NOT_NEGATIVE), "clamping force of each arm; what moves and carries the object comes on top"),
    ]
    velocity_scale: Annotated[
        float,
        Entry(
            Number("", Range(0.5, 1.5)),
            "factor on the predicted velocity with which the reference begins, van Steen 2024 section VI",
            default=1.0,
        ),
    ]
    hold: Annotated[
        bool, Entry(Flag(), "whether the arms keep pressing at the end of the task, or stop", default=False)
    ]
    duration: Annotated[float, Entry(Number("s", POSITIVE), "time after T_nom in which the motion comes to rest")]
    settle_duration: Annotated[
        float, Entry(Number("s", POSITIVE), "time after T_nom in which joint 1 returns to its value")
    ]
    lead: Annotated[
        float, Entry(Number("s", POSITIVE), "time before T_nom at which the extended reference starts to move")
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class SceneTask:
    """What the arms are to do."""

    duration: Annotated[float, Entry(Number("s", POSITIVE), "end of the task, at most 100 000 times `control.period`")]
    impact_time: Annotated[
        float, Entry(Number("s", POSITIVE), "nominal impact time T_nom of all arms after the start of the task")
    ]
    impact_inertia: Annotated[
        str,
        Entry(
            Choice(tuple(INERTIA_MODELS)),
            "inertia of the arms in the impact map: M, M + B_theta or M + B_rho, van Steen 2024 section VI",
            default="reduced_motors",
        ),
    ]
    ante: Annotated[Ante, Entry(Section(Ante), "the motion of each arm before the impact, extended past it")]
    post: Annotated[ScenePost, Entry(Section(ScenePost), "the motion after the impact, extended before it")]

    def check(self) -> None:
        """Require that all motions start and end inside the task."""
        if self.post.lead > self.impact_time:
            raise Refusal("post.lead", self.post.lead, f"at most impact_time = {self.impact_time:g} s")
        last = max(self.ante.extension_duration, self.post.duration, self.post.settle_duration)
        if self.impact_time + last > self.duration * (1.0 + 1e-12):
            raise Refusal("duration", self.duration, f"at least {self.impact_time + last:g} s, the end of the motions")
