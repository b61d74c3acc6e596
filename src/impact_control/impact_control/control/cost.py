"""The cost of the tasks, and its minimum where no limit holds. Van Steen 2024 (18); Proper 2021 (2.62)-(2.64)."""

from __future__ import annotations

from impact_control.compiled import compiled
from impact_control.dense import dot, factorise, solve_lower, solve_upper
from impact_control.types import Matrix, Vector


@compiled
def force_acceleration(inertia: Matrix, torque: Vector, factor: Matrix, acceleration: Vector) -> None:
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
def task_cost(
    task_matrix: Matrix, target: Vector, added: Vector, weights: Vector, regularisation: float, hessian: Matrix,
    gradient: Vector,
) -> None:  # fmt: skip
    """H = E^T W E + eps I, g = -E^T W (target + E added): Proper 2021 (2.64), written to the first n rows and columns.

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
def free_minimiser(hessian: Matrix, gradient: Vector, factor: Matrix, solution: Vector) -> bool:
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
