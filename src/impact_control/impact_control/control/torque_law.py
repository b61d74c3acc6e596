"""From what is wanted to a joint torque: task errors, contact force and feed-forward, put to the QP.

Van Steen 2024 (15)-(18), (22), (26), (27).
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from impact_control.control.contact_force import ContactForce
from impact_control.control.laws import add_force, hold_target, scale_and_add, task_target, tracking_target
from impact_control.control.parameters import ControlParameters
from impact_control.control.qp import AccelerationQP, QPStatus
from impact_control.references import ReferenceColumns
from impact_control.robots import Dynamics, RobotDescription
from impact_control.types import Matrix, Vector


class TorqueLaw:
    """Serves a task or a motion of the joints for one sample; all work arrays are made in the constructor.

    `take` comes first in each sample. Attributes after one of the others: qp (torque, status, limited),
    position_error, velocity_error, orientation_error (3,) in frame A [m, m/s, rad], force (3,) [N] on the environment,
    failures (problems in a row that the QP could not solve).
    """

    def __init__(self, robot: RobotDescription, parameters: ControlParameters) -> None:
        n = len(robot.joint_names)
        self._friction = robot.friction
        self._dynamics = Dynamics(robot)
        self._position, self._velocity = np.zeros(n), np.zeros(n)
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
        self._wrench = np.zeros(6)
        self.failures = 0
        self.force_acceleration = np.zeros(n)
        self.force = np.zeros(3)
        self.position_error = np.zeros(3)
        self.velocity_error = np.zeros(3)
        self.orientation_error = np.zeros(3)

    def reset(self) -> None:
        """Forget errors and the last command."""
        self.qp.reset()
        self.failures = 0
        for values in (self.force, self.position_error, self.velocity_error, self.orientation_error):
            values[:] = 0.0

    def take(self, dynamics: Dynamics, position: Vector, velocity: Vector) -> None:
        """Take the sample that is to be answered: its dynamics, position and velocity (n,) [rad, rad/s]; no copies."""
        self._dynamics, self._position, self._velocity = dynamics, position, velocity
        self.qp.update_inertia(dynamics)
        # van Steen 2024 (22) without gravity: inertia ddq + C dq, plus the part of the friction that is known.
        self._friction.torque(velocity, self._feedforward)
        scale_and_add(self._feedforward, self._parameters.friction_compensation, dynamics.coriolis)

    def serve_task(
        self, wanted: ReferenceColumns, rotation: Matrix, gamma: float, force: ContactForce, share: float
    ) -> None:
        """Ask for position, orientation and joint 1 of `wanted`, and for a share of the contact force.

        rotation (3, 3): wanted axes of E as columns. gamma [-]: part of the velocity feedback, (23). share [-] from 0
        to 1.
        """
        dynamics, position, velocity = self._dynamics, self._position, self._velocity
        # log(R_ref R^T) is in the axes of A, as omega is, and equals R log(R^T R_ref).
        self.orientation_error[:] = pin.log3(rotation @ dynamics.rotation.T)
        task_target(
            wanted.data, dynamics.position, dynamics.twist, self.orientation_error, dynamics.jacobian_rate_velocity,
            position[0], velocity[0], self._gains, gamma, self.position_error, self.velocity_error, self._target,
        )  # fmt: skip
        self._task_matrix[:6] = dynamics.jacobian
        self.force[:] = 0.0
        if share > 0.0:
            self._press(wanted, force, share)
        self._solve(self._task_matrix, self._target, self._weights)

    def _press(self, wanted: ReferenceColumns, force: ContactForce, share: float) -> None:
        """Add the acceleration that exerts a share of the contact force, (26), (27).

        Its joint acceleration also enters the posture task, so that the three tasks together ask for exactly
        J^T f of torque.
        """
        force.wrench(wanted.velocity, self._wrench)
        self._wrench *= share
        self.force[:] = self._wrench[:3]
        add_force(self._dynamics.jacobian, self.qp.inertia, self._wrench, self.force_acceleration, self._target)

    def decay(self, start: Vector, start_velocity: Vector, elapsed: float) -> None:
        """Let the joint velocities (n,) [rad/s] decay from those at the start, `elapsed` [s] ago, and hold."""
        p = self._parameters
        hold_target(
            self._position, self._velocity, start, start_velocity, elapsed, p.stop_rate, p.hold_gain,
            self._joint_target,
        )  # fmt: skip
        self._serve_joints()

    def track(self, wanted: Vector, wanted_velocity: Vector, wanted_acceleration: Vector) -> None:
        """Ask for a motion of the joints, (n,) each [rad, rad/s, rad/s^2]."""
        tracking_target(
            self._position, self._velocity, wanted, wanted_velocity, wanted_acceleration, self._parameters.hold_gain,
            self._joint_target,
        )  # fmt: skip
        self._serve_joints()

    def note_error(self, place: Vector) -> None:
        """Report how far E is from a place (3,) [m] at rest, for motions of the joints."""
        np.subtract(place, self._dynamics.position, out=self.position_error)
        np.negative(self._dynamics.twist[:3], out=self.velocity_error)

    def _serve_joints(self) -> None:
        self.orientation_error[:] = 0.0
        self.force[:] = 0.0
        self._solve(self._joint_matrix, self._joint_target, self._joint_weights)

    def _solve(self, matrix: Matrix, target: Vector, weights: Vector) -> None:
        self.qp.solve(self._dynamics, self._position, self._velocity, matrix, target, weights, self._feedforward)
        self.failures = self.failures + 1 if self.qp.status is QPStatus.FAILED else 0
