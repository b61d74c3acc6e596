"""Weighted task QP over joint accelerations. Van Steen 2024 (18)-(21), Proper 2021 (2.61)-(2.64)."""

from __future__ import annotations

import math
from enum import IntEnum

import daqp
import numpy as np
from qpsolvers import Problem, solve_problem

from impact_control.compiled import compiled
from impact_control.control.command import command_acceleration, limit_command
from impact_control.control.constraints import LimitStack
from impact_control.control.cost import force_acceleration, free_minimiser, task_cost
from impact_control.control.limits import Limit, broken_limits, write_limits
from impact_control.errors import InvalidInputError
from impact_control.robots import Dynamics, RobotDescription
from impact_control.types import Matrix, Vector

ELASTICITY = 1e5
"""Cost of a bound that is stretched by 1 rad/s^2, against the weights of the tasks."""

BROKEN = 1e-3
"""Part of its acceleration limit by which a joint misses a bound when it counts as relaxed and not as the solver's."""


class QPStatus(IntEnum):
    """How the last problem ended; constants of impact_msgs/ControllerStatus."""

    SOLVED = 0
    RELAXED = 1
    FAILED = 2
    NOT_USED = 3


_SOLVED, _RELAXED, _FREE = QPStatus.SOLVED, QPStatus.RELAXED, Limit.NONE
"""Told of every sample. Looking a member up in its class takes 0.2 us in Python 3.11."""


@compiled
def _solve_freely(
    numbers: Matrix, horizon: float, regularisation: float, position: Vector, velocity: Vector, task_matrix: Matrix,
    target: Vector, weights: Vector, mass_matrix: Matrix, motors: Vector, gravity: Vector, feedforward: Vector,
    pressing: Vector, previous: Vector, inertia: Matrix, hessian: Matrix, gradient: Vector, factor: Matrix,
    bounds: Matrix, acceleration: Vector, torque: Vector,
) -> tuple[int, bool, bool, float]:  # fmt: skip
    """Set up the problem; where its minimiser without constraints meets them all, it is the solution: command it.

    The cost is strictly convex, and then the multipliers are zero. bounds (4, n): lower and upper of ddq, of
    inertia ddq. Returns what was relaxed in the bounds, whether it is solved, and the answer of the command.
    """
    n = position.shape[0]
    for i in range(n):
        for j in range(n):
            inertia[i, j] = mass_matrix[i, j]
        inertia[i, i] += motors[i]
    force_acceleration(inertia, pressing, factor, acceleration)
    task_cost(task_matrix, target, acceleration, weights, regularisation, hessian, gradient)
    relaxed = write_limits(numbers, horizon, position, velocity, gravity, feedforward, previous, bounds)
    solved = free_minimiser(hessian, gradient, factor, acceleration)
    for i in range(n):
        torque_part = 0.0
        for j in range(n):
            torque_part += inertia[i, j] * acceleration[j]
        # Written so that a value that is not a number meets no bound, and bounds that come of one are not met.
        solved = solved and -math.inf < feedforward[i] < math.inf
        solved = solved and bounds[0, i] <= acceleration[i] <= bounds[1, i]
        solved = solved and bounds[2, i] <= torque_part <= bounds[3, i]
    if not solved:
        return relaxed, False, False, 0.0
    limited, change = command_acceleration(inertia, acceleration, feedforward, numbers[4:], previous, torque)
    return relaxed, True, limited, change


@compiled
def _two_sided(bounds: Matrix, lower: Vector, upper: Vector) -> None:
    """Write the bounds of ddq and those of inertia ddq one after the other; bounds: see `_solve_freely`."""
    n = bounds.shape[1]
    for i in range(n):
        lower[i], upper[i] = bounds[0, i], bounds[1, i]
        lower[n + i], upper[n + i] = bounds[2, i], bounds[3, i]


