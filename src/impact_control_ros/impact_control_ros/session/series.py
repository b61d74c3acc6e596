"""A scenario again and again on one graph: the arm is brought back between trials, each is recorded, one report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from impact_control.pipeline import MoveOutcome, Outcome
from impact_control.planning import plan_scenario
from impact_control.recording.page import write_page
from impact_control.recording.summary import RunSummary
from impact_control.replay.evaluation import evaluate_arms
from impact_control.replay.series import SeriesTrial, summarise_series
from impact_control.scenario import load_scenario, parts_of
from impact_control.scenario.variation import Variation, variations
from impact_control.util.errors import ImpactControlError, InvalidInputError
from impact_control.util.words import in_words
from impact_control_ros.bridge.impact_task import BUILT_IN
from impact_control_ros.bridge.settings import Shape
from impact_control_ros.bridge.task_messages import TaskResult
from impact_control_ros.session.graph import Duty, describe_graph
from impact_control_ros.session.processes import isolate
from impact_control_ros.session.runs import NO_CALLBACKS, TASK_PATIENCE, Callbacks
from impact_control_ros.session.session import Session

WITHOUT_A_VERDICT = (Outcome.UNDECIDED, Outcome.CANCELLED, Outcome.FAULT)
"""Outcomes of which the report says why."""

MOTION_ATTEMPTS = 3
"""Attempts to bring the arm to the start of a trial."""


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
    """Run all trials on one graph, and write `report.html` over all of them.

    launched: on the one that runs in this ROS domain and `namespace`, of whatever robot side, with a recorder of our
    own; it is not stopped. Otherwise on a fresh one with the simulator, of this shape, in lockstep or not.

    Before each its arms move to their starts, again where a gap between joint states has ended the motion; a trial that
    does not come so far, or ends in a fault, ends the series. Each has a directory `trial_<number>` with its scenario
    and its bag.
    """
    if not launched:
        isolate(directory / "log")
    parts = parts_of(series.trials[0].scene)
    specs = describe_graph(series.source, **parts, shape=shape, lockstep=lockstep, simulate=not launched)
    if launched:
        specs = tuple(spec for spec in specs if spec.duty is Duty.RECORDER)
    begun: list[tuple[Variation, Path, dict[str, TaskResult]]] = []
    times, ended, log, on_stage = len(series.trials), "", directory / "log", callbacks.on_stage
    stop = callbacks.stop_requested
    with Session(specs, log, namespace=namespace, arms=series.arms, stop_requested=stop) as session:
        on_stage("starting the nodes")
        session.start()
        for number, trial in enumerate(series.trials, start=1):
            place = directory.resolve() / f"trial_{number:0{len(str(times))}d}"
            place.mkdir()
            file, text = place / "scenario.yaml", trial.scene.to_yaml()
            file.write_text(text)
            on_stage(f"trial {number} of {times}: to the start")
            for _ in range(MOTION_ATTEMPTS):
                arm, moved = list(session.move_to(str(file)).items())[-1]
                if moved.outcome is not MoveOutcome.NOT_REACHED:
                    break
            if moved.outcome is not MoveOutcome.REACHED:
                reason = f"motion {in_words(moved.outcome)}: {moved.summary}"
                ended = f"trial {number} was not begun, {_of_arm(arm)}{reason}"
                break
            session.record(place / "bag", text)
            results = session.run_tasks(str(file), timeout=TASK_PATIENCE, on_progress=callbacks.on_progress)
            session.record(None)
            reasons = {result.outcome: f"{_of_arm(arm)}{result.summary}" for arm, result in results.items()}
            if Outcome.REFUSED in reasons:
                ended = f"trial {number} was not begun: {reasons[Outcome.REFUSED]}"
                break
            begun.append((trial, place / "bag", results))
            if Outcome.FAULT in reasons:
                ended = f"trial {number} ended in a fault: {reasons[Outcome.FAULT]}"
                break
        if not launched:
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
    summary = summarise_series(series.name, times, trials, ended)
    write_page(directory / "report.html", summary, [], str(directory))
    return summary


def _of_arm(name: str) -> str:
    return f"arm {name}, " if name else ""
