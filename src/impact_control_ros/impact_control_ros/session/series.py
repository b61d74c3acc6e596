"""A scenario again and again on one graph: the arm is brought back between trials, each is recorded, one report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from impact_control.pipeline import MoveOutcome, Outcome
from impact_control.planning import plan_scenario
from impact_control.recording.page import write_page
from impact_control.recording.summary import RunSummary
from impact_control.replay.evaluation import evaluate
from impact_control.replay.series import SeriesTrial, summarise_series
from impact_control.scenario import load_scenario
from impact_control.scenario.variation import Variation, variations
from impact_control.util.errors import ImpactControlError
from impact_control.util.words import in_words
from impact_control_ros.bridge.impact_task import BUILT_IN
from impact_control_ros.bridge.task_messages import Progress, TaskResult
from impact_control_ros.session.graph import Duty, describe_graph
from impact_control_ros.session.processes import isolate
from impact_control_ros.session.runs import TASK_PATIENCE
from impact_control_ros.session.session import Session
from impact_control_ros.session.shape import Shape

MOTION_ATTEMPTS = 3
"""Attempts to bring the arm to the start of a trial."""


@dataclass(frozen=True)
class PlannedSeries:
    """Trials of a scenario. source: name or path of the scenario that the graph is started with."""

    source: str
    name: str
    trials: list[Variation]


def planned_series(source: str, times: int, vary: Path | None = None) -> PlannedSeries:
    """Plan `times` trials of a scenario with one arm and a surface; nothing is started.

    vary: file with the values that change, see `variations`. Raises ScenarioError, and ImpactControlError for a trial
    that cannot be followed.
    """
    scene = load_scenario(source)
    name = scene.single.name  # objects that were pushed do not come back
    trials = variations(scene, vary, times, BUILT_IN)
    seen: list[dict[str, Any]] = []
    for number, trial in enumerate(trials, start=1):
        if trial.changes not in seen:
            seen.append(trial.changes)
            _require_feasible(number, trial)
    return PlannedSeries(source, name, trials)


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
    stop_requested: Callable[[], bool] = lambda: False,
    on_progress: Callable[[Progress], None] | None = None,
    on_stage: Callable[[str], None] = lambda text: None,
) -> RunSummary:
    """Run all trials on one graph, and write `report.html` over all of them.

    launched: on the one that runs in this ROS domain and `namespace`, of whatever robot side, with a recorder of our
    own; it is not stopped. Otherwise on a fresh one with the simulator, of this shape, in lockstep or not.

    Before each the arm moves to its start, again where a gap between joint states has ended the motion; a trial that
    does not come so far, or ends in a fault, ends the series. Each has a directory `trial_<number>` with its scenario
    and its bag.
    """
    if not launched:
        isolate(directory / "log")
    specs = describe_graph(series.source, shape=shape, lockstep=lockstep, simulate=not launched)
    if launched:
        specs = tuple(spec for spec in specs if spec.duty is Duty.RECORDER)
    begun: list[tuple[Variation, Path, TaskResult]] = []
    times, ended = len(series.trials), ""
    with Session(specs, directory / "log", namespace=namespace, stop_requested=stop_requested) as session:
        on_stage("starting the nodes")
        session.start()
        for number, trial in enumerate(series.trials, start=1):
            place = directory.resolve() / f"trial_{number:0{len(str(times))}d}"
            place.mkdir()
            file, text = place / "scenario.yaml", trial.scene.to_yaml()
            file.write_text(text)
            on_stage(f"trial {number} of {times}: to the start")
            for _ in range(MOTION_ATTEMPTS):
                moved = session.move_to(str(file))
                if moved.outcome is not MoveOutcome.NOT_REACHED:
                    break
            if moved.outcome is not MoveOutcome.REACHED:
                ended = f"trial {number} was not begun, motion {in_words(moved.outcome)}: {moved.summary}"
                break
            session.record(place / "bag", text)
            result = session.run_task(str(file), timeout=TASK_PATIENCE, on_progress=on_progress)
            session.record(None)
            if result.outcome is Outcome.REFUSED:
                ended = f"trial {number} was not begun: {result.summary}"
                break
            begun.append((trial, place / "bag", result))
            if result.outcome is Outcome.FAULT:
                ended = f"trial {number} ended in a fault: {result.summary}"
                break
        if not launched:
            on_stage("stopping the nodes")
            session.pause(True)
    on_stage("writing the report")
    trials = [SeriesTrial(trial.changes, in_words(result.outcome), evaluate(bag)) for trial, bag, result in begun]
    summary = summarise_series(series.name, times, trials, ended)
    write_page(directory / "report.html", summary, [], str(directory))
    return summary
