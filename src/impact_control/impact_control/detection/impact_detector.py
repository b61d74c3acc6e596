"""Online detection of impacts, one event for each, also while contact is held."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from impact_control.detection.detector import NO_LINK
from impact_control.util.checks import checked_vector, require_not_negative
from impact_control.util.compiled import compiled
from impact_control.util.types import Vector

ISOLATION_SHARE = 0.5
"""Part of r_b from which on a joint counts as having reacted."""


@compiled
def a_joint_rises(magnitude: Vector, threshold: Vector, rise: Vector, previous: Vector, valley: Vector) -> bool:
    """Return whether a new rise passes its bound at this sample; move `previous` and `valley` on.

    All arrays (n,) [Nm/s]. `valley` is the lowest rate since the last rise of the joint was over, and
    infinite while that rise goes on. A joint whose rate is not finite is left as it was.
    """
    found = False
    for i in range(magnitude.size):
        rate = magnitude[i]
        if not math.isfinite(rate):
            continue
        if rate < previous[i]:
            valley[i] = min(valley[i], rate)
        elif rate >= threshold[i] and rate >= valley[i] + rise[i]:
            found = True
            valley[i] = math.inf
        previous[i] = rate
    return found


class ImpactDetector:
    """Impact events from the rate of the momentum residual, Proper 2021 (3.6) and (3.7).

    A sample k qualifies when for some joint |rate_k| >= r_b (3.6) and |rate_k| >= |rate_{k-1}| (3.7). As
    printed, every sample of one rising flank qualifies, and a flank of a real impact lasts some samples. The
    text after (3.5) asks for one detection per impact, therefore:

    - Only the first qualifying sample of a rise is an event. While the rate of the joint goes on rising, or
      falls, it belongs to the same impact, however long it stays above r_b.
    - When the rate has fallen, below the bound or not, the joint may report again once it has risen by
      `rise_ratio` r_b above the lowest value since: an impact while contact is held must add to the decaying
      rate what a first impact must add to none. Without this the noise on the slow decay of the residual
      (time constant 1/K_O) is an event at every second sample. `rise_ratio` = 0 drops this condition:
      (3.6), (3.7), but one event for each rise.
    - Two events are at least `refractory_time` apart. A rise that starts earlier (another joint that follows,
      the swing back of the rate) belongs to the event before and is used up. Take it longer than a hard
      contact takes, 5 to 10 ms (Proper 2021, 4.1.3), and shorter than the time between impacts to be separated.

    The sign of the rate is not looked at: a sudden loss of contact is a sudden change of the external torque
    and is reported too.

    Rates that are not finite are skipped joint by joint, samples with a repeated or older stamp as a whole.
    When the clock jumps back by more than the refractory time, the detector restarts but goes on counting.

    Attributes, all describing the last event:
        index: number of events since construction or `reset`; 0 before the first.
        triggered: (n,) bool, joints that met (3.6) at the detection. Overwritten by the next event.
        detection_time: [s] stamp of the sample that was the event; NaN before the first.
        impact_time: [s] estimate of the impact itself; NaN before the first. The rate of sample k is the mean
            over (t_{k-1}, t_k], so what made it pass the bound happened there or, for a soft contact, before.
            The middle of this interval is taken: off by half a period at most for a hard contact, lost
            samples included, and never later than `detection_time`.
        isolated_link: 1..n, the outermost joint whose rate reached ISOLATION_SHARE of r_b, else NO_LINK.
            Joints beyond the link in contact do not react (Proper 2021, 2.5), so contact is on this link or
            further out when a reaction drowned in noise. Proper 2021, 3.2 gives no guarantee: a hint only.
    """

    def __init__(
        self,
        rate_threshold: Vector,
        refractory_time: float,
        rise_ratio: float = 1.0,
    ) -> None:
        """Set the tuning; n is the length of `rate_threshold`.

        rate_threshold: r_b (n,) [Nm/s], above 0.
        refractory_time: least time [s] between two events, at least 0.
        rise_ratio: share of r_b, at least 0, by which a rate must rise again for another event.
        Raises InvalidInputError for anything else.
        """
        self._threshold = checked_vector("rate_threshold", rate_threshold, zero_allowed=False)
        self._refractory_time = require_not_negative("refractory_time", refractory_time)
        self._rise = self._threshold * require_not_negative("rise_ratio", rise_ratio)
        self._isolation = self._threshold * ISOLATION_SHARE
        n = self._threshold.size
        self._magnitude, self._previous, self._valley = np.zeros(n), np.zeros(n), np.zeros(n)
        self.triggered: NDArray[np.bool_] = np.zeros(n, dtype=np.bool_)
        self.index = 0
        self.detection_time = self.impact_time = math.nan
        self.isolated_link = NO_LINK
        self._time = self._last_event = -math.inf
        self._rises()  # compiles the kernel here and not in the loop
        self.reset()

    def reset(self) -> None:
        """Forget all events and rates. The next sample cannot be an event: (3.7) needs one before it."""
        self.index = 0
        self.triggered[:] = False
        self.detection_time = self.impact_time = math.nan
        self.isolated_link = NO_LINK
        self._start()

    def detect(self, residual_rate: Vector, time: float) -> bool:
        """Take one residual rate (n,) [Nm/s] with its stamp [s]; return whether this sample is an impact."""
        elapsed = time - self._time
        if elapsed < -self._refractory_time:
            self._start()
        elif not elapsed > 0.0:
            return False
        np.abs(residual_rate, out=self._magnitude)
        interval_start = self._time
        self._time = time
        if not self._rises() or time - self._last_event < self._refractory_time:
            return False
        self._last_event = time
        self.index += 1
        self.detection_time = time
        self.impact_time = 0.5 * (interval_start + time)
        np.greater_equal(self._magnitude, self._threshold, out=self.triggered)
        self.isolated_link = self._outermost_reaction()
        return True

    def _start(self) -> None:
        self._time = self._last_event = -math.inf
        self._previous[:] = math.inf
        self._valley[:] = 0.0

    def _rises(self) -> bool:
        return a_joint_rises(self._magnitude, self._threshold, self._rise, self._previous, self._valley)

    def _outermost_reaction(self) -> int:
        for i in range(self._magnitude.size - 1, -1, -1):
            if self._magnitude[i] >= self._isolation[i]:
                return i + 1
        return NO_LINK
