"""Tuning of the classifier on recorded trials that are labelled as expected or unexpected."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from impact_control.calibration.motion import Opened, Result, open_files, quantity
from impact_control.classification import (
    TUNED,
    Algorithm,
    Candidates,
    EnvelopeMargin,
    RecordedImpact,
    SearchGrid,
    SingleImpactClassifier,
    fixed_margin,
    is_unexpected,
    judge,
)
from impact_control.pipeline.judge import make_classifier
from impact_control.pipeline.sensing import make_detector, make_observer
from impact_control.recording.log import LogColumns, read_yaml
from impact_control.recording.summary import Grid, Mark, Row, RunSummary, number_grid, short_joint_names
from impact_control.replay import TaskFollower, followed_reference, replay_samples, usable_samples
from impact_control.robots import RobotDescription
from impact_control.scenario import SIMULTANEOUS, Classification, Scenario, robot_of, scenario_from_text
from impact_control.scenario.settings import entries
from impact_control.util.checks import require_finite
from impact_control.util.errors import RecordingError
from impact_control.util.types import Vector

FOLDS = 5
"""Parts of the trials, each judged with what was tuned on the others."""

FEWEST = {"expected": 5, "unexpected": 3}
"""Trials of each kind, below which there is nothing to tune on."""

RESERVES = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Reserves of the limits above the largest values of the trials that were as expected, the first at least."""

_ACCEPTABLE = (-0.5, 0.5)
"""Range of the deviations of acceptable trials: 0 for as expected, 1 for not."""

_SAME = 1e-4
"""[m], and for the sine of an angle, within which the surface that is there is the one that is expected."""


@dataclass(frozen=True, eq=False)
class _Trial:
    """Input of the classifier in a recording."""

    name: str
    impact: RecordedImpact
    margin: EnvelopeMargin

    @property
    def expected(self) -> bool:
        """True for a trial that was as expected."""
        return self.impact.deviation == 0.0


class _Listener(SingleImpactClassifier):
    """Recorder of the input of a classifier, without verdicts."""

    def __init__(self, parameters: Classification, n: int) -> None:
        super().__init__(parameters, n)
        self.given = fixed_margin(parameters.envelope_margin, n)
        self._nominal_time, self._configuration = 0.0, np.zeros(n)
        self._samples: list[tuple[float, Vector, Vector]] = []
        self._impacts: list[tuple[float, int, Vector]] = []
        self._completion = (math.nan, 0)

    def await_impact(
        self,
        nominal_impact_time: float,
        nominal_configuration: Vector,
        margin: EnvelopeMargin | None = None,
        configuration_limit: float | None = None,
    ) -> None:
        """Begin a trial."""
        super().await_impact(nominal_impact_time, nominal_configuration, margin, configuration_limit)
        self.given = margin or fixed_margin(self.parameters.envelope_margin, np.size(nominal_configuration))
        self._nominal_time, self._configuration = nominal_impact_time, np.array(nominal_configuration)
        self._samples, self._impacts, self._completion = [], [], (math.nan, 0)

    def impact_detected(self, time: float, configuration: Vector) -> bool:
        """Keep an impact; the sample that showed it comes next."""
        self._impacts.append((time, len(self._samples), np.array(configuration)))
        return False

    def contact_completed(self, time: float) -> bool:
        """Keep when all points touch."""
        self._completion = (time, len(self._samples))
        return False

    def classify(self, time: float, velocity: Vector, reference_velocity: Vector) -> bool:
        """Keep a sample."""
        self._samples.append((time, np.array(velocity), np.array(reference_velocity)))
        return False

    def heard(self, name: str, deviation: float) -> _Trial | None:
        """Return all of it under the name of a trial, None where no task was judged."""
        if not self._samples:
            return None
        time, velocity, reference = (np.array(column) for column in zip(*self._samples, strict=True))
        # An impact that the last sample showed comes without that sample where the task was over.
        impacts = [impact for impact in self._impacts if impact[1] < time.size]
        size = self._configuration.size
        impact = RecordedImpact(
            time,
            velocity,
            reference,
            np.array([impact[0] for impact in impacts]),
            np.array([impact[1] for impact in impacts], dtype=np.int64),
            np.array([impact[2] for impact in impacts]).reshape(-1, size),
            self._completion[0],
            min(self._completion[1], time.size - 1),
            self._nominal_time,
            self._configuration,
            deviation,
        )
        return _Trial(name, impact, self.given)


