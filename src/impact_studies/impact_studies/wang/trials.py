"""One impact of the simulated Panda on the wall under a control mode.

The arm starts a few milliseconds before the wall, already at speed. All modes are one law at the motors,

    torque = feedforward + K (theta_ref - theta) + D (dtheta_ref - dtheta),

with other gains, at another rate, and with or without the low-level torque loop. theta_ref goes on into the wall at
constant velocity, until the impact is seen in the torques of joints 5 and 6 and the arm is pulled back (section VI).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from impact_control.impacts import ExponentialHuntCrossley
from impact_control.impacts.restitution import relative_damping_for_restitution
from impact_control.robots import Dynamics, InertiaModel, RobotDescription, contact_point_jacobian
from impact_control.simulation import FlexibleJointPlant, PlantOptions, Surface
from impact_control.util.types import Matrix, Vector
from impact_studies.wang.options import Approach


class ControlMode(Enum):
    """Control of the joints during the impact, from yielding to rigid."""

    TORQUE_HELD = "torque held"
    TORQUE_TASK = "torque, task controller"
    VELOCITY_INTERFACE = "velocity, over the torque loop"
    VELOCITY_DRIVE = "velocity, loop at the motors"
    MOTORS_LOCKED = "motors follow exactly"


COMPARED = (ControlMode.TORQUE_HELD, ControlMode.VELOCITY_DRIVE)
"""The two of the comparison with Fig. 9; the others bound them."""

SOFT_RATE = 20.0
"""[rad/s] of the task controller: 400 1/s^2 and 40 1/s on M + B_theta."""

INTERFACE_STIFFNESS = (3000.0, 3000.0, 3000.0, 2500.0, 2500.0, 2000.0, 2000.0)
"""[Nm/rad] The joint impedance that the examples of libfranka set, here with a damping ratio of 0.7 on B_theta."""

DRIVE_RATE = 1000.0
"""[rad/s] Bandwidth of the velocity loop at the motors, 159 Hz; its position loop is a quarter of it, critically
damped. It makes the motors of joints 1 and 2 ten times as stiff as the transmissions, K = 150 000 Nm/rad."""

LOCKED_INERTIA = 1e6
"""[kg m^2] A motor that no impact slows down."""

INTERFACE_PERIOD = 1e-3
"""[s] of a command over the interface, section VI."""

DRIVE_PERIOD = 2.5e-4
"""[s] of the velocity loop at the motors, and of the samples of the force: one tick of the torque loop."""

LARGEST_ACCELERATION = np.array([15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0])
"""[rad/s^2] of the references when the arm is pulled back. Franka, "Robot and interface specifications", Panda."""

RESTITUTION = 0.627
"""[-] of the materials, section VI."""

TYPICAL_SPEED = 0.12
"""[m/s] at which the materials have it: the middle one of the five."""

WALL_STIFFNESS = 1e6
"""[N/m] of tool, sensor and wall. Our choice: makes the impacts last 10 ms, ten control cycles, as in section VI."""

APPROACH_TIME = 0.015
"""[s] from the start to the touch."""

AFTER = 0.045
"""[s] recorded after the expected touch."""

POSITION_SCATTER = 2e-4
"""[rad] standard deviation of the start configuration between repetitions. Our choice."""

SPEED_SCATTER = 0.01
"""[-] relative standard deviation of the speed between repetitions. Our choice."""

FORCE_NOISE = 0.5
"""[N] standard deviation of the force sensor. Our choice."""

_AVERAGED = 5
"""Samples of the joint sensors before the touch whose mean is the velocity before the impact."""


@dataclass(frozen=True, eq=False)
class Gains:
    """The law of a mode: K (n, n) [Nm/rad], D (n, n) [Nm s/rad], period [s], whether an impact pulls the arm back."""

    stiffness: Matrix
    damping: Matrix
    period: float
    pulls_back: bool


@dataclass(frozen=True, eq=False)
class Trial:
    """A recorded impact.

    Attributes:
        time: (m,) [s] of the samples, 0 at the first touch.
        force: (m,) [N] normal force, as measured.
        exact_force: the same without noise.
        penetration_rate: (m,) [m/s] speed of the contact point into the wall, exact.
        position, velocity: (n,) [rad, rad/s] of the joints before the touch, as measured.
        speed: [m/s] of the contact point into the wall before the touch, from these.
        detection: [s] after the touch when the arm was pulled back, NaN if it was not.
    """

    time: Vector
    force: Vector
    exact_force: Vector
    penetration_rate: Vector
    position: Vector
    velocity: Vector
    speed: float
    detection: float


def build_plant(robot: RobotDescription, mode: ControlMode, position: Vector, surface: Surface) -> FlexibleJointPlant:
    """Return the arm at rest at q (n,) [rad] as a mode drives it.

    The two stiffest modes bypass the torque loop: the command is the torque of the motors. A motor of LOCKED_INERTIA
    keeps the velocity it is given.
    """
    if mode is ControlMode.MOTORS_LOCKED:
        inertia = np.full_like(robot.transmission.motor_inertia, LOCKED_INERTIA)
        robot = replace(robot, transmission=replace(robot.transmission, motor_inertia=inertia))
    options = PlantOptions.of(
        sample_period=DRIVE_PERIOD,
        refresh_ticks=1,
        torque_loop=mode not in (ControlMode.VELOCITY_DRIVE, ControlMode.MOTORS_LOCKED),
    )
    return FlexibleJointPlant(robot, position, surface, options)


def mode_gains(robot: RobotDescription, mode: ControlMode, position: Vector) -> Gains:
    """Return the law of a mode at q (n,) [rad]."""
    transmission = robot.transmission
    size = position.size
    if mode is ControlMode.TORQUE_TASK:
        dynamics = Dynamics(robot)
        dynamics.compute(position, np.zeros(size))
        inertia = dynamics.inertia(InertiaModel.REDUCED_MOTORS)
        return Gains(SOFT_RATE**2 * inertia, 2.0 * SOFT_RATE * inertia, INTERFACE_PERIOD, True)
    if mode is ControlMode.VELOCITY_INTERFACE:
        stiffness = np.array(INTERFACE_STIFFNESS)
        damping = 1.4 * np.sqrt(stiffness * transmission.reduced_motor_inertia)
        return Gains(np.diag(stiffness), np.diag(damping), INTERFACE_PERIOD, True)
    if mode is ControlMode.VELOCITY_DRIVE:
        damping = DRIVE_RATE * transmission.motor_inertia
        return Gains(np.diag(0.25 * DRIVE_RATE * damping), np.diag(damping), DRIVE_PERIOD, True)
    nothing = np.zeros((size, size))
    return Gains(nothing, nothing, INTERFACE_PERIOD, mode is ControlMode.MOTORS_LOCKED)


def wall(approach: Approach, stiffness: float = WALL_STIFFNESS, restitution: float = RESTITUTION) -> Surface:
    """Return the wall: (23) with stiffness [N/m] and the damping of restitution [-] at TYPICAL_SPEED, frictionless.

    The exponent 1 makes the law of the plant that of (23) going in; going out it never pulls.
    """
    damping = relative_damping_for_restitution(restitution) * stiffness / TYPICAL_SPEED
    law = ExponentialHuntCrossley(stiffness, damping, 1.0)
    return Surface(point=approach.point, normal=approach.normal, law=law, friction=0.0)


def run_trial(
    robot: RobotDescription,
    approach: Approach,
    mode: ControlMode,
    speed: float,
    *,
    surface: Surface | None = None,
    seed: int | tuple[int, ...] | None = None,
) -> Trial:
    """Simulate one impact at speed [m/s] on a surface, `wall` if none is given; no scatter and noise without a seed."""
    random = _Noise(robot, seed)
    velocity = speed * random.around(1.0, SPEED_SCATTER, 1)[0] * approach.velocity_per_speed
    start = random.around(approach.position - APPROACH_TIME * velocity, POSITION_SCATTER, velocity.size)
    plant = build_plant(robot, mode, start, surface or wall(approach))
    feedforward = _set_moving(plant, velocity)
    gains = mode_gains(robot, mode, start)
    reference = plant.motor_position.copy()
    dynamics = Dynamics(robot)
    inertia_point = -robot.end_effector.radius * approach.normal
    cycle = round(gains.period / DRIVE_PERIOD)
    interface_cycle = round(INTERFACE_PERIOD / DRIVE_PERIOD)
    braking = DRIVE_PERIOD / float(np.max(np.abs(velocity) / LARGEST_ACCELERATION))
    pace, detection = 1.0, math.nan
    command = feedforward
    records, joints = [], []
    for sample in range(round((APPROACH_TIME + AFTER) / DRIVE_PERIOD)):
        dynamics.compute(plant.link_position, plant.link_velocity)
        contact_jacobian = contact_point_jacobian(dynamics.jacobian, inertia_point)
        records.append((plant.time, plant.normal_force, -approach.normal @ contact_jacobian @ plant.link_velocity))
        if sample % interface_cycle == 0:
            if math.isnan(plant.first_contact_time):
                joints.append((random.position(plant.link_position), random.velocity(plant.link_velocity)))
            surprise = random.torque(plant.joint_torque) - dynamics.gravity - feedforward
            if math.isnan(detection) and np.abs(surprise[4:6]).sum() > approach.configuration.threshold:
                detection = plant.time
        if gains.pulls_back and not math.isnan(detection):
            pace = max(pace - braking, -1.0)
        if sample % cycle == 0:
            position_error = reference - random.motor_position(plant.motor_position)
            velocity_error = pace * velocity - random.motor_velocity(plant.motor_velocity)
            command = feedforward + gains.stiffness @ position_error + gains.damping @ velocity_error
        if mode is ControlMode.MOTORS_LOCKED:
            plant.motor_velocity[:] = pace * velocity
        plant.step(command)
        reference += DRIVE_PERIOD * pace * velocity
    touch = plant.first_contact_time
    time, force, rate = np.array(records).T
    last = joints[-_AVERAGED:]
    q, dq = last[-1][0], np.mean([entry[1] for entry in last], axis=0)
    dynamics.compute(q, dq)
    contact_velocity = contact_point_jacobian(dynamics.jacobian, inertia_point) @ dq
    return Trial(
        time=time - touch,
        force=random.around(force, FORCE_NOISE, force.size),
        exact_force=force,
        penetration_rate=rate,
        position=q,
        velocity=dq,
        speed=float(-approach.normal @ contact_velocity),
        detection=detection - touch if gains.pulls_back else math.nan,
    )


def _set_moving(plant: FlexibleJointPlant, velocity: Vector) -> Vector:
    """Give links and motors a velocity (n,) [rad/s]; return the torque (n,) [Nm] that keeps it, and wind it up."""
    dynamics = Dynamics(plant.robot)
    dynamics.compute(plant.link_position, velocity)
    torque: Vector = dynamics.coriolis + plant.robot.friction.torque(velocity, np.zeros_like(velocity))
    plant.link_velocity[:] = velocity
    plant.motor_velocity[:] = velocity
    plant.motor_position[:] += torque / plant.robot.transmission.stiffness
    plant.filtered_torque[:] += torque
    return torque


class _Noise:
    """Scatter and the published noise of the joint sensors; none of both without a seed."""

    def __init__(self, robot: RobotDescription, seed: int | tuple[int, ...] | None) -> None:
        self._random = None if seed is None else np.random.default_rng(seed)
        self._widths = robot.noise

    def around(self, mean: float | Vector, deviation: float | Vector, size: int) -> Vector:
        """Return numbers (size,) around the mean, within three standard deviations."""
        if self._random is None:
            return np.broadcast_to(mean, (size,)).astype(float)
        standard = np.clip(self._random.standard_normal(size), -3.0, 3.0)
        result: Vector = mean + deviation * standard
        return result

    def position(self, exact: Vector) -> Vector:
        return self.around(exact, self._widths.position / 3.0, exact.size)

    def velocity(self, exact: Vector) -> Vector:
        return self.around(exact, self._widths.velocity / 3.0, exact.size)

    def torque(self, exact: Vector) -> Vector:
        return self.around(exact, self._widths.torque / 3.0, exact.size)

    def motor_position(self, exact: Vector) -> Vector:
        return self.around(exact, self._widths.motor_position / 3.0, exact.size)

    def motor_velocity(self, exact: Vector) -> Vector:
        return self.around(exact, self._widths.motor_velocity / 3.0, exact.size)
