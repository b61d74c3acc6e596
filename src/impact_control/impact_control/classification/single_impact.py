"""Classifier for a single impact: time and place when it is detected, then the behaviour after it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from impact_control.classification.envelope import SignalEnvelope
from impact_control.compiled import compiled
from impact_control.errors import InvalidInputError
from impact_control.observation.validation import checked_count, checked_number, checked_vector
from impact_control.types import Matrix, Vector


class Verdict(IntEnum):
    """Verdicts, with the values of impact_msgs/ImpactClassification."""

    UNKNOWN = 0
    EXPECTED = 1
    UNEXPECTED = 2
    NOT_STARTED = 3


@dataclass(frozen=True)
class ClassifierParameters:
    """The six tuning parameters of Proper 2021, Algorithm 1. Raises InvalidInputError outside the ranges.

    window_length: m [samples], at least 0. Zero stays inside the envelope for m samples after the impact, so
        m samples should last longer than the contact itself and the delay of the detection.
    decay_rate: a [1/s], above 0.
    envelope_margin: e_eta [rad/s], at least 0; one for all joints, as printed, or one for each.
    configuration_error: epsilon [rad], above 0; largest expected Euclidean distance from the nominal
        configuration.
    time_error: zeta [s], at least 0; largest expected distance from the nominal impact time.
    post_impact_time: t_xi [s], above 0; time after the impact until the behaviour counts as expected.
    """

    window_length: int
    decay_rate: float
    envelope_margin: float | tuple[float, ...]
    configuration_error: float
    time_error: float
    post_impact_time: float

    def __post_init__(self) -> None:
        checked_count("window_length", self.window_length, 0)
        checked_number("decay_rate", self.decay_rate, zero_allowed=False)
        checked_number("configuration_error", self.configuration_error, zero_allowed=False)
        checked_number("time_error", self.time_error)
        checked_number("post_impact_time", self.post_impact_time, zero_allowed=False)
        if np.ndim(self.envelope_margin) == 0:
            checked_number("envelope_margin", self.envelope_margin)  # type: ignore[arg-type]
        else:
            margins = checked_vector("envelope_margin", self.envelope_margin)
            object.__setattr__(self, "envelope_margin", tuple(margins.tolist()))

    def joint_margins(self, n: int) -> Vector:
        """Return e_eta (n,) [rad/s]. Raises InvalidInputError when it was given for another n."""
        if np.ndim(self.envelope_margin) == 0:
            return np.full(n, self.envelope_margin, dtype=np.float64)
        return checked_vector("envelope_margin", self.envelope_margin, n)


@compiled
def _measure_margin(lower: Vector, upper: Vector, widening: Vector, margin: Vector) -> int:
    """Write the distance of zero to the nearest widened bound, (4.27), to `margin`; return the worst joint.

    All arrays (n,) [rad/s]. A margin that is not a number is worse than any other.
    """
    worst = 0
    for i in range(margin.size):
        margin[i] = min(upper[i], -lower[i]) + widening[i]
        if margin[i] < margin[worst] or math.isnan(margin[i]):
            worst = i
    return worst


class SingleImpactClassifier:
    """Verdicts on one impact and on what follows it: Proper 2021, Algorithm 1 (section 4.3).

    The impact is EXPECTED when |t_1 - t_1d| <= zeta (4.1) and ||q(t_1) - q_ref(t_1d)|| <= epsilon (4.6), else
    UNEXPECTED, and then so is what follows. After an expected impact, the envelope of the joint velocity
    error e_vel = dq - dq_ref (4.24), see `SignalEnvelope`, must hold zero for every joint:

        lower - e_eta <= 0 <= upper + e_eta   (4.27)   for t in (t_1, t_1 + t_xi].

    The first violation makes the post-impact behaviour UNEXPECTED, none until t > t_1 + t_xi makes it
    EXPECTED. Only the first impact since `start` is judged. Numbers that are not finite at the impact, and a
    joint that never had a finite velocity error, are UNEXPECTED. Lost velocities later on hold the envelope;
    their age is the caller's to watch.

    The filter runs all the time; dq_ref is the ante-impact reference up to t_1 and the post-impact reference
    after it (4.11), for the caller to switch. An impact that is reported late, after samples of t > t_1 were
    filtered with the ante-impact reference, leaves the velocity jump of those samples in the envelope: for m
    samples, and then decaying. That widens the envelope on the side of the jump and can delay or hide an
    unexpected behaviour on the other side. While the delay is shorter than m samples, the good samples from
    before the impact are still in the window, so that a late report by itself violates nothing. Choose zeta,
    m and t_xi with the delay in mind (Proper 2021, 4.3.1).

    Each tick `update`, and `impact_detected` when there is an event, in any order. Both return whether a
    verdict changed.

    Attributes (arrays (n,), overwritten by the next update):
        impact: verdict on time and place; UNKNOWN until an impact is detected.
        post_impact: verdict on the behaviour after it; NOT_STARTED until an impact is detected.
        impact_missing: whether the nominal time + zeta has passed without an impact. The verdicts then stay
            UNKNOWN and NOT_STARTED; an impact that still comes is UNEXPECTED by (4.1).
        impact_time: t_1 [s]; time_error: t_1 - t_1d [s]; configuration_error: [rad]. NaN before the impact.
        lower, upper: bounds of the envelope of e_vel [rad/s], without e_eta; NaN before the first sample.
        margin: distance of zero to the nearest bound widened by e_eta [rad/s], negative outside.
        decision_time: time [s] of the last sample filtered when a verdict last changed, or t_1 if that is
            later; NaN before.
    """

    def __init__(self, parameters: ClassifierParameters, n: int) -> None:
        """Set the tuning for n joints. Raises InvalidInputError when they do not fit together."""
        n = checked_count("n", n, 1)
        self.parameters = parameters
        self._widening = parameters.joint_margins(n)
        self._envelope = SignalEnvelope(parameters.window_length, parameters.decay_rate, n)
        self._velocity_error = np.zeros(n)
        self._nominal_configuration = np.zeros(n)
        self.lower: Vector = self._envelope.lower
        self.upper: Vector = self._envelope.upper
        self.margin: Vector = np.zeros(n)
        _measure_margin(self.lower, self.upper, self._widening, self.margin)  # compiles it before the loop
        self._clear()

    def start(self, nominal_impact_time: float, nominal_configuration: Vector) -> None:
        """Begin with a new task: forget verdicts, envelope and clock. Not for the loop.

        nominal_impact_time: t_1d [s] on the clock of `update`; nominal_configuration: q_ref(t_1d) (n,) [rad].
        Raises InvalidInputError when they are not finite or of another size.
        """
        if not math.isfinite(nominal_impact_time):
            raise InvalidInputError("nominal_impact_time", nominal_impact_time, "a finite time in s")
        configuration = np.asarray(nominal_configuration, dtype=np.float64)
        if configuration.shape != self.margin.shape or not np.all(np.isfinite(configuration)):
            allowed = f"{self.margin.size} finite joint positions in rad"
            raise InvalidInputError("nominal_configuration", nominal_configuration, allowed)
        self._clear()
        self._nominal_impact_time = float(nominal_impact_time)
        self._nominal_configuration[:] = configuration
        self._started = True

    def _clear(self) -> None:
        self._started = False
        self._time = -math.inf
        self._nominal_impact_time = math.nan
        self._envelope.reset()
        self.impact = Verdict.UNKNOWN
        self.post_impact = Verdict.NOT_STARTED
        self.impact_missing = False
        self.impact_time = math.nan
        self.time_error = math.nan
        self.configuration_error = math.nan
        self.margin[:] = math.nan
        self.decision_time = math.nan
        self._deciding_joint = 0
        self._deciding_margin = math.nan

    def impact_detected(self, time: float, configuration: Vector) -> bool:
        """Judge the impact at `time` t_1 [s] and measured `configuration` q(t_1) (n,) [rad]; (4.1), (4.6).

        Returns whether a verdict changed: True for the first impact since `start`, False for all others.
        """
        if not self._started or self.impact != Verdict.UNKNOWN:
            return False
        self.impact_time = time
        self.time_error = time - self._nominal_impact_time
        self.configuration_error = math.dist(configuration, self._nominal_configuration)
        # The comparisons are written so that NaN is unexpected.
        in_time = abs(self.time_error) <= self.parameters.time_error
        if in_time and self.configuration_error <= self.parameters.configuration_error:
            self.impact, self.post_impact = Verdict.EXPECTED, Verdict.UNKNOWN
        else:
            self.impact, self.post_impact = Verdict.UNEXPECTED, Verdict.UNEXPECTED
        self.impact_missing = False
        self.decision_time = max(self._time, time)
        return True

    def update(self, time: float, velocity: Vector, reference_velocity: Vector) -> bool:
        """Filter one velocity error and judge the behaviour after an expected impact, (4.27).

        time: [s]; samples with a repeated or older stamp are ignored.
        velocity: dq (n,) [rad/s], measured.
        reference_velocity: dq_ref (n,) [rad/s], ante-impact until the impact was detected, then post-impact.
        Returns whether a verdict changed.
        """
        elapsed = time - self._time
        if not elapsed > 0.0:
            return False
        self._time = time
        np.subtract(velocity, reference_velocity, out=self._velocity_error)
        self._envelope.update(self._velocity_error, elapsed)
        worst = _measure_margin(self.lower, self.upper, self._widening, self.margin)
        if self.impact == Verdict.UNKNOWN:
            self.impact_missing = time > self._nominal_impact_time + self.parameters.time_error
            return False
        if self.post_impact != Verdict.UNKNOWN or not time > self.impact_time:
            return False
        if not self.margin[worst] >= 0.0:
            self.post_impact = Verdict.UNEXPECTED
        elif time > self.impact_time + self.parameters.post_impact_time:
            self.post_impact = Verdict.EXPECTED
        else:
            return False
        self._deciding_joint = worst
        self._deciding_margin = float(self.margin[worst])
        self.decision_time = time
        return True

    @property
    def reason(self) -> str:
        """The condition that decided last, in words with its numbers. Builds a string: not for every tick."""
        limits = self.parameters
        if self.impact == Verdict.UNKNOWN:
            if not self.impact_missing:
                return "no impact detected yet"
            return (
                f"no impact detected until {limits.time_error:.4g} s after the nominal time of "
                f"{self._nominal_impact_time:.4g} s"
            )
        if self.impact == Verdict.UNEXPECTED or self.post_impact == Verdict.UNKNOWN:
            return (
                f"impact {self.impact.name.lower()}: {self.time_error:+.4g} s from the nominal time "
                f"(limit {limits.time_error:.4g} s), {self.configuration_error:.4g} rad from the nominal "
                f"configuration (limit {limits.configuration_error:.4g} rad)"
            )
        joint = self._deciding_joint
        elapsed = self.decision_time - self.impact_time
        if self.post_impact == Verdict.UNEXPECTED:
            return (
                f"behaviour after the impact unexpected: {elapsed:.4g} s after it the envelope of the "
                f"velocity error of joint {joint + 1} misses zero by {-self._deciding_margin:.4g} rad/s more "
                f"than the margin of {self._widening[joint]:.4g} rad/s"
            )
        return (
            f"behaviour after the impact expected: the envelopes of all velocity errors, widened by the "
            f"margin, held zero for {limits.post_impact_time:.4g} s; least margin at the end "
            f"{self._deciding_margin:.4g} rad/s (joint {joint + 1})"
        )


def envelope_history(
    times: Vector, velocity: Matrix, reference: Matrix, parameters: ClassifierParameters
) -> tuple[Matrix, Matrix]:
    """Return lower and upper bounds (k, n) [rad/s] of the envelope of the velocity error, Proper 2021 (4.26).

    The same filter as in `SingleImpactClassifier`, over a recording. times (k,) [s], rising; velocity and
    reference (k, n) [rad/s], the reference already switched at the impact. Bounds are without e_eta.
    Raises InvalidInputError when the shapes do not fit or times do not rise.
    """
    times = np.asarray(times, dtype=np.float64)
    error = np.asarray(velocity, dtype=np.float64)
    if times.ndim != 1 or times.size == 0 or not np.all(np.diff(times) > 0.0):
        raise InvalidInputError("times", times, "a rising sequence of at least one time")
    if error.ndim != 2 or error.shape[0] != times.size or np.shape(reference) != error.shape:
        allowed = f"velocity and reference of the same shape ({times.size}, n)"
        raise InvalidInputError("shapes", (error.shape, np.shape(reference)), allowed)
    error = error - reference
    envelope = SignalEnvelope(parameters.window_length, parameters.decay_rate, error.shape[1])
    lower, upper = np.empty_like(error), np.empty_like(error)
    previous = -math.inf
    for k, time in enumerate(times.tolist()):
        envelope.update(error[k], time - previous)
        previous = time
        lower[k], upper[k] = envelope.lower, envelope.upper
    return lower, upper
