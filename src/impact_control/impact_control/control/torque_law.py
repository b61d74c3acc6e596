"""From desired motion and force to a joint torque: tasks, contact force and feed-forward, put to the QP.

Van Steen 2024 (15)-(18), (22), (26), (27).
"""

from __future__ import annotations

import numpy as np

from impact_control.control.contact_force import DesiredForce
from impact_control.control.qp import AccelerationQP, QPStatus
from impact_control.control.tasks import JointTask, OrientationTask, PositionTask, PostureTask, TaskStack
from impact_control.references import ReferenceColumns
from impact_control.robots import Dynamics, RobotDescription
from impact_control.scenario import Control, Feedback, largest_gain
from impact_control.util.checks import require_positive
from impact_control.util.compiled import compiled
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

_FAILED = QPStatus.FAILED


@compiled
def _feed_forward(friction: Vector, share: float, nonlinear: Vector, gravity: Vector) -> None:
    """Replace the friction torque (n,) by its share that is compensated, plus C dq: nonlinear terms less gravity."""
    for i in range(friction.shape[0]):
        friction[i] = share * friction[i] + (nonlinear[i] - gravity[i])


def fault_damping(control: Control, robot: RobotDescription, home: Vector) -> Vector:
    """Return the damping (n,) [Nm s/rad] of a fault: the rate of a stop times the inertia of each joint.

    home (n,) [rad]: configuration of that inertia.
    """
    dynamics = Dynamics(robot)
    dynamics.compute(home, np.zeros_like(home))
    inertia = np.diag(dynamics.mass_matrix) + robot.transmission.reduced_motor_inertia
    damping: Vector = control.stop_damping * inertia
    return damping


class TorqueLaw:
    """Serves a task or a motion of the joints for one sample; all work arrays are made in the constructor.

    `take` comes first in each sample. Attributes after one of the others: qp (torque, status, limited),
    position_error, velocity_error, orientation_error (3,) in frame A [m, m/s, rad], force (3,) [N] on the environment,
    as much of the desired one as the limits leave, failures (problems in a row that the QP could not solve).
    """

    def __init__(self, robot: RobotDescription, control: Control, home: Vector) -> None:
        """home: see `fault_damping`."""
        n = len(robot.joint_names)
        self._friction = robot.friction.reduced(robot.transmission)
        self._dynamics = Dynamics(robot)
        gains, weights = control.gains, control.weights
        self._largest_gain = largest_gain(control.cutoff_frequency)
        self._friction_share = control.friction_compensation
        self._in_joints = control.feedback is Feedback.JOINT_SPACE
        damping = fault_damping(control, robot, home)
        self.qp = AccelerationQP(
            robot, control.period, control.max_joint_acceleration, damping, control.cutoff_frequency
        )
        nothing = ReferenceColumns.one_sample(n)
        self._position_task = PositionTask(gains.position, weights.position, nothing)
        self._orientation_task = OrientationTask(gains.orientation, weights.orientation, nothing)
        self._posture_task = PostureTask(gains.posture, weights.posture, nothing)
        self._joint_task = JointTask(gains.joint, 1.0, n)
        self._pose = TaskStack((self._position_task, self._orientation_task, self._posture_task), n)
        self._joints = TaskStack((self._joint_task,), n)
        self._feedforward = np.zeros(n)
        self._wrench = np.zeros(6)
        self._force_torque = np.zeros(n)
        self.failures = 0
        self.force = self._wrench[:3]
        self.position_error = self._position_task.error
        self.velocity_error = self._position_task.velocity_error
        self.orientation_error = self._orientation_task.error

    def reset(self) -> None:
        """Forget errors and the last command."""
        self.qp.reset()
        self.forget()

    def forget(self) -> None:
        """Forget errors, and keep the last command."""
        self.failures = 0
        for values in (self._wrench, self.position_error, self.velocity_error, self.orientation_error):
            values[:] = 0.0

    def change_gains(self, position: float, orientation: float, posture: float) -> None:
        """Use other gains [1/s^2] from the next sample on. Raises InvalidInputError."""
        for gain in (position, orientation, posture):
            require_positive("gain", gain)
            if gain > self._largest_gain:
                raise InvalidInputError("gain", gain, f"at most {self._largest_gain:.4g} 1/s^2, for the low-pass")
        self._position_task.change_gain(position)
        self._orientation_task.change_gain(orientation)
        self._posture_task.change_gain(posture)

    def take(self, dynamics: Dynamics) -> None:
        """Take the state that is to be answered; no copies."""
        self._dynamics = dynamics
        # van Steen 2024 (22) without gravity: inertia ddq + C dq, plus the part of the friction that is known.
        self._friction.torque(dynamics.dq, self._feedforward)
        _feed_forward(self._feedforward, self._friction_share, dynamics.nonlinear, dynamics.gravity)
        self._wrench.fill(0.0)
        self._force_torque.fill(0.0)
        self._position_task.inward.fill(0.0)

    def serve_task(
        self, desired: ReferenceColumns, nominal: Matrix, gamma: float, force: DesiredForce, share: float
    ) -> None:
        """Ask for position, orientation and joint 1 of `desired`, and for a share of the contact force.

        nominal R_d (3, 3): orientation from which that of `desired` counts. gamma [-]: part of the velocity feedback,
        (23). share [-] from 0 to 1.
        """
        self._position_task.follow(desired)
        self._orientation_task.follow(desired, nominal)
        self._posture_task.follow(desired)
        self._press(desired, force, share)
        self._solve(self._pose, gamma)

    def serve_reference(
        self, desired: ReferenceColumns, nominal: Matrix, gamma: float, force: DesiredForce, share: float
    ) -> None:
        """Ask for a sample of a reference as `serve_task` does, or for its joint motion where that was chosen.

        In joint space, Proper 2021 (2.67), (2.68), nothing of the joint velocity is left of the feedback with gamma 0;
        in task space the dJ dq of the rows is (Proper 2021 section 2.4.2).
        """
        if not self._in_joints:
            self.serve_task(desired, nominal, gamma, force, share)
            return
        self._position_task.follow(desired)
        self._orientation_task.follow(desired, nominal)
        self._pose.write(self._dynamics, gamma)  # for the errors that are reported
        self._joint_task.follow(desired.joint_position, desired.joint_velocity, desired.joint_acceleration)
        self._press(desired, force, share)
        self._solve(self._joints, gamma)

    def track(self, desired: Vector, desired_velocity: Vector, desired_acceleration: Vector, place: Vector) -> None:
        """Ask for a motion of the joints, (n,) each [rad, rad/s, rad/s^2].

        place (3,) [m]: where E is desired; the reported position error is the way there.
        """
        self._joint_task.follow(desired, desired_velocity, desired_acceleration)
        np.subtract(place, self._dynamics.position, out=self.position_error)
        np.negative(self._dynamics.twist[:3], out=self.velocity_error)
        self.orientation_error.fill(0.0)
        self._solve(self._joints, 1.0)

    def _press(self, desired: ReferenceColumns, force: DesiredForce, share: float) -> None:
        if share > 0.0:
            self._position_task.inward[:] = force.inward
            force.exert(share, desired, self._dynamics.jacobian, self._wrench, self._force_torque)

    def _solve(self, stack: TaskStack, gamma: float) -> None:
        stack.write(self._dynamics, gamma)
        self.qp.solve(self._dynamics, stack.matrix, stack.target, stack.weights, self._feedforward, self._force_torque)
        if self.qp.force_share < 1.0:
            self._wrench *= self.qp.force_share
        self.failures = self.failures + 1 if self.qp.status is _FAILED else 0
