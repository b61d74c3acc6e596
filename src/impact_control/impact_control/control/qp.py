"""Weighted task QP over joint accelerations. Van Steen 2024 (18)-(21), Proper 2021 (2.61)-(2.64)."""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np
from qpsolvers import Problem, solve_problem

from impact_control.compiled import compiled
from impact_control.control.limits import acceleration_bounds
from impact_control.dense import dot, factorise, solve_lower, solve_upper
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
def _force_acceleration(inertia: Matrix, torque: Vector, factor: Matrix, acceleration: Vector) -> None:
    """Write inertia^-1 J^T f (n,) of a wished force f, van Steen 2024 (26), (27); torque (n,) [Nm]: J^T f."""
    pressing = False
    for i in range(torque.shape[0]):
        acceleration[i] = torque[i]
        pressing = pressing or torque[i] != 0.0
        for j in range(i + 1):
            factor[i, j] = inertia[i, j]
    if pressing:
        factorise(factor)
        solve_lower(factor, acceleration)
        solve_upper(factor, acceleration)


@compiled
def _cost(
    task_matrix: Matrix, target: Vector, added: Vector, weights: Vector, regularisation: float, hessian: Matrix,
    gradient: Vector,
) -> None:  # fmt: skip
    """H = E^T W E + eps I, g = -E^T W (target + E added): Proper 2021 (2.64).

    added (n,) [rad/s^2]: the joint acceleration of the wished force, in every task, that of the posture too, so that
    all tasks together ask for exactly its torque.
    """
    n = task_matrix.shape[1]
    for i in range(n):
        for j in range(n):
            hessian[i, j] = 0.0
        gradient[i] = 0.0
        hessian[i, i] = regularisation
    for row in range(task_matrix.shape[0]):
        wanted = target[row] + dot(task_matrix[row], added)
        for i in range(n):
            weighted = weights[row] * task_matrix[row, i]
            gradient[i] -= weighted * wanted
            for j in range(i + 1):
                hessian[i, j] += weighted * task_matrix[row, j]
    for i in range(n):
        for j in range(i):
            hessian[j, i] = hessian[i, j]


@compiled
def _torque_bounds(
    nonlinear: Vector, feedforward: Vector, previous: Vector, limits: Matrix, low: Vector, high: Vector
) -> None:
    """Write low <= inertia ddq <= high, (n,) each, for the torque limits (21) and that on the command's change.

    Motor torque inertia ddq + nonlinear stays inside the torque limits; the command, which is
    inertia ddq + feedforward, stays inside them too and changes by at most its step. When both cannot hold, the
    change of the command is the one that is kept: the robot checks it. limits: see `AccelerationQP`.
    """
    for i in range(nonlinear.shape[0]):
        torque, step = limits[4, i], limits[5, i]
        upper = min(previous[i] + step, torque) - feedforward[i]
        lower = max(previous[i] - step, -torque) - feedforward[i]
        high[i] = max(min(upper, torque - nonlinear[i]), lower)
        low[i] = min(max(lower, -torque - nonlinear[i]), high[i])


@compiled
def _free_minimiser(hessian: Matrix, gradient: Vector, factor: Matrix, solution: Vector) -> bool:
    """Write the minimiser without constraints, -H^-1 g; False where there is none."""
    for i in range(gradient.shape[0]):
        solution[i] = -gradient[i]
        for j in range(i + 1):
            factor[i, j] = hessian[i, j]
    if not factorise(factor):
        return False
    solve_lower(factor, solution)
    solve_upper(factor, solution)
    return True


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
    inertia: Matrix, acceleration: Vector, feedforward: Vector, limits: Matrix, previous: Vector, torque: Vector
) -> tuple[bool, float]:
    """Turn the acceleration into the command, van Steen 2024 (22), inside the limits; see `_limit`."""
    for i in range(torque.shape[0]):
        torque[i] = feedforward[i]
        for j in range(torque.shape[0]):
            torque[i] += inertia[i, j] * acceleration[j]
    return _limit(torque, limits, previous, torque)


