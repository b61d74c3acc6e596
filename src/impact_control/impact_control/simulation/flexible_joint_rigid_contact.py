"""Plant B: an arm with flexible joints and a low-level torque loop that touches a rigid plane.

Rey Arias 2024 (1)-(4) with section III, Proper 2021 model B. An impact meets the inertia M of the links alone; the
velocities of the motors stay, Proper 2021 (2.54), (2.56), and the torque loop turns their inertia B_rho into B_theta
in the milliseconds after. Scheme and contact law: `rigid_contact_plant`.
"""

from __future__ import annotations

from impact_control.robots import RobotDescription
from impact_control.simulation.joint_kernel import BACKLASH
from impact_control.simulation.options import RigidContactOptions
from impact_control.simulation.rigid_contact import RigidSurface
from impact_control.simulation.rigid_contact_plant import RigidContactPlant
from impact_control.simulation.springs import spring_torque
from impact_control.types import Vector

LARGEST_STEP = 50e-6
"""Integration step [s], as in plant A: a fifth of the torque loop's period."""


class FlexibleJointRigidContactPlant(RigidContactPlant):
    """Simulated arm with motors, torque loop and filter between the commanded torque and the links.

    Further state: `motor_position`, `motor_velocity` (n,) [rad, rad/s].
    """

    def __init__(
        self,
        robot: RobotDescription,
        configuration: Vector,
        surface: RigidSurface | None = None,
        options: RigidContactOptions | None = None,
    ) -> None:
        """Put the arm at rest at `configuration` (n,) [rad]. Raises InvalidInputError."""
        super().__init__(robot, configuration, surface, options, None, largest_step=LARGEST_STEP)

    @property
    def motor_position(self) -> Vector:
        """theta (n,) [rad], after the gear."""
        row: Vector = self._arm[2]
        return row

    @property
    def motor_velocity(self) -> Vector:
        """dtheta (n,) [rad/s]."""
        row: Vector = self._arm[3]
        return row

    @property
    def joint_torque(self) -> Vector:
        """tau = K (theta - q) (n,) [Nm], what the torque sensors see, less the backlash if there is one; new."""
        return spring_torque(self.robot.transmission, self._joints.rows[0, BACKLASH], self._arm[2] - self._arm[0])
