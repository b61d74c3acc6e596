"""Time of the impact, found offline in recorded joint motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from impact_control.util.checks import finite_rows, increasing_stamps
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

GROWTH = 8.0
"""Smallest ratio of the acceleration at the impact to that before; Rey Arias 2024, section IV."""

INTERVAL = 10
"""Samples of each of the two intervals, same place."""

LEAD = 15
"""Samples by which the interval before the impact begins ahead of the rough estimate, same place."""


def offline_impact_time(
    time: Vector,
    velocity: Matrix,
    *,
    joints: Sequence[int] | None = None,
    growth: float = GROWTH,
) -> float | None:
    """Return the time [s] of the sample at which an impact shows first, or None where nothing grows that much.

    Rey Arias 2024, section IV. The acceleration is taken by central differences of the velocity; where it is
    largest in all samples and joints, the impact is roughly. Its mean magnitude over the `INTERVAL` samples that
    begin `LEAD` before that is what the arm did without impact; the impact is the first sample, of the `INTERVAL`
    samples centred at the rough estimate, at which the acceleration of a joint is `growth` times its mean.

    The source differentiates what is printed as q. Differences of the velocity are meant or have to be: the second
    difference of positions with the noise of Proper 2021 (3.5) has a standard deviation of about 600 rad/s^2 at
    1 kHz, as much as an impact. A central difference reaches one sample ahead, so that the sample found is the last
    before the contact or the first after it.

    Args:
        time: (m,) [s] of the samples, increasing.
        velocity: (m, n) [rad/s] of the joints.
        joints: which are searched, from 0, None for all; the source leaves out joint 7, which gave false positives.
        growth: above 1.

    Raises:
        InvalidInputError: sizes that do not match, numbers that are not finite, or fewer samples than `LEAD` before
            the rough estimate.
    """
    t = increasing_stamps("time", time, fewest=3)
    dq = finite_rows("velocity", velocity, t.size)
    if not growth > 1.0:
        raise InvalidInputError("growth", growth, "above 1")
    chosen = list(range(dq.shape[1])) if joints is None else list(joints)
    if not chosen or not all(0 <= joint < dq.shape[1] for joint in chosen):
        raise InvalidInputError("joints", joints, f"at least one, each from 0 to {dq.shape[1] - 1}")
    searched = dq[:, chosen]
    acceleration = np.zeros_like(searched)
    acceleration[1:-1] = np.abs(searched[2:] - searched[:-2]) / (t[2:] - t[:-2])[:, None]

    rough = int(np.argmax(np.max(acceleration, axis=1)))
    if rough - LEAD < 1:
        raise InvalidInputError("time of the largest acceleration", t[rough], f"more than {LEAD} samples after {t[0]}")
    before = np.mean(acceleration[rough - LEAD : rough - LEAD + INTERVAL], axis=0)
    first = rough - INTERVAL // 2
    close = acceleration[first : first + INTERVAL]
    grown = np.any((close >= growth * before) & (close > 0.0), axis=1)
    return float(t[first + int(np.argmax(grown))]) if np.any(grown) else None
