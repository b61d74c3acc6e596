"""Backlash and friction of joints from recorded motion: the gap, then everything else. Flacco 2016, III-C."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from impact_control.errors import InvalidInputError
from impact_control.observation.backlash_model import (
    DAMPING,
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

_EDGE = 8
"""Column of the correction of the gap, behind the coefficients of the model."""

_LEAST_PART = 1e-6
"""Smallest singular value over the largest, of columns scaled to one, with which the coefficients are still told
apart."""

_REFINEMENTS = 3
"""Fits of which each starts with the gap of the one before: which samples lie in it hardly changes."""


_CHATTER = 4
"""Samples: a link that leaves an edge for no longer than this chatters at it, partly between the samples."""

_FORGOTTEN = 5.0
"""Time constants of the residual after which an error of its input is left to less than 1 %."""


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
        standard_error: (8, n) of its coefficients, in their units, from the scatter of the residual taken as white;
            0 where the joint has no such coefficient.
        reconstructed: A K (m, n) [Nm], the residual of the model, Flacco 2016 (14).
        explained: (n,) part of the residual's mean square that the model explains.
    """

    model: BacklashModel
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
    deflection = np.asarray(link_position, dtype=float) - np.asarray(motor_position, dtype=float)
    if deflection.ndim != 2 or not np.all(np.isfinite(deflection)):
        raise InvalidInputError("positions", deflection.shape, "two arrays of finite numbers of shape (m, n)")
    if not 1 <= average <= deflection.shape[0]:
        raise InvalidInputError("average", average, f"1 to {deflection.shape[0]} samples")
    sums = np.cumsum(np.vstack([np.zeros(deflection.shape[1]), deflection]), axis=0)
    smooth = (sums[average:] - sums[:-average]) / average
    lower, upper = smooth.min(axis=0), smooth.max(axis=0)
    return GapMeasurement(0.5 * (upper - lower), 0.5 * (upper + lower))


def backlash_regressors(
    deflection: Vector, link_velocity: Vector, motor_velocity: Vector, gap: float, slip_speed: float
) -> Matrix:
    """Return A (m, 9) of one joint, with tau_L - tau_mu = A [coefficients, K d_alpha]. Flacco 2016 (10), corrected.

    Columns in the order of `BacklashModel`, and last that of an error d_alpha of the gap. Corrected as in the Errata:
    the deflection beyond the gap is phi - alpha and phi + alpha, and friction keeps its minus sign; so do spring and
    damper, which act against it.

    deflection phi = q - theta (m,) [rad], velocities (m,) [rad/s], gap alpha and slip_speed as in `BacklashModel`.
    """
    free = (np.abs(deflection) < gap).astype(float)
    held = 1.0 - free
    twist_rate = link_velocity - motor_velocity
    side = np.sign(deflection)
    columns = np.zeros((deflection.size, 9))
    columns[:, STIFFNESS] = -held * (deflection - gap * side)
    columns[:, DAMPING] = -held * twist_rate
    columns[:, GAP_VISCOUS] = -free * twist_rate
    columns[:, GAP_DRY] = -free * np.tanh(twist_rate / slip_speed)
    columns[:, LINK_VISCOUS] = -free * link_velocity
    columns[:, LINK_DRY] = -free * np.tanh(link_velocity / slip_speed)
    columns[:, MOTOR_VISCOUS] = -held * motor_velocity
    columns[:, MOTOR_DRY] = -held * np.tanh(motor_velocity / slip_speed)
    columns[:, _EDGE] = held * side
    return columns


