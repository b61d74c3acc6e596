"""Sections of a scene with objects: boxes and a table, the arms, and their joint task."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from impact_control.robots import InertiaModel
from impact_control.scenario.environment import ActualEnvironment, Contact, Surface, Touch
from impact_control.scenario.fields import NOT_NEGATIVE, POSITIVE, Choice, Number, Numbers, Range
from impact_control.scenario.task import AfterImpact, Motions, NominalImpact, Posture
from impact_control.util.types import Matrix, Vector

INERTIA_MODELS = {
    "links": InertiaModel.LINKS,
    "reduced_motors": InertiaModel.REDUCED_MOTORS,
    "motors": InertiaModel.MOTORS,
}
"""The inertia of an arm in the impact map: M, M + B_theta, M + B_rho."""

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

    mass: Annotated[float, Number("kg", POSITIVE), "mass"]
    size: Annotated[Vector, Numbers(3, "m", POSITIVE), "edges along its own x, y and z axes"]
    position: Annotated[Vector, Numbers(3, "m"), "middle of its underside, frame A"]
    yaw: Annotated[float, Number("rad"), "turn about the vertical", "0 deg"]
    friction: Annotated[float, Number("", NOT_NEGATIVE), "Coulomb coefficient mu against end-effectors"]

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
        Contact | None, "contact law against end-effectors; default: that of the cover of the end-effector", "none"
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class SceneTouch(Touch):
    """External force on a link of one of the arms, as of a person."""

    arm: Annotated[str, "which of the arms is touched"]


@dataclass(frozen=True, eq=False, kw_only=True)
class SceneExpectedEnvironment:
    """Environment as the robots expect it."""

    surface: Annotated[Surface | None, "what the objects stand on; its friction is theirs"]
    objects: Annotated[Mapping[str, ExpectedObject], "the objects, by name"]


@dataclass(frozen=True, eq=False, kw_only=True)
class SceneActualEnvironment(ActualEnvironment):
    """Actual environment; only a simulator reads it."""

    objects: Annotated[Mapping[str, ActualObject | None], "the objects, by name"]
    touches: Annotated[tuple[SceneTouch, ...], "who else touches the arms, and when", []]


@dataclass(frozen=True, eq=False, kw_only=True)
class Base:
    """Pose of the base of an arm."""

    position: Annotated[Vector, Numbers(3, "m"), "origin of the base, frame A"]
    orientation: Annotated[
        Vector, Numbers(3, "rad"), "roll, pitch, yaw of the base: R_z(yaw) R_y(pitch) R_x(roll)", "0, 0, 0 deg"
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class ArmImpact:
    """The planned impact of one arm: flat, with all contact points at once."""

    object: Annotated[str, "which of expected_environment.objects is hit"]
    face: Annotated[str, Choice(FACES), "the face that is hit, axes of the object"]
    offset: Annotated[
        Vector,
        Numbers(2, "m"),
        "from the middle of the face to the middle of the contact points: to the right of who looks at the face, "
        "and up",
        "0, 0 m",
    ]
    velocity: Annotated[Vector, Numbers(3, "m/s"), "velocity of the end-effector before the impact, frame A"]
    turn: Annotated[
        float, Number("rad"), "turn of frame E about its z axis, into the face; at 0 its y axis is up", "0 deg"
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class SceneArm(Posture):
    """One arm of a scene."""

    base: Annotated[Base, "where it stands"]
    impact: Annotated[ArmImpact, "the impact as planned"]


@dataclass(frozen=True, eq=False, kw_only=True)
class ScenePost(AfterImpact):
    """The motion after the impact, van Steen 2024 (13), (14), (26): every arm moves as the object is to move."""

    displacement: Annotated[Vector, Numbers(3, "m"), "way of the end-effectors from the impact to rest, frame A"]
    force: Annotated[
        float, Number("N", NOT_NEGATIVE), "clamping force of each arm; what moves and carries the object comes on top"
    ]
    velocity_scale: Annotated[
        float,
        Number("", Range(0.5, 1.5)),
        "factor on the predicted velocity with which the reference begins, van Steen 2024 section VI",
        1.0,
    ]
    hold: Annotated[bool, "whether the arms keep pressing at the end of the task, or stop", False]


@dataclass(frozen=True, eq=False, kw_only=True)
class SceneImpact(NominalImpact):
    """The impact of all arms."""

    inertia: Annotated[
        str,
        Choice(tuple(INERTIA_MODELS)),
        "inertia of the arms in the impact map: M, M + B_theta or M + B_rho, van Steen 2024 section VI",
        "reduced_motors",
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class SceneTask(Motions):
    """Joint task of the arms."""

    impact: Annotated[SceneImpact, "the impact of all arms"]
    post: Annotated[ScenePost, "the motion after the impact, extended before it"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Target:
    """Object that an arm hits, as expected.

    name, box: of the object; normal (3,): of the face that is hit, out of it, frame A; velocity (3,) [m/s]: of the
    end-effector before the impact, frame A; arms: how many hit the object; table: what it stands on; motion: of the
    arms after the impact.
    """

    name: str
    box: ExpectedObject
    normal: Vector
    velocity: Vector
    arms: int
    table: Surface | None
    motion: ScenePost
