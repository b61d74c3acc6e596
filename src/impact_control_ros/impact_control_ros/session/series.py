"""A scenario again and again on one graph: the arm is brought back between trials, each is recorded, one report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from impact_control.pipeline import MoveOutcome, Outcome
from impact_control.planning import plan_scenario
from impact_control.recording.summary import RunSummary
from impact_control.replay.evaluation import evaluate_arms
from impact_control.replay.series import SeriesTrial, summarise_series
from impact_control.scenario import load_scenario, parts_of
from impact_control.scenario.variation import Variation, variations
from impact_control.util.errors import ImpactControlError, InterruptedByUserError, InvalidInputError
from impact_control.util.words import in_words
from impact_control_ros.bridge.impact_task import BUILT_IN
from impact_control_ros.bridge.settings import Shape
from impact_control_ros.bridge.task_messages import MOTION_ATTEMPTS, Progress, TaskResult
from impact_control_ros.session.graph import Duty, describe_graph
from impact_control_ros.session.processes import RecordingCutOffError, isolate
from impact_control_ros.session.runs import NO_CALLBACKS, TASK_PATIENCE, Callbacks
from impact_control_ros.session.session import Session

WITHOUT_A_VERDICT = (Outcome.UNDECIDED, Outcome.CANCELLED, Outcome.FAULT)
"""Outcomes of which the report says why."""


@dataclass(frozen=True)
class PlannedSeries:
    """Trials of a scenario. source: name or path of the scenario that the graph is started with; arms: its arms."""

    source: str
    name: str
    trials: list[Variation]
    arms: tuple[str, ...]


def planned_series(source: str, times: int, vary: Path | None = None) -> PlannedSeries:
    """Plan `times` trials of a scenario; nothing is started.

    vary: file with the values that change, see `variations`. Raises InvalidInputError for several trials of a scene
    with objects, ScenarioError, and ImpactControlError for a trial that cannot be followed.
    """
    scene = load_scenario(source)
    if scene.expected_objects and times > 1:
        raise InvalidInputError("times", times, f"1 for {scene.name}, whose objects stay where the task leaves them")
    trials = variations(scene, vary, times, BUILT_IN)
    seen: list[dict[str, Any]] = []
    for number, trial in enumerate(trials, start=1):
        if trial.changes not in seen:
            seen.append(trial.changes)
            _require_feasible(number, trial)
    return PlannedSeries(source, scene.name, trials, scene.arm_names)


def _require_feasible(number: int, trial: Variation) -> None:
    """Raise the refusal of a trial that cannot be followed, with its number and what it varies."""
    try:
        plan_scenario(trial.scene)
    except ImpactControlError as error:
        changes = ", ".join(f"{key} = {value}" for key, value in trial.changes.items())
        raise ImpactControlError(f"trial {number}{f' ({changes})' if changes else ''}: {error}") from error


def run_series(
    series: PlannedSeries,
    directory: Path,
    *,
    launched: bool = False,
    namespace: str = "",
    shape: Shape = Shape.COMPOSED,
    lockstep: bool = False,
    callbacks: Callbacks = NO_CALLBACKS,
) -> RunSummary:
    """Run all trials on one graph, and return the summary over all of them.

    launched: on the one that runs in this ROS domain and `namespace`, of whatever robot side, with a recorder of our
    own; it is not stopped. Otherwise on a fresh one with the simulator, of this shape, in lockstep or not.

    Before each its arms move to their starts, again where a gap between joint states has ended the motion. The series
    ends with a trial that does not come so far, ends in a fault or whose recording is cut off, as by a full disk; with
    any other error, too, once there is a trial to report. Each has a directory `trial_<number>` with its scenario and
    its bag.
    """
    if not launched:
        isolate(directory / "log")
    parts = parts_of(series.trials[0].scene)
    specs = describe_graph(series.source, **parts, shape=shape, lockstep=lockstep, simulate=not launched)
    if launched:
        specs = tuple(spec for spec in specs if spec.duty is Duty.RECORDER)
    begun: list[tuple[Variation, Path, dict[str, TaskResult]]] = []
    times, ended, log, on_stage = len(series.trials), "", directory / "log", callbacks.on_stage
    stop, usable = callbacks.stop_requested, True
    with Session(specs, log, namespace=namespace, arms=series.arms, stop_requested=stop) as session:
        on_stage("starting the nodes")
        session.start()
        for number, trial in enumerate(series.trials, start=1):
            place = directory.resolve() / f"trial_{number:0{len(str(times))}d}"
            on_stage(f"trial {number} of {times}: to the start")
            try:
                results, reason = _run_trial(session, trial, place, callbacks.on_progress)
            except (ImpactControlError, OSError) as error:
                if isinstance(error, InterruptedByUserError) or not begun:
                    raise
                results, reason, usable = {}, f"is not in this report: {error}", False
            if results:
                begun.append((trial, place / "bag", results))
            if reason:
                ended = f"trial {number} {reason}"
                break
        if usable and not launched:
            on_stage("stopping the nodes")
            session.pause(True)
    on_stage("writing the report")
    trials = [
        SeriesTrial(
            trial.changes,
            in_words(results[arm].outcome),
            evaluation,
            arm,
            results[arm].summary if results[arm].outcome in WITHOUT_A_VERDICT else "",
        )
        for trial, bag, results in begun
        for arm, evaluation in evaluate_arms(bag).items()
    ]
    return summarise_series(series.name, times, trials, ended)


def _run_trial(
    session: Session, trial: Variation, place: Path, on_progress: Callable[[Progress], None] | None
) -> tuple[dict[str, TaskResult], str]:
    """Run a trial in its directory; return its results by name of the arm, and why the series ends with it, or "".

    No results where there is nothing to report: it was not begun, or its recording is not whole.
    """
    place.mkdir()
    file, text = place / "scenario.yaml", trial.scene.to_yaml()
    file.write_text(text)
    for _ in range(MOTION_ATTEMPTS):
        arm, moved = list(session.move_to(str(file)).items())[-1]
        if moved.outcome is not MoveOutcome.NOT_REACHED:
            break
    if moved.outcome is not MoveOutcome.REACHED:
        return {}, f"was not begun, {_of_arm(arm)}motion {in_words(moved.outcome)}: {moved.summary}"
    session.record(place / "bag", text)
    results = session.run_tasks(str(file), timeout=TASK_PATIENCE, on_progress=on_progress)
    reasons = {result.outcome: f"{_of_arm(arm)}{result.summary}" for arm, result in results.items()}
    try:
        session.record(None)
    except RecordingCutOffError as error:
        outcomes = ", ".join(f"{_of_arm(arm)}{in_words(result.outcome)}" for arm, result in results.items())
        return {}, f"({outcomes}) is not in this report: {error}"
    if Outcome.REFUSED in reasons:
        return {}, f"was not begun: {reasons[Outcome.REFUSED]}"
    return results, f"ended in a fault: {reasons[Outcome.FAULT]}" if Outcome.FAULT in reasons else ""


def _of_arm(name: str) -> str:
    return f"arm {name}, " if name else ""
