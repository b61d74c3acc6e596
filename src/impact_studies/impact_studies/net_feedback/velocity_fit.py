"""Post-impact velocity from the net feedback of trials with different references. van Steen 2024, VI.

The controller adds a feedback acceleration to the feed-forward of the post-impact reference. Its integral is the
velocity that was missing after the impact: with v_ref at the begin of the post-impact reference and v+ after the
impact, an ideal arm has

    a_fb,net = v_ref - v+

once both agree again, whatever the gain, the blending and the vibrations. So a line through the net feedback of trials
with different v_ref passes 0 at v+, with a slope of 1. The slope of real data shows how far this holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_control.util.checks import finite_array, require_finite
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Vector

REFERENCE_SCALES = (0.8, 0.9, 1.0, 1.1, 1.2)
"""Post-impact velocity of the references over the predicted one. van Steen 2024, VI."""

SIGNIFICANCE = 3.0
"""Standard errors by which the slope of the fit has to be above 0."""

_FEWEST_TRIALS = 3


@dataclass(frozen=True)
class VelocityEstimate:
    """The post-impact velocity at which the net feedback would be 0, along one direction.

    Attributes:
        velocity, standard_error: [m/s]; the error from the scatter of the trials about the line.
        slope, slope_error: of the net feedback by the velocity of the reference [-]; 1 for an ideal arm.
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
