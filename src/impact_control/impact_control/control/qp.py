"""Weighted task QP over joint accelerations. Van Steen 2024 (18)-(21), Proper 2021 (2.61)-(2.64)."""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np
from qpsolvers import Problem, solve_problem

from impact_control.compiled import compiled
from impact_control.control.limits import acceleration_bounds
from impact_control.errors import InvalidInputError
from impact_control.robots import Dynamics, RobotDescription
from impact_control.types import Matrix, Vector


class QPStatus(IntEnum):
    """How the last problem ended; constants of impact_msgs/ControllerStatus."""

    SOLVED = 0
    RELAXED = 1
    FAILED = 2
    NOT_USED = 3


@compiled
def _add_diagonal(matrix: Matrix, diagonal: Vector, out: Matrix) -> None:
    """Write matrix (n, n) + diag(diagonal (n,)) into out. Pinocchio's column order makes numpy slow at this."""
    n = diagonal.shape[0]
    for i in range(n):
        for j in range(n):
            out[i, j] = matrix[i, j]
        out[i, i] += diagonal[i]


@compiled
def _cost(
    task_matrix: Matrix,
    target: Vector,
    weights: Vector,
    regularisation: float,
    hessian: Matrix,
    gradient: Vector,
) -> None:
    """H = E^T W E + eps I, g = -E^T W target: Proper 2021 (2.64) with e = -target."""
    n = task_matrix.shape[1]
    for i in range(n):
        for j in range(n):
            hessian[i, j] = 0.0
        gradient[i] = 0.0
        hessian[i, i] = regularisation
    for row in range(task_matrix.shape[0]):
        for i in range(n):
            weighted = weights[row] * task_matrix[row, i]
            gradient[i] -= weighted * target[row]
            for j in range(n):
                hessian[i, j] += weighted * task_matrix[row, j]


@compiled
def _torque_rows(
    inertia: Matrix,
    nonlinear: Vector,
    feedforward: Vector,
    previous_torque: Vector,
    torque_limit: Vector,
    torque_step: Vector,
    rows: Matrix,
    bounds: Vector,
) -> None:
    """Rows G ddq <= h for the torque limits (21) and the limit on the change of the commanded torque.

    Motor torque inertia ddq + nonlinear stays inside the torque limits; the command, which is
    inertia ddq + feedforward, stays inside them too and changes by at most torque_step. When both cannot
    hold, the change of the command is the one that is kept: the robot checks it.
    """
    n = nonlinear.shape[0]
    for i in range(n):
        high = min(previous_torque[i] + torque_step[i], torque_limit[i]) - feedforward[i]
        low = max(previous_torque[i] - torque_step[i], -torque_limit[i]) - feedforward[i]
        motor_high = torque_limit[i] - nonlinear[i]
        motor_low = -torque_limit[i] - nonlinear[i]
        high = max(min(high, motor_high), low)
        low = min(max(low, motor_low), high)
        bounds[i] = high
        bounds[n + i] = -low
        for j in range(n):
            rows[i, j] = inertia[i, j]
            rows[n + i, j] = -inertia[i, j]


@compiled
def _unconstrained(
    hessian: Matrix, gradient: Vector, rows: Matrix, bounds: Vector, lower: Vector, upper: Vector, solution: Vector
) -> bool:
    """Write the minimiser without constraints; True when it meets them all.

    Then it is the solution of the QP: the cost is strictly convex, and the multipliers are zero.
    """
    if not math.isfinite(hessian.sum() + gradient.sum()):
        return False
    solution[:] = -np.linalg.solve(hessian, gradient)
    for i in range(solution.shape[0]):
        if not lower[i] <= solution[i] <= upper[i]:
            return False
    for row in range(rows.shape[0]):
        value = 0.0
        for j in range(solution.shape[0]):
            value += rows[row, j] * solution[j]
        if not value <= bounds[row]:
            return False
    return True


