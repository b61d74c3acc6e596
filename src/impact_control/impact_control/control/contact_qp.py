"""The same tasks and limits as a problem over (ddq, tau, lambda_N), with contacts: Proper 2021 (2.61)-(2.70)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from qpsolvers import Problem, solve_problem

from impact_control.checks import require_positive
from impact_control.control.command import limit_command
from impact_control.control.constraints import ContactConstraint, LimitStack
from impact_control.control.cost import task_cost
from impact_control.control.limits import Limit
from impact_control.control.qp import QPStatus
from impact_control.control.tasks import TaskStack
from impact_control.robots import Dynamics, RobotDescription
from impact_control.types import Vector

PROXIMITY, CONVERGED = 1e-4, 1e-10
"""Torques are not in the cost, which is therefore not strictly convex: the solver adds PROXIMITY times the square of
the step to it, again and again until a step is shorter than CONVERGED. The solution is that of the cost without it."""


class ContactQP:
    """Serves tasks and wished contact forces with the contacts as constraints: Proper's assembly.

    min sum_r w_r (E_r ddq - target_r)^2 + eps |ddq|^2 + w_c sum_i (lambda_i - lambda_ref,i)^2 over ddq, tau, lambda_N,
    subject to the motion (M + B_theta) ddq + feedforward = tau + sum_i J_N,i^T lambda_i, to the contacts
    (`ContactConstraint`: closed or open), and to the limits of `LimitStack`. Tau is the command without gravity, as in
    `AccelerationQP`, whose solution this is when no contact is closed. Where there is no solution it is FAILED, and the
    command returns to zero inside its limits.

    It allocates in the solver and takes some times as long: for comparisons and studies, not for the loop.

    Attributes after `solve`: acceleration (n,) [rad/s^2], torque (n,) [Nm], force (n_c,) [N] of the surface on the arm
    along the normals, status, relaxed (`Limit`).
    """

    def __init__(
        self,
        robot: RobotDescription,
        limits: LimitStack,
        contacts: Sequence[ContactConstraint] = (),
        contact_weight: float = 1.0,
        regularisation: float = 1e-6,
    ) -> None:
        """contact_weight w_c [1/N^2 s^4] of (2.69), with k_p = 0: forces are not measured."""
        n, m = len(robot.joint_names), len(contacts)
        self.contacts = tuple(contacts)
        self._n = n
        self._limits = limits
        self._command_numbers = limits.numbers[4:]
        self._motors = np.array(robot.transmission.reduced_motor_inertia, dtype=float)
        self._weight = require_positive("contact_weight", contact_weight)
        self._regularisation = require_positive("regularisation", regularisation)
        size = 2 * n + m
        self._hessian, self._gradient = np.zeros((size, size)), np.zeros(size)
        self._task_hessian, self._task_gradient = np.zeros((n, n)), np.zeros(n)
        self._still = np.zeros(n)
        self._bounds = np.zeros((4, n))
        self._rows, self._right = np.zeros((n + m, size)), np.zeros(n + m)
        self._lower, self._upper = np.zeros(size), np.full(size, np.inf)
        self._normals = np.zeros((m, n))
        self.inertia = np.zeros((n, n))
        self.acceleration = np.zeros(n)
        self.torque = np.zeros(n)
        self.force = np.zeros(m)
        self._previous = np.zeros(n)
        self.status = QPStatus.NOT_USED
        self.relaxed = Limit.NONE

    def solve(self, dynamics: Dynamics, tasks: TaskStack, feedforward: Vector, wished: Vector) -> None:
        """Solve for the state of `dynamics` and the rows that `tasks` wrote for it.

        feedforward (n,) [Nm]: Coriolis and friction torque. wished (n_c,) [N]: lambda_ref of each contact.
        """
        n = self._n
        np.add(dynamics.mass_matrix, np.diag(self._motors), out=self.inertia)
        self._limits.write(dynamics, feedforward, self._previous, self._bounds)
        self.relaxed = self._limits.relaxed
        task_cost(
            tasks.matrix, tasks.target, self._still, tasks.weights, self._regularisation, self._task_hessian,
            self._task_gradient,
        )  # fmt: skip
        self._hessian[:n, :n] = self._task_hessian
        self._gradient[:n] = self._task_gradient
        self._lower[:n], self._upper[:n] = self._bounds[0], self._bounds[1]
        self._lower[n : 2 * n] = self._bounds[2] + feedforward
        self._upper[n : 2 * n] = self._bounds[3] + feedforward
        self._write_motion(feedforward)
        self._write_contacts(dynamics, wished)
        solution = self._attempt()
        if solution is None:
            self.status = QPStatus.FAILED
            self.acceleration[:], self.force[:] = 0.0, 0.0
            limit_command(self._still, self._command_numbers, self._previous, self.torque)
            return
        self.status = QPStatus.RELAXED if self.relaxed else QPStatus.SOLVED
        self.acceleration[:], self.force[:] = solution[:n], solution[2 * n :]
        limit_command(solution[n : 2 * n], self._command_numbers, self._previous, self.torque)

    def _write_motion(self, feedforward: Vector) -> None:
        """(M + B_theta) ddq - tau - J_N^T lambda = -feedforward; the contacts' columns come with `_write_contacts`."""
        n = self._n
        self._rows[:n, :n] = self.inertia
        np.fill_diagonal(self._rows[:n, n : 2 * n], -1.0)
        np.negative(feedforward, out=self._right[:n])

    def _write_contacts(self, dynamics: Dynamics, wished: Vector) -> None:
        n = self._n
        for i, contact in enumerate(self.contacts):
            bias, row, column = contact.write(dynamics, self._normals[i]), n + i, 2 * n + i
            np.negative(self._normals[i], out=self._rows[:n, column])
            self._rows[row] = 0.0
            if contact.closed:
                self._rows[row, :n] = self._normals[i]
            else:
                self._rows[row, column] = 1.0
            self._right[row] = bias if contact.closed else 0.0
            self._hessian[column, column] = self._weight
            self._gradient[column] = -self._weight * wished[i]

    def _attempt(self) -> Vector | None:
        problem = Problem(self._hessian, self._gradient, None, None, self._rows, self._right, self._lower, self._upper)
        try:
            solution = solve_problem(problem, solver="daqp", eps_prox=PROXIMITY, eta_prox=CONVERGED)
        except Exception:
            # Solvers raise their own errors on numbers they cannot handle; here that is a failed problem.
            return None
        x: Vector | None = solution.x if solution.found else None
        return x if x is not None and np.all(np.isfinite(x)) else None
