"""Piecewise quintic curves through via points, van Steen 2024 (11)-(13)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

_HERMITE = np.array(
    [
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.5, 0.0, 0.0, 0.0],
        [-10.0, -6.0, -1.5, 10.0, -4.0, 0.5],
        [15.0, 8.0, 1.5, -15.0, 7.0, -1.0],
        [-6.0, -3.0, -0.5, 6.0, -3.0, 0.5],
    ]
)
"""Coefficients of s^0..s^5 on [0, 1] from value, slope and curvature at its start, then at its end."""

PEAK_SPEED, PEAK_ACCELERATION = 1.875, 10.0 / math.sqrt(3.0)
"""Largest first and second derivative of the rest-to-rest quintic 10 u^3 - 15 u^4 + 6 u^5 on [0, 1]."""


@dataclass(frozen=True, eq=False)
class ViaPoint:
    """Position, velocity and acceleration of the curve at `time` [s], each (d,)."""

    time: float
    position: Vector
    velocity: Vector
    acceleration: Vector

    @classmethod
    def at_rest(cls, time: float, position: ArrayLike) -> ViaPoint:
        """Return a via point without velocity and acceleration."""
        place = np.atleast_1d(np.asarray(position, dtype=float))
        return cls(time, place, np.zeros_like(place), np.zeros_like(place))


class PiecewiseQuintic:
    """Curve in d dimensions that meets all via points; position, velocity, acceleration are continuous.

    Each segment is the quintic that (12) determines uniquely. It is kept in the segment's own time, scaled
    to [0, 1], which is the same polynomial as (11) without its loss of digits at late times. Before the
    first via point the curve stays at it with zero derivatives, after the last one likewise.
    """

    def __init__(self, times: Vector, positions: Matrix, velocities: Matrix, accelerations: Matrix) -> None:
        """Build it from N >= 2 via points: times (N,) increasing [s], the others (N, d).

        Raises InvalidInputError for wrong shapes, non-finite values or times that do not increase.
        """
        self._times = np.array(times, dtype=float)
        knots = [np.array(a, dtype=float) for a in (positions, velocities, accelerations)]
        count = self._times.size
        if count < 2 or any(k.ndim != 2 or k.shape != (count, knots[0].shape[1]) for k in knots):
            shapes = [self._times.shape, *(k.shape for k in knots)]
            raise InvalidInputError("via points", shapes, "at least two, with arrays of equal shape (N, d)")
        rows = np.column_stack([self._times, *knots])
        if not np.all(np.isfinite(rows)):
            row = int(np.argmin(np.isfinite(rows).all(axis=1)))
            raise InvalidInputError(f"via point {row}", rows[row].tolist(), "finite values")
        self._spans = np.diff(self._times)
        if np.any(self._spans <= 0.0):
            raise InvalidInputError("times of via points", self._times.tolist(), "increasing seconds")
        span = self._spans[:, None]
        starts = [knots[0][:-1], knots[1][:-1] * span, knots[2][:-1] * span**2]
        ends = [knots[0][1:], knots[1][1:] * span, knots[2][1:] * span**2]
        self._coefficients = np.einsum("cb,bnd->cnd", _HERMITE, np.stack([*starts, *ends]))

    @classmethod
    def through(cls, points: Sequence[ViaPoint]) -> PiecewiseQuintic:
        """Build it from via points in the order of their times."""
        return cls(
            np.array([point.time for point in points]),
            np.array([point.position for point in points]),
            np.array([point.velocity for point in points]),
            np.array([point.acceleration for point in points]),
        )

    @property
    def times(self) -> Vector:
        """Return the times of the via points (N,) [s]."""
        return self._times.copy()

    def sample(self, times: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Return value, first and second time derivative, each (len(times), d)."""
        asked = np.asarray(times, dtype=float)
        index = np.clip(np.searchsorted(self._times, asked, side="right") - 1, 0, self._spans.size - 1)
        span = self._spans[index][:, None]
        s = np.clip((asked - self._times[index])[:, None] / span, 0.0, 1.0)
        c = self._coefficients[:, index]
        value = c[0] + s * (c[1] + s * (c[2] + s * (c[3] + s * (c[4] + s * c[5]))))
        first = (c[1] + s * (2.0 * c[2] + s * (3.0 * c[3] + s * (4.0 * c[4] + s * 5.0 * c[5])))) / span
        second = (2.0 * c[2] + s * (6.0 * c[3] + s * (12.0 * c[4] + s * 20.0 * c[5]))) / span**2
        held = (asked < self._times[0]) | (asked > self._times[-1])
        first[held] = 0.0
        second[held] = 0.0
        return value, first, second
