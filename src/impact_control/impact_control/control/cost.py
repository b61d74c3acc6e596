"""The cost of the tasks, and its minimum where no limit holds. Van Steen 2024 (18); Proper 2021 (2.62)-(2.64)."""

from __future__ import annotations

from impact_control.util.compiled import compiled_in_place
from impact_control.util.dense import factorise, solve_lower, solve_upper
from impact_control.util.types import Matrix, Vector


@compiled_in_place
def force_acceleration(inertia: Matrix, torque: Vector, factor: Matrix, acceleration: Vector) -> bool:
    """Write inertia^-1 J^T f (n,): what a force f accelerates where nothing answers it; torque (n,) [Nm]: J^T f.

    Returns whether there is a force.
    """
    exerted = False
    for i in range(torque.shape[0]):
        acceleration[i] = torque[i]
        exerted = exerted or torque[i] != 0.0
        for j in range(i + 1):
            factor[i, j] = inertia[i, j]
    if exerted:
        factorise(factor)
        solve_lower(factor, acceleration)
        solve_upper(factor, acceleration)
    return exerted


@compiled_in_place
def task_cost(
    task_matrix: Matrix, target: Vector, weights: Vector, regularisation: float, hessian: Matrix, gradient: Vector
) -> None:
    """H = E^T W E + eps I, g = -E^T W target: Proper 2021 (2.64), written to the first n rows and columns."""
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
            for j in range(i + 1):
                hessian[i, j] += weighted * task_matrix[row, j]
    for i in range(n):
        for j in range(i):
            hessian[j, i] = hessian[i, j]


@compiled_in_place
def free_minimiser(hessian: Matrix, gradient: Vector, factor: Matrix, solution: Vector) -> bool:
    """Write the minimiser without constraints, -H^-1 g (n,), of the first n variables; False where there is none."""
    for i in range(solution.shape[0]):
        solution[i] = -gradient[i]
        for j in range(i + 1):
            factor[i, j] = hessian[i, j]
    if not factorise(factor):
        return False
    solve_lower(factor, solution)
    solve_upper(factor, solution)
    return True
