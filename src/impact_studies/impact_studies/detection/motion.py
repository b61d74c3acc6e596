"""The two arms of the benchmark, and what they touch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from impact_control.impacts import ExponentialHuntCrossley
from impact_control.robots import (
    Dynamics,
    InertiaModel,
    RobotDescription,
    contact_point_jacobian,
    load_robot,
    lowest_points,
)
from impact_control.simulation import FlexibleJointPlant, PlantOptions, Surface
from impact_control.util.errors import ImpactControlError
from impact_control.util.types import Matrix, Vector
from impact_studies.models.impacts.materials import Material, sphere_on_plane_stiffness


@dataclass(frozen=True)
class ArmSetting:
    """One arm.

    Attributes:
        robot, end_effector: names of their data files.
        home: q (n,) [rad] around which it moves, the tool pointing down.
        torque_joints: of the torque error, the first is 1: those of Wang 2022, section VI, for the Panda; those next
            to them in the planar arm, which has joints 2, 4 and 6 of it.
        reacting_link: outermost joint about which a normal force on the sphere has a lever. The sphere of the Panda
            lies on the axis of joint 7: without friction no residual tells link 7 from link 6.
        touched_link: where it is touched by somebody.
    """

    robot: str
    end_effector: str
    home: tuple[float, ...]
    torque_joints: tuple[int, ...]
    reacting_link: int
    touched_link: int


ARMS = (
    ArmSetting("planar_rrr", "planar_sphere", (0.785, -1.571, -0.785), (2, 3), 3, 2),
    ArmSetting("panda", "sphere", (0.0, -0.3, 0.0, -2.2, 0.0, 1.9, 0.785), (5, 6), 6, 4),
)

_ALUMINIUM = Material(70e9, 0.33)
_TOOL_RADIUS = 0.02


def _hertz(other: Material, damping_ratio: float) -> ExponentialHuntCrossley:
    stiffness = sphere_on_plane_stiffness(_TOOL_RADIUS, _ALUMINIUM, other)
    return ExponentialHuntCrossley(stiffness, damping_ratio * stiffness, 1.5)


SURFACES = {
    "steel": ExponentialHuntCrossley(3.2e9, 3.2e12, 1.5),
    "nylon": _hertz(Material(2.5e9, 0.4), 100.0),
    "rubber": _hertz(Material(5e6, 0.49), 10.0),
    "foam": _hertz(Material(0.2e6, 0.3), 5.0),
}
"""Laws of the contact with the sphere, hard to soft. Steel: Rey Arias 2024, Table I; the others by Hertz, Proper 2021
(2.39), from usual moduli, with damping of our choice."""

TOUCH = "touch"
"""The fifth contact: somebody touches a link, a pulse instead of a surface."""

CONTACTS = (*SURFACES, TOUCH)
HARD = ("steel", "nylon")
SPEEDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""[m/s] into the surface."""


PERIOD = 1e-3
"""[s] between two samples."""

SUBSTEPS = 4
"""Steps of the plant in a sample where contacts are looked for: closings are known to 0.25 ms."""

BEFORE, AFTER = 0.2, 0.08
"""[s] recorded before and after the first contact."""

FRICTION = 0.3
PULSE = 0.005
"""[s] Length of a touch."""

PULSE_MASS = 2.0
"""[kg] whose momentum at the speed of the case a touch gives."""

LEVER = 0.1
"""[m] of a touch about the joint of the link."""

STIFFNESS, DAMPING = 400.0, 40.0
"""[1/s^2], [1/s] of the controller of the joints."""

LATE = 0.04
"""[s] by which a contact may be late: the arm lags a little behind its reference."""

Reference = Callable[[float], tuple[Vector, Vector, Vector]]


@dataclass(frozen=True, eq=False)
class Record:
    """True motion and the noise of its measurements.

    time (m,) [s]; position, velocity [rad, rad/s], joint_torque, commanded_torque [Nm] (m, n), exact, the latter with
    gravity; noise (3, m, n) of position, velocity and torque in standard deviations, which the controller saw too;
    force (m,) [N]: normal to the surface, or of the touch, its magnitude; closings: times [s] at which a point came
    into contact, rising, empty without; lever (n,) [m]: of the normal force about each joint, NaN without a surface.
    """

    time: Vector
    position: Matrix
    velocity: Matrix
    joint_torque: Matrix
    commanded_torque: Matrix
    noise: NDArray[np.float64]
    force: Vector
    closings: tuple[float, ...]
    lever: Vector


@lru_cache(maxsize=8)
def robot_of(name: str, end_effector: str) -> RobotDescription:
    """Return the description of an arm, read once."""
    return load_robot(name, end_effector)


