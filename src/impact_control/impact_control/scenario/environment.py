"""The environment of a scenario: what the robot expects, what is really there, and who touches the arm."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from impact_control.scenario.fields import (
    NOT_NEGATIVE,
    POSITIVE,
    Direction,
    Number,
    Numbers,
    PowerLawCoefficient,
    Range,
)
from impact_control.scenario.settings import Settings
from impact_control.util.types import Vector


@dataclass(frozen=True, eq=False, kw_only=True)
class Surface:
    """A plane the end-effector is expected to touch."""

    point: Annotated[Vector, Numbers(3, "m"), "any point of the plane"]
    normal: Annotated[Vector, Direction(), "normal of the plane, out of the material"]
    friction: Annotated[float, Number("", NOT_NEGATIVE), "Coulomb coefficient mu"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Contact:
    """Exponentially extended Hunt-Crossley contact, Rey Arias 2024 (6); defaults from its table I."""

    exponent: Annotated[float, Number("", Range(1.0, 3.0)), "exponent eta of the penetration", 1.5]
    stiffness: Annotated[float, PowerLawCoefficient("N", POSITIVE), "stiffness k_c", "3.2e9 N/m^1.5"]
    damping: Annotated[float, PowerLawCoefficient("N*s", NOT_NEGATIVE, added=1), "damping d_c", "3.2e12 N*s/m^2.5"]


@dataclass(frozen=True, eq=False, kw_only=True)
class CompliantSurface(Surface):
    """A plane that is really there, with its contact law."""

    contact: Annotated[Contact, "contact law", {}]


@dataclass(frozen=True, eq=False, kw_only=True)
class ExpectedEnvironment:
    """Environment as the robot expects it."""

    surface: Annotated[Surface, "the surface that is expected"]


class TouchProfile(StrEnum):
    """Course of a force: with a finite rate from the first instant, like a bump, or with none at first, like a push."""

    HALF_SINE = "half_sine"
    RAISED_COSINE = "raised_cosine"


@dataclass(frozen=True, eq=False, kw_only=True)
class Touch(Settings):
    """External force on a link of the arm, as of a person: it rises and falls smoothly."""

    link: Annotated[str, "link, or another frame of the robot's model, that is touched"]
    point: Annotated[
        Vector, Numbers(3, "m"), "point that is touched, from the origin of the link, in its axes", "0, 0, 0 m"
    ]
    force: Annotated[Vector, Numbers(3, "N"), "largest force on the link, world frame A"]
    start: Annotated[float, Number("s", NOT_NEGATIVE), "beginning, after the arm has started to move"]
    duration: Annotated[float, Number("s", POSITIVE), "time from the first to the last of the force"]
    profile: Annotated[
        TouchProfile,
        "course of the force: sin(pi s), or (1 - cos(2 pi s)) / 2, over the part s of the duration",
        "half_sine",
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class ActualEnvironment:
    """Actual environment; only a simulator reads it."""

    surface: Annotated[CompliantSurface | None, "the surface that is there, None when there is none"]
    touches: Annotated[tuple[Touch, ...], "who else touches the arm, and when", []]
