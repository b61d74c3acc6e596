"""Straight approach of the end-effector, the controller that follows it, and the response to the impact."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import pinocchio as pin

from impact_control.robots import Dynamics, InertiaModel, RobotDescription
from impact_control.robots.inverse_kinematics import solve
from impact_control.simulation import FlexibleJointPlant, PlantOptions, Surface
from impact_control.util.checks import require_positive
from impact_control.util.errors import ImpactControlError, InvalidInputError
from impact_control.util.types import Matrix, Vector
from impact_studies.models.rigid_contact.contact import RigidSurface
from impact_studies.models.rigid_contact.options import RigidContactOptions
from impact_studies.models.rigid_contact.plant import RigidJointRigidContactPlant

PLANAR_TASK = (0, 2, 4)
"""Rows of the mixed twist of E that an arm in the plane x-z can choose: along x, along z, turn about y."""

_ELBOW_UP = np.radians([45.0, -125.0, -10.0])


@dataclass(frozen=True, eq=False)
class StraightApproach:
    """Straight line at constant orientation: from rest to a constant velocity, through the impact and on.

    The speed rises by a quintic over `ramp`, is constant for `cruise` until the impact is expected, and stays so
    afterwards: the line goes on below the surface, as in Rey Arias 2024, section III.

    Attributes:
        impact_position: origin of E at the impact (3,) [m], world frame A.
        rotation: axes of E as columns in A (3, 3).
        direction: of the motion (3,), unit, axes of A.
        speed: at the impact [m/s], above 0.
        ramp, cruise: [s], above 0.
    """

    impact_position: Vector
    rotation: Matrix
    direction: Vector
    speed: float
    ramp: float = 0.4
    cruise: float = 0.2

    def __post_init__(self) -> None:
        for name in ("speed", "ramp", "cruise"):
            require_positive(name, getattr(self, name))

    @property
    def impact_time(self) -> float:
        """Nominal impact time [s]."""
        return self.ramp + self.cruise

    def at(self, time: float) -> tuple[Vector, Vector, Vector]:
        """Return position [m], velocity [m/s], acceleration [m/s^2] of the origin of E, each (3,), axes of A."""
        distance = self.speed * (time - 0.5 * self.ramp)
        speed, acceleration = self.speed, 0.0
        if time < self.ramp:
            x = time / self.ramp
            distance = self.speed * self.ramp * x**4 * (2.5 - 3.0 * x + x**2)
            speed = self.speed * x**3 * (10.0 - 15.0 * x + 6.0 * x**2)
            acceleration = self.speed / self.ramp * 30.0 * x**2 * (1.0 - x) ** 2
        left = self.speed * (0.5 * self.ramp + self.cruise) - distance
        position: Vector = self.impact_position - left * self.direction
        return position, speed * self.direction, acceleration * self.direction

    def configuration(self, robot: RobotDescription, position: Vector) -> Vector:
        """Return the joint positions (3,) [rad] of the planar arm, elbow up, with E at a position (3,) [m], axes of A.

        Raises UnreachablePoseError.
        """
        return solve(robot, position, self.rotation, None, _ELBOW_UP)


def planar_approach(angle: float, speed: float, distance: float, height: float) -> StraightApproach:
    """Return the approach of the planar arm to a horizontal surface, with z of E against its normal.

    angle [deg] as in Proper 2021 (3.2): between the path, seen from where it comes, and x of A; 90 is straight down,
    less is towards the base, more is away from it. The path inclines to the surface by `angle` in Rey Arias 2024,
    section III. distance [m] of the impact from the base, height [m] of E at the impact.
    """
    if not 0.0 < angle < 180.0:
        raise InvalidInputError("approach angle", angle, "above 0 and below 180 deg: into the surface")
    radians = math.radians(angle)
    return StraightApproach(
        impact_position=np.array([distance, 0.0, height]),
        rotation=np.diag([1.0, -1.0, -1.0]),
        direction=np.array([-math.cos(radians), 0.0, -math.sin(radians)]),
        speed=speed,
    )


class TaskController:
    """Torque that moves E along an approach: the QP of Proper 2021 (2.62)-(2.66) with one task and no limit active.

    The pose task then is met exactly, ddq = J^-1 (dv_d - dJ dq), and the torque is that of the rigid model that
    belongs to the torque-controlled arm, (M + B_theta) ddq + h: Rey Arias 2024 (8).
    """

    def __init__(
        self, robot: RobotDescription, approach: StraightApproach, stiffness: float = 400.0, damping: float = 40.0
    ) -> None:
        """stiffness [1/s^2], damping [1/s]: k_p, k_d of Proper 2021 (2.66), critically damped by default."""
        self.approach = approach
        self._dynamics = Dynamics(robot)
        self._stiffness = stiffness
        self._damping = damping

    def torque(self, time: float, q: Vector, dq: Vector) -> Vector:
        """Return the torque (n,) [Nm] without gravity, which the arm adds itself; q [rad], dq [rad/s] (n,)."""
        dynamics, task = self._dynamics, list(PLANAR_TASK)
        dynamics.compute(q, dq)
        position, velocity, acceleration = self.approach.at(time)
        turn = pin.log3(self.approach.rotation @ dynamics.rotation.T)
        error = np.concatenate((position - dynamics.position, turn))
        error_rate = np.concatenate((velocity, np.zeros(3))) - dynamics.twist
        desired = np.concatenate((acceleration, np.zeros(3))) + self._damping * error_rate + self._stiffness * error
        ddq = np.linalg.solve(dynamics.jacobian[task], (desired - dynamics.jacobian_rate_velocity)[task])
        torque: Vector = dynamics.inertia(InertiaModel.REDUCED_MOTORS) @ ddq + dynamics.coriolis
        return torque

    def pressing_torque(self, q: Vector, normal: Vector, force: float) -> Vector:
        """Return the torque (n,) [Nm] that presses E with `force` [N] against a surface of `normal` (3,) at q (n,)."""
        self._dynamics.compute(q, np.zeros_like(q))
        torque: Vector = -force * (normal @ self._dynamics.jacobian[:3])
        return torque


OBSERVED = 0.1
"""[s] after the impact: the span of the fit of Rey Arias 2024, section IV."""

_SAMPLE = 1e-3
_NEXT_TO_NOTHING = 1e-9
"""[kg m^2], against some 0.05 of the lightest link: a transmission needs a motor inertia above 0."""


class AfterImpact(StrEnum):
    """Commanded torque after the first contact."""

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
        """q^- (n,) [rad] and dq^- (n,) [rad/s] at first contact."""
        return state_at_contact(self.time, self.link_position, self.link_velocity)

    @property
    def torque_rate_use(self) -> float:
        """Largest change of the command in a sample, over the robot's limit of the torque rate."""
        change = np.abs(np.diff(self.command, axis=0)) / (_SAMPLE * self.robot.limits.torque_rate)
        return float(change.max())


