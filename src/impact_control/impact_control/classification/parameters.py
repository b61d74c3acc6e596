"""The tuning of the classifiers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_control.classification.margin import EnvelopeMargin, fixed_margin
from impact_control.util.checks import checked_count, checked_vector, require_not_negative, require_positive


@dataclass(frozen=True)
class ClassifierParameters:
    """The tuning parameters of Proper 2021, Algorithms 1 and 2. Raises InvalidInputError outside the ranges.

    window_length: m [samples], at least 0. In Algorithm 1, zero stays inside the envelope for m samples after the
        impact, so m samples should last longer than the contact itself and the delay of the detection.
    decay_rate: a [1/s], above 0.
    envelope_margin: e_eta [rad/s], at least 0; one for all joints, as printed, or one for each. Where a task comes with
        a margin of its own, see `Classifier.start`, that one holds.
    configuration_error: epsilon [rad], above 0; largest expected Euclidean distance from the nominal
        configuration.
    time_error: zeta [s], at least 0; largest expected distance from the nominal impact time.
    post_impact_time: t_xi [s], above 0; time after the impact until the behaviour counts as expected.
    impact_interval: t_int [s], at least 0; largest expected time between two impacts, of Algorithm 2 only.
        Infinite: not looked at.
    """

    window_length: int
    decay_rate: float
    envelope_margin: float | tuple[float, ...]
    configuration_error: float
    time_error: float
    post_impact_time: float
    impact_interval: float = math.inf

    def __post_init__(self) -> None:
        checked_count("window_length", self.window_length, 0)
        require_positive("decay_rate", self.decay_rate)
        require_positive("configuration_error", self.configuration_error)
        require_not_negative("time_error", self.time_error)
        require_positive("post_impact_time", self.post_impact_time)
        if self.impact_interval != math.inf:
            require_not_negative("impact_interval", self.impact_interval)
        if np.ndim(self.envelope_margin) == 0:
            require_not_negative("envelope_margin", self.envelope_margin)  # type: ignore[arg-type]
        else:
            margins = checked_vector("envelope_margin", self.envelope_margin)
            object.__setattr__(self, "envelope_margin", tuple(margins.tolist()))

    def fixed_margin(self, n: int) -> EnvelopeMargin:
        """Return e_eta for n joints. Raises InvalidInputError when it was given for another number."""
        if np.ndim(self.envelope_margin) == 0:
            return fixed_margin(np.full(n, self.envelope_margin, dtype=np.float64))
        return fixed_margin(checked_vector("envelope_margin", self.envelope_margin, n))
