"""What follows the impact: of the arm with flexible joints, and of a rigid one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from impact_control.errors import ImpactControlError
from impact_control.robots import Dynamics, InertiaModel, RobotDescription
from impact_control.robots.inverse_kinematics import solve
from impact_control.simulation import FlexibleJointPlant, PlantOptions, Surface
from impact_control.simulation.options import RigidContactOptions
from impact_control.simulation.rigid_contact import RigidSurface
from impact_control.simulation.rigid_joint_rigid_contact import RigidJointRigidContactPlant
from impact_control.studies.planar_impact.approach import StraightApproach, TaskController
from impact_control.types import Matrix, Vector

OBSERVED = 0.1
"""[s] after the impact: the span of the fit of Rey Arias 2024, section IV."""

_ELBOW_UP = np.radians([45.0, -125.0, -10.0])
_SAMPLE = 1e-3
_NEXT_TO_NOTHING = 1e-9
"""[kg m^2], against some 0.05 of the lightest link: a transmission needs a motor inertia above 0."""


class AfterImpact(StrEnum):
    """What the commanded torque does once there was contact."""

    FOLLOW = "controller goes on"
    """The controller follows its line below the surface: Rey Arias 2024, section III."""

    LIMIT = "controller in torque limits"
    """The same, but joint by joint no faster and no further than the limits of torque rate and torque."""

    HOLD = "torque held"
    """The torque of the last sample before the impact is held: a free impact."""


@dataclass(frozen=True, eq=False)
class FlexibleResponse:
    """Samples of an arm with flexible joints before and after an impact, and the moment of first contact.

    time (m,) [s] after first contact; link_position, motor_position [rad], link_velocity, motor_velocity [rad/s],
    command [Nm] without gravity, each (m, n); normal_force (m,) [N]; start_time [s]: of the first contact after
    the start of the approach.
    """

    robot: RobotDescription
    surface: Surface
    approach: StraightApproach
    time: Vector
    link_position: Matrix
    link_velocity: Matrix
    motor_position: Matrix
    motor_velocity: Matrix
    command: Matrix
    normal_force: Vector
    start_time: float

    @property
    def at_impact(self) -> tuple[Vector, Vector]:
        """q^- (n,) [rad] and dq^- (n,) [rad/s] at first contact, from the last sample before it."""
        last = int(np.flatnonzero(self.time < 0.0)[-1])
        velocity = self.link_velocity[last]
        return self.link_position[last] - self.time[last] * velocity, velocity

    @property
    def torque_rate_use(self) -> float:
        """Largest change of the command in a sample, over the robot's limit of the torque rate."""
        change = np.abs(np.diff(self.command, axis=0)) / (_SAMPLE * self.robot.limits.torque_rate)
        return float(change.max())


def flexible_response(
    robot: RobotDescription,
    surface: Surface,
    approach: StraightApproach,
    after: AfterImpact,
    *,
    pressing_force: float = 0.0,
    largest_step: float = 50e-6,
    duration: float = OBSERVED,
) -> FlexibleResponse:
    """Simulate the approach and `duration` [s] after the impact, sampled at 1 kHz, without joint friction.

    pressing_force [N]: with AfterImpact.HOLD, added along the normal into the surface from first contact on.
    largest_step [s]: see PlantOptions. Raises ImpactControlError when the arm does not touch the surface.
    """
    controller = TaskController(robot, approach)
    start = solve(robot, approach.at(0.0)[0], approach.rotation, None, _ELBOW_UP)
    options = PlantOptions(sample_period=_SAMPLE, largest_step=largest_step, joint_friction=False)
    plant = FlexibleJointPlant(robot, start, surface, options)
    held = np.zeros_like(start)
    rows: list[tuple[Vector, ...]] = []
    while not plant.time > plant.first_contact_time + duration:
        if math.isnan(plant.first_contact_time) and plant.time > 2.0 * approach.impact_time:
            raise ImpactControlError(f"no contact until {plant.time:.3f} s, expected at {approach.impact_time:.3f} s")
        q, dq = plant.link_position.copy(), plant.link_velocity.copy()
        touched = not math.isnan(plant.first_contact_time)
        if not touched or after is not AfterImpact.HOLD:
            wanted = controller.torque(plant.time, q, dq)
            held = _within_limits(robot, wanted, held) if after is AfterImpact.LIMIT else wanted
        command = held
        if touched and pressing_force > 0.0:
            command = held + controller.pressing_torque(q, surface.normal, pressing_force)
        scalars = np.array([plant.time, plant.normal_force])
        rows.append((scalars, q, dq, plant.motor_position.copy(), plant.motor_velocity.copy(), command))
        plant.step(command)
    scalars, q, dq, theta, dtheta, command = map(np.array, zip(*rows, strict=True))
    first = plant.first_contact_time
    return FlexibleResponse(
        robot, surface, approach, scalars[:, 0] - first, q, dq, theta, dtheta, command, scalars[:, 1], first
    )


def _within_limits(robot: RobotDescription, wanted: Vector, before: Vector) -> Vector:
    """Return the torque (n,) [Nm] nearest to `wanted` that a sample after `before` is within the robot's limits."""
    change = _SAMPLE * robot.limits.torque_rate
    torque: Vector = np.clip(
        np.clip(wanted, before - change, before + change), -robot.limits.torque, robot.limits.torque
    )
    return torque


def rigid_response(response: FlexibleResponse, model: InertiaModel) -> tuple[Vector, Matrix, Matrix]:
    """Return time (m,) [s] after the impact, q [rad] and dq [rad/s] (m, n) of a rigid arm from the same impact on.

    Plant C with the inertia of `model`, from q^-, dq^- of the flexible arm, under the same controller, on a rigid
    surface without restitution and friction. First sample: right after the impact, Rey Arias 2024 (16) with mu = 0.
    """
    q, dq = response.at_impact
    plant = RigidJointRigidContactPlant(
        with_reflected_inertia(response.robot, model),
        q,
        options=RigidContactOptions(joints=PlantOptions(joint_friction=False)),
    )
    normal = response.surface.normal
    touched = Dynamics(response.robot)
    touched.update(q, dq)
    lowest = touched.position - response.robot.end_effector.radius * normal
    plant.reset(q, RigidSurface(lowest, normal), dq)
    controller = TaskController(response.robot, response.approach)
    rows = [(0.0, plant.link_position.copy(), plant.link_velocity.copy())]
    while plant.time < OBSERVED - 0.5 * _SAMPLE:
        now = response.start_time + plant.time
        plant.step(controller.torque(now, plant.link_position, plant.link_velocity))
        rows.append((plant.time, plant.link_position.copy(), plant.link_velocity.copy()))
    time, position, velocity = map(np.array, zip(*rows, strict=True))
    return time, position, velocity


def with_reflected_inertia(robot: RobotDescription, model: InertiaModel) -> RobotDescription:
    """Return the arm whose rigid model M + B_theta is the inertia of `model`; LINKS: B_theta is next to nothing."""
    reflected = {
        InertiaModel.LINKS: np.full(len(robot.joint_names), _NEXT_TO_NOTHING),
        InertiaModel.REDUCED_MOTORS: robot.transmission.reduced_motor_inertia,
        InertiaModel.MOTORS: robot.transmission.motor_inertia,
    }
    return replace(robot, transmission=replace(robot.transmission, reduced_motor_inertia=reflected[model]))
