"""Detector composed of a score, the rule that makes one event of each rise, and the isolation of the link."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from impact_control.detection.detector import NO_LINK
from impact_control.detection.impact_detector import ImpactDetector
from impact_control.detection.isolation import LinkIsolation
from impact_control.detection.onset import onset_time
from impact_control.detection.scores import Score
from impact_control.detection.signals import DetectionSignals
from impact_control.observation import MAXIMUM_GAP
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

HISTORY = 64
"""Samples in which the beginning of a rise is looked for."""


class _LinkByRule:
    """Link in contact by the rule of the detection alone, in place of a `LinkIsolation`."""

    settled = True

    def __init__(self, rule: ImpactDetector, isolates: bool) -> None:
        self._rule, self._isolates = rule, isolates

    @property
    def link(self) -> int:
        """Link of the rule where the score shows it, else NO_LINK."""
        return self._rule.isolated_link if self._isolates else NO_LINK

    def reset(self) -> None:
        """Do nothing: the detector resets the rule."""

    def record(self, residual: Vector, velocity: Vector) -> None:
        """Do nothing: the rule has seen the sample."""

    def impact(self) -> None:
        """Do nothing: the event is that of the rule."""


class ScoreDetector:
    """Impact events from any score; a `Detector`.

    The rule is that of `ImpactDetector` with the score in place of the rate of the residual: one event for each
    rise through the bound, another one after the score has fallen and risen again by `rise_ratio` of its bound, in
    contact or not; a bounce ends with an impact and is one. The residual itself goes on rising for some 1/K_O after a
    contact, and has to have fallen before a second one shows in it (Proper 2021, Fig. 3.4: with a bound alone it
    does not at all); the other scores fall at once. Samples with a repeated or older stamp are ignored, a channel
    that is not finite is passed over.

    Attributes:
        index, triggered, detection_time, isolated_link: see `Detector`. `triggered` has the joints whose channels
            were at their bounds; all that take part when the score is a sum. `isolated_link` is that of
            `LinkIsolation`; without it that of the rule where the score shows the link, else NO_LINK.
        impact_time: where the rise of the channel that exceeds its bound most began, see `onset_time`.
    """

    def __init__(
        self,
        score: Score,
        size: int,
        threshold: Vector | float,
        refractory_time: float,
        rise_ratio: float = 1.0,
        isolation: LinkIsolation | None = None,
    ) -> None:
        """Set the tuning; size is the number of joints, the rest as `ImpactDetector`.

        threshold: one number, one for each joint, or one for each channel of the score, in its unit. isolation: for
        the link; None: the rule itself, where the score shows it. Raises InvalidInputError.
        """
        given = np.atleast_1d(np.asarray(threshold, dtype=np.float64)).ravel()
        if given.size == 0 or score.channels % given.size:
            raise InvalidInputError("threshold", threshold, f"1, {size} or {score.channels} numbers")
        if isolation is not None and isolation.joints != size:
            raise InvalidInputError("isolation_threshold", isolation.joints, f"rows of {size} numbers")
        self._score = score
        self._threshold = np.resize(given, score.channels)
        self._rule = ImpactDetector(self._threshold, refractory_time, rise_ratio)
        self._isolation = _LinkByRule(self._rule, score.isolates) if isolation is None else isolation
        self._refractory_time = refractory_time
        self._joints = score.joints
        self._history: Matrix = np.zeros((HISTORY, score.channels))
        self._stamps: Vector = np.zeros(HISTORY)
        self._shares: Vector = np.zeros(score.channels)
        self.triggered: NDArray[np.bool_] = np.zeros(size, dtype=np.bool_)
        self.impact_time = math.nan
        self._time = -math.inf
        self._count = 0
        onset_time(self._history, self._stamps, 0, 1, 0)  # compiles the kernel here and not in the loop
        self.reset()

    @property
    def index(self) -> int:
        """Number of events."""
        return self._rule.index

    @property
    def detection_time(self) -> float:
        """Stamp [s] of the sample that was the event."""
        return self._rule.detection_time

    @property
    def share(self) -> float:
        """Largest score of the last sample as a part of its bound; 0 before the first."""
        if not self._count:
            return 0.0
        np.divide(self._history[(self._count - 1) % HISTORY], self._threshold, out=self._shares)
        return float(np.fmax.reduce(self._shares, initial=0.0))

    @property
    def isolated_link(self) -> int:
        """Link in contact, as far as it is known."""
        return self._isolation.link

    @property
    def link_settled(self) -> bool:
        """True when that link is final until the next event."""
        return self._isolation.settled

    def reset(self) -> None:
        """Forget all events and samples."""
        self._rule.reset()
        self.triggered[:] = False
        self.impact_time = math.nan
        self._time = -math.inf
        self._start()

    def detect(self, signals: DetectionSignals, time: float) -> bool:
        """Take one sample with its stamp [s]; return whether it is an impact."""
        elapsed = time - self._time
        if elapsed > MAXIMUM_GAP or elapsed < -self._refractory_time:
            self._start()
        elif not elapsed > 0.0:
            return False
        self._time = time
        values = self._score.evaluate(signals, time)
        row = self._count % HISTORY
        self._history[row] = values
        self._stamps[row] = time
        self._count += 1
        self._isolation.record(signals.residual, signals.velocity)
        if not self._rule.detect(values, time):
            return False
        self._describe(row, values)
        return True

    def _start(self) -> None:
        self._count = 0
        self._score.reset()
        self._isolation.reset()

    def _describe(self, row: int, values: Vector) -> None:
        self.triggered[:] = False
        strongest, most = 0, 0.0
        for channel in range(values.size):
            share = values[channel] / self._threshold[channel]
            if share >= 1.0:
                joint = self._joints[channel]
                self.triggered[joint if joint >= 0 else slice(None)] = True
            if share > most:
                strongest, most = channel, share
        held = min(self._count, HISTORY)
        self.impact_time = onset_time(self._history, self._stamps, row, held, strongest)
        self._isolation.impact()
