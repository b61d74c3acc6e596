"""Plant C: an arm with rigid joints that touches a rigid plane.

(M + B_theta) ddq + h = u + tau_ext, Rey Arias 2024 (8), Proper 2021 model C with (2.34): what is left of a
torque-controlled arm with flexible joints when their stiffness goes to infinity. Without the torque loop that limit is
M + B_rho: nothing reduces the inertia of the motors. Scheme and contact law: `rigid_contact_plant`.
"""

from __future__ import annotations

import numpy as np

from impact_control.errors import InvalidInputError
from impact_control.robots import RobotDescription
from impact_control.simulation.options import PlantOptions, RigidContactOptions
from impact_control.simulation.rigid_contact import RigidSurface
from impact_control.simulation.rigid_contact_plant import RigidContactPlant
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
        """Put the arm at rest at `configuration` (n,) [rad].

        Raises InvalidInputError, also when the options ask for a backlash or for a torque loop without its filter.
        """
        options = options or RigidContactOptions()
        _require_rigid(options.joints)
        motors = robot.transmission
        added = motors.reduced_motor_inertia if options.joints.torque_loop else motors.motor_inertia
        super().__init__(robot, configuration, surface, options, added, largest_step=LARGEST_STEP)


def _require_rigid(joints: PlantOptions) -> None:
    """Raise InvalidInputError where something is changed that rigid joints do not have."""
    if np.any(np.asarray(joints.backlash.gap) > 0.0):
        raise InvalidInputError("backlash gap", joints.backlash.gap, "0: rigid joints have no play")
    if joints.torque_loop and not joints.torque_filter:
        allowed = "True: with rigid joints the torque loop is ideal, there is nothing to take its filter from"
        raise InvalidInputError("torque_filter", joints.torque_filter, allowed)