class _Controller:
    """Torque that moves the joints along a reference: the rigid model of the torque-controlled arm, M + B_theta.

    It compensates the joint friction where there is any, so that slow motions go on at their speed.
    """

    def __init__(self, robot: RobotDescription, joint_friction: bool) -> None:
        self._dynamics = Dynamics(robot)
        self._friction = robot.friction if joint_friction else None
        self._friction_torque = np.zeros(len(robot.joint_names))

    def torque(self, reference: tuple[Vector, Vector, Vector], q: Vector, dq: Vector) -> tuple[Vector, Vector]:
        """Return the torque without gravity, which the arm adds itself, and the gravity torque; each (n,) [Nm]."""
        desired = reference[2] + DAMPING * (reference[1] - dq) + STIFFNESS * (reference[0] - q)
        self._dynamics.compute(q, dq)
        return self._driven(InertiaModel.REDUCED_MOTORS, desired, reference[1]), self._dynamics.gravity

    def spring_torque(self, reference: tuple[Vector, Vector, Vector]) -> Vector:
        """Return the torque (n,) [Nm] of the springs, gravity included, with which the links follow the reference."""
        self._dynamics.compute(reference[0], reference[1])
        return self._driven(InertiaModel.LINKS, reference[2], reference[1]) + self._dynamics.gravity

    def _driven(self, inertia: InertiaModel, acceleration: Vector, velocity: Vector) -> Vector:
        torque: Vector = self._dynamics.inertia(inertia) @ acceleration + self._dynamics.coriolis
        if self._friction is not None:
            torque += self._friction.torque(velocity, self._friction_torque)
        return torque


def impact_record(
    arm: ArmSetting,
    contact: str,
    speed: float,
    joint_friction: bool,
    seed: int,
    end_effector: str | None = None,
    nothing_there: bool = False,
) -> Record:
    """Move the tool straight into a surface at `speed` [m/s], or touch a link on the way.

    Place, direction, tilt of the surface and the phase of the samples are random. With nothing_there the same motion
    with the same noise meets neither surface nor touch. Raises ImpactControlError when nothing was touched otherwise.
    """
    random = np.random.default_rng(seed)
    robot = robot_of(arm.robot, end_effector or arm.end_effector)
    planar = arm.robot.startswith("planar")
    q_impact = np.array(arm.home) + random.uniform(-0.2, 0.2, len(arm.home))
    dynamics = Dynamics(robot)
    dynamics.compute(q_impact, np.zeros_like(q_impact))
    tilt = random.uniform(-0.3, 0.3, 2) * (1.0, 0.0 if planar else 1.0)
    normal = np.array([*tilt, 1.0]) / math.hypot(1.0, *tilt)
    if end_effector is not None:
        # Along the tool, less a few degrees: the points touch one after the other.
        turn = math.radians(random.choice([-1.0, 1.0]) * random.uniform(2.0, 8.0))
        normal = pin.exp3(np.array([0.0, turn, 0.0])) @ -dynamics.rotation[:, 2]
    slide = np.cross(normal, [0.0, 1.0, 0.0]) * random.uniform(-0.5, 0.5) * speed
    twist = np.concatenate((slide - speed * normal, np.zeros(3)))
    dq_impact = np.linalg.pinv(dynamics.jacobian) @ twist
    lead = BEFORE + random.uniform(0.0, PERIOD)
    tool = robot.end_effector
    points = dynamics.position + lowest_points(tool.contact_points, tool.radius, dynamics.rotation, normal)
    nearest = points[np.argmin(points @ normal)]
    surface = None if contact == TOUCH else Surface(nearest, normal, SURFACES[contact], FRICTION)

    def reference(time: float) -> tuple[Vector, Vector, Vector]:
        return q_impact + (time - lead) * dq_impact, dq_impact, np.zeros_like(dq_impact)

    push = _Touch(robot, arm.touched_link, speed, lead, random) if contact == TOUCH else None
    options = PlantOptions.of(sample_period=PERIOD / SUBSTEPS, refresh_ticks=1, joint_friction=joint_friction)
    duration = lead + LATE + AFTER
    if nothing_there:
        return _run(robot, reference, duration, None, options, None, random)
    record = _run(robot, reference, duration, surface, options, push, random)
    if not record.closings:
        raise ImpactControlError(f"no contact of {arm.robot} with {contact} at {speed} m/s, seed {seed}")
    if surface is not None:
        to_contact = contact_point_jacobian(dynamics.jacobian, nearest - tool.radius * normal - dynamics.position)
        record = replace(record, lever=np.abs(normal @ to_contact))
    return _until(record, record.closings[0] + AFTER)


def _until(record: Record, end: float) -> Record:
    rows = slice(0, int(np.searchsorted(record.time, end)))
    sampled = ("time", "position", "velocity", "joint_torque", "commanded_torque", "force")
    cut = {name: getattr(record, name)[rows] for name in sampled}
    closings = tuple(t for t in record.closings if t < end)
    return replace(record, **cut, noise=record.noise[:, rows], closings=closings)


