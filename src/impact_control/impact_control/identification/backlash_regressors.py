"""What each coefficient of backlash and friction does to a link, between the samples of a recording. Flacco 2016 (10).

A gap of some milliseconds has as many passed edges as samples, and the regressors jump there: their means have to be
right to a small part of a period. So the deflection between two samples is the cubic that meets their rates too.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from impact_control.observation.backlash_model import (
    DAMPING,
    GAP_DRY,
    GAP_VISCOUS,
    LINK_DRY,
    LINK_VISCOUS,
    MOTOR_DRY,
    MOTOR_VISCOUS,
    STIFFNESS,
)
from impact_control.types import Matrix, Vector

EDGE, CENTRE = 8, 9
"""Columns of the corrections of gap and centre, behind the coefficients of the model."""

COLUMNS = 10
"""Number of the columns."""

_GAUSS = 0.5 / np.sqrt(3.0)
"""Of an interval from its middle: the two points whose mean is that of a cubic."""

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

    Velocities change evenly from a sample to the next. Where an edge of the gap is passed, the parts before and after
    it are taken one by one. Other arguments as in `backlash_regressors`.
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
    """The motion in each period: states (m - 1, 3) at its begin, their change, and how the deflection bends.

    States are deflection, link and motor velocity.
    """

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
        """Return the states (k, 3) at parts (k,), 0 to 1, of the periods named."""
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
    """Return at which part (k,) of a period the deflection passes an edge [rad]; 0 where it does not."""
    begin = motion.begin[which, 0]
    inside = begin > edge
    passes = inside != (begin + motion.change[which, 0] > edge)
    low, high = np.zeros(which.size), np.ones(which.size)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        before = (motion.at(which, middle)[:, 0] > edge) == inside
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    return np.where(passes, low, 0.0)
