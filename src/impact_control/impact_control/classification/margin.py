"""Margin by which the envelope of the velocity error may exclude zero, e_eta of Proper 2021 (4.27).

Fixed as there, or propagated from standard deviations, and closing in time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from impact_control.scenario import low_pass_share
from impact_control.util.checks import checked_vector, require_not_negative, require_positive
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

STEP = 1e-3
"""[s] between the rows of a margin that closes."""


@dataclass(frozen=True, eq=False)
class EnvelopeMargin:
    """e_eta of Proper 2021 (4.27), for each joint: table (N, n) [rad/s] at times `STEP` apart since the impact.

    The last row holds from then on. Raises InvalidInputError for anything but finite numbers of at least 0.
    """

    table: Matrix

    def __post_init__(self) -> None:
        table = np.array(self.table, dtype=np.float64)
        if table.ndim != 2 or not table.size or not np.all(np.isfinite(table)) or np.any(table < 0.0):
            raise InvalidInputError("margin", self.table, "rows of finite numbers of at least 0 rad/s")
        table.setflags(write=False)
        object.__setattr__(self, "table", table)

    @property
    def joints(self) -> int:
        """Number of joints."""
        return int(self.table.shape[1])

    def row(self, since_impact: float) -> int:
        """Return the row that holds at a time since the impact [s]; the first before it."""
        last: int = self.table.shape[0] - 1
        if not since_impact > 0.0:
            return 0
        return int(since_impact / STEP) if since_impact < last * STEP else last


def fixed_margin(margins: Vector | float | None, n: int) -> EnvelopeMargin:
    """Return the margin [rad/s] of Proper 2021, the same at all times: one for all joints, one for each (n,), or none.

    Raises InvalidInputError when it was given for another number of joints.
    """
    given = 0.0 if margins is None else margins
    each = np.full(n, given) if np.ndim(given) == 0 else given
    return EnvelopeMargin(checked_vector("envelope_margin", each, n)[None])


def propagated_margin(
    jump_deviation: Vector, friction_deviation: Vector, tracking: float, noise: Vector, limit: float, left: Vector
) -> EnvelopeMargin:
    """Return `limit` standard deviations of the velocity error after an impact that is as expected.

        e_eta(t)^2 = limit^2 (tracking^2 + noise^2 + friction_deviation^2 + (g(t) jump_deviation)^2)

    jump_deviation, friction_deviation (n,) [rad/s]: of the velocity after the impact; tracking [rad/s] and noise (n,)
    [rad/s]: what is left when its error is gone; limit [-]; left (N,) [-]: g(t), see `remaining_error`. Raises
    InvalidInputError.
    """
    deviation = checked_vector("jump_deviation", jump_deviation)
    floor = np.full(deviation.size, require_not_negative("tracking", tracking) ** 2)
    floor += checked_vector("noise", noise, deviation.size) ** 2
    floor += checked_vector("friction_deviation", friction_deviation, deviation.size) ** 2
    limit = require_positive("limit", limit)
    return EnvelopeMargin(limit * np.sqrt(floor + (left[:, None] * deviation) ** 2))


@lru_cache(maxsize=16)
def remaining_error(gain: float, interim: float, cutoff_frequency: float, duration: float) -> Vector:
    """Return the part g(t) of a velocity error just after the impact that is left, largest from t on.

    The error obeys e'' + 2 sqrt(k) gamma(t) e' + k e = 0, e(0) = 0, e'(0) = 1, van Steen 2024 (23)-(25), with the
    position gain k [1/s^2], gamma from 0 to 1 in Delta t_int = interim [s], and the feedback behind the two stages of
    the command's low-pass of cutoff_frequency [Hz]. At times `STEP` apart up to duration [s]; read-only. Raises
    InvalidInputError.
    """
    require_positive("gain", gain)
    require_not_negative("interim", interim)
    smoothing = low_pass_share(require_positive("cutoff frequency", cutoff_frequency), STEP)
    place, velocity, halfway, braking = 0.0, 1.0, 0.0, 0.0
    speeds = []
    for k in range(max(1, math.ceil(duration / STEP))):
        speeds.append(abs(velocity))
        gamma = min((k + 0.5) * STEP / interim, 1.0) if interim > 0.0 else 1.0
        halfway += smoothing * (2.0 * math.sqrt(gain) * gamma * velocity + gain * place - halfway)
        before = braking
        braking += smoothing * (halfway - braking)
        velocity -= 0.5 * STEP * (before + braking)
        place += STEP * velocity
    left: Vector = np.maximum.accumulate(np.array(speeds)[::-1])[::-1]
    left.setflags(write=False)
    return left
