"""Weighted task QP over joint accelerations and the share of a force.

van Steen 2024 (18)-(22), (26), (27); Proper 2021 (2.61)-(2.64).
"""

from __future__ import annotations

import math
from enum import IntEnum

import daqp
import numpy as np
from qpsolvers import Problem, QPError, solve_problem

from impact_control.control.cost import force_acceleration, free_minimiser, task_cost
from impact_control.control.limits import (
    ControlLimits,
    Limit,
    bound_fields,
    limit_command,
    smooth_command,
    unanswered_bounds,
)
from impact_control.robots import Dynamics, RobotDescription
from impact_control.scenario import low_pass_share
from impact_control.util.compiled import compiled, compiled_in_place
from impact_control.util.errors import InvalidInputError
from impact_control.util.memory import Memory, named_memory
from impact_control.util.types import Matrix, Vector

ELASTICITY = 1e5
"""Cost of a bound that is stretched by 1 rad/s^2, against the weights of the tasks."""

FORCE_WEIGHT = 1e-3
"""Cost of leaving out all of the desired force, against the weights of the tasks [m^2/s^4]: it comes after them."""

PROXIMITY = 1e-6
"""The solver adds it times the square of the step to the cost, until a step is short: the minimiser stays the same.
Without it 3 % of the problems with stretched bounds, of arms near and beyond their limits, count as infeasible."""

BROKEN = 1e-3
"""Part of its acceleration limit by which a joint misses a bound when it counts as relaxed and not as the solver's."""


class QPStatus(IntEnum):
    """Result of the last problem; constants of impact_msgs/ControllerStatus."""

    SOLVED = 0
    RELAXED = 1
    FAILED = 2
    NOT_USED = 3


_SOLVED, _RELAXED = QPStatus.SOLVED, QPStatus.RELAXED
"""Read in every sample. Looking a member up in its class takes 0.2 us in Python 3.11."""


def _problem_memory(n: int) -> Memory:
    """Return the memory of one problem of n joints.

    hessian and gradient are those of the variables (ddq, s); unanswered_lower, _upper bound ddq + s inertia^-1 J^T f,
    whose last term is force_motion; smoothing: see `smooth_command`. commanded_share: s in the last command;
    halfway_share: between the two stages of its low-pass.
    """
    return named_memory(
        inertia=(n, n),
        motor_inertia=(n,),
        hessian=(n + 1, n + 1),
        gradient=(n + 1,),
        factor=(n, n),
        force_motion=(n,),
        acceleration=(n,),
        torque=(n,),
        smoothing=(),
        regularisation=(),
        commanded_share=(),
        halfway_share=(),
        **bound_fields(n),
    )


@compiled_in_place
def _assemble(
    problem: Memory, mass_matrix: Matrix, task_matrix: Matrix, target: Vector, weights: Vector, force_torque: Vector
) -> bool:
    """Write inertia M + B_theta, the cost of the tasks, and what the force accelerates; return whether there is one."""
    p = problem[()]
    n = force_torque.shape[0]
    for i in range(n):
        for j in range(n):
            p.inertia[i, j] = mass_matrix[i, j]
        p.inertia[i, i] += p.motor_inertia[i]
    task_cost(task_matrix, target, weights, p.regularisation, p.hessian, p.gradient)
    return force_acceleration(p.inertia, force_torque, p.factor, p.force_motion)