@compiled
def _assemble(
    limits: Matrix,
    period: float,
    position: Vector,
    velocity: Vector,
    task_matrix: Matrix,
    target: Vector,
    weights: Vector,
    regularisation: float,
    inertia: Matrix,
    nonlinear: Vector,
    feedforward: Vector,
    previous: Vector,
    hessian: Matrix,
    gradient: Vector,
    rows: Matrix,
    bounds: Vector,
    lower: Vector,
    upper: Vector,
) -> bool:
    """Fill the whole problem in one call; True when the state is viable. limits: see `AccelerationQP`."""
    _cost(task_matrix, target, weights, regularisation, hessian, gradient)
    _torque_rows(inertia, nonlinear, feedforward, previous, limits[4], limits[5], rows, bounds)
    return acceleration_bounds(position, velocity, limits[0], limits[1], limits[2], limits[3], period, lower, upper)


@compiled
def _limit(wanted: Vector, limits: Matrix, previous: Vector, torque: Vector) -> tuple[bool, float]:
    """Write the admissible torque nearest to `wanted` and keep it as `previous`.

    Returns whether a limit held it, and the largest change of a torque [Nm].
    """
    limited = False
    largest_change = 0.0
    for i in range(wanted.shape[0]):
        largest, step = limits[4, i], limits[5, i]
        high = min(previous[i] + step, largest)
        low = max(previous[i] - step, -largest)
        value = min(max(wanted[i], low), high)
        margin = 1e-6 * step
        limited = limited or value <= low + margin or value >= high - margin
        largest_change = max(largest_change, abs(value - previous[i]))
        torque[i] = value
        previous[i] = value
    return limited, largest_change


@compiled
def _command(
    inertia: Matrix, acceleration: Vector, feedforward: Vector, wanted: Vector, limits: Matrix, previous: Vector,
    torque: Vector,
) -> tuple[bool, float]:  # fmt: skip
    """Turn the acceleration into the command, van Steen 2024 (22), inside the limits; see `_limit`."""
    for i in range(wanted.shape[0]):
        wanted[i] = feedforward[i]
        for j in range(wanted.shape[0]):
            wanted[i] += inertia[i, j] * acceleration[j]
    return _limit(wanted, limits, previous, torque)


