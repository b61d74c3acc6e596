"""All trials of the comparison, and what they come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from impact_control.studies.impact_baselines.methods import PLAIN, REFERENCE_SPREADING, Case
from impact_control.studies.impact_baselines.trial import Measured
from impact_control.types import Vector

LEAST_CUT = 50.0
"""[%] by which reference spreading is to cut the median peak of the feedback torque against plain tracking."""


@dataclass(frozen=True)
class Measure:
    """A number of each trial: heading, unit, decimals shown, and how it is taken in that unit."""

    name: str
    unit: str
    decimals: int
    of: Callable[[Measured], float]


PEAK_FEEDBACK = Measure("peak feedback\ntorque", "Nm", 1, lambda trial: trial.peak_feedback)
AROUND = Measure("from the nominal\ntime on", "Nm", 1, lambda trial: _peak_around(trial))
DETECTED = Measure("from the\ndetection on", "Nm", 1, lambda trial: trial.peak_feedback_detected)
BY_VELOCITY = Measure("peak of its\nvelocity part", "Nm", 1, lambda trial: trial.peak_velocity_feedback)
TRACKING = Measure("tracking\nerror", "mm", 2, lambda trial: 1e3 * trial.tracking_error)
CYCLE = Measure("cycle\ntime", "s", 3, lambda trial: trial.cycle_time)
MEASURES = (
    Measure("peak\ntorque", "Nm", 1, lambda trial: trial.peak_torque),
    Measure("peak\ntorque rate", "Nm/s", 0, lambda trial: trial.peak_torque_rate),
    Measure("at the\nrate limit", "ms", 1, lambda trial: 1e3 * trial.rate_limited),
    PEAK_FEEDBACK,
    DETECTED,
    AROUND,
    BY_VELOCITY,
    TRACKING,
    Measure("contact\nforce", "N", 0, lambda trial: trial.peak_force),
    CYCLE,
)


def _peak_around(trial: Measured) -> float:
    """Return the peak [Nm] from the contact or, where that is earlier, from the nominal time on."""
    shown = trial.feedback[trial.time >= -max(0.0, trial.contact_offset)]
    return max(trial.peak_feedback, float(np.max(shown)))


@dataclass(frozen=True, eq=False)
class Outcome:
    """Trials by method, in the same order of surfaces for all of them."""

    cases: dict[str, list[Case]]
    trials: dict[str, list[Measured]]

    def values(self, method: str, measure: Measure) -> Vector:
        """Return a measure of all trials of a method (k,)."""
        return np.array([measure.of(trial) for trial in self.trials[method]])

    def cut(self, measure: Measure = PEAK_FEEDBACK) -> float:
        """Return by how much the median with reference spreading is below that with plain tracking [%]."""
        spread, plain = (float(np.nanmedian(self.values(m, measure))) for m in (REFERENCE_SPREADING, PLAIN))
        return 100.0 * (1.0 - spread / plain)

    def paired_cut(self, measure: Measure = PEAK_FEEDBACK) -> Vector:
        """Return the same for each surface (k,) [%]."""
        return 100.0 * (1.0 - self.values(REFERENCE_SPREADING, measure) / self.values(PLAIN, measure))

    def broken(self) -> int:
        """Return in how many trials a limit was broken."""
        return sum(not trial.limits_kept for trials in self.trials.values() for trial in trials)

    def missed(self, method: str) -> int:
        """Return in how many trials of a method the impact was not detected."""
        return sum(bool(np.isnan(trial.detection_delay)) for trial in self.trials[method])
