"""Plant C: an arm with rigid joints that touches a rigid plane.

(M + B_theta) ddq + h = u + tau_ext, Rey Arias 2024 (8), Proper 2021 model C with (2.34): what is left of a
torque-controlled arm with flexible joints when their stiffness goes to infinity. Scheme and contact law:
`rigid_contact_plant`.
"""

from __future__ import annotations

from impact_control.robots import RobotDescription
from impact_control.simulation.rigid_contact import RigidSurface
from impact_control.simulation.rigid_contact_plant import RigidContactOptions, RigidContactPlant
from impact_control.types import Vector

LARGEST_STEP = 1e-3
"""Integration step [s]; halving it changes the velocities after an impact by less than 1e-6 of the jump."""


class RigidJointRigidContactPlant(RigidContactPlant):
    """Simulated arm whose links follow the commanded torque at once; the torque that holds it is exact at any time."""

    def __init__(
        self,
        robot: RobotDescription,
        configuration: Vector,
        surface: RigidSurface | None = None,
        options: RigidContactOptions | None = None,
    ) -> None:
        """Put the arm at rest at `configuration` (n,) [rad]. Raises InvalidInputError."""
        super().__init__(robot, configuration, surface, options, flexible=False, largest_step=LARGEST_STEP)