def free_record(arm: ArmSetting, joint_friction: bool, duration: float, seed: int, at_rest: bool = False) -> Record:
    """Move all joints vigorously without contact for `duration` [s]: three sines each, up to about 1.3 rad/s.

    Amplitudes fall with the frequency, 0.1 to 2.5 Hz, so that each sine has its share of the speed. at_rest: hold home.
    """
    random = np.random.default_rng(seed)
    robot = robot_of(arm.robot, arm.end_effector)
    home = np.array(arm.home)
    frequency = 2.0 * math.pi * random.uniform([[0.1], [0.5], [1.2]], [[0.5], [1.2], [2.5]], (3, home.size))
    speed = random.uniform(0.2, 0.45, (3, home.size)) * (0.0 if at_rest else 1.0)
    phase = random.uniform(0.0, 2.0 * math.pi, (3, home.size))

    amplitude, acceleration = speed / frequency, speed * frequency

    def reference(time: float) -> tuple[Vector, Vector, Vector]:
        angle = frequency * time + phase
        sine = np.sin(angle)
        return (
            home + (amplitude * sine).sum(axis=0),
            (speed * np.cos(angle)).sum(axis=0),
            -(acceleration * sine).sum(axis=0),
        )

    return _run(robot, reference, duration, None, PlantOptions.of(joint_friction=joint_friction), None, random)


class _Touch:
    """A half sine of force on a link: its torque on the joints (n,) [Nm]."""

    def __init__(
        self, robot: RobotDescription, link: int, speed: float, start: float, random: np.random.Generator
    ) -> None:
        self.start = start
        self._robot, self._link = robot, link
        self._data = robot.pinocchio_model.createData()
        self._peak = math.copysign(0.5 * math.pi * PULSE_MASS * speed / PULSE, random.uniform(-1.0, 1.0))
        self._angle = random.uniform(0.0, 2.0 * math.pi)

    def force(self, time: float) -> float:
        """Return the force [N] along its direction."""
        since = time - self.start
        return self._peak * math.sin(math.pi * since / PULSE) if 0.0 <= since <= PULSE else 0.0

    def torque(self, time: float, q: Vector) -> Vector:
        """Return J^T f for a point LEVER beside the axis of the joint, force across both."""
        force = self.force(time)
        if force == 0.0:
            return np.zeros_like(q)
        model, data = self._robot.pinocchio_model, self._data
        pin.computeJointJacobians(model, data, q)
        jacobian = pin.getJointJacobian(model, data, self._link, pin.LOCAL_WORLD_ALIGNED)
        axis = jacobian[3:, self._link - 1]
        beside = np.linalg.svd(axis[None, :])[2][1:]
        radius = math.cos(self._angle) * beside[0] + math.sin(self._angle) * beside[1]
        torque: Vector = contact_point_jacobian(jacobian, LEVER * radius).T @ (force * np.cross(axis, radius))
        return torque


def _set_moving(plant: FlexibleJointPlant, controller: _Controller, reference: Reference) -> None:
    """Put the arm on the reference at time 0 with the twist of its joints that goes with it, so that nothing rings."""
    stiffness = plant.robot.transmission.stiffness
    torque, next_torque = controller.spring_torque(reference(0.0)), controller.spring_torque(reference(PERIOD))
    _, velocity, _ = reference(0.0)
    plant.link_velocity[:] = velocity
    plant.motor_position[:] = plant.link_position + torque / stiffness
    plant.motor_velocity[:] = velocity + (next_torque - torque) / (PERIOD * stiffness)
    plant.filtered_torque[:] = torque


def _run(
    robot: RobotDescription,
    reference: Reference,
    duration: float,
    surface: Surface | None,
    options: PlantOptions,
    push: _Touch | None,
    random: np.random.Generator,
) -> Record:
    """Simulate a motion; the controller sees the published noise."""
    controller = _Controller(robot, options.joint_friction)
    plant = FlexibleJointPlant(robot, reference(0.0)[0], surface, options)
    _set_moving(plant, controller, reference)
    count = round(duration / PERIOD) + 1
    noise = np.clip(random.standard_normal((3, count, len(robot.joint_names))), -3.0, 3.0)
    widths = robot.noise
    position_noise, velocity_noise = noise[0] * widths.position / 3.0, noise[1] * widths.velocity / 3.0
    rows, force = np.zeros((4, *noise.shape[1:])), np.zeros(count)
    time: Vector = PERIOD * np.arange(count, dtype=np.float64)
    closings: list[float] = []
    gaps = plant.gaps.copy()
    for k in range(count):
        q, dq = plant.link_position, plant.link_velocity
        measured = q + position_noise[k], dq + velocity_noise[k]
        torque, gravity = controller.torque(reference(float(time[k])), *measured)
        rows[0, k], rows[1, k], rows[2, k], rows[3, k] = q, dq, plant.motor_position, torque + gravity
        force[k] = plant.normal_force if push is None else abs(push.force(float(time[k])))
        for step in range(round(PERIOD / options.sample_period)):
            if push is not None:
                plant.external_torque[:] = push.torque(float(time[k]) + step * options.sample_period, q)
            plant.step(torque)
            if surface is not None:
                if np.any((plant.gaps <= 0.0) & (gaps > 0.0)):
                    closings.append(plant.time)
                gaps[:] = plant.gaps
    if push is not None:
        closings = [push.start]
    elif closings:
        # The first is known better than to the step.
        closings[0] = plant.first_contact_time
    joint_torque = robot.transmission.stiffness * (rows[2] - rows[0])
    no_lever = np.full(rows.shape[2], math.nan)
    return Record(time, rows[0], rows[1], joint_torque, rows[3], noise, force, tuple(closings), no_lever)
