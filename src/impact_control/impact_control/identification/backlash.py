"""Backlash and friction of joints from recorded motion: the gap, then everything else. Flacco 2016, III-C."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from impact_control.checks import (
    checked_vector,
    finite_array,
    finite_rows,
    increasing_stamps,
    require_not_negative,
    require_positive,
)
from impact_control.errors import InvalidInputError
from impact_control.identification.backlash_regressors import CENTRE, COLUMNS, EDGE, mean_regressors
from impact_control.observation.backlash_model import (
    DAMPING,
    EDGE_MARGIN,
    GAP_DRY,
    GAP_VISCOUS,
    LINK_DRY,
    LINK_VISCOUS,
    MOTOR_DRY,
    MOTOR_VISCOUS,
    SLIP_SPEED,
    STIFFNESS,
    BacklashModel,
)
from impact_control.observation.first_order_filter import low_pass_series
from impact_control.types import Matrix, Vector

_LEAST_PART = 1e-6
"""Smallest singular value over the largest, of columns scaled to one, with which the coefficients are still told
apart."""

_REFINEMENTS = 3
"""Fits of which each starts with the gap of the one before: which samples lie in it hardly changes."""

_AT_REST = 3
"""Samples in a row close to an edge that are not a passing of it."""

_SHORTEST = 10
"""Samples between two rests at an edge that are worth an unknown of their own."""


@dataclass(frozen=True, eq=False)
class GapMeasurement:
    """gap: half-width alpha (n,) [rad]; centre: q - theta (n,) [rad] in the middle, the offset of the encoders."""

    gap: Vector
    centre: Vector


@dataclass(frozen=True, eq=False)
class BacklashFit:
    """Identified joints.

    Attributes:
        model: with the refined gap when that was asked for.
        centre: (n,) [rad] deflection in the middle of the gap, refined; 0 when that was not asked for.
        standard_error: (8, n) of its coefficients, in their units, from the scatter of the residual taken as white;
            0 where the joint has no such coefficient.
        reconstructed: A K (m, n) [Nm], the residual of the model, Flacco 2016 (14).
        explained: (n,) part of the residual's mean square that the model explains.
    """

    model: BacklashModel
    centre: Vector
    standard_error: Matrix
    reconstructed: Matrix
    explained: Vector


def measure_gap(link_position: Matrix, motor_position: Matrix, *, average: int = 20) -> GapMeasurement:
    """Return the gap from a recording in which the motors stand still and the links are moved by hand.

    Flacco 2016, III-C: half the range of q - theta, when the link is moved from edge to edge without straining the
    contact. The difference is averaged over some samples first, or its noise would widen the range.

    Args:
        link_position, motor_position: q, theta (m, n) [rad].
        average: samples, at least 1, short against the time at an edge.

    Raises InvalidInputError for positions that are not finite or fewer than the average.
    """
    q = finite_rows("link_position", link_position)
    deflection = q - finite_array("motor_position", motor_position, q.shape)
    if not 1 <= average <= deflection.shape[0]:
        raise InvalidInputError("average", average, f"1 to {deflection.shape[0]} samples")
    sums = np.cumsum(np.vstack([np.zeros(deflection.shape[1]), deflection]), axis=0)
    smooth = (sums[average:] - sums[:-average]) / average
    lower, upper = smooth.min(axis=0), smooth.max(axis=0)
    return GapMeasurement(0.5 * (upper - lower), 0.5 * (upper + lower))


def identify_backlash(
    time: Vector,
    deflection: Matrix,
    link_velocity: Matrix,
    motor_velocity: Matrix,
    residual: Matrix,
    gain: float,
    gap: Vector,
    *,
    spring: bool = True,
    refine: bool = True,
    slip_speed: float = SLIP_SPEED,
    edge_margin: float = EDGE_MARGIN,
) -> BacklashFit:
    """Return the coefficients that explain the residual of a contact-free motion. Flacco 2016 (8) to (11).

    The residual (8) is that of `MomentumObserver` with the torque (9): zeros, or in contact the motor's. It is the
    torque tau_L - tau_mu that was left out, passed through K/(s + K); so it is regressed on the columns of (10) passed
    through the same filter, see Errata.

    A link can rest at an edge: in the gap friction is less and gravity takes it out, beyond it friction and damper
    push it back, faster than it is sampled. The torque is then something between both sides that no column tells.
    These samples are left out, and after each of them what the filter still remembers is one more unknown.

    Errors of the gap and of its centre act as constants K d_alpha against the deflection and K d_c, and are fitted
    with the rest: 0.1 mrad at 2000 Nm/rad would be 0.2 Nm.

    Args:
        time: (m,) [s].
        deflection: phi = q - theta (m, n) [rad], zero in the middle of the gap.
        link_velocity, motor_velocity: dq, dtheta (m, n) [rad/s].
        residual: (m, n) [Nm].
        gain: K of the residual [1/s], for all joints.
        gap: alpha (n,) [rad] from `measure_gap`; 0 for a joint without.
        spring: whether stiffness and damping are looked for; False when the residual had the motor's torque.
        refine: whether to correct gaps and centres; only with the spring.
        slip_speed: as in `BacklashModel`.
        edge_margin: [rad] from an edge within which a link is at rest at it, at least 0, some noise of the deflection.

    Raises InvalidInputError for sizes that do not match, numbers that are not finite, and a motion that does not
    tell the coefficients of a joint apart.
    """
    time = increasing_stamps("time", time)
    gaps = checked_vector("gap", gap)
    shape = (time.size, gaps.size)
    phi, residual = finite_array("deflection", deflection, shape), finite_array("residual", residual, shape)
    link_velocity = finite_array("link_velocity", link_velocity, shape)
    motor_velocity = finite_array("motor_velocity", motor_velocity, shape)
    require_positive("gain", gain)
    require_not_negative("edge_margin", edge_margin)
    n = gaps.size
    centre, explained = np.zeros((2, n))
    coefficients, errors = np.zeros((2, COLUMNS, n))
    reconstructed = np.zeros(phi.shape)
    refine = refine and spring
    for j in range(n):
        wanted = _wanted(gaps[j] > 0.0, spring, refine)
        for _ in range(_REFINEMENTS if refine else 1):
            twist = phi[:, j] - centre[j]
            columns = mean_regressors(time, twist, link_velocity[:, j], motor_velocity[:, j], gaps[j], slip_speed)
            stretches = _stretches(twist, gaps[j], edge_margin)
            found, error = _fit(time, columns[:, wanted], residual[:, j], gain, stretches, j)
            coefficients[wanted, j], errors[wanted, j] = found, error
            if refine:
                gaps[j] += coefficients[EDGE, j] / coefficients[STIFFNESS, j]
                centre[j] += coefficients[CENTRE, j] / coefficients[STIFFNESS, j]
        reconstructed[:, j] = low_pass_series(time, columns[:, wanted], gain) @ found
        power = float(np.mean(residual[:, j] ** 2))
        explained[j] = 1.0 - float(np.mean((residual[:, j] - reconstructed[:, j]) ** 2)) / power
    model = BacklashModel.from_coefficients(gaps, coefficients[:EDGE], slip_speed)
    return BacklashFit(model, centre, errors[:EDGE], reconstructed, explained)


def _wanted(has_gap: bool, spring: bool, refine: bool) -> NDArray[np.bool_]:
    """Return which columns (10,) of the regressors a joint has."""
    wanted = np.zeros(COLUMNS, dtype=bool)
    wanted[[STIFFNESS, DAMPING]] = spring
    wanted[[GAP_VISCOUS, GAP_DRY, LINK_VISCOUS, LINK_DRY]] = has_gap
    wanted[[MOTOR_VISCOUS, MOTOR_DRY]] = True
    wanted[EDGE] = has_gap and refine
    wanted[CENTRE] = refine
    return wanted


def _stretches(deflection: Vector, gap: float, margin: float) -> list[slice]:
    """Return the samples between those in which the link rests at an edge of its gap."""
    moving = np.ones(deflection.size, dtype=bool)
    if gap > 0.0:
        for begin, end in flag_runs(np.abs(np.abs(deflection) - gap) <= margin):
            if end - begin >= _AT_REST:
                # With a neighbour on each side: the rest may begin and end between the samples.
                moving[max(begin - 1, 0) : end + 1] = False
    return [slice(begin, end) for begin, end in flag_runs(moving) if end - begin >= _SHORTEST]


def flag_runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return first and one past the last index of each row of flags that are set."""
    changes = np.flatnonzero(np.diff(flags, prepend=False, append=False))
    return [(int(begin), int(end)) for begin, end in changes.reshape(-1, 2)]


