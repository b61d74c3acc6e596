"""Interface of every classifier."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Protocol

from impact_control.classification.margin import EnvelopeMargin
from impact_control.scenario import Classification
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


class Classifier(Protocol):
    """Verdicts on an impact, single or of many points, and on what follows it.

    Not for the loop: `await_impact` and `reason`. Each tick: `classify`, and `impact_detected` and `contact_completed`
    when there is such an event, in any order. These three return whether a verdict changed.

    Attributes:
        parameters: the tuning, with epsilon of the task.
        impact: verdict on time and place; UNKNOWN until an impact is detected.
        post_impact: verdict on the behaviour after it; NOT_STARTED until an impact is detected.
        settled: whether no verdict can change any more before the next `await_impact`.
        impact_missing: whether the nominal time + zeta has passed without an impact.
        impact_time: [s] of the first impact; time_error [s], configuration_error [rad]: of the impact judged last.
            NaN before it.
        lower, upper: (n,) envelope of the velocity error [rad/s], without the margin.
        margin: (n,) distance of zero to the nearest bound widened by the margin [rad/s], negative outside.
        deviation: largest deviation so far from what is expected as a part of its limit; above 1 once it is not.
        decision_time: [s] when a verdict last changed; NaN before.
    """

    parameters: Classification
    impact: Verdict
    post_impact: Verdict
    impact_missing: bool
    impact_time: float
    time_error: float
    configuration_error: float
    lower: Vector
    upper: Vector
    margin: Vector
    deviation: float
    decision_time: float

    @property
    def widening(self) -> float:
        """e_eta at the last sample, the largest of all joints [rad/s]."""
        ...

    @property
    def settled(self) -> bool:
        """True when no verdict can change any more before the next `await_impact`."""
        ...

    @property
    def reason(self) -> str:
        """The condition that decided last, in words with its numbers."""
        ...

    def await_impact(
        self, nominal_impact_time: float, nominal_configuration: Vector, margin: EnvelopeMargin | None = None
    ) -> None:
        """Begin a task whose impact is expected at this time [s] in this configuration (n,) [rad].

        margin: e_eta of the task; None: that of the task before, or of the parameters.
        """
        ...

    def impact_detected(self, time: float, configuration: Vector) -> bool:
        """Take an impact: its time [s] and the measured configuration there (n,) [rad]."""
        ...

    def contact_completed(self, time: float) -> bool:
        """Take that all contact points touch, known at `time` [s]; before the sample of that time, or after it."""
        ...

    def classify(self, time: float, velocity: Vector, reference_velocity: Vector) -> bool:
        """Take a sample: time [s], measured and expected joint velocity (n,) [rad/s]."""
        ...
