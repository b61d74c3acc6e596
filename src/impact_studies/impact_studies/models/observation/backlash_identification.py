"""Backlash and friction of joints from recorded motion: the gap, then everything else. Flacco 2016, III-C."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from impact_control.util.checks import (
    checked_vector,
    finite_array,
    finite_rows,
    increasing_stamps,
    require_not_negative,
    require_positive,
)
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector
from impact_studies.models.observation.backlash_model import (
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
from impact_studies.models.observation.first_order_filter import low_pass_series

EDGE, CENTRE = 8, 9
"""Columns of the corrections of gap and centre, behind the coefficients of the model."""

COLUMNS = 10
"""Number of the columns."""

_GAUSS = 0.5 / np.sqrt(3.0)
"""Distance of the two Gauss points from the middle of an interval, as part of it."""

_BISECTIONS = 30


def backlash_regressors(
    deflection: Vector, link_velocity: Vector, motor_velocity: Vector, gap: float, slip_speed: float
) -> Matrix:
    """Return A (m, 10) of one joint, with tau_L - tau_mu = A [coefficients, K d_alpha, K d_c]. Flacco 2016 (10).

    Columns in the order of `BacklashModel`, and last those of errors d_alpha of the gap and d_c of its centre.
    Corrected as in the Errata: the deflection beyond the gap is phi - alpha and phi + alpha, and friction keeps its
    minus sign; so do spring and damper, which act against it.

    deflection phi = q - theta (m,) [rad], velocities (m,) [rad/s], gap alpha and slip_speed as in `BacklashModel`.
    """
    free = (np.abs(deflection) < gap).astype(float)
    held = 1.0 - free
    twist_rate = link_velocity - motor_velocity
    side = np.sign(deflection)
    columns = np.zeros((deflection.size, COLUMNS))
    columns[:, STIFFNESS] = -held * (deflection - gap * side)
    columns[:, DAMPING] = -held * twist_rate
    columns[:, GAP_VISCOUS] = -free * twist_rate
    columns[:, GAP_DRY] = -free * np.tanh(twist_rate / slip_speed)
    columns[:, LINK_VISCOUS] = -free * link_velocity
    columns[:, LINK_DRY] = -free * np.tanh(link_velocity / slip_speed)
    columns[:, MOTOR_VISCOUS] = -held * motor_velocity
    columns[:, MOTOR_DRY] = -held * np.tanh(motor_velocity / slip_speed)
    columns[:, EDGE] = held * side
    columns[:, CENTRE] = held
    return columns


def mean_regressors(
    time: Vector, deflection: Vector, link_velocity: Vector, motor_velocity: Vector, gap: float, slip_speed: float
) -> Matrix:
    """Return the means (m - 1, 10) of `backlash_regressors` between samples at the stamps (m,) [s].

    A gap of some milliseconds has as many passed edges as samples, and the regressors jump there: their means have to
    be right to a small part of a period. So the deflection between two samples is the cubic that meets their rates,
    too, velocities change evenly, and where an edge is passed the parts before and after it are taken one by one.
    """
    motion = _Motion.through(time, deflection, link_velocity, motor_velocity)
    every = np.arange(np.size(time) - 1)
    means = _part_means(motion, every, np.zeros(every.size), np.ones(every.size), gap, slip_speed)
    above, below = deflection >= gap, deflection <= -gap
    passed = np.flatnonzero((above[1:] != above[:-1]) | (below[1:] != below[:-1]))
    edges = np.sort([_passing(motion, passed, -gap), _passing(motion, passed, gap)], axis=0)
    bounds = (np.zeros(passed.size), *edges, np.ones(passed.size))
    means[passed] = 0.0
    for begin, end in pairwise(bounds):
        means[passed] += (end - begin)[:, None] * _part_means(motion, passed, begin, end, gap, slip_speed)
    return means


@dataclass(frozen=True, eq=False)
class _Motion:
    """Motion in each period: states (m - 1, 3) at its begin (deflection, link and motor velocity), change, and bend."""

    begin: Matrix
    change: Matrix
    bend_before: Vector
    bend_after: Vector

    @classmethod
    def through(cls, time: Vector, deflection: Vector, link_velocity: Vector, motor_velocity: Vector) -> _Motion:
        states = np.column_stack([deflection, link_velocity, motor_velocity])
        change, period = np.diff(states, axis=0), np.diff(time)
        twist_rate = link_velocity - motor_velocity
        return cls(states[:-1], change, period * twist_rate[:-1] - change[:, 0], change[:, 0] - period * twist_rate[1:])

    def at(self, which: NDArray[np.intp], part: Vector) -> Matrix:
        """Return the states (k, 3) at parts (k,), 0 to 1, of these periods."""
        rest = 1.0 - part
        states: Matrix = self.begin[which] + part[:, None] * self.change[which]
        states[:, 0] += part * rest * (rest * self.bend_before[which] + part * self.bend_after[which])
        return states


def _part_means(
    motion: _Motion, which: NDArray[np.intp], begin: Vector, end: Vector, gap: float, slip_speed: float
) -> Matrix:
    """Return the means (k, 10) of the regressors from `begin` to `end`, parts of periods without an edge in between."""
    middle, width = 0.5 * (begin + end), end - begin
    states = (motion.at(which, middle + side * _GAUSS * width) for side in (-1.0, 1.0))
    first, second = (backlash_regressors(s[:, 0], s[:, 1], s[:, 2], gap, slip_speed) for s in states)
    mean: Matrix = 0.5 * (first + second)
    return mean


def _passing(motion: _Motion, which: NDArray[np.intp], edge: float) -> Vector:
    """Return the part (k,) of a period at which the deflection passes an edge [rad]; 0 where it does not."""
    begin = motion.begin[which, 0]
    inside = begin > edge
    passes = inside != (begin + motion.change[which, 0] > edge)
    low, high = np.zeros(which.size), np.ones(which.size)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        before = (motion.at(which, middle)[:, 0] > edge) == inside
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    return np.where(passes, low, 0.0)


_LEAST_PART = 1e-6
"""Least ratio of singular values, of columns scaled to one, with which the coefficients are identifiable."""

_REFINEMENTS = 3
"""Fits in a row, each with the gap of the one before: the samples in it hardly change."""

_AT_REST = 3
"""Samples in a row close to an edge that count as rest."""

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

    model: with the refined gap. centre (n,) [rad]: refined deflection in the middle of the gap, 0 if not refined.
    gap_error (n,) [rad]: standard error of a refined gap, else 0. standard_error (8, n): of the coefficients, from the
    scatter of the residual taken as white; 0 for one that the joint has not. reconstructed: A K (m, n) [Nm], the
    residual of the model, Flacco 2016 (14). explained (n,): part of the residual's mean square that it explains.
    """

    model: BacklashModel
    centre: Vector
    gap_error: Vector
    standard_error: Matrix
    reconstructed: Matrix
    explained: Vector


