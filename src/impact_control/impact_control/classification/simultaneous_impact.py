"""Classifier for an impact of many points: judges every touch, and the behaviour after the last."""

from __future__ import annotations

import math

from impact_control.classification.classifier import Classifier, Verdict
from impact_control.scenario import Classification
from impact_control.util.types import Vector

_UNKNOWN = Verdict.UNKNOWN  # read in every sample


class SimultaneousImpactClassifier(Classifier):
    """Verdicts on impacts t_1, t_2, ... of one task and on what follows them: Proper 2021, Algorithm 2 (section 4.4).

    Every impact has to be in time and place, (4.2), (4.8), and no later than t_int after the one before, (4.3), else
    UNEXPECTED is latched for all. Every impact restarts the envelope, see `VelocityErrorEnvelope`, and discards what
    was found about the behaviour: its window grows from the sample after the impact, and from when it is full, m + 1
    samples, the envelope must contain zero, (4.27), until t_xi after the last impact.

    When that was the last impact is known in one of two ways:

    - `await_completion` False, as printed: when t_xi has passed without another. An UNEXPECTED behaviour is named at
      once, but the next impact takes it back; it stands when `settled`. Between the touches of an expected impact
      the envelope may leave zero: an irreversible reaction has to wait for `settled`.
    - `await_completion` True: when `contact_completed` says so. Nothing is judged by the envelope before, and the
      window restarts with it; what is found after it stands at once. Zeta and epsilon are for the first impact, as
      in Algorithm 1, and can be as narrow as there: what comes after it is bounded by t_int and by the completion.
      Impacts after the completion, such as bounces, are not counted. A contact that is not complete t_xi after the
      last impact is UNEXPECTED.

    Differs from the print, where a later impact in time and place, or soon after the one before, makes good an
    earlier one that was not: (4.2), (4.3), (4.8) are for all impacts. The condition on the interval is (4.3), see
    Errata, and judged at once, as nothing can change it. The printed window of k - awl to k reaches one sample back
    beyond the impact; here it does not, as the text says.

    Numbers that are not finite at an impact, and a joint that never had a finite velocity error, are UNEXPECTED.
    Any number of joints, points and impacts.

    Attributes: those of `Classifier`, and
        impacts: impacts judged since `await_impact`.
        last_impact_time: t_j [s]; NaN before.
        impact_interval: t_j - t_{j-1} [s]; NaN before the second.
        completion_time: [s] when the completion of the contact was known; NaN before.
    """

    def __init__(self, parameters: Classification, n: int, *, await_completion: bool = False) -> None:
        """Set the tuning for n joints. Raises InvalidInputError when they do not fit together."""
        super().__init__(parameters, n)
        self.await_completion = await_completion

    def _forget(self) -> None:
        super()._forget()
        self._settled = False
        self.impacts = 0
        self.last_impact_time = math.nan
        self.impact_interval = math.nan
        self.completion_time = math.nan
        self._closes_from = math.nan
        self._complete_in_time = True

    @property
    def settled(self) -> bool:
        """True when no verdict can change any more before the next `await_impact`."""
        return self._settled

    def impact_detected(self, time: float, configuration: Vector) -> bool:
        """Judge an impact at `time` t_j [s] with the `configuration` (n,) [rad] that detected it: (4.2), (4.3), (4.8).

        Returns whether a verdict changed. Impacts are to come in the order of their times.
        """
        if self._nominal is None or self._settled or math.isfinite(self.completion_time):
            return False
        self.impacts += 1
        self.impact_missing = False
        if self.impacts == 1:
            self.impact_time = time
        else:
            self.impact_interval = time - self.last_impact_time
        if self.impacts == 1 or not self.await_completion:
            self._measure(time, configuration)
        self.deviation = max(self.deviation if self.impacts > 1 else 0.0, self._relative_error)
        in_time_and_place = self._in_time_and_place
        soon_enough = self.impacts == 1 or self.impact_interval <= self.parameters.longest_interval
        self.last_impact_time = self._closes_from = time
        self._error.reset()
        impact = Verdict.EXPECTED if in_time_and_place else Verdict.UNEXPECTED
        self._settled = not (in_time_and_place and soon_enough)
        post_impact = Verdict.UNEXPECTED if self._settled else Verdict.UNKNOWN
        return self._decide(impact, post_impact, max(self._error.time, time))

    def contact_completed(self, time: float) -> bool:
        """Take that all points touch, known at `time` [s]: the behaviour is judged from here on. Returns False.

        Without `await_completion`, or before an impact, it changes nothing.
        """
        if self.await_completion and self.impacts and not self._settled and not math.isfinite(self.completion_time):
            self.completion_time = self._closes_from = time
            self._error.reset()
        return False

    def classify(self, time: float, velocity: Vector, reference_velocity: Vector) -> bool:
        """Filter one velocity error and judge the behaviour after the impacts, see `Classifier`."""
        if not self._error.compare(time, velocity, reference_velocity, self._closes_from):
            return False
        if self.impact is _UNKNOWN:
            self._wait(time)
            return False
        if self._settled:
            return False
        incomplete = self.await_completion and not math.isfinite(self.completion_time)
        last = self.completion_time if math.isfinite(self.completion_time) else self.last_impact_time
        over = time > last + self.parameters.post_impact_time
        if incomplete:
            self._settled = over
            self._complete_in_time = not over
            return over and self._decide(self.impact, Verdict.UNEXPECTED, time)
        if not self._error.window_is_full:
            return False
        violated = not self._error.holds_zero
        self.deviation = max(self.deviation, self._error.deviation)
        self._settled = over or (violated and self.await_completion)
        if self.post_impact != Verdict.UNKNOWN or not (over or violated):
            return False
        self._error.decide()
        return self._decide(self.impact, Verdict.UNEXPECTED if violated else Verdict.EXPECTED, time)

    def _decide(self, impact: Verdict, post_impact: Verdict, time: float) -> bool:
        """Take the verdicts and return whether one changed."""
        if (impact, post_impact) == (self.impact, self.post_impact):
            return False
        self.impact, self.post_impact = impact, post_impact
        self.decision_time = time
        return True

    @property
    def reason(self) -> str:
        """The condition that decided last, in words with its numbers. Builds a string: not for every tick."""
        limits = self.parameters
        if self.impact == Verdict.UNKNOWN:
            return self._impact_reason
        if self.impact == Verdict.UNEXPECTED or self.post_impact == Verdict.UNKNOWN:
            return f"{self._impact_reason}; impact {self.impacts} of the task"
        if self.impact_interval > limits.longest_interval:
            return (
                f"impacts {self.impacts - 1} and {self.impacts} are {self.impact_interval:.4g} s apart "
                f"(limit {limits.impact_interval:.4g} s)"
            )
        if not self._complete_in_time:
            return f"contact not complete {limits.post_impact_time:.4g} s after impact {self.impacts}"
        expected = self.post_impact == Verdict.EXPECTED
        return self._error.reason(f"impact {self.impacts}", expected, self.decision_time - self.last_impact_time)
