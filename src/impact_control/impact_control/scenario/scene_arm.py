"""An arm of a scene: where it stands, how it is bent, and what it is to hit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from impact_control.scenario.fields import JOINTS, Choice, Entry, Number, Numbers, Section, Text
from impact_control.scenario.scene_environment import FACES
from impact_control.types import Vector


@dataclass(frozen=True, eq=False, kw_only=True)
class Base:
    """Where the base of an arm stands."""

    position: Annotated[Vector, Entry(Numbers(3, "m"), "origin of the base, frame A")]
    orientation: Annotated[
        Vector,
        Entry(Numbers(3, "rad"), "roll, pitch, yaw of the base: R_z(yaw) R_y(pitch) R_x(roll)", default="0, 0, 0 deg"),
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class ArmImpact:
    """The planned impact of one arm: flat, with all contact points at once."""

    object: Annotated[str, Entry(Text(), "which of expected_environment.objects is hit")]
    face: Annotated[str, Entry(Choice(FACES), "the face that is hit, axes of the object")]
    offset: Annotated[
        Vector,
        Entry(
            Numbers(2, "m"),
            "from the middle of the face to the middle of the contact points: to the right of who looks at the face, "
            "and up",
            default="0, 0 m",
        ),
    ]
    velocity: Annotated[Vector, Entry(Numbers(3, "m/s"), "velocity of the end-effector before the impact, frame A")]
    turn: Annotated[
        float,
        Entry(Number("rad"), "turn of frame E about its z axis, into the face; at 0 its y axis is up", default="0 deg"),
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class SceneArm:
    """One arm of a scene."""

    base: Annotated[Base, Entry(Section(Base), "where it stands")]
    home_configuration: Annotated[
        Vector,
        Entry(Numbers(JOINTS, "rad"), "configuration near which the inverse kinematics searches: it selects the elbow"),
    ]
    joint_1: Annotated[
        float | None,
        Entry(
            Number("rad"),
            "value of joint 1 that resolves the redundancy; default: joint 1 at home",
            default=None,
        ),
    ]
    impact: Annotated[ArmImpact, Entry(Section(ArmImpact), "the impact as planned")]

    @property
    def posture(self) -> float:
        """Return the value of joint 1 [rad] that is kept before the impact."""
        return float(self.home_configuration[0]) if self.joint_1 is None else self.joint_1
