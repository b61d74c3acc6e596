"""Classifier for a single impact: time and place when it is detected, then the behaviour after it."""

from __future__ import annotations

from impact_control.classification.classifier import Classifier, Verdict
from impact_control.util.types import Vector

_UNKNOWN, _SETTLED = Verdict.UNKNOWN, (Verdict.EXPECTED, Verdict.UNEXPECTED)  # read in every sample


class SingleImpactClassifier(Classifier):
    """Verdicts on one impact and on what follows it: Proper 2021, Algorithm 1 (section 4.3).

    The impact is EXPECTED when |t_1 - t_1d| <= zeta (4.1) and ||q(t_1) - q_ref(t_1d)|| <= epsilon (4.6), else
    UNEXPECTED, and then so is what follows. After an expected impact, the envelope of the joint velocity
    error e_vel = dq - dq_ref (4.24), see `SignalEnvelope`, must contain zero for every joint:

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
    """

    def impact_detected(self, time: float, configuration: Vector) -> bool:
        """Judge the impact at `time` t_1 [s] and measured `configuration` q(t_1) (n,) [rad]; (4.1), (4.6).

        Returns whether a verdict changed: True for the first impact since `await_impact`, False for all others.
        """
        if self._nominal is None or self.impact != Verdict.UNKNOWN:
            return False
        self.impact_time = time
        self._measure(time, configuration)
        self.deviation = self._relative_error
        if self._in_time_and_place:
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
        """Filter one velocity error and judge the behaviour after an expected impact, see `Classifier`."""
        if not self._error.compare(time, velocity, reference_velocity, self.impact_time):
            return False
        if self.impact is _UNKNOWN:
            self._wait(time)
            return False
        if self.post_impact is not _UNKNOWN or not time > self.impact_time:
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
    def settled(self) -> bool:
        """True when no verdict can change any more before the next `await_impact`."""
        return self.post_impact in _SETTLED

    @property
    def reason(self) -> str:
        """The condition that decided last, in words with its numbers. Builds a string: not for every tick."""
        if self.impact != Verdict.EXPECTED or self.post_impact == Verdict.UNKNOWN:
            return self._impact_reason
        expected = self.post_impact == Verdict.EXPECTED
        return self._error.reason("the impact", expected, self.decision_time - self.impact_time)
