"""The environment of a scene: a table and boxes, as the robots expect them and as they are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from impact_control.scenario.environment import CompliantSurface, Contact, Surface, Touch
from impact_control.scenario.fields import (
    NOT_NEGATIVE,
    POSITIVE,
    Entry,
    NamedSections,
    Number,
    Numbers,
    Section,
    Sections,
    Text,
)
from impact_control.types import Matrix, Vector

_DIRECTIONS = {"+x": (1.0, 0.0), "-x": (-1.0, 0.0), "+y": (0.0, 1.0), "-y": (0.0, -1.0)}

FACES = tuple(_DIRECTIONS)
"""The upright faces of a box, by its own axes."""


def rotation_about_z(angle: float) -> Matrix:
    """Return R_z(angle [rad]) (3, 3)."""
    cosine, sine = math.cos(angle), math.sin(angle)
    return np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])


def face_normal(face: str, yaw: float) -> Vector:
    """Return the unit normal (3,) of a face of a box turned by yaw [rad] about z, out of it, frame A."""
    normal: Vector = rotation_about_z(yaw) @ np.array([*_DIRECTIONS[face], 0.0])
    return normal


@dataclass(frozen=True, eq=False, kw_only=True)
class ExpectedObject:
    """A homogeneous box that stands upright."""

    mass: Annotated[float, Entry(Number("kg", POSITIVE), "mass")]
    size: Annotated[Vector, Entry(Numbers(3, "m", POSITIVE), "edges along its own x, y and z axes")]
    position: Annotated[Vector, Entry(Numbers(3, "m"), "middle of its underside, frame A")]
    yaw: Annotated[float, Entry(Number("rad"), "turn about the vertical", default="0 deg")]
    friction: Annotated[float, Entry(Number("", NOT_NEGATIVE), "Coulomb coefficient mu against end-effectors")]

    @property
    def centre(self) -> Vector:
        """Return its centre of mass (3,) [m], frame A."""
        centre: Vector = self.position + np.array([0.0, 0.0, 0.5 * self.size[2]])
        return centre

    @property
    def rotation(self) -> Matrix:
        """Return its axes as columns (3, 3), frame A."""
        return rotation_about_z(self.yaw)

    def middle_of_face(self, face: str) -> Vector:
        """Return the middle (3,) [m] of a face, frame A."""
        outwards = np.array([*_DIRECTIONS[face], 0.0])
        middle: Vector = self.centre + self.rotation @ (0.5 * self.size * outwards)
        return middle


@dataclass(frozen=True, eq=False, kw_only=True)
class ActualObject(ExpectedObject):
    """A box that is really there."""

    contact: Annotated[
        Contact | None,
        Entry(
            Section(Contact, none_allowed=True),
            "contact law against end-effectors; default: that of the cover of the end-effector",
            default="none",
        ),
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class SceneTouch(Touch):
    """Somebody touches a link of one of the arms for a while."""

    arm: Annotated[str, Entry(Text(), "which of the arms is touched")]


@dataclass(frozen=True, eq=False, kw_only=True)
class SceneExpectedEnvironment:
    """What the robots believe."""

    table: Annotated[
        Surface | None, Entry(Section(Surface, none_allowed=True), "what the objects stand on; its friction is theirs")
    ]
    objects: Annotated[Mapping[str, ExpectedObject], Entry(NamedSections(ExpectedObject), "the objects, by name")]


@dataclass(frozen=True, eq=False, kw_only=True)
class SceneActualEnvironment:
    """What is really there; only a simulator reads it."""

    table: Annotated[CompliantSurface | None, Entry(Section(CompliantSurface, none_allowed=True), "the table")]
    objects: Annotated[
        Mapping[str, ActualObject | None],
        Entry(NamedSections(ActualObject, none_allowed=True), "the objects, by name"),
    ]
    touches: Annotated[tuple[SceneTouch, ...], Entry(Sections(SceneTouch), "who else touches the arms, and when", [])]
