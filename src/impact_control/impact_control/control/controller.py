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

from impact_control.control.contact_force import NO_FORCE, ContactForce
from impact_control.control.qp import AccelerationQP, QPStatus
from impact_control.errors import InvalidInputError
from impact_control.references import ImpactReference, ReferenceColumns
from impact_control.robots import Dynamics, RobotDescription
from impact_control.types import Vector


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
        self._weights = np.repeat(
            [p.position_weight, p.orientation_weight, p.posture_weight], [3, 3, 1]
        ).astype(float)
        self._task_matrix = np.zeros((7, n))
        self._task_matrix[6, 0] = 1.0
        self._target = np.zeros(7)
        self._joint_matrix = np.eye(n)
        self._joint_target = np.zeros(n)
        self._joint_weights = np.ones(n)
        self._feedforward = np.zeros(n)
        self._force_torque = np.zeros(n)
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
        self._last_torque = np.zeros(n)

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
        self._last_torque[:] = 0.0
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
        for j in range(self._last_torque.size):
            rate = abs(self.qp.torque[j] - self._last_torque[j]) / self._parameters.period
            if rate > self.peak_torque_rate:
                self.peak_torque_rate = rate
        self._last_torque[:] = self.qp.torque

    def damp(self, velocity: Vector) -> None:
        """Command damping for a sample whose dynamics cannot be computed; velocity may be not finite."""
        self.qp.damp(velocity)
        self._last_torque[:] = self.qp.torque

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
        self._feedforward *= self._parameters.friction_compensation
        self._feedforward += dynamics.coriolis

    def _hold(self, dynamics: Dynamics, time: float, position: Vector, velocity: Vector) -> None:
        if self._hold_pending:
            self._hold_pending = False
            self._hold_position[:] = position
            self._hold_velocity[:] = velocity if self.mode is Mode.STOPPED else 0.0
            self._hold_time = time
        rate = self._parameters.stop_rate
        decay = math.exp(-rate * max(0.0, time - self._hold_time))
        gain = self._parameters.hold_gain
        damping = 2.0 * math.sqrt(gain)
        # Joint configuration task, Proper 2021 (2.67), (2.68), on q(t) = q0 + dq0 (1 - exp(-rate t)) / rate.
        target = self._joint_target
        np.multiply(self._hold_velocity, (1.0 - decay) / rate, out=target)
        target += self._hold_position
        target -= position
        target *= gain
        for j in range(target.size):
            wanted = self._hold_velocity[j] * decay
            target[j] += damping * (wanted - velocity[j]) - rate * wanted
        self.force[:] = 0.0
        self.qp.solve(
            dynamics, position, velocity, self._joint_matrix, target, self._joint_weights, self._feedforward
        )

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
        self._errors(dynamics, wanted, reference)
        k, gamma, target = p.position_gain, self.gamma, self._target
        # (15), (23), (25): position; (16) with the sign of the Errata: orientation; (17): joint 1.
        np.multiply(self.velocity_error, 2.0 * math.sqrt(k) * gamma, out=target[:3])
        target[:3] += wanted.acceleration
        target[:3] += k * self.position_error
        k = p.orientation_gain
        np.subtract(wanted.angular_velocity, dynamics.twist[3:], out=target[3:6])
        target[3:6] *= 2.0 * math.sqrt(k) * gamma
        target[3:6] += wanted.angular_acceleration
        target[3:6] += k * self.orientation_error
        k = p.posture_gain
        target[6] = (
            wanted.posture[2]
            + 2.0 * math.sqrt(k) * gamma * (wanted.posture[1] - velocity[0])
            + k * (wanted.posture[0] - position[0])
        )
        target[:6] -= dynamics.jacobian_rate_velocity
        self._task_matrix[:6] = dynamics.jacobian
        if ante:
            self.force[:] = 0.0
        else:
            self._press(dynamics, wanted)
        self.qp.solve(
            dynamics, position, velocity, self._task_matrix, target, self._weights, self._feedforward
        )

    def _errors(self, dynamics: Dynamics, wanted: ReferenceColumns, reference: ImpactReference) -> None:
        np.subtract(wanted.position, dynamics.position, out=self.position_error)
        np.subtract(wanted.velocity, dynamics.twist[:3], out=self.velocity_error)
        # R_ref = exp(phi) R_d; log(R_ref R^T) is in the axes of A, as omega is, and equals R log(R^T R_ref).
        wanted_rotation = pin.exp3(wanted.orientation) @ reference.geometry.orientation
        self.orientation_error[:] = pin.log3(wanted_rotation @ dynamics.rotation.T)

    def _press(self, dynamics: Dynamics, wanted: ReferenceColumns) -> None:
        """Add the acceleration that exerts the contact force, van Steen 2024 (26), (27).

        Lambda^-1 f = J (M + B_theta)^-1 J^T f; the same joint acceleration also enters the posture task, so
        that the three tasks together ask for exactly J^T f of torque.
        """
        self._force.wrench(wanted.velocity, self._wrench)
        self.force[:] = self._wrench[:3]
        np.matmul(dynamics.jacobian.T, self._wrench, out=self._force_torque)
        self._force_acceleration[:] = np.linalg.solve(self.qp.inertia, self._force_torque)
        self._target[:6] += dynamics.jacobian @ self._force_acceleration
        self._target[6] += self._force_acceleration[0]
