"""Classifier for a single impact: time and place when it is detected, then the behaviour after it."""

from __future__ import annotations

import math

from impact_control.classification.classifier import Verdict
from impact_control.classification.margin import EnvelopeMargin
from impact_control.classification.nominal_impact import (
    NominalImpact,
    impact_reason,
    is_expected,
    is_missing,
    overdue,
    relative_error,
    waiting_reason,
)
from impact_control.classification.velocity_error import VelocityErrorEnvelope
from impact_control.scenario import Classification
from impact_control.util.checks import checked_count
from impact_control.util.types import Vector


class SingleImpactClassifier:
    """Verdicts on one impact and on what follows it: Proper 2021, Algorithm 1 (section 4.3).

    The impact is EXPECTED when |t_1 - t_1d| <= zeta (4.1) and ||q(t_1) - q_ref(t_1d)|| <= epsilon (4.6), else
    UNEXPECTED, and then so is what follows. After an expected impact, the envelope of the joint velocity
    error e_vel = dq - dq_ref (4.24), see `SignalEnvelope`, must hold zero for every joint:

        lower - e_eta <= 0 <= upper + e_eta   (4.27)   for t in (t_1, t_1 + t_xi].

    The first violation makes the post-impact behaviour UNEXPECTED, none until t > t_1 + t_xi makes it
    EXPECTED. Only the first impact since `await_impact` is judged. Numbers that are not finite at the impact, and a
    joint that never had a finite velocity error, are UNEXPECTED. Lost velocities later on hold the envelope;
    their age is the caller's to watch.

    The filter runs all the time; dq_ref is the ante-impact reference up to t_1 and the post-impact reference
    after it (4.11), for the caller to switch. An impact that is reported late, after samples of t > t_1 were
    filtered with the ante-impact reference, leaves the velocity jump of those samples in the envelope: for m
    samples, and then decaying. That widens the envelope on the side of the jump and can delay or hide an
    unexpected behaviour on the other side. While the delay is shorter than m samples, the good samples from
    before the impact are still in the window, so that a late report by itself violates nothing. Choose zeta,
    m and t_xi with the delay in mind (Proper 2021, 4.3.1).

    Each tick `classify`, and `impact_detected` when there is an event, in any order. Both return whether a
    verdict changed.

    Attributes (arrays (n,), overwritten by the next call):
        impact: verdict on time and place; UNKNOWN until an impact is detected.
        post_impact: verdict on the behaviour after it; NOT_STARTED until an impact is detected.
        impact_missing: whether the nominal time + zeta has passed without an impact. The verdicts then stay
            UNKNOWN and NOT_STARTED; an impact that still comes is UNEXPECTED by (4.1).
        impact_time: t_1 [s]; time_error: t_1 - t_1d [s]; configuration_error: [rad]. NaN before the impact.
        lower, upper: bounds of the envelope of e_vel [rad/s], without e_eta; NaN before the first sample.
        deviation: largest deviation so far from what is expected as a part of its limit: of time and configuration of
            the impact, of the envelope after it, of the time without an impact.
        margin: distance of zero to the nearest bound widened by e_eta [rad/s], negative outside.
        decision_time: time [s] of the last sample filtered when a verdict last changed, or t_1 if that is
            later; NaN before.
    """

    def __init__(self, parameters: Classification, n: int) -> None:
        """Set the tuning for n joints. Raises InvalidInputError when they do not fit together."""
        self._n = checked_count("n", n, 1)
        self.parameters = parameters
        self._error = VelocityErrorEnvelope(parameters, n)
        self.lower: Vector = self._error.lower
        self.upper: Vector = self._error.upper
        self.margin: Vector = self._error.margin
        self._clear(None, None)

    def await_impact(
        self, nominal_impact_time: float, nominal_configuration: Vector, margin: EnvelopeMargin | None = None
    ) -> None:
        """Begin with a new task: forget verdicts, envelope and clock. Not for the loop.

        nominal_impact_time: t_1d [s] on the clock of `classify`; nominal_configuration: q_ref(t_1d) (n,) [rad]; margin:
        e_eta of this task, None: as before.
        Raises InvalidInputError when they are not finite or of another size.
        """
        self._clear(NominalImpact(nominal_impact_time, nominal_configuration).of_size(self._n), margin)

    def _clear(self, nominal: NominalImpact | None, margin: EnvelopeMargin | None) -> None:
        self._nominal = nominal
        self._error.begin(margin)
        self.deviation = 0.0
        self.impact = Verdict.UNKNOWN
        self.post_impact = Verdict.NOT_STARTED
        self.impact_missing = False
        self.impact_time = math.nan
        self.time_error = math.nan
        self.configuration_error = math.nan
        self.decision_time = math.nan

    def impact_detected(self, time: float, configuration: Vector) -> bool:
        """Judge the impact at `time` t_1 [s] and measured `configuration` q(t_1) (n,) [rad]; (4.1), (4.6).

        Returns whether a verdict changed: True for the first impact since `await_impact`, False for all others.
        """
        if self._nominal is None or self.impact != Verdict.UNKNOWN:
            return False
        self.impact_time = time
        self.time_error, self.configuration_error = self._nominal.errors(time, configuration)
        self.deviation = relative_error(self.time_error, self.configuration_error, self.parameters)
        if is_expected(self.time_error, self.configuration_error, self.parameters):
            self.impact, self.post_impact = Verdict.EXPECTED, Verdict.UNKNOWN
        else:
            self.impact, self.post_impact = Verdict.UNEXPECTED, Verdict.UNEXPECTED
        self.impact_missing = False
        self.decision_time = max(self._error.time, time)
        return True

    def contact_completed(self, time: float) -> bool:
        """Change nothing: the contact of a single point is complete with its impact. Returns False."""
        del time
        return False

    def classify(self, time: float, velocity: Vector, reference_velocity: Vector) -> bool:
        """Filter one velocity error and judge the behaviour after an expected impact, (4.27).

        time: [s]; samples with a repeated or older stamp are ignored.
        velocity: dq (n,) [rad/s], measured.
        reference_velocity: dq_ref (n,) [rad/s], ante-impact until the impact was detected, then post-impact.
        Returns whether a verdict changed.
        """
        if not self._error.compare(time, velocity, reference_velocity, self.impact_time):
            return False
        if self.impact == Verdict.UNKNOWN:
            self.impact_missing = is_missing(self._nominal, time, self.parameters)
            self.deviation = overdue(self._nominal, time, self.parameters)
            return False
        if self.post_impact != Verdict.UNKNOWN or not time > self.impact_time:
            return False
        self.deviation = max(self.deviation, self._error.deviation)
        if not self._error.holds_zero:
            self.post_impact = Verdict.UNEXPECTED
        elif time > self.impact_time + self.parameters.post_impact_time:
            self.post_impact = Verdict.EXPECTED
        else:
            return False
        self._error.decide()
        self.decision_time = time
        return True

    @property
    def widening(self) -> float:
        """e_eta at the last sample, the largest of all joints [rad/s]."""
        return self._error.largest_widening

    @property
    def settled(self) -> bool:
        """True when no verdict can change any more before the next `await_impact`."""
        return self.post_impact in (Verdict.EXPECTED, Verdict.UNEXPECTED)

    @property
    def reason(self) -> str:
        """The condition that decided last, in words with its numbers. Builds a string: not for every tick."""
        limits = self.parameters
        if self.impact == Verdict.UNKNOWN:
            return waiting_reason(self._nominal, self.impact_missing, limits)
        if self.impact == Verdict.UNEXPECTED or self.post_impact == Verdict.UNKNOWN:
            return impact_reason(self.impact.name.lower(), self.time_error, self.configuration_error, limits)
        expected = self.post_impact == Verdict.EXPECTED
        return self._error.reason("the impact", expected, self.decision_time - self.impact_time)
