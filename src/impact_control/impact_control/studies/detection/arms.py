"""The two arms of the benchmark, and what they touch."""

from __future__ import annotations

from dataclasses import dataclass

from impact_control.impacts import ExponentialHuntCrossley
from impact_control.impacts.materials import Material, sphere_on_plane_stiffness


@dataclass(frozen=True)
class ArmSetting:
    """One arm.

    Attributes:
        robot, end_effector: names of their data files.
        home: q (n,) [rad] around which it moves, the tool pointing down.
        torque_joints: of the torque error, the first is 1: those of Wang 2022, section VI, for the Panda; those next
            to them in the planar arm, which has joints 2, 4 and 6 of it.
        reacting_link: outermost joint about which a normal force on the sphere has a lever. The sphere of the Panda
            lies on the axis of joint 7: without friction no residual tells link 7 from link 6.
        touched_link: where it is touched by somebody.
    """

    robot: str
    end_effector: str
    home: tuple[float, ...]
    torque_joints: tuple[int, ...]
    reacting_link: int
    touched_link: int


ARMS = (
    ArmSetting("planar_rrr", "planar_sphere", (0.785, -1.571, -0.785), (2, 3), 3, 2),
    ArmSetting("panda", "sphere", (0.0, -0.3, 0.0, -2.2, 0.0, 1.9, 0.785), (5, 6), 6, 4),
)

_ALUMINIUM = Material(70e9, 0.33)
_TOOL_RADIUS = 0.02


def _hertz(other: Material, damping_ratio: float) -> ExponentialHuntCrossley:
    stiffness = sphere_on_plane_stiffness(_TOOL_RADIUS, _ALUMINIUM, other)
    return ExponentialHuntCrossley(stiffness, damping_ratio * stiffness, 1.5)


SURFACES = {
    "steel": ExponentialHuntCrossley(3.2e9, 3.2e12, 1.5),
    "nylon": _hertz(Material(2.5e9, 0.4), 100.0),
    "rubber": _hertz(Material(5e6, 0.49), 10.0),
    "foam": _hertz(Material(0.2e6, 0.3), 5.0),
}
"""Laws of the contact with the sphere, hard to soft. Steel: Rey Arias 2024, Table I; the others by Hertz, Proper 2021
(2.39), from usual moduli, with damping of our choice."""

TOUCH = "touch"
"""The fifth contact: somebody touches a link, a pulse instead of a surface."""

CONTACTS = (*SURFACES, TOUCH)
HARD = ("steel", "nylon")
SPEEDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""[m/s] into the surface."""
