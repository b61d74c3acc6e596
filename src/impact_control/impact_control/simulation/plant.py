"""Plant A: one arm with flexible joints and a low-level torque loop that touches a compliant plane.

Rey Arias 2024 (1)-(6) and section III; Proper 2021, model A.
"""

from __future__ import annotations

from collections.abc import Sequence

from impact_control.robots import RobotDescription
from impact_control.scenario import Touch
from impact_control.simulation.objects import Arm
from impact_control.simulation.options import PlantOptions
from impact_control.simulation.scene import ScenePlant
from impact_control.simulation.scene_bodies import SimulatedArm
from impact_control.simulation.surface import Surface
from impact_control.util.types import Vector


class FlexibleJointPlant(SimulatedArm):
    """Simulated arm in torque control, sampled like a Franka: a scene with one arm and at most one surface.

    State and ground truth: see `SimulatedArm`; the rows of its contacts are the n_c contact points of the
    end-effector. What touches its links besides is in external_torque, which is left alone when there are no touches.
    """

    def __init__(
        self,
        robot: RobotDescription,
        configuration: Vector,
        surface: Surface | None = None,
        options: PlantOptions | None = None,
        touches: Sequence[Touch] = (),
    ) -> None:
        """Put the arm at rest at `configuration` (n,) [rad], holding itself against gravity."""
        self.robot = robot
        self.options = options or PlantOptions.of()
        self.touches = tuple(touches)
        self.reset(configuration, surface)

    def reset(self, configuration: Vector, surface: Surface | None) -> None:
        """Start again at rest at `configuration` (n,) [rad] with another surface, or none. Makes new arrays."""
        surfaces = () if surface is None else (surface,)
        self.surface = surface
        arm = Arm(self.robot, configuration, self.touches)
        self._scene = ScenePlant([arm], surfaces=surfaces, options=self.options)
        super().__init__(self.robot, self._scene.arrays, 0)

    @property
    def time(self) -> float:
        """Time since the reset [s]."""
        return self._scene.time

    @property
    def integration_steps(self) -> int:
        """Integration steps taken since the reset."""
        return self._scene.integration_steps

    def step(self, torque: Vector) -> None:
        """Advance one sample period under the commanded torque (n,) [Nm], held constant. See `ScenePlant.step`."""
        self._scene.step((torque,))
