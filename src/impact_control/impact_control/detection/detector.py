"""Interface of every online impact detector."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from impact_control.detection.signals import DetectionSignals

NO_LINK = -1
"""Value of `Detector.isolated_link` while no impact has been detected, and where none is isolated."""


class Detector(Protocol):
    """One event for each impact, also while contact is held. All attributes describe the last event."""

    @property
    def index(self) -> int:
        """Number of events since construction or `reset`; 0 before the first."""

    @property
    def triggered(self) -> NDArray[np.bool_]:
        """(n,) joints whose signal was at its bound or above at the detection."""

    @property
    def detection_time(self) -> float:
        """Stamp [s] of the sample that was the event; NaN before the first."""

    @property
    def impact_time(self) -> float:
        """Estimate [s] of when the impact itself was, never later than `detection_time`; NaN before the first."""

    @property
    def share(self) -> float:
        """Largest score of the last sample as a part of its bound: 1 or more in every sample that is an event."""

    @property
    def isolated_link(self) -> int:
        """1..n, the link in contact as far as it is known, NO_LINK until then. May still change for some samples."""

    @property
    def link_settled(self) -> bool:
        """True when `isolated_link` is final until the next event."""

    def reset(self) -> None:
        """Forget all events and samples."""

    def detect(self, signals: DetectionSignals, time: float) -> bool:
        """Take one sample with its stamp [s]; return whether it is an impact. Does not allocate, never raises."""
