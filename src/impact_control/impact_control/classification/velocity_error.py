"""The velocity error of all joints inside its envelope, and how far zero is from leaving it."""

from __future__ import annotations

import math

import numpy as np

from impact_control.classification.envelope import SignalEnvelope
from impact_control.classification.margin import EnvelopeMargin, fixed_margin
from impact_control.scenario import Classification
from impact_control.util.compiled import compiled
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector


@compiled
def measure_margin(lower: Vector, upper: Vector, table: Matrix, row: int, margin: Vector) -> tuple[int, float]:
    """Write the distance of zero to the nearest widened bound, (4.27), to `margin`.

    lower, upper, margin (n,), table (N, n) [rad/s]; bounds are widened by a row of the table. Returns the worst joint,
    for which a margin that is not a number is worse than any other, and the largest distance of zero to an envelope as
    a part of what it is widened by.
    """
    worst, deviation = 0, 0.0
    for i in range(margin.size):
        widening = table[row, i]
        margin[i] = min(upper[i], -lower[i]) + widening
        if margin[i] < margin[worst] or math.isnan(margin[i]):
            worst = i
        outside = widening - margin[i]
        if outside > 0.0:
            deviation = max(deviation, outside / widening if widening > 0.0 else math.inf)
        elif math.isnan(outside):
            deviation = math.inf
    return worst, deviation


class VelocityErrorEnvelope:
    """Envelope of e_vel = dq - dq_ref, Proper 2021 (4.24) to (4.26), against zero, (4.27); and what it decided.

    Attributes (arrays (n,), overwritten by the next call):
        lower, upper: bounds [rad/s] without e_eta; NaN until the first sample.
        margin: distance of zero to the nearest bound widened by e_eta [rad/s], negative outside.
        worst: index of the joint with the least margin.
        deviation: distance of zero to an envelope as a part of what it is widened by, of the joint where that is
            largest; 0 inside, above 1 where (4.27) is violated.
        time: [s] of the last sample; minus infinity before the first.
        deciding_joint, deciding_margin: worst joint and its margin [rad/s] when `decide` was called last; 0 and NaN
            before.
    """

    def __init__(self, parameters: Classification, n: int) -> None:
        """Set the tuning for n joints. Raises InvalidInputError when they do not fit together."""
        self.widening = fixed_margin(parameters.envelope_margin, n)
        self._duration = parameters.post_impact_time
        self._envelope = SignalEnvelope(parameters.window_length, parameters.decay_rate, n)
        self._error = np.zeros(n)
        self.lower: Vector = self._envelope.lower
        self.upper: Vector = self._envelope.upper
        self.margin: Vector = np.zeros(n)
        self._n = n
        self._measure(-math.inf)  # compiles it here
        self.begin(None)

    def begin(self, widening: EnvelopeMargin | None) -> None:
        """Forget everything, also the clock; widening: of this task, None: as before. Raises InvalidInputError."""
        if widening is not None:
            if widening.joints != self._n:
                raise InvalidInputError("margin", widening.joints, f"one for {self._n} joints")
            self.widening = widening
        self._row = 0
        self.time = -math.inf
        self.deciding_joint = 0
        self.deciding_margin = math.nan
        self._deciding_row = 0
        self.reset()

    def reset(self) -> None:
        """Forget all samples; the clock goes on."""
        self._envelope.reset()
        self.margin[:] = math.nan
        self.worst = 0
        self.deviation = 0.0

    def _measure(self, since_impact: float) -> None:
        self._row = self.widening.row(since_impact)
        self.worst, self.deviation = measure_margin(self.lower, self.upper, self.widening.table, self._row, self.margin)

    def compare(self, time: float, velocity: Vector, reference_velocity: Vector, impact_time: float) -> bool:
        """Take dq and dq_ref (n,) [rad/s] at `time` [s]; False, and nothing is done, for a repeated or older stamp.

        impact_time [s]: of the impact from which the margin closes; NaN before one.
        """
        elapsed = time - self.time
        if not elapsed > 0.0:
            return False
        self.time = time
        np.subtract(velocity, reference_velocity, out=self._error)
        self._envelope.filter(self._error, elapsed)
        self._measure(time - impact_time)
        return True

    @property
    def window_is_full(self) -> bool:
        """True when the window holds its m + 1 samples."""
        return self._envelope.window_is_full

    @property
    def holds_zero(self) -> bool:
        """True when zero is inside the widened bounds of every joint, (4.27); not for a joint without a number."""
        return bool(self.margin[self.worst] >= 0.0)

    @property
    def largest_widening(self) -> float:
        """Margin by which the bounds are widened at the last sample, the largest of all joints [rad/s]."""
        return float(self.widening.table[self._row].max())

    def decide(self) -> None:
        """Keep the worst joint of this sample: it decides a verdict."""
        self.deciding_joint = self.worst
        self.deciding_margin = float(self.margin[self.worst])
        self._deciding_row = self._row

    def reason(self, impact: str, expected: bool, elapsed: float) -> str:
        """Describe the decision `elapsed` [s] after `impact`, named in words."""
        joint = self.deciding_joint
        if expected:
            return (
                f"behaviour after {impact} expected: the envelopes of all velocity errors, widened by the margin, "
                f"contained zero for {self._duration:.4g} s; least margin at the end {self.deciding_margin:.4g} rad/s "
                f"(joint {joint + 1})"
            )
        return (
            f"behaviour after {impact} unexpected: {elapsed:.4g} s after it the envelope of the velocity error of "
            f"joint {joint + 1} misses zero by {-self.deciding_margin:.4g} rad/s more than the margin of "
            f"{self.widening.table[self._deciding_row, joint]:.4g} rad/s"
        )


def envelope_history(
    times: Vector, velocity: Matrix, reference: Matrix, parameters: Classification
) -> tuple[Matrix, Matrix]:
    """Return lower and upper bounds (k, n) [rad/s] of the envelope of the velocity error, Proper 2021 (4.26).

    The same filter as in the classifiers, over a recording. times (k,) [s], rising; velocity and reference (k, n)
    [rad/s], the reference already switched at the impact. Bounds are without e_eta.
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
        envelope.filter(error[k], time - previous)
        previous = time
        lower[k], upper[k] = envelope.lower, envelope.upper
    return lower, upper
