"""Cartesian impedance control that knows nothing of impacts, as a baseline: Albu-Schaeffer et al. 2003."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from impact_control.references import ImpactReference
from impact_control.robots import Dynamics, InertiaModel, RobotDescription
from impact_control.scenario import Scenario
from impact_control.util.types import Matrix, Vector

ROTATIONAL_STIFFNESS = 30.0
"""[Nm/rad]"""

DAMPING_RATIO = 0.7

POSTURE_STIFFNESS, POSTURE_DAMPING = 10.0, 5.0
"""[Nm/rad, Nm s/rad] in the null space, towards the configuration at the impact."""


class Impedance:
    """tau = J^T (K e + D de) + C dq + friction of the joints + N^T (posture), inside torque and torque-rate limits.

    One reference, that of reference spreading up to the nominal time and the one after it from then on. To press with
    the force that the task asks for, the equilibrium goes on into the surface at the speed of the approach until it is
    force / stiffness below it. D has DAMPING_RATIO for the inertia at E, by the factorisation design.
    """

    def __init__(
        self, stiffness: float, scenario: Scenario, robot: RobotDescription, reference: ImpactReference
    ) -> None:
        """stiffness: of the translation [N/m]."""
        self._reference, self._robot = reference, robot
        self._period = scenario.control.period
        self._depth = scenario.task.post.force / stiffness
        self._stiffness = np.diag([*[stiffness] * 3, *[ROTATIONAL_STIFFNESS] * 3])
        self._root = np.sqrt(self._stiffness)
        self._approach = -float(reference.geometry.approach_velocity @ reference.geometry.normal)
        self._torque = np.zeros(len(robot.joint_names))

    def answer(self, time: float, dynamics: Dynamics) -> tuple[Vector, Matrix]:
        """Return the command (n,) [Nm] at a time [s] of the task, and the feedback torque and its velocity part (2, n).

        The feedback is that to the reference itself, without the way into the surface, which presses.
        """
        reference, geometry = self._reference, self._reference.geometry
        since = time - reference.nominal_impact_time
        table = reference.ante if since < 0.0 else reference.post
        row = min(round(time / self._period), len(table.times) - 1)
        turn = pin.log3(geometry.orientation @ dynamics.rotation.T)
        error = np.concatenate([table.columns.position[row] - dynamics.position, turn])
        rate = np.concatenate([table.columns.velocity[row], np.zeros(3)]) - dynamics.twist
        damping = self.damping(dynamics)
        feedback = np.array([self._stiffness @ error + damping @ rate, damping @ rate]) @ dynamics.jacobian
        depth = min(max(since, 0.0) * self._approach, self._depth)
        pressing = -self._stiffness[0, 0] * depth * geometry.normal
        if 0.0 < depth < self._depth:
            pressing -= damping[:3, :3] @ geometry.normal * self._approach
        torque = feedback[0] + dynamics.jacobian[:3].T @ pressing + self._posture(dynamics) + dynamics.coriolis
        torque += self._robot.friction.torque(dynamics.dq, np.empty_like(torque))
        limits = self._robot.limits
        change = limits.torque_rate * self._period
        np.clip(torque, self._torque - change, self._torque + change, out=torque)
        self._torque = np.clip(torque, -limits.torque, limits.torque)
        return self._torque.copy(), feedback

    def damping(self, dynamics: Dynamics) -> Matrix:
        """Return D (6, 6) [N s/m, N s, Nm s/rad] at the state of `dynamics`."""
        values, axes = np.linalg.eigh(np.linalg.inv(self._mobility(dynamics)))
        root = axes * np.sqrt(values) @ axes.T
        damping: Matrix = DAMPING_RATIO * (root @ self._root + self._root @ root)
        return damping

    def _mobility(self, dynamics: Dynamics) -> Matrix:
        """Return J (M + B_theta)^-1 J^T (6, 6), the inverse of the inertia at E."""
        inertia = dynamics.inertia(InertiaModel.REDUCED_MOTORS)
        mobility: Matrix = dynamics.jacobian @ np.linalg.solve(inertia, dynamics.jacobian.T)
        return mobility

    def _posture(self, dynamics: Dynamics) -> Vector:
        """Return the torque (n,) of the posture that does not accelerate E."""
        wanted = POSTURE_STIFFNESS * (self._reference.impact_configuration - dynamics.q) - POSTURE_DAMPING * dynamics.dq
        acceleration = np.linalg.solve(dynamics.inertia(InertiaModel.REDUCED_MOTORS), wanted)
        force = np.linalg.solve(self._mobility(dynamics), dynamics.jacobian @ acceleration)
        torque: Vector = wanted - dynamics.jacobian.T @ force
        return torque
