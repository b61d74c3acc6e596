"""A simulated hanging arm whose joints have backlash and the friction of Flacco 2016 (6), with a motor behind each."""

from __future__ import annotations

import numpy as np

from impact_control.observation import BacklashModel
from impact_control.robots import Dynamics, RobotDescription, load_robot
from impact_control.studies.flacco.recording import Load, Motion, Recording, Watch, simulate
from impact_control.types import Matrix, Vector

MASS_SCALE = 0.25
"""Of the Panda's links, whose kinematics the arm has."""

GAPS = np.array([0.018, 0.025, 0.003, 0.011, 0.0, 0.0, 0.023])
"""[rad] half-widths of Romeo's left arm, Flacco 2016, V-A."""

SHOWN_GAP = 1
"""Index of the joint in Fig. 5; the gaps of the others are a list in the text."""

JOINTS = BacklashModel(
    gap=GAPS,
    stiffness=np.array([1500.0, 2500.0, 700.0, 900.0, 120.0, 120.0, 60.0]),
    damping=np.array([6.0, 12.0, 2.5, 3.5, 0.5, 0.5, 0.13]),
    gap_viscous=np.array([0.3, 0.4, 0.2, 0.2, 0.0, 0.0, 0.02]),
    gap_dry=np.array([0.15, 0.15, 0.08, 0.08, 0.0, 0.0, 0.02]),
    link_viscous=np.array([0.2, 0.2, 0.1, 0.1, 0.0, 0.0, 0.02]),
    link_dry=np.array([0.2, 0.2, 0.1, 0.1, 0.0, 0.0, 0.02]),
    motor_viscous=np.array([0.5, 0.5, 0.25, 0.25, 0.06, 0.06, 0.02]),
    motor_dry=np.array([0.6, 0.6, 0.3, 0.3, 0.08, 0.08, 0.03]),
)
"""The simulated joints. Joints 5 and 6 have no gap, and so no friction in it."""

MOTOR_INERTIA = np.array([0.1, 0.2, 0.05, 0.05, 0.008, 0.008, 0.002])
"""[kg m^2] behind the gear."""

POSTURE = np.array([0.0, 0.0, 0.3, -0.3, 0.3, 0.3, 0.0])
"""[rad] about which it moves: hanging, so that gravity changes sign there in most joints."""


class HangingArm:
    """Rigid-body terms of the arm, with its motors under a position loop: a `Mechanism`."""

    def __init__(self, robot: RobotDescription | None = None, loop_rate: float = 40.0) -> None:
        """robot: whose links hang, by default a Panda's; loop_rate [1/s]: both poles of each motor's position loop."""
        self._dynamics = Dynamics(robot or load_robot())
        self.update(POSTURE, np.zeros_like(POSTURE))
        inertia = np.diag(self.mass_matrix) + MOTOR_INERTIA
        self.motor_inertia: Vector = MOTOR_INERTIA
        self.position_gain: Vector = inertia * loop_rate**2
        self.velocity_gain: Vector = 2.0 * inertia * loop_rate

    def update(self, q: Vector, dq: Vector) -> None:
        """Compute the terms below at q (n,) [rad], dq (n,) [rad/s]."""
        self._dynamics.update(q, dq)
        self._dynamics.update_momentum_terms()

    @property
    def mass_matrix(self) -> Matrix:
        """M (n, n) [kg m^2] of the links, a new array."""
        return MASS_SCALE * self._dynamics.mass_matrix

    @property
    def coriolis(self) -> Vector:
        """C dq (n,) [Nm], a new array."""
        return MASS_SCALE * self._dynamics.coriolis

    @property
    def coriolis_transposed_velocity(self) -> Vector:
        """C^T dq (n,) [Nm], a new array."""
        return MASS_SCALE * self._dynamics.coriolis_transposed_velocity

    @property
    def gravity(self) -> Vector:
        """g (n,) [Nm], a new array: hanging, so that it has the other sign."""
        return -MASS_SCALE * self._dynamics.gravity

    def run(
        self,
        motion: Motion,
        load: Load,
        duration: float,
        random: np.random.Generator,
        joints: BacklashModel = JOINTS,
        *,
        noise: float = 1.0,
        watch: Watch | None = None,
    ) -> Recording:
        """Return what `simulate` records of the arm."""
        return simulate(self, joints, motion, load, duration, random, noise=noise, watch=watch)
