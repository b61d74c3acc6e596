"""What the trials of each case come to: the estimate of its post-impact velocity, and the errors of predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from impact_control.identification.net_feedback import (
    AFTER,
    BEFORE,
    VelocityEstimate,
    estimate_post_impact_velocity,
    net_feedback,
)
from impact_control.studies.net_feedback.plan import GRAB, PUSH, SceneCase, TrialCase
from impact_control.studies.net_feedback.published import ABSOLUTE_ERROR
from impact_control.studies.net_feedback.trial import TrialSignals, direction
from impact_control.types import Matrix, Vector

MODEL_NAMES = ("B_theta", "B_rho", "B = 0")
"""Short names of the inertia models, in the order of predictions and errors."""

TARGET = {scene: errors[0] for scene, errors in ABSOLUTE_ERROR.items()}
"""[%] Mean absolute errors with B_theta that are asked for, those of the source."""

SETTLED = 0.2
"""[s] after T_nom, twice the interim mode: bounces are over."""

WINDOW_ENDS = (SETTLED, 0.3, 0.4, 0.5, AFTER)
"""[s] after T_nom."""


@dataclass(frozen=True, eq=False)
class CaseResult:
    """One row of a table.

    before [m/s]: velocity before the impact; predicted (3,) [m/s]: after it, with B_theta, B_rho, 0; along the
    direction of the case, means over the arms. nominal [s]: T_nom. trials: what was run and what came of it.
    """

    case: SceneCase
    before: float
    predicted: Vector
    nominal: float
    trials: Sequence[tuple[TrialCase, TrialSignals]]

    @property
    def references(self) -> Vector:
        """Return the velocity with which the post-impact reference of each trial begins (k,) [m/s]."""
        return float(self.predicted[0]) * np.array([trial.scale for trial, _ in self.trials])

    @property
    def nets(self) -> Vector:
        """Return a_fb,net of each trial (k,) [m/s], mean of the arms."""
        return np.array([along(self.case, signals.net) for _, signals in self.trials])

    @property
    def estimate(self) -> VelocityEstimate:
        """Return the post-impact velocity at which the net feedback would be 0."""
        return estimate_post_impact_velocity(self.references, self.nets)

    @property
    def scales(self) -> list[float]:
        """Return the velocities with which the references begin, over the predicted one."""
        return sorted({trial.scale for trial, _ in self.trials})

    def time(self, scale: float) -> Vector:
        """Return the time of the samples of the trials with a reference (k,) [s], from T_nom."""
        return next(signals.time for trial, signals in self.trials if trial.scale == scale) - self.nominal

    def mean(self, scale: float, name: str) -> Vector:
        """Return the mean over trials with a reference and arms of a signal (k,) along the direction of the case."""
        along_it = direction(self.case)
        values = [getattr(signals, name) @ along_it for trial, signals in self.trials if trial.scale == scale]
        mean: Vector = np.mean(np.concatenate(values), axis=0)
        return mean

    def nets_between(self, begin: float, end: float) -> Vector:
        """Return the feedback of each trial from begin to end [s], from T_nom, integrated (k,) [m/s]."""
        return np.array(
            [
                np.mean(
                    [
                        net_feedback(signals.time, one, self.nominal + begin, self.nominal + end) @ direction(self.case)
                        for one in signals.feedback
                    ]
                )
                for _, signals in self.trials
            ]
        )

    def errors_until(self, end: float) -> Vector:
        """Return the errors (3,) [%] with a window that ends `end` [s] after T_nom."""
        return self._errors(estimate_post_impact_velocity(self.references, self.nets_between(-BEFORE, end)))

    @property
    def before_the_switch(self) -> float:
        """Return the part of the net feedback before the ante-impact mode ends, mean of the trials [m/s]."""
        parts = []
        for _, signals in self.trials:
            for feedback, switch in zip(signals.feedback, signals.switch_time, strict=True):
                if np.isfinite(switch):
                    net = net_feedback(signals.time, feedback, self.nominal - BEFORE, switch)
                    parts.append(net @ direction(self.case))
        return float(np.mean(parts)) if parts else float("nan")

    @property
    def errors(self) -> Vector:
        """Return by how much the predictions are above the estimate (3,) [%]."""
        return self._errors(self.estimate)

    def _errors(self, estimate: VelocityEstimate) -> Vector:
        return np.array([100.0 * estimate.mismatch(float(velocity)) for velocity in self.predicted])


def along(case: SceneCase, vectors: Matrix) -> float:
    """Return the mean over the arms of vectors (a, 3) along the direction of a case."""
    return float(np.mean(vectors @ direction(case)))


@dataclass(frozen=True, eq=False)
class Experiment:
    """What one change does, without noise and parameter errors, by case; some changes are for a push only."""

    name: str
    results: Mapping[SceneCase, CaseResult]


@dataclass(frozen=True, eq=False)
class Outcome:
    """All results, those of the trials and those of the experiments without noise."""

    results: Sequence[CaseResult]
    experiments: Sequence[Experiment]

    def of(self, scene: str) -> list[CaseResult]:
        """Return the results of a scene."""
        return [result for result in self.results if result.case.scene == scene]

    def errors(self, scene: str | None = None) -> Matrix:
        """Return the errors (rows, 3) [%] of a scene, or of both."""
        return np.array([result.errors for result in (self.results if scene is None else self.of(scene))])

    def absolute(self, scene: str | None = None) -> Vector:
        """Return the mean absolute errors (3,) [%]."""
        return np.asarray(np.abs(self.errors(scene)).mean(axis=0))

    def meets(self, scene: str) -> bool:
        """Return whether the target of a scene is met."""
        return bool(self.absolute(scene)[0] <= TARGET[scene])

    @property
    def reduced_motors_are_best(self) -> bool:
        """Return whether B_theta has the smallest mean absolute error over all cases."""
        return int(np.argmin(self.absolute())) == 0

    @property
    def holds(self) -> bool:
        """Return whether all that is asked for is so."""
        return self.meets(PUSH) and self.meets(GRAB) and self.reduced_motors_are_best