def measure_gap(link_position: Matrix, motor_position: Matrix, *, average: int = 20) -> GapMeasurement:
    """Return the gap from a recording in which the motors stand still and the links are moved by hand.

    Flacco 2016, III-C: half the range of q - theta (m, n) [rad], when the link is moved from edge to edge without
    straining the contact. The difference is averaged over some samples first, at least 1 and short against the time at
    an edge, or its noise would widen the range. Raises InvalidInputError for positions that are not finite or too few.
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
        spring: identify stiffness and damping; False when the residual had the motor's torque.
        refine: correct gaps and centres; only with the spring.
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
    centre, gap_error, explained = np.zeros((3, n))
    coefficients, errors = np.zeros((2, COLUMNS, n))
    reconstructed = np.zeros(phi.shape)
    refine = refine and spring
    for j in range(n):
        own = _columns_of(gaps[j] > 0.0, spring, refine)
        for _ in range(_REFINEMENTS if refine else 1):
            twist = phi[:, j] - centre[j]
            columns = mean_regressors(time, twist, link_velocity[:, j], motor_velocity[:, j], gaps[j], SLIP_SPEED)
            stretches = _stretches(twist, gaps[j], edge_margin)
            found, error = _fit(time, columns[:, own], residual[:, j], gain, stretches, j)
            coefficients[own, j], errors[own, j] = found, error
            if refine:
                gaps[j] += coefficients[EDGE, j] / coefficients[STIFFNESS, j]
                centre[j] += coefficients[CENTRE, j] / coefficients[STIFFNESS, j]
                gap_error[j] = errors[EDGE, j] / abs(coefficients[STIFFNESS, j])
        reconstructed[:, j] = low_pass_series(time, columns[:, own], gain) @ found
        power = float(np.mean(residual[:, j] ** 2))
        explained[j] = 1.0 - float(np.mean((residual[:, j] - reconstructed[:, j]) ** 2)) / power
    model = BacklashModel.from_coefficients(gaps, coefficients[:EDGE], SLIP_SPEED)
    return BacklashFit(model, centre, gap_error, errors[:EDGE], reconstructed, explained)


def _columns_of(has_gap: bool, spring: bool, refine: bool) -> NDArray[np.bool_]:
    """Return the mask (10,) of the regressors that a joint has."""
    own = np.zeros(COLUMNS, dtype=bool)
    own[[STIFFNESS, DAMPING]] = spring
    own[[GAP_VISCOUS, GAP_DRY, LINK_VISCOUS, LINK_DRY]] = has_gap
    own[[MOTOR_VISCOUS, MOTOR_DRY]] = True
    own[EDGE] = has_gap and refine
    own[CENTRE] = refine
    return own


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