def tune_classifier(
    paths: Sequence[Path],
    scenario: str | None = None,
    labels: Path | None = None,
    columns: LogColumns | None = None,
    task_start: float | None = None,
    progress: Callable[[float, str], None] = lambda done, text: None,
) -> Result:
    """Return the tuning of a scenario's classifier that calls no trial unexpected that was as expected.

    Of those that do, it is the one that calls the most others unexpected, `classification.tune`. Cross-validation
    estimates its quality on trials that it was not tuned on.

    paths: of the trials. labels: YAML file with `expected` or `unexpected` for the name of each file, or a list of
    them for the trials in it; None: as the trials say (`as_expected`), or the scenario of simulated ones. task_start:
    see `replay_file`.

    Raises RecordingError, which names the file, where nothing is to be tuned on; ScenarioError; InvalidInputError for
    a start that is not finite.
    """
    if task_start is not None:
        require_finite("task_start", task_start)
    chosen, files = open_files(paths, scenario, columns)
    given_labels = {} if labels is None else _read_labels(labels)
    robot = robot_of(chosen.robot)
    trials, notes = [], []
    for number, opened in enumerate(files):
        progress(0.5 * number / len(files), "replay")
        heard = _replay(chosen, robot, opened, task_start, 0.0 if _as_expected(opened, given_labels) else 1.0)
        if heard is None or not len(heard.impact.impact_times):
            notes.append(f"{opened.name}: {'no task' if heard is None else 'no impact'} in it, passed over")
        else:
            trials.append(heard)
    counts = {"expected": sum(trial.expected for trial in trials)}
    counts["unexpected"] = len(trials) - counts["expected"]
    for kind, fewest in FEWEST.items():
        if counts[kind] < fewest:
            found = f"{counts[kind]} trials that were {kind} and have an impact"
            raise RecordingError(", ".join(map(str, paths)), "; ".join([found, *notes]), f"at least {fewest}")
    algorithm = _algorithm(chosen)
    searched = _grid_of(chosen, robot)
    impacts = [trial.impact for trial in trials]

    def second_half(part: float) -> None:
        progress(0.5 + 0.5 * part, "tune")

    candidates = Candidates(impacts, algorithm, searched, second_half, cut_off=True)
    parameters, reserve = _tuned(candidates)
    present = make_classifier(chosen.classification, len(robot.joint_names))
    before = [judge(trial.impact, present, trial.margin).unexpected for trial in trials]
    after = _cross_validated(trials, candidates, algorithm)
    short = [trial.name for trial in trials if _cut_off(trial.impact, parameters.post_impact_time)]
    if short:
        words = "end before they are judged, and are as far as they go; with `reaction` continue they would not"
        notes.append(f"{len(short)} trials, the first is {short[0]}, {words}")
    wrong = [sum(said == trial.expected for said, trial in zip(of, trials, strict=True)) for of in (before, after)]
    objections = [f"{wrong[1]} wrong verdicts where the present tuning has {wrong[0]}"] if wrong[1] > wrong[0] else []
    return Result(
        summary=_summary(chosen, trials, parameters, reserve, (before, after), notes, objections),
        sections={"classification": _section(parameters)},
        sources=tuple(f"{trial.name}: {'expected' if trial.expected else 'unexpected'}" for trial in trials),
        objections=tuple(objections),
    )


