"""Post-impact velocity from the feedback that a reference with a wrong one costs. van Steen 2024, V and VI.

The controller adds a feedback acceleration to the feedforward that the post-impact reference needs. What it adds in
total is the velocity that was missing after the impact: with v_ref at the begin of the post-impact reference and v+
what the impact left, an arm that does what it is told has

    a_fb,net = v_ref - v+

once both agree again, whatever the gain, the blending and the vibrations on the way. So a line through the net feedback
of trials with different v_ref passes 0 at v+, with a slope of 1. The slope of real data says how far this holds.

All quantities are task-space, in one frame for all trials, e.g. the inertial frame A of van Steen 2024, Fig. 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_control.checks import (
    finite_array,
    finite_rows,
    freeze,
    increasing_stamps,
    require_finite,
    require_not_negative,
    require_positive,
)
from impact_control.errors import InvalidInputError
from impact_control.types import Matrix, Vector

REFERENCE_SCALES = (0.8, 0.9, 1.0, 1.1, 1.2)
"""Post-impact velocity of the references over the predicted one. van Steen 2024, VI."""

BEFORE, AFTER = 0.1, 0.6
"""[s] t_1 before and t_2 after the nominal time of impact. van Steen 2024, VI."""

SIGNIFICANCE = 3.0
"""Standard errors by which the slope of the fit has to be above 0."""

_FEWEST_TRIALS = 3


@dataclass(frozen=True, eq=False)
class Track:
    """Positions [m] and velocities [m/s] of a point, each (m, d), one row a sample. Raises InvalidInputError."""

    position: Matrix
    velocity: Matrix

    def __post_init__(self) -> None:
        freeze(self, finite_rows("position", self.position).shape, "position", "velocity")


@dataclass(frozen=True)
class VelocityEstimate:
    """The post-impact velocity at which the net feedback would be 0, along one direction.

    Attributes:
        velocity, standard_error: [m/s]; the error from the scatter of the trials about the line.
        slope, slope_error: of the net feedback by the velocity of the reference [-]; 1 for an arm that does what it is
            told.
        residual_rms: [m/s] scatter of the net feedback about the line.
        trials: their number.
    """

    velocity: float
    standard_error: float
    slope: float
    slope_error: float
    residual_rms: float
    trials: int

    def mismatch(self, prediction: float) -> float:
        """Return by which part of the estimate a predicted velocity [m/s] is above it. van Steen 2024, Table II.

        Raises InvalidInputError for a prediction that is not finite and for an estimate of 0.
        """
        if self.velocity == 0.0:
            raise InvalidInputError("velocity", self.velocity, "an estimate other than 0, to be compared with")
        return require_finite("prediction", prediction) / self.velocity - 1.0


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

    Each sample holds until the next, as the command does that it is part of: the signal jumps at the impact, where a
    trapezoid would take half a period of the jump for something else.

    Args:
        time: (m,) [s], increasing, from at most `begin` to at least `end`.
        feedback: (m, d) [m/s^2].
        begin, end: t_1, t_2 [s].

    Raises InvalidInputError.
    """
    values = finite_rows("feedback", feedback)
    stamps = increasing_stamps("time", time, len(values))
    if not stamps[0] <= begin < end <= stamps[-1]:
        raise InvalidInputError("begin, end", (begin, end), f"in order, from {stamps[0]:g} to {stamps[-1]:g} s")
    held = np.diff(np.clip(stamps, begin, end))
    net: Vector = held @ values[:-1]
    return net


def estimate_post_impact_velocity(reference_velocity: Vector, net: Vector) -> VelocityEstimate:
    """Return where a least-squares line through the net feedback of trials passes 0. van Steen 2024, VI and Fig. 7.

    Args:
        reference_velocity: (k,) [m/s] of each trial's post-impact reference at the nominal impact, along one direction;
            from `REFERENCE_SCALES` times the predicted velocity. At least 3 trials and two different ones.
        net: (k,) [m/s] a_fb,net along it.

    The standard error of the velocity is that of the ratio of intercept and slope to first order, so the slope has to
    be known: by `SIGNIFICANCE` standard errors above 0. Raises InvalidInputError when it is not.
    """
    velocity = finite_array("reference_velocity", reference_velocity, np.shape(reference_velocity))
    if velocity.ndim != 1 or velocity.size < _FEWEST_TRIALS:
        raise InvalidInputError("reference_velocity", reference_velocity, f"at least {_FEWEST_TRIALS} trials")
    values = finite_array("net", net, velocity.shape)
    offset = velocity - velocity.mean()
    spread = float(offset @ offset)
    if spread <= 1e-12 * float(velocity @ velocity):
        raise InvalidInputError("reference_velocity", reference_velocity, "trials with different velocities")
    slope = float(offset @ values) / spread
    error = values - values.mean() - slope * offset
    variance = float(error @ error) / (velocity.size - 2)
    slope_error = math.sqrt(variance / spread)
    if not slope > SIGNIFICANCE * slope_error:
        found = f"slope {slope:.3g} with a standard error of {slope_error:.3g}"
        raise InvalidInputError("net", found, "a net feedback that rises with the velocity of the reference")
    shift = -float(values.mean()) / slope
    return VelocityEstimate(
        velocity=float(velocity.mean()) + shift,
        standard_error=math.sqrt(variance * (1.0 / velocity.size + shift**2 / spread)) / slope,
        slope=slope,
        slope_error=slope_error,
        residual_rms=math.sqrt(float(error @ error) / velocity.size),
        trials=velocity.size,
    )
