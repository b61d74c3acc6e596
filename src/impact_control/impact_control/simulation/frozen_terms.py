"""The rigid-body terms of an arm, held over one refresh interval: constants taken at its middle."""

from __future__ import annotations

from impact_control.compiled import compiled
from impact_control.dense import factorise, solve_lower, solve_upper
from impact_control.simulation.chain_dynamics import SerialChain, chain_terms, point_jacobian, update_chain
from impact_control.simulation.scene_arrays import (
    ACCELERATION,
    BASE,
    COMPENSATION,
    EXTERNAL,
    INVERSE_MASS,
    JACOBIAN,
    JOINT_COUNT,
    LOAD,
    MIDDLE,
    MIDDLE_POSITION,
    MIDDLE_RATE,
    MIDDLE_ROTATION,
    MOBILITY,
    NONLINEAR,
    Indices,
)
from impact_control.types import Matrix, Vector


@compiled
def freeze_arm(
    arm: int,
    interval: float,
    predict_velocity: bool,
    compensation: float,
    state: Vector,
    layout: Indices,
    links: Matrix,
    ends: Matrix,
    terms: Matrix,
    bodies: Matrix,
) -> None:
    """Write the terms of an arm for the next interval [s]. The arrays: see `SceneArrays`.

    predict_velocity: see `PlantOptions`. compensation: 1 when the arm adds its gravity torque to the command, 0 when
    not.
    """
    n = layout[arm, JOINT_COUNT]
    _predict_middle(arm, interval, predict_velocity, state, layout, terms)
    now = chain_terms(n)
    update_chain(
        SerialChain(links[arm, :n], ends[arm : arm + 1]), terms[arm, MIDDLE, :n], terms[arm, MIDDLE_RATE, :n], now
    )
    jacobian = terms[arm, JACOBIAN : JACOBIAN + 6, :n]
    point_jacobian(now, (now.position[0], now.position[1], now.position[2]), jacobian)
    for j in range(n):
        outside = terms[arm, EXTERNAL, j]
        for i in range(6):
            if i >= 3:
                jacobian[i, j] = now.twist_columns[j, i]
            outside += jacobian[i, j] * bodies[arm, LOAD + i]
        terms[arm, NONLINEAR, j] = now.nonlinear[j] - outside
        terms[arm, COMPENSATION, j] = compensation * now.gravity[j]
    for i in range(3):
        bodies[arm, MIDDLE_POSITION + i] = now.position[i]
        for j in range(3):
            bodies[arm, MIDDLE_ROTATION + 3 * i + j] = now.rotation[i, j]
    inverse = terms[arm, INVERSE_MASS : INVERSE_MASS + n, :n]
    _invert(now.mass_matrix, inverse)
    for h in range(6):
        for i in range(6):
            bodies[arm, MOBILITY + 6 * h + i] = 0.0
        for j in range(n):
            answer = 0.0
            for k in range(n):
                answer += jacobian[h, k] * inverse[k, j]
            for i in range(6):
                bodies[arm, MOBILITY + 6 * h + i] += answer * jacobian[i, j]


@compiled
def _predict_middle(
    arm: int, interval: float, predict_velocity: bool, state: Vector, layout: Indices, terms: Matrix
) -> None:
    """Write configuration and velocity of an arm at the middle of the next interval [s] to its terms.

    The middle makes the frozen terms and the linearised gaps second-order accurate. The velocity there is that of
    now, or with predict_velocity what the acceleration at the end of the last interval makes of it.
    """
    base, n = layout[arm, BASE], layout[arm, JOINT_COUNT]
    for j in range(n):
        terms[arm, MIDDLE, j] = 0.5 * interval * state[base + n + j] + state[base + j]
        terms[arm, MIDDLE_RATE, j] = state[base + n + j]
        if predict_velocity:
            terms[arm, MIDDLE_RATE, j] += 0.5 * interval * terms[arm, ACCELERATION, j]


@compiled
def _invert(matrix: Matrix, inverse: Matrix) -> None:
    """Write the inverse of a symmetric positive definite matrix, which is overwritten by its factor."""
    factorise(matrix)
    for j in range(matrix.shape[0]):
        column = inverse[j]
        column[:] = 0.0
        column[j] = 1.0
        solve_lower(matrix, column)
        solve_upper(matrix, column)