def mean_regressors(
    deflection: Vector, link_velocity: Vector, motor_velocity: Vector, gap: float, slip_speed: float
) -> Matrix:
    """Return the means (m - 1, 9) of `backlash_regressors` between the samples.

    The mean of both samples, but where an edge of the gap is passed in between, the parts before and after it count
    with their middle: the regressors jump there, and a gap of some milliseconds has as many passed edges as samples.
    """
    samples = backlash_regressors(deflection, link_velocity, motor_velocity, gap, slip_speed)
    means: Matrix = 0.5 * (samples[1:] + samples[:-1])
    above, below = deflection >= gap, deflection <= -gap
    passed = np.flatnonzero((above[1:] != above[:-1]) | (below[1:] != below[:-1]))
    states = np.column_stack([deflection, link_velocity, motor_velocity])
    before, change = states[passed], states[passed + 1] - states[passed]
    edges = (np.array([[-gap, gap]]) - before[:, :1]) / change[:, :1]
    bounds = np.column_stack([np.zeros(passed.size), np.clip(np.sort(edges, axis=1), 0.0, 1.0), np.ones(passed.size)])
    means[passed] = 0.0
    for part in range(3):
        middle = before + 0.5 * (bounds[:, part] + bounds[:, part + 1])[:, None] * change
        weight = bounds[:, part + 1] - bounds[:, part]
        phi, dq, dtheta = middle.T
        means[passed] += weight[:, None] * backlash_regressors(phi, dq, dtheta, gap, slip_speed)
    return means


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
    refine_gap: bool = True,
    slip_speed: float = SLIP_SPEED,
) -> BacklashFit:
    """Return the coefficients that explain the residual of a contact-free motion. Flacco 2016 (8) to (11).

    The residual (8) is that of `MomentumObserver` with the torque (9): zeros, or in contact the motor's. It is the
    torque tau_L - tau_mu that was left out, passed through K/(s + K); so it is regressed on the columns of (10) passed
    through the same filter, see Errata. Where a link chatters at an edge, faster than it is sampled, the columns are
    not known, and these samples are left out until the filter has forgotten them. An error of the gap acts as a
    constant K d_alpha against the deflection, and is fitted with the rest: 0.1 mrad of it at 2000 Nm/rad would be
    0.2 Nm.

    Args:
        time: (m,) [s].
        deflection: phi = q - theta (m, n) [rad], zero in the middle of the gap.
        link_velocity, motor_velocity: dq, dtheta (m, n) [rad/s].
        residual: (m, n) [Nm], from a first sample of 0.
        gain: K of the residual [1/s], for all joints.
        gap: alpha (n,) [rad] from `measure_gap`; 0 for a joint without.
        spring: whether stiffness and damping are looked for; False when the residual had the motor's torque.
        refine_gap: whether to correct the gaps; only with the spring.
        slip_speed: as in `BacklashModel`.

    Raises InvalidInputError for sizes that do not match, numbers that are not finite, and a motion that does not
    tell the coefficients of a joint apart.
    """
    phi = np.asarray(deflection, dtype=float)
    gaps = np.array(gap, dtype=float)
    arrays = {"deflection": phi, "link_velocity": link_velocity, "motor_velocity": motor_velocity, "residual": residual}
    for name, array in arrays.items():
        if np.shape(array) != (np.size(time), gaps.size) or not np.all(np.isfinite(array)):
            raise InvalidInputError(name, array, f"finite numbers of shape ({np.size(time)}, {gaps.size})")
    n = gaps.size
    coefficients, errors = np.zeros((2, 8, n))
    reconstructed, explained = np.zeros(phi.shape), np.zeros(n)
    refine = refine_gap and spring
    for j in range(n):
        wanted = _wanted(gaps[j] > 0.0, spring, refine)
        for _ in range(_REFINEMENTS if wanted[_EDGE] else 1):
            columns = mean_regressors(phi[:, j], link_velocity[:, j], motor_velocity[:, j], gaps[j], slip_speed)
            filtered = low_pass_series(time, columns[:, wanted], gain)
            used = _free_of_chatter(time, phi[:, j], gaps[j], _FORGOTTEN / gain)
            found, error = _least_squares(filtered[used], residual[used, j], j)
            coefficients[wanted[:_EDGE], j] = found[: np.count_nonzero(wanted[:_EDGE])]
            errors[wanted[:_EDGE], j] = error[: np.count_nonzero(wanted[:_EDGE])]
            if wanted[_EDGE]:
                gaps[j] += found[-1] / coefficients[STIFFNESS, j]
        reconstructed[:, j] = filtered @ found
        power = float(np.mean(residual[:, j] ** 2))
        explained[j] = 1.0 - float(np.mean((residual[:, j] - reconstructed[:, j]) ** 2)) / power
    model = BacklashModel.from_coefficients(gaps, coefficients, slip_speed)
    return BacklashFit(model, errors, reconstructed, explained)


def _wanted(has_gap: bool, spring: bool, refine: bool) -> NDArray[np.bool_]:
    """Return which columns (9,) of the regressors a joint has."""
    wanted = np.zeros(9, dtype=bool)
    wanted[[STIFFNESS, DAMPING]] = spring
    wanted[[GAP_VISCOUS, GAP_DRY, LINK_VISCOUS, LINK_DRY]] = has_gap
    wanted[[MOTOR_VISCOUS, MOTOR_DRY]] = True
    wanted[_EDGE] = has_gap and refine
    return wanted


def _free_of_chatter(time: Vector, deflection: Vector, gap: float, memory: float) -> NDArray[np.bool_]:
    """Return which samples (m,) are more than `memory` [s] after a chatter at an edge."""
    edges = np.flatnonzero(np.diff(np.abs(deflection) < gap))
    chatter = edges[:-1][np.diff(edges) <= _CHATTER]
    last = np.full(time.size, -np.inf)
    last[chatter] = time[chatter]
    # Of each sample, the last chatter up to it; one sample more, in which it may have begun.
    last = np.maximum.accumulate(last)
    free: NDArray[np.bool_] = (time - last > memory) & (np.roll(last, -1) == last)
    return free


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
