"""Joint velocity just before and right after an impact, from measured joint motion whose impact time is known."""

from __future__ import annotations

import numpy as np

from impact_control.checks import checked_count, finite_array, finite_rows, require_positive
from impact_control.errors import InvalidInputError
from impact_control.types import Matrix, Vector

GROSS_VELOCITY_WINDOW = 0.1
"""[s] span of the fit of the gross post-impact velocity, Rey Arias 2024, section IV."""

GROSS_VELOCITY_DEGREE = 3
"""Degree of that polynomial, same place."""


def gross_post_impact_velocity(
    time: Vector,
    position: Matrix,
    impact_time: float,
    *,
    window: float = GROSS_VELOCITY_WINDOW,
    degree: int = GROSS_VELOCITY_DEGREE,
) -> Vector:
    """Joint velocity right after an impact without the oscillation of the flexible joints.

    Least-squares polynomial through the positions of the samples in [impact, impact + window], its derivative
    at the impact. Rey Arias 2024, section IV.

    The velocity itself does not jump: it rings about the gross velocity with the height of the jump, and part
    of that enters the fit: a few hundredths of the jump for ringing above 60 Hz, up to a quarter at 20 Hz.

    Args:
        time: (m,) [s] of the samples.
        position: (m, n) [rad].
        impact_time: [s].
        window: [s].
        degree: of the polynomial.

    Returns:
        (n,) [rad/s].

    Raises:
        InvalidInputError: the window holds fewer than twice as many samples as the polynomial has
            coefficients, or positions that are not finite.
    """
    require_positive("window", window)
    inside = (time >= impact_time) & (time <= impact_time + window)
    needed = 2 * (checked_count("degree", degree, 1) + 1)
    if np.count_nonzero(inside) < needed:
        raise InvalidInputError(
            "samples",
            int(np.count_nonzero(inside)),
            f"at least {needed} in the {window} s after {impact_time} s",
        )
    scaled = (time[inside] - impact_time) / window
    moved = finite_rows("position", position[inside])
    origin = moved[0]  # a small offset keeps the digits of the small motion
    powers = np.vander(scaled, degree + 1, increasing=True)
    coefficients, *_ = np.linalg.lstsq(powers, moved - origin, rcond=None)
    velocity: Vector = coefficients[1] / window
    return velocity


def ante_impact_velocity(time: Vector, velocity: Matrix, impact_time: float) -> Vector:
    """(n,) [rad/s] last measured velocity before an impact. `time`: (m,) [s], `velocity`: (m, n) [rad/s].

    Raises:
        InvalidInputError: no sample lies before the impact, or the last one is not finite.
    """
    before = np.flatnonzero(time < impact_time)
    if not before.size:
        raise InvalidInputError("impact_time", impact_time, f"later than the first sample at {time[0]} s")
    last = velocity[before[-1]]
    return finite_array("velocity", last, last.shape)