def is_observed(time: float, contact: float, expected: float, duration: float) -> bool:
    """Return whether `duration` [s] are over since first contact.

    time [s] of a plant; contact [s]: when it touched first, NaN before it. Raises ImpactControlError without contact at
    twice the time at which it is expected [s].
    """
    if math.isnan(contact) and time > 2.0 * expected:
        raise ImpactControlError(f"no contact until {time:.3f} s, expected at {expected:.3f} s")
    return time > contact + duration


def state_at_contact(time: Vector, position: Matrix, velocity: Matrix) -> tuple[Vector, Vector]:
    """Return q^- (n,) [rad] and dq^- (n,) [rad/s] at first contact, time 0, from the last sample before it."""
    last = int(np.flatnonzero(time < 0.0)[-1])
    return position[last] - time[last] * velocity[last], velocity[last]


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
    start = approach.configuration(robot, approach.at(0.0)[0])
    options = PlantOptions.of(sample_period=_SAMPLE, largest_step=largest_step, joint_friction=False)
    plant = FlexibleJointPlant(robot, start, surface, options)
    held = np.zeros_like(start)
    rows: list[tuple[Vector, ...]] = []
    while not is_observed(plant.time, plant.first_contact_time, approach.impact_time, duration):
        q, dq = plant.link_position.copy(), plant.link_velocity.copy()
        touched = not math.isnan(plant.first_contact_time)
        if not touched or after is not AfterImpact.HOLD:
            desired = controller.torque(plant.time, q, dq)
            held = _within_limits(robot, desired, held) if after is AfterImpact.LIMIT else desired
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


def _within_limits(robot: RobotDescription, desired: Vector, before: Vector) -> Vector:
    """Return the torque (n,) [Nm] nearest to `desired` that a sample after `before` is within the robot's limits."""
    change = _SAMPLE * robot.limits.torque_rate
    torque: Vector = np.clip(
        np.clip(desired, before - change, before + change), -robot.limits.torque, robot.limits.torque
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
        options=RigidContactOptions(joints=PlantOptions.of(joint_friction=False)),
    )
    normal = response.surface.normal
    touched = Dynamics(response.robot)
    touched.compute(q, dq)
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
