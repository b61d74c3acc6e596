"""Joint velocity just before and right after an impact, from measured joint motion whose impact time is known."""

from __future__ import annotations

import numpy as np

from impact_control.util.checks import checked_count, finite_array, finite_rows, require_positive
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

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


def gross_velocity_deviation(position_deviation: Vector, period: float) -> Vector:
    """Return the deviation (n,) [rad/s] that white noise of the positions makes in `gross_post_impact_velocity`.

    position_deviation: standard deviation of one sample (n,) [rad], one a `period` [s]. The velocity is linear in the
    positions: its weights are the answers to unit positions.
    """
    time = np.asarray(np.arange(round(GROSS_VELOCITY_WINDOW / period) + 1) * period, dtype=np.float64)
    weights = gross_post_impact_velocity(time, np.eye(time.size), 0.0)
    deviation: Vector = position_deviation * np.linalg.norm(weights)
    return deviation


BEFORE_IMPACT = (-0.025, -0.005)
"""[s] after the impact, from when to when the velocity before it is looked at: it is detected some ms late."""

AFTER_IMPACT = (0.0, 0.05)
"""[s] the same for the velocity after it: two periods or more of joints that ring at 40 Hz and above."""

_FEWEST_SAMPLES = 10
"""Fewest samples for a line through velocities."""


def velocities_around_impact(time: Vector, velocity: Matrix, impact_time: float) -> tuple[Vector, Vector]:
    """Return the joint velocities before and after an impact (n,) [rad/s], each by a line through measured velocities.

    time: (m,) [s], velocity: (m, n) [rad/s] of the samples, impact_time [s].

    For what is to be learned from every single impact. The polynomial of `gross_post_impact_velocity` goes through
    positions: of a Panda their noise of 0.75 mrad alone leaves 0.026 rad/s in its slope at the impact, while a line
    through 50 ms of velocities keeps 0.0014 rad/s of theirs (0.005), and needs half the time, in which the controller
    does less. Of ringing it keeps about as much at 40 Hz and above, 5 to 15 % of its height; at 20 Hz up to 37 %, where
    that keeps a quarter. Raises InvalidInputError where fewer than ten samples are on either side, or one is not
    finite.
    """
    return _at_impact(time, velocity, impact_time, BEFORE_IMPACT), _at_impact(time, velocity, impact_time, AFTER_IMPACT)


def _at_impact(time: Vector, velocity: Matrix, impact_time: float, window: tuple[float, float]) -> Vector:
    """Return the line through the samples of a window at the impact (n,) [rad/s]."""
    since = time - impact_time
    inside = (since >= window[0]) & (since <= window[1])
    if np.count_nonzero(inside) < _FEWEST_SAMPLES:
        allowed = f"at least {_FEWEST_SAMPLES} from {window[0]:g} to {window[1]:g} s after the impact"
        raise InvalidInputError("samples", int(np.count_nonzero(inside)), allowed)
    line = np.polynomial.polynomial.polyfit(since[inside], finite_rows("velocity", velocity[inside]), 1)
    at_impact: Vector = line[0]
    return at_impact


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
