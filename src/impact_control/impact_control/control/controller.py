"""Reference-spreading control of one arm: ante-impact, interim and post-impact mode in one QP.

Van Steen 2024 section IV-B, with the corrections of the Errata and with the full twist and joint 1 taken
through the impact map (Proper 2021 (3.16)-(3.18)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import pinocchio as pin

from impact_control.compiled import compiled
from impact_control.control.contact_force import NO_FORCE, ContactForce
from impact_control.control.qp import AccelerationQP, QPStatus
from impact_control.errors import InvalidInputError
from impact_control.references import ImpactReference, ReferenceColumns
from impact_control.robots import Dynamics, RobotDescription
from impact_control.types import Matrix, Vector


class Mode(IntEnum):
    """What the controller does; constants of impact_msgs/ControllerReference."""

    IDLE = 0
    ANTE = 1
    INTERIM = 2
    POST = 3
    STOPPED = 4
    FAULT = 5


class Fault(IntEnum):
    """Why it is in Mode.FAULT; constants of impact_msgs/ControllerStatus."""

    NONE = 0
    STATE_NOT_FINITE = 1
    STATE_WRONG_SIZE = 2
    STATE_JOINT_NAMES = 3
    STATE_STALE = 4
    STATE_OUT_OF_LIMITS = 5
    QP_FAILED = 6
    INTERNAL = 7


@dataclass(frozen=True)
class ControlParameters:
    """Gains and limits of the law.

    position_gain, orientation_gain, posture_gain, hold_gain: k of van Steen 2024 (15)-(17) [1/s^2]; the
    velocity gain is 2 sqrt(k). weights w_p, w_theta, w_q [-] of (18). interim_duration Delta t_int [s] of (24).
    friction_compensation [0..1]: part of the robot's friction model that is fed forward.
    stop_rate [1/s]: decay of the joint velocity in a stop. stop_damping (n,) [Nm s/rad]: for faults.
    acceleration_limit (n,) [rad/s^2]. period [s].
    qp_failures: consecutive failed problems after which the controller gives up.
    """

    position_gain: float
    orientation_gain: float
    posture_gain: float
    position_weight: float
    orientation_weight: float
    posture_weight: float
    interim_duration: float
    friction_compensation: float
    stop_rate: float
    stop_damping: Vector
    acceleration_limit: Vector
    hold_gain: float = 400.0
    period: float = 1e-3
    qp_failures: int = 5

    def __post_init__(self) -> None:
        for name in ("position_gain", "orientation_gain", "posture_gain", "hold_gain", "stop_rate", "period"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise InvalidInputError(name, value, "a finite number above 0")
        for name in ("position_weight", "orientation_weight", "posture_weight", "interim_duration"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise InvalidInputError(name, value, "a finite number of at least 0")
        if not 0.0 <= self.friction_compensation <= 1.0:
            raise InvalidInputError("friction_compensation", self.friction_compensation, "a number in [0, 1]")


@compiled
def _task_target(
    wanted: Vector,
    position: Vector,
    twist: Vector,
    orientation_error: Vector,
    jacobian_rate_velocity: Vector,
    joint_1: float,
    joint_1_velocity: float,
    gains: Vector,
    gamma: float,
    position_error: Vector,
    velocity_error: Vector,
    target: Vector,
) -> None:
    """Write what J ddq (6,) and ddq_1 are to be into target (7,), and the errors (3,) of position and velocity.

    Van Steen 2024 (15), (23), (25) for the position, (16) with the sign of the Errata for the orientation,
    (17) for joint 1, each solved for the acceleration; dJ dq is taken to the right side, (2).
    wanted: one row of a reference, see `references.ReferenceColumns`. gains (3,): k_p, k_theta, k_q.
    """
    for i in range(3):
        position_error[i] = wanted[i] - position[i]
        velocity_error[i] = wanted[3 + i] - twist[i]
        turning_error = wanted[12 + i] - twist[3 + i]
        target[i] = (
            wanted[6 + i]
            + 2.0 * math.sqrt(gains[0]) * gamma * velocity_error[i]
            + gains[0] * position_error[i]
            - jacobian_rate_velocity[i]
        )
        target[3 + i] = (
            wanted[15 + i]
            + 2.0 * math.sqrt(gains[1]) * gamma * turning_error
            + gains[1] * orientation_error[i]
            - jacobian_rate_velocity[3 + i]
        )
    target[6] = (
        wanted[20]
        + 2.0 * math.sqrt(gains[2]) * gamma * (wanted[19] - joint_1_velocity)
        + gains[2] * (wanted[18] - joint_1)
    )


@compiled
def _scale_and_add(values: Vector, factor: float, addend: Vector) -> None:
    """Replace values (n,) by factor values + addend."""
    for i in range(values.shape[0]):
        values[i] = factor * values[i] + addend[i]


@compiled
def _hold_target(
    position: Vector, velocity: Vector, start: Vector, start_velocity: Vector, elapsed: float, rate: float,
    gain: float, target: Vector,
) -> None:  # fmt: skip
    """Write the joint accelerations (n,) that follow q(t) = q0 + dq0 (1 - exp(-rate t)) / rate.

    Joint configuration task, Proper 2021 (2.67), (2.68), critically damped.
    """
    decay = math.exp(-rate * max(0.0, elapsed))
    for j in range(target.shape[0]):
        wanted_velocity = start_velocity[j] * decay
        wanted = start[j] + start_velocity[j] * (1.0 - decay) / rate
        target[j] = (
            -rate * wanted_velocity
            + 2.0 * math.sqrt(gain) * (wanted_velocity - velocity[j])
            + gain * (wanted - position[j])
        )


@compiled
def _add_force(jacobian: Matrix, inertia: Matrix, wrench: Vector, acceleration: Vector, target: Vector) -> None:
    """Add Lambda^-1 f = J (M + B_theta)^-1 J^T f to target[:6] and its share of joint 1 to target[6].

    Van Steen 2024 (26), (27). wrench (6,); acceleration (n,): (M + B_theta)^-1 J^T f, overwritten.
    """
    n = inertia.shape[0]
    for j in range(n):
        acceleration[j] = 0.0
        for i in range(6):
            acceleration[j] += jacobian[i, j] * wrench[i]
    acceleration[:] = np.linalg.solve(inertia, acceleration)
    for i in range(6):
        for j in range(n):
            target[i] += jacobian[i, j] * acceleration[j]
    target[6] += acceleration[0]


class ReferenceSpreadingController:
    """Computes one joint torque a sample. All work arrays are made in the constructor.

    Life: `reset` at activation -> IDLE, holding the pose of the first sample; `start` -> ANTE; the first
    `impact` -> INTERIM for Delta t_int -> POST; `stop` -> STOPPED from anywhere; `fail` -> FAULT until `reset`.

    Attributes after `update`: torque (n,) [Nm] without gravity, mode, fault, task_time [s], gamma [-],
    position_error, velocity_error, orientation_error (3,) in frame A, qp (status, limited), force (3,) [N].
    """

    def __init__(self, robot: RobotDescription, parameters: ControlParameters) -> None:
        n = len(robot.joint_names)
        self._robot = robot
        self._parameters = p = parameters
        self.qp = AccelerationQP(robot, p.period, p.acceleration_limit, p.stop_damping)
        self._gains = np.array([p.position_gain, p.orientation_gain, p.posture_gain])
        self._weights = np.repeat([p.position_weight, p.orientation_weight, p.posture_weight], [3, 3, 1]).astype(float)
        self._task_matrix = np.zeros((7, n))
        self._task_matrix[6, 0] = 1.0
        self._target = np.zeros(7)
        self._joint_matrix = np.eye(n)
        self._joint_target = np.zeros(n)
        self._joint_weights = np.ones(n)
        self._feedforward = np.zeros(n)
        self._force_acceleration = np.zeros(n)
        self._wrench = np.zeros(6)
        self._hold_position = np.zeros(n)
        self._hold_velocity = np.zeros(n)
        self._hold_time = 0.0
        self._reference: ImpactReference | None = None
        self._force = NO_FORCE
        self.ante = ReferenceColumns.one_sample(n)
        self.post = ReferenceColumns.one_sample(n)
        self.mode = Mode.IDLE
        self.fault = Fault.NONE
        self.task_time = 0.0
        self.gamma = 1.0
        self.force = np.zeros(3)
        self.position_error = np.zeros(3)
        self.velocity_error = np.zeros(3)
        self.orientation_error = np.zeros(3)
        self.peak_torque_rate = 0.0
        self._start_time = 0.0
        self._impact_time = math.nan
        self._consecutive_failures = 0
        self._hold_pending = True

    @property
    def torque(self) -> Vector:
        """Commanded torque (n,) [Nm], without gravity."""
        return self.qp.torque

    @property
    def reference(self) -> ImpactReference | None:
        """Reference of the task that runs or ran last."""
        return self._reference

    def reset(self) -> None:
        """Back to IDLE with all buffers cleared; the pose of the next sample is held."""
        self.qp.reset()
        self._reference = None
        self.mode = Mode.IDLE
        self.fault = Fault.NONE
        self.task_time = 0.0
        self.gamma = 1.0
        self.force[:] = 0.0
        self.position_error[:] = 0.0
        self.velocity_error[:] = 0.0
        self.orientation_error[:] = 0.0
        self.peak_torque_rate = 0.0
        self._consecutive_failures = 0
        self._hold_pending = True

    def start(self, reference: ImpactReference, force: ContactForce, time: float) -> None:
        """Begin the task at `time` [s] of the samples' clock; `force` is exerted after the impact."""
        self._reference = reference
        self._force = force
        self._start_time = time
        self._impact_time = math.nan
        self.peak_torque_rate = 0.0
        self.task_time = 0.0
        self.mode = Mode.ANTE

    def impact(self, time: float) -> bool:
        """An impact was detected at `time` [s]: in ANTE go to INTERIM. True when the mode changed."""
        if self.mode is not Mode.ANTE:
            return False
        self._impact_time = time
        self.mode = Mode.INTERIM
        return True

    def stop(self) -> None:
        """Let the joint velocities decay and hold where that ends."""
        if self.mode not in (Mode.FAULT, Mode.STOPPED):
            self.mode = Mode.STOPPED
            self._hold_pending = True

    def fail(self, fault: Fault) -> None:
        """Damp the joints and accept nothing until `reset`. The first fault is kept."""
        if self.mode is not Mode.FAULT:
            self.mode = Mode.FAULT
            self.fault = fault

    def update(self, dynamics: Dynamics, time: float, position: Vector, velocity: Vector) -> None:
        """Compute the torque for one sample; `dynamics` holds the terms of this sample.

        time [s] of the sample; position (n,) [rad]; velocity (n,) [rad/s].
        """
        if self.mode is Mode.FAULT:
            self.qp.damp(velocity)
        else:
            self.qp.update_inertia(dynamics)
            self._feed_forward(dynamics, velocity)
            if self.mode in (Mode.ANTE, Mode.INTERIM, Mode.POST) and self._reference is not None:
                self._follow(dynamics, time, position, velocity)
            else:
                self._hold(dynamics, time, position, velocity)
            self._watch_solver()
        self.peak_torque_rate = max(self.peak_torque_rate, self.qp.change / self._parameters.period)

    def damp(self, velocity: Vector) -> None:
        """Command damping for a sample whose dynamics cannot be computed; velocity may be not finite."""
        self.qp.damp(velocity)

    def _watch_solver(self) -> None:
        if self.qp.status is QPStatus.FAILED:
            self._consecutive_failures += 1
            if self._consecutive_failures >= self._parameters.qp_failures:
                self.fail(Fault.QP_FAILED)
        else:
            self._consecutive_failures = 0

    def _feed_forward(self, dynamics: Dynamics, velocity: Vector) -> None:
        # van Steen 2024 (22) without gravity: inertia ddq + C dq, plus the part of the friction that is known.
        self._robot.friction.torque(velocity, self._feedforward)
        _scale_and_add(self._feedforward, self._parameters.friction_compensation, dynamics.coriolis)

    def _hold(self, dynamics: Dynamics, time: float, position: Vector, velocity: Vector) -> None:
        if self._hold_pending:
            self._hold_pending = False
            self._hold_position[:] = position
            self._hold_velocity[:] = velocity if self.mode is Mode.STOPPED else 0.0
            self._hold_time = time
            for reference in (self.ante, self.post):
                reference.data[:] = 0.0
                reference.position[:] = dynamics.position
                reference.joint_position[:] = position
        np.subtract(self.post.position, dynamics.position, out=self.position_error)
        np.negative(dynamics.twist[:3], out=self.velocity_error)
        p = self._parameters
        target = self._joint_target
        _hold_target(
            position, velocity, self._hold_position, self._hold_velocity, time - self._hold_time, p.stop_rate,
            p.hold_gain, target,
        )  # fmt: skip
        self.force[:] = 0.0
        self.qp.solve(dynamics, position, velocity, self._joint_matrix, target, self._joint_weights, self._feedforward)

    def _follow(self, dynamics: Dynamics, time: float, position: Vector, velocity: Vector) -> None:
        p = self._parameters
        reference = self._reference
        if reference is None:
            return
        self.task_time = t = time - self._start_time
        reference.ante.sample(t, self.ante)
        reference.post.sample(t, self.post)
        self.gamma = 1.0
        if self.mode is Mode.INTERIM:
            elapsed = time - self._impact_time
            if elapsed >= p.interim_duration:
                self.mode = Mode.POST
            else:
                self.gamma = max(0.0, elapsed / p.interim_duration)  # van Steen 2024 (24)
        ante = self.mode is Mode.ANTE
        wanted = self.ante if ante else self.post
        # R_ref = exp(phi) R_d; log(R_ref R^T) is in the axes of A, as omega is, and equals R log(R^T R_ref).
        wanted_rotation = pin.exp3(wanted.orientation) @ reference.geometry.orientation
        self.orientation_error[:] = pin.log3(wanted_rotation @ dynamics.rotation.T)
        _task_target(
            wanted.data, dynamics.position, dynamics.twist, self.orientation_error, dynamics.jacobian_rate_velocity,
            position[0], velocity[0], self._gains, self.gamma, self.position_error, self.velocity_error, self._target,
        )  # fmt: skip
        self._task_matrix[:6] = dynamics.jacobian
        if ante:
            self.force[:] = 0.0
        else:
            self._press(dynamics, wanted)
        self.qp.solve(dynamics, position, velocity, self._task_matrix, self._target, self._weights, self._feedforward)

    def _press(self, dynamics: Dynamics, wanted: ReferenceColumns) -> None:
        """Add the acceleration that exerts the contact force, van Steen 2024 (26), (27).

        Its joint acceleration also enters the posture task, so that the three tasks together ask for exactly
        J^T f of torque.
        """
        self._force.wrench(wanted.velocity, self._wrench)
        self.force[:] = self._wrench[:3]
        _add_force(dynamics.jacobian, self.qp.inertia, self._wrench, self._force_acceleration, self._target)
