"""Net feedback over an impact: the velocity that was missing after it. van Steen 2024, V.

All quantities are task-space, in one frame for all trials, e.g. the inertial frame A of van Steen 2024, Fig. 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_control.util.checks import (
    finite_array,
    finite_rows,
    freeze,
    increasing_stamps,
    require_finite,
    require_not_negative,
    require_positive,
)
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

BEFORE, AFTER = 0.1, 0.6
"""[s] t_1 before and t_2 after the nominal time of impact. van Steen 2024, VI."""


@dataclass(frozen=True, eq=False)
class Track:
    """Positions [m] and velocities [m/s] of a point, each (m, d), one row a sample. Raises InvalidInputError."""

    position: Matrix
    velocity: Matrix

    def __post_init__(self) -> None:
        freeze(self, finite_rows("position", self.position).shape, "position", "velocity")


def feedback_acceleration(reference: Track, measured: Track, stiffness: float, damping_scale: Vector) -> Matrix:
    """Return k_p (p_d - p) + gamma 2 sqrt(k_p) (dp_d - dp) (m, d) [m/s^2]: one mode of van Steen 2024 (28), and (30).

    stiffness: k_p [1/s^2]; damping_scale: gamma (m,), 1 but in the interim mode. Raises InvalidInputError for tracks of
    different shapes, a stiffness that is not above 0, and a scale that is not finite.
    """
    shape = measured.position.shape
    if reference.position.shape != shape:
        raise InvalidInputError("reference", reference.position.shape, f"positions of shape {shape}")
    gain = require_positive("stiffness", stiffness)
    scale = finite_array("damping_scale", damping_scale, shape[:1])
    rate = 2.0 * math.sqrt(gain) * scale[:, None]
    feedback: Matrix = rate * (reference.velocity - measured.velocity)
    feedback += gain * (reference.position - measured.position)
    return feedback


def feedback_signal(
    time: Vector,
    measured: Track,
    ante: Track,
    post: Track,
    *,
    stiffness: float,
    impact_time: float,
    interim_duration: float,
) -> Matrix:
    """Return a_fb (m, d) [m/s^2] of a trial with an impact: van Steen 2024 (28), with gamma of (24).

    Against the ante-impact reference before the impact, against the post-impact one from it on; in the interim mode the
    velocity feedback grows from 0.

    Args:
        time: (m,) [s], increasing.
        measured: the point of the end effector that the references are of.
        ante, post: references, both given at all samples: they extend past the impact.
        stiffness: k_p [1/s^2], above 0.
        impact_time: T_imp [s], when the impact was detected.
        interim_duration: dt_int [s], at least 0.

    Raises InvalidInputError.
    """
    stamps = increasing_stamps("time", time, measured.position.shape[0])
    duration = require_not_negative("interim_duration", interim_duration)
    since = stamps - require_finite("impact_time", impact_time)
    interim = (since >= 0.0) & (since < duration)
    gamma = np.where(interim, since / duration if duration > 0.0 else 1.0, 1.0)
    before = feedback_acceleration(ante, measured, stiffness, np.ones(stamps.size))
    after = feedback_acceleration(post, measured, stiffness, gamma)
    return np.where((since < 0.0)[:, None], before, after)


def net_feedback(time: Vector, feedback: Matrix, begin: float, end: float) -> Vector:
    """Return a_fb,net (d,) [m/s], the integral of the feedback from t_1 to t_2. van Steen 2024 (29).

    Each sample holds until the next, like the command: at the jump of the impact a trapezoid would be off by half a
    period.

    time (m,) [s], increasing, from at most `begin` t_1 [s] to at least `end` t_2 [s]; feedback (m, d) [m/s^2]. Raises
    InvalidInputError.
    """
    values = finite_rows("feedback", feedback)
    stamps = increasing_stamps("time", time, len(values))
    if not stamps[0] <= begin < end <= stamps[-1]:
        raise InvalidInputError("begin, end", (begin, end), f"in order, from {stamps[0]:g} to {stamps[-1]:g} s")
    held = np.diff(np.clip(stamps, begin, end))
    net: Vector = held @ values[:-1]
    return net
