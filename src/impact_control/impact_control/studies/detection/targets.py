"""The targets of the best setting, and what was measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from impact_control.studies.detection.arms import ARMS, HARD
from impact_control.studies.detection.evaluation import Choice, median_delay, percentage, right_links
from impact_control.studies.detection.ideal import Ideal
from impact_control.studies.detection.plan import Extent, Outcomes

FAST_DELAY, SLOW_DELAY = 2.0, 4.0
"""[ms] largest median delay from 0.05 m/s on, and at 0.01 m/s."""

RIGHT_LINK = 99.0
"""[%]"""


@dataclass(frozen=True)
class Target:
    """What is asked and found; at_least: whether more is better."""

    text: str
    unit: str
    limit: float
    measured: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether it was reached; a number that is not there was not."""
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit


def possible(ideal: Ideal) -> NDArray[np.bool_]:
    """Return for which (arm, contact, noise) an ideal detector needs at most SLOW_DELAY at the slowest speed."""
    return np.asarray(np.nanmedian(np.where(np.isnan(ideal.delay), np.inf, ideal.delay), axis=2) <= 1e-3 * SLOW_DELAY)


def measured_targets(outcomes: Outcomes, extent: Extent, choice: Choice, ideal: Ideal) -> tuple[Target, ...]:
    """Return the targets: delays over all contacts, hard ones and possible ones; false alarms, links."""
    best = choice.method
    scales = tuple(choice.scales[a][best] for a in range(len(ARMS)))
    delay = np.array([outcomes.delay[a, ..., best, s] for a, s in enumerate(scales)])
    fast = [v for v, speed in enumerate(extent.speeds) if speed >= 0.05]
    hard = [c for c, contact in enumerate(extent.contacts) if contact in HARD]
    alarms = sum(int(outcomes.alarms[a, ..., best, s].sum()) for a, s in enumerate(scales))
    minutes = 60.0 * outcomes.hours * outcomes.alarms.shape[0] * outcomes.alarms.shape[1]
    # (arm, contact, noise, friction, repetition, inertia) at the slowest speed
    reachable = np.moveaxis(delay[:, :, 0], 4, 2)[possible(ideal)]
    right = percentage(right_links(outcomes, extent.contacts, best, choice.scales))
    return (
        Target("median delay from 0.05 m/s, all contacts", "ms", FAST_DELAY, 1e3 * median_delay(delay[:, :, fast])),
        Target("median delay from 0.05 m/s, hard", "ms", FAST_DELAY, 1e3 * median_delay(delay[:, hard][:, :, fast])),
        Target("median delay at 0.01 m/s, all contacts", "ms", SLOW_DELAY, 1e3 * median_delay(delay[:, :, 0])),
        Target("median delay at 0.01 m/s, hard", "ms", SLOW_DELAY, 1e3 * median_delay(delay[:, hard, 0])),
        Target(
            "median delay at 0.01 m/s, where an ideal detector needs at most 4 ms",
            "ms",
            SLOW_DELAY,
            1e3 * median_delay(reachable),
        ),
        Target(
            f"false alarms in {minutes:.3g} min of free motion, each with all noises and models", "", 0.0, float(alarms)
        ),
        Target("right link, of the detected impacts", "%", RIGHT_LINK, right, at_least=True),
    )
