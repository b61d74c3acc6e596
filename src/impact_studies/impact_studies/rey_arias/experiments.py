"""The impact experiments of Rey Arias 2024, Table II, with the simulated Panda.

As in its section IV the arm starts at rest, a virtual force moves it through the transposed Jacobian for a fixed
time, and nothing but gravity compensation acts when the sphere meets the steel plate. Not published are the
configurations, the forces, and how long they act. Here the sphere meets the plate at a place of our choice under
the forward, backward or lateral tilt of Table II, and the virtual wrench is found such that the joint velocities
before the impact come out as near as they can to those printed in Table III.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from impact_control.impacts import ExponentialHuntCrossley
from impact_control.robots import Dynamics, RobotDescription, load_robot
from impact_control.robots.inverse_kinematics import solve
from impact_control.simulation import FlexibleJointPlant, Sensors, Surface
from impact_control.util.types import Matrix, Vector
from impact_studies.rey_arias import published

UP = np.array([0.0, 0.0, 1.0])
"""Normal of the plate, world frame A."""

PUSH = 0.4
"""[s] for which the virtual force acts. Our choice."""

COAST = 0.05
"""[s] from its end to the impact. Our choice."""

AFTER = 0.13
"""[s] recorded after the expected impact: the 100 ms of the fit and what the impact may come late."""

STEEL = ExponentialHuntCrossley(stiffness=3.2e9, damping=3.2e12, exponent=1.5)
"""k_c [N/m^1.5], d_c [N s/m^2.5] and eta [-] of Rey Arias 2024, Table I."""

SCATTER = 2e-4
"""[rad] standard deviation of the start configuration between repetitions. Our choice."""

MOTOR_INERTIA = "rey_arias_2024"
"""The set of B_theta, Table I of the source."""

_HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
TOOL_DOWN = np.diag([1.0, -1.0, -1.0]) @ pin.exp3(np.array([0.0, 0.0, np.pi / 4.0]))
"""Axes of the end-effector as columns in A when it points down."""

_SEARCH_STEPS = 4
_WRENCH_STEP = 0.2


@dataclass(frozen=True)
class ExperimentType:
    """A row of Table II.

    Attributes:
        number: 1 to 10.
        motion: forward, backward or lateral.
        axis: of the world frame about which the tool is tilted, 0 for x, 1 for y.
        tilt: [deg] about that axis, from the tool pointing down.
        place: of the sphere's centre at the impact (3,) [m], world frame A. Our choice.
    """

    number: int
    motion: str
    axis: int
    tilt: float
    place: tuple[float, float, float]

    @property
    def heading(self) -> tuple[int, int]:
        """Axis of the world frame along which the end-effector moves, 0 for x, 1 for y, and in which direction."""
        return {"forward": (0, 1), "backward": (0, -1), "lateral": (1, -1)}[self.motion]

    @property
    def ante_velocity(self) -> Vector:
        """Joint velocity (7,) [rad/s] before the impact as printed in Table III."""
        velocity: Vector = np.deg2rad(published.ANTE_VELOCITY[self.number - 1])
        return velocity


_FORWARD, _BACKWARD, _LATERAL = (0.45, 0.0, 0.05), (0.40, 0.0, 0.05), (0.40, 0.0, 0.05)

TYPES = (
    ExperimentType(1, "forward", 1, -30.0, _FORWARD),
    ExperimentType(2, "forward", 1, -20.0, _FORWARD),
    ExperimentType(3, "forward", 1, -10.0, _FORWARD),
    ExperimentType(4, "forward", 1, 0.0, _FORWARD),
    ExperimentType(5, "backward", 1, 30.0, _BACKWARD),
    ExperimentType(6, "backward", 1, 20.0, _BACKWARD),
    ExperimentType(7, "backward", 1, 10.0, _BACKWARD),
    ExperimentType(8, "backward", 1, 0.0, _BACKWARD),
    ExperimentType(9, "lateral", 0, -30.0, _LATERAL),
    ExperimentType(10, "lateral", 0, 0.0, _LATERAL),
)
"""Rey Arias 2024, Table II."""


@dataclass(frozen=True)
class Repetition:
    """One repetition: number of the type of experiment, 1 to 10, and the seed of its scatter and noise."""

    number: int
    seed: int


@dataclass(frozen=True, eq=False)
class Setting:
    """One type of experiment, ready to be run.

    Attributes:
        type: of the experiment.
        start: configuration (7,) [rad].
        wrench: virtual force [N] and moment [Nm] (6,) at the contact frame, axes of A.
        plate: that the sphere meets.
    """

    type: ExperimentType
    start: Vector
    wrench: Vector
    plate: Surface


@dataclass(frozen=True, eq=False)
class Trial:
    """A recorded run.

    Attributes:
        time: (m,) [s] of the samples.
        position, velocity: (m, 7) [rad, rad/s], as measured.
        exact_position, exact_velocity: the same without sensor noise.
        contact_time: [s] at which the sphere touched the plate, NaN if it did not.
    """

    time: Vector
    position: Matrix
    velocity: Matrix
    exact_position: Matrix
    exact_velocity: Matrix
    contact_time: float


def impact_configuration(robot: RobotDescription, experiment: ExperimentType) -> Vector:
    """Return q (7,) [rad] with the sphere at the place of the impact and the tool tilted as in Table II."""
    tilt = pin.exp3(np.deg2rad(experiment.tilt) * np.eye(3)[experiment.axis])
    return solve(robot, np.array(experiment.place), tilt @ TOOL_DOWN, 0.0, _HOME)


def prepare(robot: RobotDescription, experiment: ExperimentType) -> Setting:
    """Find start, virtual wrench and plate of an experiment.

    The start lies before the impact by the way of a constant acceleration over PUSH. The wrench minimises the
    difference to the published velocities before the impact, by Gauss-Newton over simulated free motions with the
    slopes of the first step. The plate is where the sphere then is after PUSH and COAST. Raises
    UnreachablePoseError.
    """
    desired = experiment.ante_velocity
    start = impact_configuration(robot, experiment) - (0.5 * PUSH + COAST) * desired
    plant = FlexibleJointPlant(robot, start)
    duration = PUSH + COAST

    def end_velocity(wrench: Vector) -> Vector:
        velocities = push(plant, start, None, wrench, Sensors(robot.noise, 0.0, 0), duration).exact_velocity
        last: Vector = velocities[-1]
        return last

    dynamics = Dynamics(robot)
    dynamics.compute(start, np.zeros(7))
    wrench = _least_squares(dynamics.jacobian.T, dynamics.mass_matrix @ desired / PUSH)
    velocity = end_velocity(wrench)
    steps = np.diag(np.full(6, _WRENCH_STEP))
    slopes = np.array([end_velocity(wrench + step) - velocity for step in steps]) / _WRENCH_STEP
    for _ in range(_SEARCH_STEPS):
        wrench = wrench + _least_squares(slopes.T, desired - velocity)
        velocity = end_velocity(wrench)
    dynamics.compute(plant.link_position, plant.link_velocity)
    lowest = dynamics.position - robot.end_effector.radius * UP
    return Setting(experiment, start, wrench, steel_plate(lowest))


def _least_squares(matrix: Matrix, right_side: Vector) -> Vector:
    solution, *_ = np.linalg.lstsq(matrix, right_side, rcond=None)
    return np.asarray(solution, dtype=np.float64)


def steel_plate(point: Vector) -> Surface:
    """Return the horizontal plate through a point (3,) [m]."""
    return Surface(point=point, normal=UP, law=STEEL, friction=published.FRICTION_COEFFICIENT)


def experiment_robot() -> RobotDescription:
    """Return the Panda of the experiments."""
    return load_robot("panda", "sphere", MOTOR_INERTIA)


def run_repetition(repetition: Repetition) -> Mapping[str, NDArray[Any]]:
    """Run one repetition with the noise of a Panda; arrays by the name of the attribute of `Trial`."""
    plant, setting = _prepared(repetition.number)
    return vars(run_trial(plant, setting, noise=1.0, seed=repetition.seed))


@lru_cache(maxsize=1)
def _prepared(number: int) -> tuple[FlexibleJointPlant, Setting]:
    """Return plant and setting of a type of experiment: the search for the wrench is for all of its repetitions."""
    robot = experiment_robot()
    setting = prepare(robot, TYPES[number - 1])
    return FlexibleJointPlant(robot, setting.start), setting


def run_trial(plant: FlexibleJointPlant, setting: Setting, *, noise: float, seed: int) -> Trial:
    """Run one repetition: another start within SCATTER, other sensor noise. noise 1 is that of a Panda."""
    scatter = np.random.default_rng(seed).normal(0.0, SCATTER, setting.start.size)
    sensors = Sensors(plant.robot.noise, noise, seed)
    return push(plant, setting.start + scatter, setting.plate, setting.wrench, sensors, PUSH + COAST + AFTER)


def push(
    plant: FlexibleJointPlant, start: Vector, plate: Surface | None, wrench: Vector, sensors: Sensors, duration: float
) -> Trial:
    """Run from rest at start (7,) [rad]: J^T wrench at the measured position during PUSH, then nothing; [s]."""
    plant.reset(start, plate)
    dynamics = Dynamics(plant.robot)
    period = plant.options.sample_period
    time, measured, exact = [], [], []
    nothing, at_rest = np.zeros(start.size), np.zeros(start.size)
    for sample in range(round(duration / period) + 1):
        measurement = sensors.measure(plant)
        time.append(plant.time)
        measured.append((measurement.position, measurement.velocity))
        exact.append((plant.link_position.copy(), plant.link_velocity.copy()))
        torque = nothing
        if sample < round(PUSH / period):
            dynamics.compute(measurement.position, at_rest)
            torque = dynamics.jacobian.T @ wrench
        plant.step(torque)
    position, velocity = np.array(measured).swapaxes(0, 1)
    exact_position, exact_velocity = np.array(exact).swapaxes(0, 1)
    return Trial(np.array(time), position, velocity, exact_position, exact_velocity, plant.first_contact_time)