def _fit(
    time: Vector, means: Matrix, residual: Vector, gain: float, stretches: list[slice], joint: int
) -> tuple[Vector, Vector]:
    """Return coefficients and standard errors of a residual (m,) by means (m - 1, c) of its columns.

    In each stretch the filter starts from an unknown output, whose decay is taken out of both sides.
    """
    rows = []
    for stretch in stretches:
        stamps = time[stretch]
        filtered = low_pass_series(stamps, means[stretch.start : stretch.stop - 1], gain)
        half = 0.5 * gain * np.diff(stamps)
        decay = np.cumprod(np.concatenate([[1.0], (1.0 - half) / (1.0 + half)]))
        decay /= np.linalg.norm(decay)
        both = np.column_stack([filtered, residual[stretch]])
        rows.append(both - np.outer(decay, decay @ both))
    stacked = np.vstack(rows) if rows else np.zeros((0, means.shape[1] + 1))
    return _least_squares(stacked[:, :-1], stacked[:, -1], joint)


def _least_squares(columns: Matrix, values: Vector, joint: int) -> tuple[Vector, Vector]:
    """Return the solution of columns x = values and its standard errors."""
    scale = np.linalg.norm(columns, axis=0)
    if np.all(scale > 0.0):
        left, parts, right = np.linalg.svd(columns / scale, full_matrices=False)
    if np.any(scale == 0.0) or parts[-1] < _LEAST_PART * parts[0]:
        raise InvalidInputError("motion", f"joint {joint + 1}", "one that moves in the gap and beyond it, both ways")
    solution = (right.T @ ((left.T @ values) / parts)) / scale
    freedom = max(values.size - scale.size, 1)
    scatter = float(np.sum((values - columns @ solution) ** 2)) / freedom
    error = np.sqrt(scatter * np.sum((right / parts[:, None]) ** 2, axis=0)) / scale
    return solution, error
