"""The velocity error of all joints inside its envelope, and how far zero is from leaving it."""

from __future__ import annotations

import math

import numpy as np

from impact_control.classification.envelope import SignalEnvelope
from impact_control.classification.parameters import ClassifierParameters
from impact_control.compiled import compiled
from impact_control.errors import InvalidInputError
from impact_control.types import Matrix, Vector


@compiled
def measure_margin(lower: Vector, upper: Vector, widening: Vector, margin: Vector) -> int:
    """Write the distance of zero to the nearest widened bound, (4.27), to `margin`; return the worst joint.

    All arrays (n,) [rad/s]. A margin that is not a number is worse than any other.
    """
    worst = 0
    for i in range(margin.size):
        margin[i] = min(upper[i], -lower[i]) + widening[i]
        if margin[i] < margin[worst] or math.isnan(margin[i]):
            worst = i
    return worst


class VelocityErrorEnvelope:
    """Envelope of e_vel = dq - dq_ref, Proper 2021 (4.24) to (4.26), against zero, (4.27); and what it decided.

    Attributes (arrays (n,), overwritten by the next update):
        lower, upper: bounds [rad/s] without e_eta; NaN until the first sample.
        margin: distance of zero to the nearest bound widened by e_eta [rad/s], negative outside.
        worst: index of the joint with the least margin.
        time: [s] of the last sample; minus infinity before the first.
        deciding_joint, deciding_margin: worst joint and its margin [rad/s] when `decide` was called last; 0 and NaN
            before.
    """

    def __init__(self, parameters: ClassifierParameters, n: int) -> None:
        """Set the tuning for n joints. Raises InvalidInputError when they do not fit together."""
        self._widening = parameters.joint_margins(n)
        self._duration = parameters.post_impact_time
        self._envelope = SignalEnvelope(parameters.window_length, parameters.decay_rate, n)
        self._error = np.zeros(n)
        self.lower: Vector = self._envelope.lower
        self.upper: Vector = self._envelope.upper
        self.margin: Vector = np.zeros(n)
        self.worst = measure_margin(self.lower, self.upper, self._widening, self.margin)  # compiles it here
        self.start()

    def start(self) -> None:
        """Forget everything, also the clock."""
        self.time = -math.inf
        self.deciding_joint = 0
        self.deciding_margin = math.nan
        self.reset()

    def reset(self) -> None:
        """Forget all samples; the clock goes on."""
        self._envelope.reset()
        self.margin[:] = math.nan
        self.worst = 0

    def update(self, time: float, velocity: Vector, reference_velocity: Vector) -> bool:
        """Take dq and dq_ref (n,) [rad/s] at `time` [s]; False, and nothing is done, for a repeated or older stamp."""
        elapsed = time - self.time
        if not elapsed > 0.0:
            return False
        self.time = time
        np.subtract(velocity, reference_velocity, out=self._error)
        self._envelope.update(self._error, elapsed)
        self.worst = measure_margin(self.lower, self.upper, self._widening, self.margin)
        return True

    @property
    def window_is_full(self) -> bool:
        """Whether the window holds its m + 1 samples."""
        return self._envelope.window_is_full

    @property
    def holds_zero(self) -> bool:
        """Whether zero is inside the widened bounds of every joint, (4.27); not for a joint without a number."""
        return bool(self.margin[self.worst] >= 0.0)

    def decide(self) -> None:
        """Keep the worst joint of this sample: it decides a verdict."""
        self.deciding_joint = self.worst
        self.deciding_margin = float(self.margin[self.worst])

    def reason(self, impact: str, expected: bool, elapsed: float) -> str:
        """Say what was decided `elapsed` [s] after `impact`, named in words."""
        joint = self.deciding_joint
        if expected:
            return (
                f"behaviour after {impact} expected: the envelopes of all velocity errors, widened by the margin, "
                f"held zero for {self._duration:.4g} s; least margin at the end {self.deciding_margin:.4g} rad/s "
                f"(joint {joint + 1})"
            )
        return (
            f"behaviour after {impact} unexpected: {elapsed:.4g} s after it the envelope of the velocity error of "
            f"joint {joint + 1} misses zero by {-self.deciding_margin:.4g} rad/s more than the margin of "
            f"{self._widening[joint]:.4g} rad/s"
        )


def envelope_history(
    times: Vector, velocity: Matrix, reference: Matrix, parameters: ClassifierParameters
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
        envelope.update(error[k], time - previous)
        previous = time
        lower[k], upper[k] = envelope.lower, envelope.upper
    return lower, upper
