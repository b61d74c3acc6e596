"""Estimate of the post-impact velocity and errors of the predictions of each case, and its mean courses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from impact_control.recording.net_feedback import AFTER, BEFORE, net_feedback
from impact_control.scenario import load_scenario
from impact_control.util.types import Matrix, Vector
from impact_studies.frame.study import Progress
from impact_studies.frame.trials import from_arrays, run_trials, trials_directory
from impact_studies.net_feedback.plan import GRAB, PUSH, Override, SceneCase, TrialCase
from impact_studies.net_feedback.published import ABSOLUTE_ERROR
from impact_studies.net_feedback.trial import PredictionCase, TrialSignals, direction, run_prediction, run_trial
from impact_studies.net_feedback.velocity_fit import VelocityEstimate, estimate_post_impact_velocity

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
        window = self.nominal + begin, self.nominal + end
        nets = [[net_feedback(signals.time, one, *window) for one in signals.feedback] for _, signals in self.trials]
        return np.array([along(self.case, np.array(of_arms)) for of_arms in nets])

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
    """Effect of one change, without noise and parameter errors, by case; some changes are for a push only."""

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


def evaluate(trials: Sequence[TrialCase], study: str, progress: Progress) -> list[CaseResult]:
    """Run trials and return a result for each case and change, in the order of their first trials."""
    predictions = list(dict.fromkeys(_prediction(trial) for trial in trials))
    directory = trials_directory(study)
    found = run_trials(run_trial, trials, directory, progress)
    impacts = run_trials(run_prediction, predictions, directory, lambda *_: None)
    signals = [from_arrays(TrialSignals, arrays) for arrays in found]
    return [
        CaseResult(
            case=prediction.case,
            before=float(impact["before"]),
            predicted=impact["after"],
            nominal=load_scenario(prediction.case.name).impact_time,
            trials=[
                (trial, one) for trial, one in zip(trials, signals, strict=True) if _prediction(trial) == prediction
            ],
        )
        for prediction, impact in zip(predictions, impacts, strict=True)
    ]


def _prediction(trial: TrialCase) -> PredictionCase:
    return PredictionCase(trial.case, trial.changes)


CASES = (SceneCase(PUSH, "catfood", 1), SceneCase(GRAB, "catfood", 1))

_BOX = "actual_environment.objects.box"
DAMPED = "cover with nine times the damping"
SLIPPING = "plate that slips on the object: friction 0.1 instead of 1.0"
SMOOTH = "table of friction 0.1 instead of 0.3, known"
_ROUGHER = "table friction 10 % above the known one"

CHANGES: dict[str, tuple[Override, ...]] = {
    "as in the study": (),
    "no joint friction": (("simulation.joint_friction", False), ("control.friction_compensation", 0.0)),
    "torque loop without filter": (("simulation.torque_filter", False),),
    DAMPED: (
        (f"{_BOX}.contact.exponent", 1.0),
        (f"{_BOX}.contact.stiffness", "2.45e5 N/m"),
        (f"{_BOX}.contact.damping", "3e7 N*s/m^2"),
    ),
    SLIPPING: ((f"{_BOX}.friction", 0.1),),
    SMOOTH: (("expected_environment.surface.friction", 0.1), ("actual_environment.surface.friction", 0.1)),
    _ROUGHER: (("actual_environment.surface.friction", 0.33),),
    "5 % of the joint friction not fed forward": (("control.friction_compensation", 0.95),),
    "object 2 % heavier than known": ((f"{_BOX}.mass", "1.326 kg"),),
    "orientation gain 10 1/s^2": (("control.gains.orientation", "10 1/s^2"),),
    "position gain 100 1/s^2": (("control.gains.position", "100 1/s^2"),),
    "both of these gains": (("control.gains.orientation", "10 1/s^2"), ("control.gains.position", "100 1/s^2")),
    "interim mode of 10 ms": (("control.interim_duration", "10 ms"),),
    "interim mode of 200 ms": (("control.interim_duration", "200 ms"),),
}
"""By name; the first changes nothing."""

PUSH_ONLY = (SLIPPING, SMOOTH, _ROUGHER)
"""Changes for a push only: a slipping object cannot be held, a lifted one does not rub."""


def run_experiments(study: str, scales: tuple[float, ...], progress: Progress) -> list[Experiment]:
    """Run all changes, each on a push and a grab or on the push alone."""
    pairs = [(name, case) for name in CHANGES for case in CASES if case.scene == PUSH or name not in PUSH_ONLY]
    trials = [TrialCase(case, scale, 0, None, CHANGES[name]) for name, case in pairs for scale in scales]
    results = evaluate(trials, study, progress)
    found: dict[str, dict[SceneCase, CaseResult]] = {name: {} for name in CHANGES}
    for (name, case), result in zip(pairs, results, strict=True):
        found[name][case] = result
    return [Experiment(name, by_case) for name, by_case in found.items()]


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