class _Elastic:
    """The same problem with the bounds of ddq stretched by s (n,) >= 0, at a cost far above that of the tasks.

    min cost(ddq) + ELASTICITY |s|^2, lower - s <= ddq <= upper + s, torque bounds as they are: always feasible, and the
    bounds are kept as nearly as the torques allow before the tasks have a say.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._hessian = np.zeros((2 * n, 2 * n))
        self._gradient = np.zeros(2 * n)
        self._rows = np.zeros((4 * n, 2 * n))
        self._right = np.zeros(4 * n)
        free = np.full(n, -np.inf)
        self.problem = Problem(
            self._hessian, self._gradient, self._rows, self._right, None, None, np.append(free, np.zeros(n)),
            np.full(2 * n, np.inf),
        )  # fmt: skip
        unit = np.eye(n)
        # Below, rows G x <= h of the torques come first.
        self._rows[2 * n : 3 * n] = np.hstack([unit, -unit])
        self._rows[3 * n :] = np.hstack([-unit, -unit])
        self._hessian[n:, n:] = ELASTICITY * unit

    def fill(self, hessian: Matrix, gradient: Vector, inertia: Matrix, bounds: Matrix) -> None:
        """Take cost, inertia and bounds of the problem that has no solution; bounds: see `_solve_freely`."""
        n = self._n
        self._hessian[:n, :n] = hessian
        self._gradient[:n] = gradient
        self._rows[:n, :n] = inertia
        np.negative(inertia, out=self._rows[n : 2 * n, :n])
        self._right[:n] = bounds[3]
        np.negative(bounds[2], out=self._right[n : 2 * n])
        self._right[2 * n : 3 * n] = bounds[1]
        np.negative(bounds[0], out=self._right[3 * n :])


class AccelerationQP:
    """Turns task rows into the joint torque that serves them best inside all limits: van Steen's assembly, over ddq.

    min_ddq sum_r w_r (E_r ddq - target_r)^2 + eps |ddq|^2 subject to position and velocity limits, torque limits and
    the torque-rate limit (`limits`). The torque follows from van Steen 2024 (22) with M + B_theta and without gravity,
    which the arm adds itself.

    The solver, DAQP, is asked when a limit is active; otherwise the minimiser without limits is the solution and takes
    a tenth of the time. It is asked without qpsolvers, which gives the same answer after three times as long: limits
    are met now and then, by the noise, and what runs now and then finds its code in no cache.

    What gives way, in this order: position and velocity limits to the acceleration limit, all three to the torque
    limits, the limit of the motor torque to that of the torque rate, and where there is no solution the tasks: damping
    torque (FAILED). Whatever happens, the returned torque is finite and inside torque and torque-rate limits.

    Attributes after `solve`: torque (n,) [Nm], acceleration (n,) [rad/s^2], inertia M + B_theta (n, n), status, relaxed
    (which limits gave way, `Limit`; status is then RELAXED), limited (whether a torque or torque-rate limit holds with
    equality), change (largest of a torque against the last [Nm]).
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
        limits = LimitStack.of_robot(robot, period, acceleration_limit)
        if np.shape(stop_damping) != (n,) or not np.all(np.isfinite(stop_damping)) or np.any(stop_damping <= 0.0):
            raise InvalidInputError("stop_damping", stop_damping, f"{n} finite numbers above 0")
        self._reduced_motor_inertia = np.array(robot.transmission.reduced_motor_inertia, dtype=float)
        self._horizon = limits.horizon
        self._stop_damping = np.array(stop_damping, dtype=float)
        self._numbers = limits.numbers
        self._command_numbers = limits.numbers[4:]
        self._regularisation = regularisation
        self.inertia = np.zeros((n, n))
        self._hessian = np.zeros((n, n))
        self._gradient = np.zeros(n)
        self._factor = np.zeros((n, n))
        self._bounds = np.zeros((4, n))
        self._lower = np.zeros(2 * n)
        self._upper = np.zeros(2 * n)
        self._plain = np.zeros(2 * n, dtype=np.intc)
        self._wanted = np.zeros(n)
        self._elastic = _Elastic(n)
        self._previous = np.zeros(n)
        self.acceleration = np.zeros(n)
        self.torque = np.zeros(n)
        self.status = QPStatus.NOT_USED
        self.relaxed = Limit.NONE
        self.limited = False
        self.change = 0.0

    def reset(self) -> None:
        """Forget the last command: the next one starts from zero torque."""
        self._previous[:] = 0.0
        self.torque[:] = 0.0
        self.status = QPStatus.NOT_USED
        self.relaxed = Limit.NONE

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
        relaxed, solved, self.limited, self.change = _solve_freely(
            self._numbers, self._horizon, self._regularisation, dynamics.q, dynamics.dq, task_matrix, target, weights,
            dynamics.mass_matrix, self._reduced_motor_inertia, dynamics.gravity, feedforward, pressing,
            self._previous, self.inertia, self._hessian, self._gradient, self._factor, self._bounds,
            self.acceleration, self.torque,
        )  # fmt: skip
        self.relaxed = Limit(relaxed) if relaxed else _FREE
        self.status = _RELAXED if relaxed else _SOLVED
        if not solved:
            self._ask_solver(dynamics, feedforward)

    def _ask_solver(self, dynamics: Dynamics, feedforward: Vector) -> None:
        """Solve the problem in which limits hold; stretch the bounds of ddq when it has no solution."""
        if not math.isfinite(math.hypot(*feedforward)):
            # Of bounds that are no numbers the solver makes a solution.
            self._give_up(dynamics)
            return
        solution = self._within_limits()
        if solution is None:
            self._elastic.fill(self._hessian, self._gradient, self.inertia, self._bounds)
            solution = self._as_near_as_can_be()
            if solution is None:
                self._give_up(dynamics)
                return
            solution = solution[: self.acceleration.size]
            broken = broken_limits(self._numbers, self._horizon, dynamics.q, dynamics.dq, solution, BROKEN)
            self.relaxed |= Limit(broken)
            self.status = QPStatus.RELAXED if self.relaxed else QPStatus.SOLVED
        self.acceleration[:] = solution
        self.limited, self.change = command_acceleration(
            self.inertia, self.acceleration, feedforward, self._command_numbers, self._previous, self.torque
        )

    def _give_up(self, dynamics: Dynamics) -> None:
        """Answer a problem without solution by damping."""
        self.acceleration[:] = 0.0
        self.damp(dynamics.dq)
        self.status = QPStatus.FAILED

    def _within_limits(self) -> Vector | None:
        """Return the minimiser within all limits, None where there is none."""
        _two_sided(self._bounds, self._lower, self._upper)
        try:
            x, _, how, _ = daqp.solve(
                self._hessian, self._gradient, self.inertia, self._upper, self._lower, self._plain
            )
        except Exception:
            # Solvers raise their own errors on numbers they cannot handle; here that is a failed problem.
            return None
        return x if how > 0 and math.isfinite(math.hypot(*x)) else None

    def _as_near_as_can_be(self) -> Vector | None:
        """Return the minimiser of the elastic problem, None where there is none."""
        try:
            solution = solve_problem(self._elastic.problem, solver="daqp")
        except Exception:
            return None
        x: Vector | None = solution.x if solution.found else None
        return x if x is not None and math.isfinite(math.hypot(*x)) else None

    def damp(self, velocity: Vector) -> None:
        """Command -D dq inside the limits, or a torque that returns to zero where the velocity is none, or endless."""
        # math.fsum, which raises where a sum in between overflows, is none for numbers that come from outside.
        if math.isfinite(math.hypot(*velocity)):
            np.multiply(self._stop_damping, velocity, out=self._wanted)
            np.negative(self._wanted, out=self._wanted)
        else:
            self._wanted[:] = 0.0
        self.status = QPStatus.NOT_USED
        self.relaxed = Limit.NONE
        self.limited, self.change = limit_command(self._wanted, self._command_numbers, self._previous, self.torque)
