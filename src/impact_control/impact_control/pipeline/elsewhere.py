"""Detector and judge of a pipeline whose own run in other processes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from impact_control.classification import Verdict
from impact_control.detection import NO_LINK, DetectionSignals
from impact_control.observation import MomentumObserver
from impact_control.pipeline.judge import ContactWatch, PlannedImpact
from impact_control.robots import Dynamics, RobotDescription
from impact_control.scenario import Scenario
from impact_control.util.types import Vector


class DetectorElsewhere:
    """A `Detector` that detects nothing: the impacts come by `Pipeline.impact_detected`."""

    index = 0
    detection_time = impact_time = math.nan
    isolated_link = NO_LINK
    link_settled = True

    def __init__(self, size: int) -> None:
        """size: number of joints."""
        self.triggered: NDArray[np.bool_] = np.zeros(size, dtype=np.bool_)

    def reset(self) -> None:
        """Nothing is remembered."""

    def detect(self, signals: DetectionSignals, time: float) -> bool:
        """Return False."""
        return False


class JudgeElsewhere:
    """A `TaskJudge` that holds the verdicts of another, which come by `Pipeline.take_verdicts`, and counts the impacts.

    Full contact, for which an interim mode may wait, is watched here: a message would tell of it too late.
    """

    deviation = probability = math.nan
    reason = ""

    def __init__(self, scenario: Scenario, robot: RobotDescription) -> None:
        self._contact = ContactWatch(scenario, robot)
        self.changed = False
        self.forget()

    def forget(self) -> None:
        """Forget all impacts and verdicts."""
        self.impacts = 0
        self.impact = Verdict.UNKNOWN
        self.post_impact = Verdict.NOT_STARTED

    def begin_task(self, scenario: Scenario, reference: PlannedImpact) -> None:
        """Await the impact of a new task."""
        self.await_impact_again(reference)

    def await_impact_again(self, reference: PlannedImpact) -> None:
        """Forget all impacts and verdicts, and full contact."""
        self.forget()
        self._contact.reset()

    def impact_detected(self, seconds: float, position: Vector) -> bool:
        """Count an impact; its verdict is still to come."""
        self.impacts += 1
        return False

    def contact_closes(self, seconds: float, dynamics: Dynamics, observer: MomentumObserver) -> bool:
        """Return True in the sample in which all points of the end-effector touch."""
        return self.impacts > 0 and self._contact.closes(seconds, dynamics, observer)

    def judge(
        self, seconds: float, dynamics: Dynamics, observer: MomentumObserver, expected: Vector, exerted: Vector | None
    ) -> bool:
        """Return False: verdicts are answered when they come."""
        return False