@compiled
def _solve_freely(
    limits: Matrix, period: float, regularisation: float, position: Vector, velocity: Vector, task_matrix: Matrix,
    target: Vector, weights: Vector, mass_matrix: Matrix, motors: Vector, nonlinear: Vector, feedforward: Vector,
    pressing: Vector, previous: Vector, inertia: Matrix, hessian: Matrix, gradient: Vector, factor: Matrix,
    bounds: Matrix, acceleration: Vector, torque: Vector,
) -> tuple[bool, bool, bool, float]:  # fmt: skip
    """Set up the problem; where its minimiser without constraints meets them all, it is the solution: command it.

    The cost is strictly convex, and then the multipliers are zero. bounds (4, n): lower and upper of ddq, of
    inertia ddq. Returns whether the state is viable, whether it is solved, and then the answer of `_command`.
    """
    n = position.shape[0]
    for i in range(n):
        for j in range(n):
            inertia[i, j] = mass_matrix[i, j]
        inertia[i, i] += motors[i]
    _force_acceleration(inertia, pressing, factor, acceleration)
    _cost(task_matrix, target, acceleration, weights, regularisation, hessian, gradient)
    _torque_bounds(nonlinear, feedforward, previous, limits, bounds[2], bounds[3])
    viable = acceleration_bounds(
        position, velocity, limits[0], limits[1], limits[2], limits[3], period, bounds[0], bounds[1]
    )
    solved = _free_minimiser(hessian, gradient, factor, acceleration)
    for i in range(n):
        torque_part = 0.0
        for j in range(n):
            torque_part += inertia[i, j] * acceleration[j]
        # Written so that a value that is not a number meets no bound.
        solved = solved and bounds[0, i] <= acceleration[i] <= bounds[1, i]
        solved = solved and bounds[2, i] <= torque_part <= bounds[3, i]
    if not solved:
        return viable, False, False, 0.0
    limited, change = _command(inertia, acceleration, feedforward, limits, previous, torque)
    return viable, True, limited, change


@compiled
def _torque_rows(inertia: Matrix, bounds: Matrix, rows: Matrix, right: Vector) -> None:
    """Write the torque bounds as rows G ddq <= h for the solver; bounds: see `_solve_freely`."""
    n = inertia.shape[0]
    for i in range(n):
        right[i] = bounds[3, i]
        right[n + i] = -bounds[2, i]
        for j in range(n):
            rows[i, j] = inertia[i, j]
            rows[n + i, j] = -inertia[i, j]


class AccelerationQP:
    """Turns task rows into the joint torque that serves them best inside all limits.

    min_ddq sum_r w_r (E_r ddq - target_r)^2 + eps |ddq|^2 subject to position and velocity limits
    (`acceleration_bounds`), torque limits and the torque-rate limit. The torque follows from van Steen 2024
    (22) with M + B_theta and without gravity, which the arm adds itself.

    The solver, DAQP through qpsolvers, is asked when a limit is active; otherwise the minimiser without limits
    is the solution and takes a tenth of the time.

    Order of relaxation: all constraints; then without position and velocity bounds (RELAXED); then damping
    torque (FAILED). Whatever happens, the returned torque is finite and inside torque and torque-rate limits.

    Attributes after `solve`: torque (n,) [Nm], acceleration (n,) [rad/s^2], inertia M + B_theta (n, n), status, limited
    (whether a torque or torque-rate limit holds with equality), change (largest of a torque against the last [Nm]).
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
        self._factor = np.zeros((n, n))
        self._bounds = np.zeros((4, n))
        self._rows = np.zeros((2 * n, n))
        self._right = np.zeros(2 * n)
        self._wanted = np.zeros(n)
        # The problems hold references to the arrays above, which are refilled at each tick.
        self._problem = Problem(
            self._hessian, self._gradient, self._rows, self._right, None, None, self._bounds[0], self._bounds[1]
        )
        self._relaxed_problem = Problem(self._hessian, self._gradient, self._rows, self._right)
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

    def solve(
        self,
        dynamics: Dynamics,
        task_matrix: Matrix,
        target: Vector,
        weights: Vector,
        feedforward: Vector,
        pressing: Vector,
    ) -> None:
        """Solve for the state of `dynamics`.

        task_matrix E (m, n), target (m,), weights (m,): rows E ddq = target, weight w >= 0.
        feedforward (n,) [Nm]: added to the command beside inertia ddq: Coriolis and friction torque.
        pressing (n,) [Nm]: J^T f of a wished force f on the environment; its acceleration is added to the target.
        """
        viable, solved, self.limited, self.change = _solve_freely(
            self._limits, self._period, self._regularisation, dynamics.q, dynamics.dq, task_matrix, target, weights,
            dynamics.mass_matrix, self._reduced_motor_inertia, dynamics.nonlinear, feedforward, pressing,
            self._previous, self.inertia, self._hessian, self._gradient, self._factor, self._bounds,
            self.acceleration, self.torque,
        )  # fmt: skip
        self.status = QPStatus.SOLVED if viable else QPStatus.RELAXED
        if solved:
            return
        _torque_rows(self.inertia, self._bounds, self._rows, self._right)
        solution = self._attempt(self._problem)
        if solution is None:
            solution = self._attempt(self._relaxed_problem)
            self.status = QPStatus.RELAXED
        if solution is None:
            self.acceleration[:] = 0.0
            self.damp(dynamics.dq)
            self.status = QPStatus.FAILED
            return
        self.acceleration[:] = solution
        self.limited, self.change = _command(
            self.inertia, self.acceleration, feedforward, self._limits, self._previous, self.torque
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
