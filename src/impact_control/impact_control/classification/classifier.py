"""What every classifier answers, and how it is asked."""

from __future__ import annotations

from enum import IntEnum
from typing import Protocol

from impact_control.classification.parameters import ClassifierParameters
from impact_control.types import Vector


class Verdict(IntEnum):
    """Verdicts, with the values of impact_msgs/ImpactClassification."""

    UNKNOWN = 0
    EXPECTED = 1
    UNEXPECTED = 2
    NOT_STARTED = 3


class Classifier(Protocol):
    """Verdicts on an impact, single or of many points, and on what follows it.

    Not for the loop: `start` and `reason`. Each tick: `update`, and `impact_detected` and `contact_completed` when
    there is such an event, in any order. These three return whether a verdict changed.

    Attributes:
        parameters: the tuning.
        impact: verdict on time and place; UNKNOWN until an impact is detected.
        post_impact: verdict on the behaviour after it; NOT_STARTED until an impact is detected.
        settled: whether no verdict can change any more before the next `start`.
        impact_missing: whether the nominal time + zeta has passed without an impact.
        impact_time: [s] of the first impact; time_error [s], configuration_error [rad]: of the impact judged last.
            NaN before it.
        lower, upper: (n,) envelope of the velocity error [rad/s], without the margin.
        margin: (n,) distance of zero to the nearest bound widened by the margin [rad/s], negative outside.
        decision_time: [s] when a verdict last changed; NaN before.
    """

    parameters: ClassifierParameters
    impact: Verdict
    post_impact: Verdict
    impact_missing: bool
    impact_time: float
    time_error: float
    configuration_error: float
    lower: Vector
    upper: Vector
    margin: Vector
    decision_time: float

    @property
    def settled(self) -> bool:
        """Whether no verdict can change any more before the next `start`."""
        ...

    @property
    def reason(self) -> str:
        """The condition that decided last, in words with its numbers."""
        ...

    def start(self, nominal_impact_time: float, nominal_configuration: Vector) -> None:
        """Begin a task whose impact is expected at this time [s] in this configuration (n,) [rad]."""
        ...

    def impact_detected(self, time: float, configuration: Vector) -> bool:
        """Take an impact: its time [s] and the measured configuration there (n,) [rad]."""
        ...

    def contact_completed(self, time: float) -> bool:
        """Take that all contact points touch, known at `time` [s]; before the sample of that time, or after it."""
        ...

    def update(self, time: float, velocity: Vector, reference_velocity: Vector) -> bool:
        """Take a sample: time [s], measured and expected joint velocity (n,) [rad/s]."""
        ...
