"""Stand-in for a detector that runs in another process."""

from __future__ import annotations

import math
from collections import deque

import numpy as np
from numpy.typing import NDArray

from impact_control.detection import NO_LINK, DetectionSignals
from impact_control.pipeline.sensing import make_detector
from impact_control.scenario import Scenario

BELIEVED_SHARE = 0.7
"""Part of the bound of a detector that the own score has to reach for an impact to be believed. With the same samples
both are the same; a lost one may have had the peak."""

LATEST = 0.25
"""[s] after an impact in which it may be reported, as old as a command may be for the supervisor."""

MOST_WAITING = 8
"""Reports that wait for a sample that shows them."""


class DetectorElsewhere:
    """A `Detector` of impacts that another process reports, believed where the own scores of the samples show them.

    The scores are those of the scenario's detectors. Report and sample may be `control.state_timeout` apart, the
    longest gap over which a task goes on, because either side may lose samples. An impact that only the own scores show
    is none: the events are those of the other process.

    Attributes beside those of a detector: unbelieved, number of reports that were not believed.
    """

    isolated_link = NO_LINK
    link_settled = True

    def __init__(self, scenario: Scenario, size: int) -> None:
        """size: number of joints."""
        self._own = make_detector(scenario, size)
        self.triggered: NDArray[np.bool_] = self._own.triggered
        self._reports: deque[tuple[float, float, float]] = deque(maxlen=MOST_WAITING)
        self.unbelieved = self.index = 0
        self.detection_time = self.impact_time = math.nan
        self._time = self._shown = -math.inf
        self._apart = scenario.control.state_timeout

    def reset(self) -> None:
        """Forget all samples and impacts."""
        self._own.reset()
        self._reports.clear()
        self.index = 0
        self.detection_time = self.impact_time = math.nan
        self._time = self._shown = -math.inf

    @property
    def share(self) -> float:
        """Largest own score of the last sample as a part of its bound."""
        return self._own.share

    def report(self, detected: float, impact_time: float) -> bool:
        """Take a report between two samples: stamp of the sample with the detection, and time of the impact [s].

        Return whether the impact is believed already; else a later sample may show it.
        """
        if self._shows(detected, impact_time):
            return True
        self._reports.append((detected, impact_time, self._time))
        return False

    def detect(self, signals: DetectionSignals, time: float) -> bool:
        """Take one sample with its stamp [s]; return whether a reported impact is believed with it."""
        if time < self._time:
            self._shown = -math.inf  # the clock was set back
        self._time = time
        self._own.detect(signals, time)
        if self._own.share >= BELIEVED_SHARE:
            self._shown = time
        if not self._reports:
            return False
        detected, impact_time, reported = self._reports[0]
        if self._shows(detected, impact_time):
            self._reports.popleft()
            return True
        if time - reported >= self._apart:
            self._reports.popleft()
            self.unbelieved += 1
        return False

    def _shows(self, detected: float, impact_time: float) -> bool:
        """Return whether the own scores show an impact that is reported, and describe it."""
        in_order = self._time - LATEST <= impact_time <= detected <= self._time + self._apart
        if not (in_order and self._shown >= detected - self._apart):
            return False
        self.index += 1
        self.detection_time, self.impact_time = detected, impact_time
        return True