@compiled_in_place
def _solve_freely(
    problem: Memory,
    limits: Memory,
    position: Vector,
    velocity: Vector,
    feedforward: Vector,
    force_torque: Vector,
    exerted: bool,
) -> tuple[bool, float, bool, float, float]:
    """Return whether the minimiser without constraints meets them all, and command it then: it is the solution.

    The cost of the tasks is strictly convex, and then the multipliers are zero. Returns also the share of the force,
    and the answer of `limit_command`.
    """
    p = problem[()]
    n = position.shape[0]
    if exerted:
        unanswered_bounds(limits, position, velocity, force_torque, problem)
    else:
        p.unanswered_lower[:] = -math.inf
        p.unanswered_upper[:] = math.inf
    solved = free_minimiser(p.hessian, p.gradient, p.factor, p.acceleration)
    for i in range(n):
        # Written so that a value that is not a number meets no bound, and bounds that come of one are not met.
        solved = solved and -math.inf < feedforward[i] < math.inf
        solved = solved and p.acceleration_lower[i] <= p.acceleration[i] <= p.acceleration_upper[i]
        p.torque[i] = 0.0
        for j in range(n):
            p.torque[i] += p.inertia[i, j] * p.acceleration[j]
        solved = solved and (exerted or p.torque_lower[i] <= p.torque[i] <= p.torque_upper[i])
    share = 1.0
    if solved and exerted:
        share = _share(problem, force_torque)
        solved = share >= 0.0
    if not solved:
        return False, 0.0, False, 0.0, 0.0
    limited, change, torque_share = _command(problem, limits, feedforward, force_torque, share, p.smoothing)
    _smooth_share(problem, share if exerted else 0.0, p.smoothing)
    return True, share, limited, change, torque_share


@compiled_in_place
def _command(
    problem: Memory, limits: Memory, feedforward: Vector, force_torque: Vector, share: float, smoothing: float
) -> tuple[bool, float, float]:
    """Turn acceleration and share of the force into the command, van Steen 2024 (22), smoothed and inside the limits.

    Returns what `limit_command` does.
    """
    p = problem[()]
    n = force_torque.shape[0]
    for i in range(n):
        p.torque[i] = feedforward[i] + share * force_torque[i]
        for j in range(n):
            p.torque[i] += p.inertia[i, j] * p.acceleration[j]
    smooth_command(p.torque, limits, problem, smoothing, p.torque)
    return limit_command(p.torque, limits, p.command, p.torque)


@compiled_in_place
def _share(problem: Memory, force_torque: Vector) -> float:
    """Return the largest share of a force that the limits leave beside an acceleration; -1 where the solver is needed.

    The torques have to leave what the last command has of it; a motion in which nothing answers the force,
    `limits.unanswered_bounds`, may ask for less.
    """
    p = problem[()]
    low, high, high_unanswered = 0.0, 1.0, 1.0
    for i in range(force_torque.shape[0]):
        low_i, high_i = _share_within(p.torque[i], force_torque[i], p.torque_lower[i], p.torque_upper[i])
        low, high = max(low, low_i), min(high, high_i)
        low_i, high_i = _share_within(
            p.acceleration[i], p.force_motion[i], p.unanswered_lower[i], p.unanswered_upper[i]
        )
        low, high_unanswered = max(low, low_i), min(high_unanswered, high_i)
    if high < p.commanded_share or min(high, high_unanswered) < low:
        return -1.0
    return min(high, high_unanswered)


@compiled_in_place
def _smooth_share(problem: Memory, share: float, smoothing: float) -> None:
    """Let a share of the force go through the low-pass of the command: so much of it is in the command."""
    p = problem[()]
    p.halfway_share += smoothing * (share - p.halfway_share)
    p.commanded_share += smoothing * (p.halfway_share - p.commanded_share)


@compiled
def _share_within(value: float, slope: float, lower: float, upper: float) -> tuple[float, float]:
    """Return the interval of shares for which lower <= value + share slope <= upper, (1, -1) where there is none."""
    if slope > 0.0:
        return (lower - value) / slope, (upper - value) / slope
    if slope < 0.0:
        return (upper - value) / slope, (lower - value) / slope
    return (0.0, 1.0) if lower <= value <= upper else (1.0, -1.0)


@compiled_in_place
def _write_rows(problem: Memory, force_torque: Vector, rows: Matrix) -> None:
    """Write [inertia, J^T f] and [I, inertia^-1 J^T f] of the variables (ddq, s) to rows (2 n, n + 1)."""
    p = problem[()]
    n = force_torque.shape[0]
    for i in range(n):
        for j in range(n):
            rows[i, j] = p.inertia[i, j]
        rows[i, n], rows[n + i, n] = force_torque[i], p.force_motion[i]


