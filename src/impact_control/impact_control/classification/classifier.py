"""Verdicts, and what every classifier has: the expected impact, its errors, the envelope of the velocity error."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from enum import IntEnum

from impact_control.classification.margin import EnvelopeMargin
from impact_control.classification.velocity_error import VelocityErrorEnvelope
from impact_control.scenario import Classification
from impact_control.util.checks import checked_count, finite_array, require_finite, require_positive
from impact_control.util.types import Vector


class Verdict(IntEnum):
    """Verdicts, with the values of impact_msgs/ImpactClassification."""

    UNKNOWN = 0
    EXPECTED = 1
    UNEXPECTED = 2
    NOT_STARTED = 3


HIDDEN, GROWTH, MISTAKEN, FALL = 0.23, 5.2, 0.012, 0.7
"""Up to the limit: the part of impacts with a deviation at the limit that are not as expected, and how steeply it grows
with the deviation. Beyond: the part of those just over it that are as expected, and how steeply it falls.

Of largest likelihood for the runs of the study of the operating envelope on other tasks, seed 7001. One law over both
sides cannot be close to the frequency: a judgement ends at the first sample beyond a limit, which cuts the deviation
off just there."""


def probability_expected(deviation: float) -> float:
    """Return the probability that an impact and what follows it are as expected, for its largest deviation.

    1 - HIDDEN d^GROWTH up to the limit, MISTAKEN d^-FALL beyond, d as a part of its limit; 0 for no number.
    """
    if deviation <= 1.0:
        return 1.0 - HIDDEN * math.pow(max(0.0, deviation), GROWTH)
    return MISTAKEN * math.pow(deviation, -FALL) if deviation < math.inf else 0.0


class Classifier(ABC):
    """Verdicts on an impact, single or of many points, and on what follows it.

    Not for the loop: `await_impact` and `reason`. Each tick: `classify`, and `impact_detected` and `contact_completed`
    when there is such an event, in any order. These three return whether a verdict changed.

    Attributes (arrays (n,), overwritten by the next call):
        parameters: the tuning.
        configuration_limit: epsilon of the task [rad].
        impact: verdict on time and place; UNKNOWN until an impact is detected.
        post_impact: verdict on the behaviour after it; NOT_STARTED until an impact is detected.
        impact_missing: whether the nominal time + zeta has passed without an impact. The verdicts then stay
            UNKNOWN and NOT_STARTED; an impact that still comes is UNEXPECTED by (4.1).
        impact_time: [s] of the first impact; time_error: t_j - t_1d [s], configuration_error [rad]: of the impact
            judged last. NaN before it.
        lower, upper: bounds of the envelope of e_vel [rad/s], without e_eta; NaN before the first sample.
        margin: distance of zero to the nearest bound widened by e_eta [rad/s], negative outside.
        deviation: largest deviation so far from what is expected as a part of its limit, above 1 once it is not: of
            time and configuration of the impact, of the envelope after it, of the time without an impact.
        decision_time: time [s] of the last sample filtered when a verdict last changed, or that of the impact if that
            is later; NaN before.
    """

    def __init__(self, parameters: Classification, n: int) -> None:
        """Set the tuning for n joints. Raises InvalidInputError when they do not fit together."""
        self._n = checked_count("n", n, 1)
        self.parameters = parameters
        self._error = VelocityErrorEnvelope(parameters, n)
        self.lower: Vector = self._error.lower
        self.upper: Vector = self._error.upper
        self.margin: Vector = self._error.margin
        self.configuration_limit = parameters.configuration_error
        self._nominal: tuple[float, Vector] | None = None
        self._forget()

    def await_impact(
        self,
        nominal_impact_time: float,
        nominal_configuration: Vector,
        margin: EnvelopeMargin | None = None,
        configuration_limit: float | None = None,
    ) -> None:
        """Begin with a new task: forget verdicts, envelope and clock.

        nominal_impact_time: t_1d [s] on the clock of `classify`; nominal_configuration: q_ref(t_1d) (n,) [rad]; margin:
        e_eta of this task, None: as before; configuration_limit: epsilon of this task [rad], None: of the parameters.
        Raises InvalidInputError when they are not finite or of another size.
        """
        time = require_finite("nominal_impact_time", nominal_impact_time)
        configuration = finite_array("nominal_configuration", nominal_configuration, (self._n,))
        limit = self.parameters.configuration_error if configuration_limit is None else configuration_limit
        self.configuration_limit = require_positive("configuration_limit", limit)
        self._error.begin(margin)
        self._nominal = time, configuration
        self._forget()

    def _forget(self) -> None:
        """Forget the verdicts and what they are about."""
        self.deviation = 0.0
        self.impact = Verdict.UNKNOWN
        self.post_impact = Verdict.NOT_STARTED
        self.impact_missing = False
        self.impact_time = math.nan
        self.time_error = math.nan
        self.configuration_error = math.nan
        self.decision_time = math.nan

    @abstractmethod
    def impact_detected(self, time: float, configuration: Vector) -> bool:
        """Take an impact: its time t_j [s] and the configuration (n,) [rad] of the sample that detected it.

        That sample comes one or a few after the begin of the contact, which t_j estimates.
        """

    @abstractmethod
    def contact_completed(self, time: float) -> bool:
        """Take that all contact points touch, known at `time` [s]; before the sample of that time, or after it."""

    @abstractmethod
    def classify(self, time: float, velocity: Vector, reference_velocity: Vector) -> bool:
        """Filter the velocity error of a sample, and judge the behaviour after the impact, (4.27).

        time [s], samples with a repeated or older stamp are ignored; velocity: dq (n,) [rad/s], measured;
        reference_velocity: dq_ref (n,) [rad/s], ante-impact until the first impact was detected, then post-impact.
        """

    @property
    @abstractmethod
    def settled(self) -> bool:
        """True when no verdict can change any more before the next `await_impact`."""

    @property
    @abstractmethod
    def reason(self) -> str:
        """The condition that decided last, in words with its numbers. Builds a string: not for every tick."""

    @property
    def widening(self) -> float:
        """e_eta at the last sample, the largest of all joints [rad/s]."""
        return self._error.largest_widening

    def _measure(self, time: float, configuration: Vector) -> None:
        """Take the errors of an impact, t_j - t_1d and ||q - q_ref(t_1d)||, Proper 2021 (4.2), (4.7)."""
        if self._nominal is not None:
            self.time_error = time - self._nominal[0]
            self.configuration_error = math.dist(configuration, self._nominal[1])

    @property
    def _in_time_and_place(self) -> bool:
        """True for errors inside zeta and epsilon, (4.2) and (4.8); not for errors that are not numbers."""
        in_time = abs(self.time_error) <= self.parameters.time_error
        return in_time and self.configuration_error <= self.configuration_limit

    @property
    def _relative_error(self) -> float:
        """The larger of both errors as a part of its limit."""
        late, away = abs(self.time_error) / self.parameters.time_error, self.configuration_error
        return max(late, away / self.configuration_limit) if math.isfinite(late + away) else math.inf

    def _wait(self, time: float) -> None:
        """Take a sample at `time` [s] without an impact so far: it is missing when the nominal time + zeta is over."""
        overdue = -math.inf if self._nominal is None else (time - self._nominal[0]) / self.parameters.time_error
        self.impact_missing = overdue > 1.0
        self.deviation = max(overdue, 0.0)

    @property
    def _impact_reason(self) -> str:
        """No impact so far, or its errors beside their limits."""
        zeta = self.parameters.time_error
        if self.impact != Verdict.UNKNOWN:
            return (
                f"impact {self.impact.name.lower()}: {self.time_error:+.4g} s from the nominal time (limit {zeta:.4g} "
                f"s), {self.configuration_error:.4g} rad from the nominal configuration (limit "
                f"{self.configuration_limit:.4g} rad)"
            )
        if self._nominal is None or not self.impact_missing:
            return "no impact detected yet"
        return f"no impact detected until {zeta:.4g} s after the nominal time of {self._nominal[0]:.4g} s"