def _replay(
    scenario: Scenario, robot: RobotDescription, opened: Opened, start: float | None, deviation: float
) -> _Trial | None:
    """Return what a classifier would have been given in a recording; None where there is no task to judge."""
    file, run = opened.file, opened.run
    samples = usable_samples(file, run, robot, scenario.control.period)
    reference = followed_reference(run, samples, scenario, robot, start, [])
    if reference is None:
        allowed = "a bag with controller/reference, or --task-start"
        raise RecordingError(str(file.path), "no reference recorded in it", allowed)
    listener = _Listener(scenario.classification, len(robot.joint_names))
    follower = TaskFollower(scenario, robot, reference, listener)
    detector = make_detector(scenario, len(robot.joint_names))
    replay_samples(samples, robot, make_observer(scenario, robot), detector, commands=run.commands, follower=follower)
    return listener.heard(opened.name, deviation)


def _read_labels(path: Path) -> Mapping[str, list[bool]]:
    """Return whether the trials of each file were as expected."""
    allowed = "a YAML file with `expected` or `unexpected`, or a list of them, for the name of each recording"
    content = read_yaml(path, allowed)
    if not isinstance(content, Mapping):
        raise RecordingError(str(path), f"{content!r}", allowed)
    labels = {}
    for name, given in content.items():
        words = given if isinstance(given, list) else [given]
        if not words or not set(map(str, words)) <= {"expected", "unexpected"}:
            raise RecordingError(str(path), f"{name} = {given!r}", allowed)
        labels[str(name)] = [str(word) == "expected" for word in words]
    return labels


def _as_expected(opened: Opened, labels: Mapping[str, Sequence[bool]]) -> bool:
    """Return whether all was as expected in a trial."""
    path, number = opened.path, opened.trial or 0
    if labels:
        given = labels.get(str(path), labels.get(path.name, ()))
        if number >= len(given):
            raise RecordingError(opened.name, "no label for it", f"one for {path.name} in the file of --labels")
        return given[number]
    if opened.run.as_expected is not None:
        return opened.run.as_expected
    if opened.file.scenario and opened.run.contact_time is not None:  # it was simulated
        scene = scenario_from_text(opened.file.scenario, str(path))
        if not scene.expected_objects:
            return _is_as_expected(scene.arm())
    allowed = "--labels with a file, the fact as_expected of a trial, or the bag of a simulated run with contact"
    raise RecordingError(opened.name, "no label: expected or unexpected", allowed)


def _is_as_expected(scenario: Scenario) -> bool:
    """Return whether the surface of a simulated scenario is the expected one, without touches of the arm."""
    real, expected = scenario.actual_environment.surface, scenario.expected_environment.surface
    if real is None or scenario.actual_environment.touches:
        return False
    distance = abs(float(expected.normal @ (real.point - expected.point)))
    turn = float(np.linalg.norm(np.cross(real.normal, expected.normal)))
    return distance <= _SAME and turn <= _SAME and real.friction == expected.friction


def _algorithm(scenario: Scenario) -> Algorithm:
    if scenario.classification.method != SIMULTANEOUS:
        return Algorithm.SINGLE
    return Algorithm.SIMULTANEOUS if scenario.classification.completion is None else Algorithm.COMPLETION


def _grid_of(scenario: Scenario, robot: RobotDescription) -> SearchGrid:
    """Return the grid of the search; its margins leave room for more noise of the velocity than in the trials."""
    rates = tuple(rate for rate in (5.0, 10.0, 20.0, 40.0, 80.0, 160.0) if rate * scenario.control.period < 1.0)
    return SearchGrid((5, 10, 20, 40), rates, (0.05, 0.1, 0.15), margin_reserve=float(robot.noise.velocity.max()))


def _tuned(candidates: Candidates, among: NDArray[np.bool_] | None = None) -> tuple[Classification, float]:
    """Return the tuning, and the reserve of its limits: half the way to where it would call fewer trials unexpected.

    among (k,): the trials to tune on, None for all.
    """
    widest, (chosen, least) = RESERVES[0], candidates.best(_ACCEPTABLE, RESERVES[0], among)
    for reserve in RESERVES[1:]:
        found, area = candidates.best(_ACCEPTABLE, reserve, among)
        if area.share > least.share:
            break
        widest, chosen = reserve, found
    middle = math.sqrt((1.0 + RESERVES[0]) * (1.0 + widest)) - 1.0
    return candidates.best(_ACCEPTABLE, middle, among, chosen)[0], middle