@compiled_in_place
def _write_sides(problem: Memory, least: float, lower: Vector, upper: Vector) -> None:
    """Write the bounds of ddq, of s >= least, and of the rows of `_write_rows` one after the other."""
    p = problem[()]
    n = p.acceleration.shape[0]
    lower[n], upper[n] = least, 1.0
    for i in range(n):
        lower[i], upper[i] = p.acceleration_lower[i], p.acceleration_upper[i]
        lower[n + 1 + i], upper[n + 1 + i] = p.torque_lower[i], p.torque_upper[i]
        lower[2 * n + 1 + i], upper[2 * n + 1 + i] = p.unanswered_lower[i], p.unanswered_upper[i]


class _Elastic:
    """The same problem without the force, with bounds of ddq that are stretched by e (n,) >= 0, at a high cost.

    min cost(ddq) + ELASTICITY |e|^2, lower - e <= ddq <= upper + e, torque bounds as they are: always feasible, and the
    bounds are kept as nearly as the torques allow before the tasks have a say.

    Attribute: cause, why the last problem has no solution.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self.cause = ""
        self._hessian = np.zeros((2 * n, 2 * n))
        self._gradient = np.zeros(2 * n)
        self._rows = np.zeros((4 * n, 2 * n))
        self._right = np.zeros(4 * n)
        free = np.full(n, -np.inf)
        self._problem = Problem(
            self._hessian,
            self._gradient,
            self._rows,
            self._right,
            None,
            None,
            np.append(free, np.zeros(n)),
            np.full(2 * n, np.inf),
        )
        unit = np.eye(n)
        # Below, rows G x <= h of the torques come first.
        self._rows[2 * n : 3 * n] = np.hstack([unit, -unit])
        self._rows[3 * n :] = np.hstack([-unit, -unit])
        self._hessian[n:, n:] = ELASTICITY * unit

    def solve(self, problem: Memory) -> Vector | None:
        """Return the minimiser (n,), None where there is none. problem: see `_problem_memory`."""
        n = self._n
        self._hessian[:n, :n] = problem["hessian"][:n, :n]
        self._gradient[:n] = problem["gradient"][:n]
        self._rows[:n, :n] = problem["inertia"]
        np.negative(problem["inertia"], out=self._rows[n : 2 * n, :n])
        self._right[:n] = problem["torque_upper"]
        np.negative(problem["torque_lower"], out=self._right[n : 2 * n])
        self._right[2 * n : 3 * n] = problem["acceleration_upper"]
        np.negative(problem["acceleration_lower"], out=self._right[3 * n :])
        try:
            solution = solve_problem(self._problem, solver="daqp", eps_prox=PROXIMITY)
        except QPError as error:
            self.cause = f"the solver refused the problem with stretched limits: {error}"
            return None
        x = solution.x
        if not solution.found or x is None or not math.isfinite(math.hypot(*x)):
            self.cause = "the solver found no minimiser within the limits of the torques"
            return None
        minimiser: Vector = x[:n]
        return minimiser


class AccelerationQP:
    """Turns task rows and a desired force into the joint torque that serves them best inside all limits.

    Van Steen's assembly, over ddq, with the share s of the desired force f beside it:

        min_(ddq, s) sum_r w_r (E_r ddq - target_r)^2 + eps |ddq|^2 + w_f (1 - s)^2,  s_last <= s <= 1,
        tau = (M + B_theta) ddq + feed-forward + s J^T f,

    subject to position, velocity and acceleration limits of the motion ddq, to the limits of torque and torque rate of
    tau, and to position and velocity limits of ddq + s (M + B_theta)^-1 J^T f, the motion if nothing answers the force
    (`limits`). Van Steen 2024 (22), without gravity, which the arm adds itself; (26), (27) write the same torque as an
    acceleration in every task.

    Limits of the motion do not bound the force, which the environment carries, and a share of a force inside the
    friction cone is inside it. A force comes as fast as the torque rate leaves room for it beside the motion, and then
    stays: s_last is the share in the last command, 0 for a new force. (To let a force that acts give way to the motion
    makes two arms at one object swing.) Where nothing else keeps the limits it is 0, too.

    The solver, DAQP, is called when a limit is active; otherwise the minimiser without limits is the solution and takes
    a tenth of the time. It is called without qpsolvers, which gives the same answer after three times as long: limits
    are met now and then, by the noise, and what runs now and then finds its code in no cache.

    The command is tau after a low-pass of two first-order stages, which keeps the noise of the measurements out of
    it, as long as no limit is active; the limit of the torque rate is that of the command. Where one is, tau is the
    command: a limit that is kept some milliseconds later is not kept, and behind a torque of limited rate a low-pass
    leaves a part of that rate.

    What gives way, in this order: the force, position and velocity limits to the acceleration limit, all three to the
    torque limits, the limit of the motor torque to that of the torque rate, and where there is no solution the tasks:
    damping torque (FAILED, `cause`). Whatever happens, the returned torque is finite and inside torque and torque-rate
    limits.

    Attributes after `solve`: torque (n,) [Nm], acceleration (n,) [rad/s^2], force_share s, inertia M + B_theta (n, n),
    status, relaxed (which limits gave way, `Limit`; status is then RELAXED), limited (whether a torque or torque-rate
    limit holds with equality), change (largest of a torque against the last [Nm]), torque_share (largest part of a
    torque limit [-]), cause (why the last problem that FAILED has no solution).
    """

    def __init__(
        self,
        robot: RobotDescription,
        period: float,
        acceleration_limit: Vector,
        stop_damping: Vector,
        cutoff_frequency: float = math.inf,
        regularisation: float = 1e-6,
    ) -> None:
        """Period [s] of the loop; acceleration_limit (n,) [rad/s^2]; stop_damping (n,) [Nm s/rad].

        cutoff_frequency [Hz] of each stage of the low-pass of the command; infinite: none.
        """
        n = len(robot.joint_names)
        self.limits = ControlLimits(robot.limits, acceleration_limit, period)
        if np.shape(stop_damping) != (n,) or not np.all(np.isfinite(stop_damping)) or np.any(stop_damping <= 0.0):
            raise InvalidInputError("stop_damping", stop_damping, f"{n} finite numbers above 0")
        self._stop_damping = np.array(stop_damping, dtype=float)
        self._memory = memory = _problem_memory(n)
        memory["motor_inertia"] = robot.transmission.reduced_motor_inertia
        memory["regularisation"] = regularisation
        memory["smoothing"] = self._smoothing = low_pass_share(cutoff_frequency, period)
        self.inertia: Matrix = memory["inertia"]
        self.acceleration: Vector = memory["acceleration"]
        self.torque: Vector = memory["torque"]
        self._hessian, self._gradient = memory["hessian"], memory["gradient"]
        self._last_command, self._halfway = memory["command"], memory["halfway"]
        self._hessian[n, n] = FORCE_WEIGHT
        self._gradient[n] = -FORCE_WEIGHT
        self._rows = np.zeros((2 * n, n + 1))
        self._rows[n:, :n] = np.eye(n)
        self._lower = np.zeros(3 * n + 1)
        self._upper = np.zeros(3 * n + 1)
        self._constraint_types = np.zeros(3 * n + 1, dtype=np.intc)
        self._desired = np.zeros(n)
        self._elastic = _Elastic(n)
        self.force_share = 1.0
        self.status = QPStatus.NOT_USED
        self.relaxed = Limit.NONE
        self.limited = False
        self.change = 0.0
        self.torque_share = 0.0
        self.cause = ""

    def reset(self) -> None:
        """Forget the last command: the next one starts from zero torque."""
        for name in ("command", "halfway", "commanded_share", "halfway_share", "torque"):
            self._memory[name] = 0.0
        self.status = QPStatus.NOT_USED
        self.relaxed = Limit.NONE

    def solve(
        self,
        dynamics: Dynamics,
        task_matrix: Matrix,
        target: Vector,
        weights: Vector,
        feedforward: Vector,
        force_torque: Vector,
    ) -> None:
        """Solve for the state of `dynamics`.

        task_matrix E (m, n), target (m,), weights (m,): rows E ddq = target, weight w >= 0.
        feedforward (n,) [Nm]: added to the command beside inertia ddq: Coriolis and friction torque.
        force_torque (n,) [Nm]: J^T f of the desired force f on the environment.
        """
        memory, limits = self._memory, self.limits
        exerted = _assemble(memory, dynamics.mass_matrix, task_matrix, target, weights, force_torque)
        self._write_bounds(dynamics, feedforward, self._smoothing)
        solved, self.force_share, self.limited, self.change, self.torque_share = _solve_freely(
            memory, limits.memory, dynamics.q, dynamics.dq, feedforward, force_torque, exerted
        )
        if not solved:
            self._write_bounds(dynamics, feedforward, 1.0)
            self._ask_solver(dynamics, feedforward, force_torque)
            _smooth_share(memory, self.force_share if exerted else 0.0, 1.0)

    def _write_bounds(self, dynamics: Dynamics, feedforward: Vector, smoothing: float) -> None:
        self.limits.write_bounds(dynamics, feedforward, smoothing, self._memory)
        self.relaxed = self.limits.relaxed
        self.status = _RELAXED if self.relaxed else _SOLVED

    def _ask_solver(self, dynamics: Dynamics, feedforward: Vector, force_torque: Vector) -> None:
        """Solve the problem in which limits hold; without a solution leave out the force and stretch bounds of ddq."""
        if not (math.isfinite(math.hypot(*feedforward)) and math.isfinite(math.hypot(*force_torque))):
            # The solver returns a solution even for bounds that are not numbers.
            self._give_up(dynamics, "a torque that is fed forward is not finite")
            return
        _write_rows(self._memory, force_torque, self._rows)
        least_share = float(self._memory["commanded_share"])
        solution = self._within_limits(least_share)
        if solution is None and least_share > 0.0:
            solution = self._within_limits(0.0)
        if solution is None:
            self.force_share = 0.0
            solution = self._elastic.solve(self._memory)
            if solution is None:
                self._give_up(dynamics, self._elastic.cause)
                return
            self.relaxed |= self.limits.broken_by(solution, dynamics, BROKEN)
            self.status = QPStatus.RELAXED if self.relaxed else QPStatus.SOLVED
        self.acceleration[:] = solution
        self.limited, self.change, self.torque_share = _command(
            self._memory, self.limits.memory, feedforward, force_torque, self.force_share, 1.0
        )

    def _give_up(self, dynamics: Dynamics, cause: str) -> None:
        """Answer a problem without solution by damping."""
        self.acceleration[:] = 0.0
        self.force_share = 0.0
        self.damp(dynamics.dq)
        self.status = QPStatus.FAILED
        self.cause = cause

    def _within_limits(self, least_share: float) -> Vector | None:
        """Return the minimiser (n,) within all limits and keep its share of the force; None where there is none."""
        _write_sides(self._memory, least_share, self._lower, self._upper)
        x, _, how, _ = daqp.solve(
            self._hessian, self._gradient, self._rows, self._upper, self._lower, self._constraint_types
        )
        if how <= 0 or not math.isfinite(math.hypot(*x)):
            return None
        self.force_share = min(max(float(x[-1]), 0.0), 1.0)
        solution: Vector = x[:-1]
        return solution

    def damp(self, velocity: Vector) -> None:
        """Command -D dq inside the limits, or a torque that returns to zero where the velocity is none, or endless."""
        # math.fsum, which raises where a sum in between overflows, is none for numbers that come from outside.
        if math.isfinite(math.hypot(*velocity)):
            np.multiply(self._stop_damping, velocity, out=self._desired)
            np.negative(self._desired, out=self._desired)
        else:
            self._desired[:] = 0.0
        self.force_share = 0.0
        self._memory["commanded_share"] = self._memory["halfway_share"] = 0.0
        self.status = QPStatus.NOT_USED
        self.relaxed = Limit.NONE
        self.limited, self.change, self.torque_share = limit_command(
            self._desired, self.limits.memory, self._last_command, self.torque
        )
        self._halfway[:] = self.torque
