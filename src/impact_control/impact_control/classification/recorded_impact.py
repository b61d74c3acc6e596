"""Recorded input of a classifier during one task, and the verdicts on it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from impact_control.classification.classifier import Classifier, Verdict
from impact_control.classification.margin import EnvelopeMargin
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector


@dataclass(frozen=True, eq=False)
class RecordedImpact:
    """Samples and events of one task, of a simulation or an arm. Raises InvalidInputError when they do not fit.

    Attributes:
        time: (k,) [s], rising.
        velocity, reference: (k, n) [rad/s], measured and expected, (4.11): the latter switched with the detection.
        impact_times: (j,) [s], as detected, in their order.
        impact_samples: (j,) indices of the samples that showed them.
        configurations: (j, n) [rad], measured at them.
        completion_time: [s] from when all points touch; NaN when that was not found.
        completion_sample: index of the sample that showed it, at least 0; any number without a completion.
        nominal_time: t_1d [s]; nominal_configuration: (n,) [rad].
        deviation: of the scenario from the expected one, signed, in any unit; such as the tilt of the surface.
    """

    time: Vector
    velocity: Matrix
    reference: Matrix
    impact_times: Vector
    impact_samples: NDArray[np.int_]
    configurations: Matrix
    completion_time: float
    completion_sample: int
    nominal_time: float
    nominal_configuration: Vector
    deviation: float

    def __post_init__(self) -> None:
        samples, joints = np.shape(self.velocity)
        impacts = len(self.impact_times)
        shapes = (
            ("time", self.time, (samples,)),
            ("reference", self.reference, (samples, joints)),
            ("impact_samples", self.impact_samples, (impacts,)),
            ("configurations", self.configurations, (impacts, joints)),
            ("nominal_configuration", self.nominal_configuration, (joints,)),
        )
        for name, array, shape in shapes:
            if np.shape(array) != shape:
                raise InvalidInputError(name, np.shape(array), f"the shape {shape}")

    @property
    def error(self) -> Matrix:
        """Velocity error (k, n) [rad/s], Proper 2021 (4.24); new."""
        return self.velocity - self.reference

    @property
    def completed(self) -> bool:
        """True when full contact was detected."""
        return math.isfinite(self.completion_time)


@dataclass(frozen=True)
class Judgement:
    """Verdicts of a classifier at the end of a recording.

    decision_time: [s] of the last change of a verdict, NaN without one. decided_after: [s] from there back to when
    the behaviour began to count, the completion of the contact, or the first impact; NaN without one.
    """

    impact: Verdict
    post_impact: Verdict
    settled: bool
    decision_time: float
    decided_after: float
    reason: str

    @property
    def unexpected(self) -> bool:
        """True when a verdict was unexpected."""
        return Verdict.UNEXPECTED in (self.impact, self.post_impact)


def judge(recording: RecordedImpact, classifier: Classifier, margin: EnvelopeMargin | None = None) -> Judgement:
    """Return what a classifier says of a recording: all its samples and events in the order in which they came.

    margin: see `Classifier.await_impact`.
    """
    classifier.await_impact(recording.nominal_time, recording.nominal_configuration, margin)
    events: dict[int, list[int]] = {}
    for number, sample in enumerate(map(int, recording.impact_samples)):
        events.setdefault(sample, []).append(number)
    completion = recording.completion_sample if recording.completed else -1
    for sample, time in enumerate(recording.time.tolist()):
        for number in events.get(sample, ()):
            classifier.impact_detected(float(recording.impact_times[number]), recording.configurations[number])
        if sample == completion:
            # Judged from when it is known: the samples before may still be those of another motion.
            classifier.contact_completed(time)
        classifier.classify(time, recording.velocity[sample], recording.reference[sample])
        if classifier.settled:
            break
    begin = math.nan
    if len(recording.impact_times):
        begin = float(recording.impact_times[0])
        known = completion >= 0 and float(recording.time[completion]) <= classifier.decision_time
        begin = float(recording.time[completion]) if known else begin
    after = classifier.decision_time - begin
    return Judgement(
        classifier.impact,
        classifier.post_impact,
        classifier.settled,
        classifier.decision_time,
        after,
        classifier.reason,
    )