def _cross_validated(trials: Sequence[_Trial], candidates: Candidates, algorithm: Algorithm) -> list[bool]:
    """Return which trials are called unexpected by what was tuned without their fold; each has some of both kinds."""
    order = sorted(range(len(trials)), key=lambda k: trials[k].expected)
    fold = np.empty(len(trials), dtype=int)
    fold[order] = np.arange(len(trials)) % FOLDS
    tunings = [_tuned(candidates, fold != out)[0] for out in range(FOLDS)]
    return [
        is_unexpected(trial.impact, tunings[out], algorithm, cut_off=True)[0]
        for trial, out in zip(trials, fold.tolist(), strict=True)
    ]


def _largest_rate(wrong: int, count: int) -> float:
    """Return the upper bound of a rate of wrong verdicts with a confidence of 95 %, by Clopper and Pearson."""
    return 1.0 if wrong == count else float(betaincinv(wrong + 1, count - wrong, 0.95))


def _cut_off(impact: RecordedImpact, duration: float) -> bool:
    return bool(impact.time[-1] <= impact.impact_times[-1] + duration)


def _section(parameters: Classification) -> dict[str, int | str]:
    """Return the parameters as in a scenario file, without an interval where no trial has a second impact."""
    section = {}
    for name in TUNED:
        value, unit = getattr(parameters, name), getattr(entries(Classification)[name].kind, "unit", "")
        if value is not None and (name != "impact_interval" or value > 0.0):
            section[name] = quantity(value, unit) if unit else value
    return section


def _summary(
    scenario: Scenario,
    trials: Sequence[_Trial],
    parameters: Classification,
    reserve: float,
    verdicts: Sequence[Sequence[bool]],
    notes: Sequence[str],
    objections: Sequence[str],
) -> RunSummary:
    expected = np.array([trial.expected for trial in trials])
    count = int(expected.sum())
    rows = [Row("Trials", f"{len(trials)}: {count} as expected, {len(trials) - count} not")]
    rows += [Row("Note", words) for words in notes]
    rows.append(Row("Reserve", f"limits {100 * reserve:.0f} % above the largest values of the {count} as expected"))
    for trial, called in zip(trials, verdicts[1], strict=True):
        if called == trial.expected:
            verdict = "unexpected" if called else "expected"
            rows.append(Row("Wrong", f"{trial.name}: called {verdict} when left out of the tuning", Mark.BAD))
    for truth, kind in ((True, "expected"), (False, "unexpected")):
        among = np.array(verdicts[1])[expected == truth]
        wrong = int(np.sum(among == truth))
        bound = f"at most {100.0 * _largest_rate(wrong, among.size):.0f} % of such trials, with 95 % confidence"
        rows.append(Row("Rate", f"{wrong} of {among.size} {kind} wrong: {bound}"))
    old, new = _section(scenario.classification), _section(parameters)
    rows += [
        Row(name, f"{old.get(name, 'any')} before, now {value}")
        for name, value in new.items()
        if name != "envelope_margin"
    ]
    rows += [Row("Objection", words, Mark.BAD) for words in objections]
    table = []
    for truth, kind in ((True, "as expected"), (False, "not as expected")):
        for called, words in ((False, "called expected"), (True, "called unexpected")):
            cells = (str(int(np.sum((np.array(said) == called) & (expected == truth)))) for said in verdicts)
            table.append((f"{kind}, {words}", *cells))
    joints = robot_of(scenario.robot).joint_names
    before = np.median([trial.margin.table[0] for trial in trials], axis=0)
    now = fixed_margin(parameters.envelope_margin, len(joints)).table[0]
    margins = [("before, at the impact", before), ("now", now)]
    right = int(np.sum(np.array(verdicts[1]) != expected))
    return RunSummary(
        "Tuning of the classifier",
        tuple(rows),
        (
            Grid("Verdicts; now: on trials that were left out of the tuning", ("", "before", "now"), tuple(table)),
            number_grid("envelope_margin [rad/s]", margins, short_joint_names(joints)),
        ),
        f"TUNED: {right} of {len(trials)} trials judged right when left out of the tuning.",
        not objections,
    )
