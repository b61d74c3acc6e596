"""Several detectors at once: whichever reports first makes the event."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from impact_control.detection.detector import NO_LINK, Detector
from impact_control.detection.signals import DetectionSignals
from impact_control.util.checks import require_not_negative
from impact_control.util.errors import InvalidInputError


class FirstOf:
    """A `Detector` made of others that look at different signals of the same arm.

    Every detector sees every sample. An event of one is an event, unless the last one is less than `refractory_time`
    ago: then another signal of the same impact follows. Of several events on one sample the first detector's counts.
    """

    def __init__(self, detectors: Sequence[Detector], refractory_time: float) -> None:
        """detectors: at least one, of the same number of joints; refractory_time [s], at least 0.

        Raises InvalidInputError.
        """
        if not detectors:
            raise InvalidInputError("detectors", detectors, "at least one")
        self._detectors = tuple(detectors)
        self._refractory_time = require_not_negative("refractory_time", refractory_time)
        self.triggered: NDArray[np.bool_] = np.zeros_like(self._detectors[0].triggered)
        if any(d.triggered.shape != self.triggered.shape for d in self._detectors):
            raise InvalidInputError("detectors", detectors, "detectors of the same number of joints")
        self._reporter = self._detectors[0]
        self._last_event = -math.inf
        self.index = 0
        self.detection_time = self.impact_time = math.nan
        self.reset()

    def reset(self) -> None:
        """Forget all events and samples."""
        for detector in self._detectors:
            detector.reset()
        self._reporter = self._detectors[0]
        self._last_event = -math.inf
        self.index = 0
        self.triggered[:] = False
        self.detection_time = self.impact_time = math.nan

    @property
    def share(self) -> float:
        """Largest score of the last sample as a part of its bound."""
        return max(detector.share for detector in self._detectors)

    @property
    def isolated_link(self) -> int:
        """Link in contact as the detector that reported knows it; see `Detector`."""
        return self._reporter.isolated_link if self.index else NO_LINK

    @property
    def link_settled(self) -> bool:
        """True when the link of that detector is final; see `Detector`."""
        return self._reporter.link_settled

    def detect(self, signals: DetectionSignals, time: float) -> bool:
        """Take one sample with its stamp [s]; return whether it is an impact."""
        reporter = None
        for detector in self._detectors:
            if detector.detect(signals, time) and reporter is None:
                reporter = detector
        if time < self._last_event - self._refractory_time:
            self._last_event = -math.inf  # the clock jumped back
        if reporter is None or time - self._last_event < self._refractory_time:
            return False
        self._reporter = reporter
        self._last_event = time
        self.index += 1
        self.triggered[:] = reporter.triggered
        self.detection_time = reporter.detection_time
        self.impact_time = reporter.impact_time
        return True
