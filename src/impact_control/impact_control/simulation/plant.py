"""Plant A: an arm with flexible joints and a low-level torque loop that touches a compliant plane.

Rey Arias 2024 (1)-(6) and section III; Proper 2021, model A. Pinocchio gives the rigid-body terms,
`plant_kernel` integrates what is stiff.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_control.errors import InvalidInputError
from impact_control.robots import Dynamics, RobotDescription
from impact_control.simulation.plant_kernel import MONITOR_SIZE, SURFACE_SIZE, advance_interval
from impact_control.types import Matrix, Vector


@dataclass(frozen=True)
class Surface:
    """A plane the end-effector may touch.

    point (3,) [m] and normal (3,) unit, out of the material, world frame A. stiffness k_c [N/m^eta],
    damping d_c [N s/m^(eta+1)], exponent eta [-]: Rey Arias 2024 (6). friction mu [-].
    slip_scale [m/s]: slip speed at which the smoothed Coulomb friction reaches 76 % of mu f_N.
    """

    point: Vector
    normal: Vector
    stiffness: float
    damping: float
    exponent: float
    friction: float
    slip_scale: float = 2e-3

    def __post_init__(self) -> None:
        for name in ("point", "normal"):
            array = np.array(getattr(self, name), dtype=float)
            if array.shape != (3,) or not np.all(np.isfinite(array)):
                raise InvalidInputError(f"surface {name}", array, "three finite numbers")
            object.__setattr__(self, name, array)
        if abs(float(np.linalg.norm(self.normal)) - 1.0) > 1e-6:
            raise InvalidInputError("surface normal", self.normal, "a vector of length 1")
        for name in ("stiffness", "exponent", "slip_scale"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise InvalidInputError(f"surface {name}", value, "a finite number above 0")
        for name in ("damping", "friction"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise InvalidInputError(f"surface {name}", value, "a finite number of at least 0")


@dataclass(frozen=True)
class PlantOptions:
    """What can be switched off or refined.

    sample_period [s]: time advanced by one `step`, 1 ms on a Franka.
    refresh_ticks [-]: periods of the torque loop between two evaluations of the rigid-body terms; 2 instead
        of 1 changes the velocity after a 0.2 m/s impact by 0.03 % of the jump and saves 40 % of the time.
    largest_step [s]: largest integration step; 50 us is 1/125 of the period of the fastest joint
        resonance (joint 7: about 160 Hz) and a fifth of the torque loop's period.
    step_safety [-]: in contact the step is at most step_safety over the contact's own rate; 1 is a
        third of the stability limit 2.8 of the Runge-Kutta scheme. Halving both steps changes the
        velocity after an impact by less than 1e-4 of the jump (tests/unit/test_simulation_plant.py).
    joint_friction: whether the joints' friction acts.
    """

    sample_period: float = 1e-3
    refresh_ticks: int = 2
    largest_step: float = 50e-6
    step_safety: float = 1.0
    joint_friction: bool = True


class FlexibleJointPlant:
    """Simulated arm in torque control, sampled like a Franka.

    State: `link_position`, `link_velocity`, `motor_position`, `motor_velocity` (n,) [rad, rad/s] and
    `filtered_torque` (n,) [Nm]; `joint_torque` is K (theta - q) of Rey Arias 2024 (1).
    Ground truth of the last period: `contact_force` (3,) [N] on the robot in A, `normal_force`,
    `peak_normal_force` [N], `gap` [m], `first_contact_time` [s] (NaN before it), `time` [s].
    """

    def __init__(
        self,
        robot: RobotDescription,
        configuration: Vector,
        surface: Surface | None = None,
        options: PlantOptions | None = None,
    ) -> None:
        """Put the arm at rest at `configuration` (n,) [rad], holding itself against gravity."""
        self.robot = robot
        self.options = options or PlantOptions()
        self._n = n = len(robot.joint_names)
        loop = robot.torque_loop
        self._tick_period = 1.0 / loop.rate
        ticks = self.options.sample_period * loop.rate
        if abs(ticks - round(ticks)) > 1e-9 or round(ticks) % self.options.refresh_ticks:
            raise InvalidInputError(
                "refresh_ticks",
                self.options.refresh_ticks,
                f"a divisor of the {ticks:g} torque-loop ticks a sample",
            )
        self._intervals = round(ticks) // self.options.refresh_ticks
        self._interval = self.options.refresh_ticks * self._tick_period
        transmission = robot.transmission
        torque_gain = transmission.motor_inertia / transmission.reduced_motor_inertia - 1.0
        friction = robot.friction
        self._joints: Matrix = np.array(
            [
                transmission.stiffness,
                transmission.damping,
                transmission.motor_inertia,
                torque_gain,
                torque_gain * transmission.damping / transmission.stiffness,
                friction.amplitude if self.options.joint_friction else np.zeros(n),
                friction.slope,
                friction.offset,
                1.0 / (1.0 + np.exp(-friction.slope * friction.offset)),
            ]
        )
        self._filter_rate = 2.0 * math.pi * loop.filter_cutoff
        self._dynamics = Dynamics(robot)
        self._middle = np.zeros(n)
        self._scratch = np.zeros((23 + n, max(n, 3)))
        self._state: Matrix = np.zeros((5, n))
        self._monitor: Vector = np.zeros(MONITOR_SIZE)
        self._surface = np.zeros(SURFACE_SIZE)
        self.surface: Surface | None = None
        self.time = 0.0
        self.reset(configuration, surface)

    def reset(self, configuration: Vector, surface: Surface | None) -> None:
        """Start again at rest at `configuration` (n,) [rad] with another surface, or none."""
        q = np.asarray(configuration, dtype=float)
        if q.shape != (self._n,) or not np.all(np.isfinite(q)):
            raise InvalidInputError("configuration", configuration, f"{self._n} finite joint positions in rad")
        self.surface = surface
        self._surface[:] = 0.0
        if surface is not None:
            scalars = (surface.stiffness, surface.damping, surface.exponent, surface.friction, surface.slip_scale)
            self._surface[:] = [*scalars, *surface.normal, *surface.point, self.robot.end_effector.radius]
        self._middle[:] = 0.0
        self._dynamics.update(q, self._middle)
        gravity = self._dynamics.gravity
        self._state[:] = 0.0
        self._state[0] = q
        self._state[2] = q + gravity / self.robot.transmission.stiffness
        self._state[4] = gravity
        self._monitor[:] = 0.0
        self._monitor[5] = math.nan
        self._monitor[6] = self._distance(self._dynamics.position)
        self.time = 0.0
        if surface is not None and self.gap < 0.0:
            raise InvalidInputError("configuration", q, f"the end-effector {-self.gap:.4f} m inside the surface")

    def _distance(self, position: Vector) -> float:
        if self.surface is None:
            return math.inf
        height = float(self.surface.normal @ (position - self.surface.point))
        return height - self.robot.end_effector.radius

    @property
    def link_position(self) -> Vector:
        """q (n,) [rad]."""
        row: Vector = self._state[0]
        return row

    @property
    def link_velocity(self) -> Vector:
        """dq (n,) [rad/s]."""
        row: Vector = self._state[1]
        return row

    @property
    def motor_position(self) -> Vector:
        """theta (n,) [rad], after the gear."""
        row: Vector = self._state[2]
        return row

    @property
    def motor_velocity(self) -> Vector:
        """dtheta (n,) [rad/s]."""
        row: Vector = self._state[3]
        return row

    @property
    def joint_torque(self) -> Vector:
        """tau = K (theta - q) (n,) [Nm], what the torque sensors see; a new array."""
        torque: Vector = self.robot.transmission.stiffness * (self._state[2] - self._state[0])
        return torque

    @property
    def contact_force(self) -> Vector:
        """Force of the surface on the robot (3,) [N], frame A, at the end of the period."""
        return self._monitor[:3]

    @property
    def normal_force(self) -> float:
        """Normal contact force [N] at the end of the period."""
        return float(self._monitor[3])

    @property
    def peak_normal_force(self) -> float:
        """Largest normal contact force [N] inside the last period."""
        return float(self._monitor[4])

    @property
    def first_contact_time(self) -> float:
        """Time of the first touch since the reset [s]; NaN before it."""
        return float(self._monitor[5])

    @property
    def gap(self) -> float:
        """Distance of the contact body to the surface [m]; negative: penetration; infinity without a surface."""
        return float(self._monitor[6])

    @property
    def integration_steps(self) -> int:
        """Integration steps taken since the reset."""
        return int(self._monitor[7])

    def step(self, torque: Vector) -> None:
        """Advance one sample period under the commanded torque (n,) [Nm], without gravity, held constant.

        The arm adds the gravity torque itself, as a Franka does.
        """
        dynamics = self._dynamics
        state = self._state
        options = self.options
        self._monitor[4] = 0.0
        for _ in range(self._intervals):
            # Middle of the interval: makes the frozen terms and the linearised gap second-order accurate.
            np.multiply(state[1], 0.5 * self._interval, out=self._middle)
            self._middle += state[0]
            dynamics.update(self._middle, state[1])
            advance_interval(
                state,
                options.refresh_ticks,
                self._tick_period,
                options.largest_step,
                options.step_safety,
                self.time,
                torque,
                dynamics.mass_matrix,
                dynamics.nonlinear,
                dynamics.gravity,
                dynamics.jacobian,
                dynamics.position,
                self._middle,
                self._joints,
                self._filter_rate,
                self._surface,
                self._scratch,
                self._monitor,
            )
            self.time += self._interval
