"""The course of a case with one reference, mean over its trials and arms: what Figs 6 and 8 of van Steen 2024 show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_control.identification.net_feedback import AFTER, BEFORE
from impact_control.studies.net_feedback.outcome import SETTLED, CaseResult
from impact_control.types import Vector

FAST = 0.05
"""[s] after T_nom in which the velocity drops; our choice, as all lengths here."""

SETTLING = 0.05
"""[s] at the end of the window in which a velocity is to be at its reference."""

VIBRATING = 0.1
"""[s] in which vibrations are looked at, after T_nom and at the end of the window."""

QUIET = (-BEFORE, -0.02)
"""[s] from T_nom: before the impact, also where that is early."""


@dataclass(frozen=True, eq=False)
class MeanCourse:
    """Means over trials and arms, along the motion.

    time (k,) [s] from T_nom; velocity, reference (k,) [m/s]; feedback (k,) [m/s^2]; net [m/s]: (29).
    """

    time: Vector
    velocity: Vector
    reference: Vector
    feedback: Vector
    net: float

    @property
    def added(self) -> Vector:
        """Return the integral of the feedback up to each sample (k,) [m/s]."""
        steps = np.diff(self.time, append=self.time[-1])
        integral: Vector = np.cumsum(self.feedback * steps)
        return integral

    @property
    def lowest(self) -> float:
        """Return the lowest velocity in FAST after T_nom [m/s]."""
        return float(self.velocity[self._within(0.0, FAST)].min())

    @property
    def settled(self) -> tuple[float, float]:
        """Return velocity and reference [m/s] at the end of the window, means over SETTLING."""
        inside = self._within(self._end - SETTLING, self._end)
        return float(self.velocity[inside].mean()), float(self.reference[inside].mean())

    @property
    def up_and_down(self) -> tuple[float, float]:
        """Return by how much the feedback speeds up until it has added the most, and slows down after that [m/s]."""
        added = self.added[self.time <= self._end]
        most = float(added.max())
        return most, most - float(added[-1])

    @property
    def early_range(self) -> tuple[float, float]:
        """Return between what the integral of the feedback is [m/s] until SETTLED, before loads that last count."""
        early = self.added[self._within(0.0, SETTLED)]
        return float(early.min()), float(early.max())

    @property
    def vibrations(self) -> tuple[float, float, float]:
        """Return the vibration of the velocity before the impact, right after it, and at the end of the window [m/s].

        Root mean square of what a cubic leaves.
        """
        parts = (QUIET, (0.0, VIBRATING), (self._end - VIBRATING, self._end))
        before, early, late = (self._vibration(*part) for part in parts)
        return before, early, late

    @property
    def _end(self) -> float:
        """End of the window [s], or of the samples where they end before."""
        return min(AFTER, float(self.time[-1]))

    def _within(self, begin: float, end: float) -> Vector:
        return np.asarray((self.time > begin) & (self.time <= end))

    def _vibration(self, begin: float, end: float) -> float:
        inside = self._within(begin, end)
        powers = np.vander(self.time[inside] - begin, 4)
        fit, *_ = np.linalg.lstsq(powers, self.velocity[inside], rcond=None)
        return float(np.sqrt(np.mean((self.velocity[inside] - powers @ fit) ** 2)))


def mean_courses(result: CaseResult) -> dict[float, MeanCourse]:
    """Return the means of a case by the scale of the reference."""
    courses = {}
    for scale in result.scales:
        nets = [net for (trial, _), net in zip(result.trials, result.nets, strict=True) if trial.scale == scale]
        velocity, reference, feedback = (result.mean(scale, name) for name in ("velocity", "post_velocity", "feedback"))
        courses[scale] = MeanCourse(result.time(scale), velocity, reference, feedback, float(np.mean(nets)))
    return courses
