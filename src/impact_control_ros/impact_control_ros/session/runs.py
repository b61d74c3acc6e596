"""Whole runs on the live graph: start, run, record, stop, evaluate."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from impact_control.recording.summary import RunSummary
from impact_control.replay.evaluation import Evaluation, evaluate_arms
from impact_control.util.errors import InterruptedByUserError, InvalidInputError
from impact_control.util.stopping import stoppable
from impact_control.util.words import in_words
from impact_control.view.interactive import report
from impact_control_ros.bridge.settings import Shape
from impact_control_ros.bridge.task_messages import Progress, TaskResult
from impact_control_ros.session.graph import View, graph_of, viewer
from impact_control_ros.session.processes import NodeDiedError, isolate
from impact_control_ros.session.session import Session

TASK_PATIENCE = 60.0
"""[s] of wall time beyond which a task is given up, at an eighth of real time or faster; slower, more."""


@dataclass(frozen=True)
class Run:
    """One finished run: its directory with the report, result, and the summary of its recording."""

    directory: Path
    result: TaskResult
    summary: RunSummary


def _ignore(_: object) -> None:
    """Do nothing with it."""


@dataclass(frozen=True)
class Callbacks:
    """Callbacks of a run; each may be left out.

    stop_requested: asked again and again; True ends the run with InterruptedByUserError. on_stage: begin of each stage,
    in words. on_progress: feedback of the task. on_results: results of all arms by name, as soon as their tasks have
    ended, whatever becomes of bag and report. on_loss: a node that was lost and not needed.
    """

    stop_requested: Callable[[], bool] = lambda: False
    on_stage: Callable[[str], None] = _ignore
    on_progress: Callable[[Progress], None] | None = None
    on_results: Callable[[Mapping[str, TaskResult]], object] = _ignore
    on_loss: Callable[[str], None] = _ignore


NO_CALLBACKS = Callbacks()
"""Callbacks that do nothing."""


def new_run_directory(parent: Path, scenario: str) -> Path:
    """Return a new directory `parent/<time>-<scenario>`. Raises InvalidInputError where none can be made."""
    stem = f"{datetime.now():%Y%m%d-%H%M%S}-{scenario}"
    for suffix in ("", *(f"-{i}" for i in range(2, 1000))):
        candidate = parent / f"{stem}{suffix}"
        try:
            candidate.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise InvalidInputError("output", parent, f"a directory to write to; {error.strerror}") from None
        return candidate
    raise FileExistsError(f"{parent}: too many runs in one second")


def run(
    name: str,
    directory: Path,
    *,
    shape: Shape = Shape.COMPOSED,
    lockstep: bool = False,
    real_time_factor: float | None = None,
    seed: int | None = None,
    view: View | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
) -> dict[str, Run]:
    """Run a scenario or scene on a fresh graph with the simulator; the runs of the arms by name, "" without a scene.

    name: of the file, or its path. real_time_factor, seed, view: see `describe_graph`. Bag and logs go into
    `directory`, the report of an arm into a directory of its name there.

    Raises ImpactControlError: a broken scenario, a node that dies, the user's stop; OSError: a bag or report that
    cannot be written.
    """
    scenario, specs = graph_of(
        name, shape=shape, lockstep=lockstep, real_time_factor=real_time_factor, seed=seed, view=view
    )
    isolate(directory / "log")
    bag = directory / "bag"
    on_stage = callbacks.on_stage
    with Session(specs, directory / "log", stop_requested=callbacks.stop_requested) as session:
        on_stage("starting the nodes")
        session.start(bag, scenario.to_yaml(), lambda: on_stage("waiting for a browser"))
        on_stage("planning")
        patience = TASK_PATIENCE * max(1.0, 0.125 / (real_time_factor or 1.0))
        results = session.run_tasks(name, timeout=patience, on_progress=callbacks.on_progress)
        callbacks.on_results(results)
        on_stage("stopping the nodes")
        # Several loops and a simulator at real-time priority leave the recorder little of two cores.
        session.pause(True)
        session.record(None)
    for death in session.losses:
        callbacks.on_loss(f"{death}; the task went on without it (log: {session.processes.log_file(death.name)})")
    on_stage("writing the report")
    return {
        arm: Run(directory / arm, results[arm], report(with_outcome(evaluation, results[arm]), directory / arm, arm))
        for arm, evaluation in evaluate_arms(bag).items()
    }


def with_outcome(evaluation: Evaluation, result: TaskResult) -> Evaluation:
    """Return an evaluation with the outcome of the task: no bag records that it was cut short after its verdicts."""
    return replace(evaluation, analysis=replace(evaluation.analysis, outcome=in_words(result.outcome)))


def keep_up(
    name: str,
    directory: Path,
    *,
    namespace: str = "",
    shape: Shape = Shape.COMPOSED,
    real_time_factor: float | None = None,
    seed: int | None = None,
    on_ready: Callable[[], None] = lambda: None,
) -> None:
    """Run a graph with the simulator for clients, until Ctrl-C, SIGTERM or a call of `session/end`.

    name, namespace, real_time_factor, seed: see `describe_graph`. Logs go into `directory`. on_ready: called once all
    nodes are active. The graph is in the domain of the environment, on this machine only unless that says otherwise.

    Raises GraphError where a graph with these names runs, InterruptedByUserError before the nodes are active, and
    NodeDiedError when one is lost.
    """
    _, specs = graph_of(name, shape=shape, real_time_factor=real_time_factor, seed=seed, record=False)
    os.environ.setdefault("ROS_DOMAIN_ID", "0")
    isolate(directory / "log")
    with (
        stoppable() as stop,
        Session(specs, directory / "log", namespace=namespace, stop_requested=stop) as session,
    ):
        session.offer_end()
        session.start()
        on_ready()
        with suppress(InterruptedByUserError):
            session.watch(math.inf)


def look_on(scenario: str, view: View, namespace: str, *, simulated: bool) -> None:
    """Show a graph that runs in this ROS domain until Ctrl-C or SIGTERM, which raises InterruptedByUserError.

    scenario: that the graph was started with. namespace: of the graph. simulated: see `graph.viewer`. Raises
    NodeDiedError when the viewer is lost.
    """
    with stoppable() as stop, TemporaryDirectory(prefix="impact_control_") as log:
        specs = [viewer(scenario, view, simulated=simulated)]
        with Session(specs, Path(log), namespace=namespace, stop_requested=stop) as session:
            session.start()
            while not session.losses:
                session.watch(1.0)
            raise NodeDiedError(session.losses[0], "")