class AccelerationQP:
    """Turns task rows into the joint torque that serves them best inside all limits.

    min_ddq sum_r w_r (E_r ddq - target_r)^2 + eps |ddq|^2 subject to position and velocity limits
    (`acceleration_bounds`), torque limits and the torque-rate limit. The torque follows from van Steen 2024
    (22) with M + B_theta and without gravity, which the arm adds itself.

    The solver, DAQP through qpsolvers, is asked when a limit is active; otherwise the minimiser without limits
    is the solution and takes a tenth of the time.

    Order of relaxation: all constraints; then without position and velocity bounds (RELAXED); then damping
    torque (FAILED). Whatever happens, the returned torque is finite and inside torque and torque-rate limits.

    Attributes after `solve`: torque (n,) [Nm], acceleration (n,) [rad/s^2], status, limited (whether a
    torque or torque-rate limit holds with equality), change (largest change of a torque against the last [Nm]).
    """

    def __init__(
        self,
        robot: RobotDescription,
        period: float,
        acceleration_limit: Vector,
        stop_damping: Vector,
        regularisation: float = 1e-6,
    ) -> None:
        """Period [s] of the loop; acceleration_limit (n,) [rad/s^2]; stop_damping (n,) [Nm s/rad]."""
        n = len(robot.joint_names)
        if not (np.isfinite(period) and period > 0.0):
            raise InvalidInputError("period", period, "a finite number of seconds above 0")
        for name, value in (("acceleration_limit", acceleration_limit), ("stop_damping", stop_damping)):
            if np.shape(value) != (n,) or not np.all(np.isfinite(value)) or np.any(np.asarray(value) <= 0.0):
                raise InvalidInputError(name, value, f"{n} finite numbers above 0")
        bound = robot.limits
        self._reduced_motor_inertia = np.array(robot.transmission.reduced_motor_inertia, dtype=float)
        self._period = period
        self._stop_damping = np.array(stop_damping, dtype=float)
        # Rows: position lower, upper [rad], velocity [rad/s], acceleration, torque [Nm], change of torque [Nm].
        self._limits: Matrix = np.array(
            [
                bound.position_lower,
                bound.position_upper,
                bound.velocity,
                acceleration_limit,
                bound.torque,
                bound.torque_rate * period,
            ]
        )
        self._regularisation = regularisation
        self.inertia = np.zeros((n, n))
        self._hessian = np.zeros((n, n))
        self._gradient = np.zeros(n)
        self._rows = np.zeros((2 * n, n))
        self._bounds = np.zeros(2 * n)
        self._lower = np.zeros(n)
        self._upper = np.zeros(n)
        self._wanted = np.zeros(n)
        # The problems hold references to the arrays above, which are refilled at each tick.
        self._problem = Problem(
            self._hessian, self._gradient, self._rows, self._bounds, None, None, self._lower, self._upper
        )
        self._relaxed_problem = Problem(self._hessian, self._gradient, self._rows, self._bounds)
        self._previous = np.zeros(n)
        self.acceleration = np.zeros(n)
        self.torque = np.zeros(n)
        self.status = QPStatus.NOT_USED
        self.limited = False
        self.change = 0.0

    def reset(self) -> None:
        """Forget the last command: the next one starts from zero torque."""
        self._previous[:] = 0.0
        self.torque[:] = 0.0
        self.status = QPStatus.NOT_USED

    def update_inertia(self, dynamics: Dynamics) -> None:
        """Take over M + B_theta, van Steen 2024 (10), of this tick; before `solve`."""
        _add_diagonal(dynamics.mass_matrix, self._reduced_motor_inertia, self.inertia)

    def solve(
        self,
        dynamics: Dynamics,
        position: Vector,
        velocity: Vector,
        task_matrix: Matrix,
        target: Vector,
        weights: Vector,
        feedforward: Vector,
    ) -> None:
        """Solve for one tick.

        task_matrix E (m, n), target (m,), weights (m,): rows E ddq = target, weight w >= 0.
        feedforward (n,) [Nm]: added to the command beside inertia ddq: Coriolis and friction torque.
        """
        viable = _assemble(
            self._limits, self._period, position, velocity, task_matrix, target, weights, self._regularisation,
            self.inertia, dynamics.nonlinear, feedforward, self._previous, self._hessian, self._gradient, self._rows,
            self._bounds, self._lower, self._upper,
        )  # fmt: skip
        self.status = QPStatus.SOLVED if viable else QPStatus.RELAXED
        if not _unconstrained(
            self._hessian, self._gradient, self._rows, self._bounds, self._lower, self._upper, self.acceleration
        ):
            solution = self._attempt(self._problem)
            if solution is None:
                solution = self._attempt(self._relaxed_problem)
                self.status = QPStatus.RELAXED
            if solution is None:
                self.acceleration[:] = 0.0
                self.damp(velocity)
                self.status = QPStatus.FAILED
                return
            self.acceleration[:] = solution
        self.limited, self.change = _command(
            self.inertia, self.acceleration, feedforward, self._wanted, self._limits, self._previous, self.torque
        )

    @staticmethod
    def _attempt(problem: Problem) -> Vector | None:
        try:
            solution = solve_problem(problem, solver="daqp")
        except Exception:
            # Solvers raise their own errors on numbers they cannot handle; here that is a failed problem.
            return None
        x: Vector | None = solution.x if solution.found else None
        if x is None or not math.isfinite(math.fsum(x)):
            return None
        return x

    def damp(self, velocity: Vector) -> None:
        """Command -D dq inside the limits, or a torque that returns to zero where the velocity is not finite."""
        if math.isfinite(math.fsum(velocity)):
            np.multiply(self._stop_damping, velocity, out=self._wanted)
            np.negative(self._wanted, out=self._wanted)
        else:
            self._wanted[:] = 0.0
        self.status = QPStatus.NOT_USED
        self.limited, self.change = _limit(self._wanted, self._limits, self._previous, self.torque)
