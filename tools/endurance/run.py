"""Tasks back to back for a long time, by the wall clock; on request with a fault at random in every other one."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from benchmark.check import STOPPED_BY_USER, describe_machine, own_memory
from benchmark.standstill import StandstillWatch, longest
from endurance.faults import Fault, draw_fault
from endurance.injection import Injection
from endurance.judged_task import (
    TaskEnd,
    complaints_of_bag,
    complaints_of_fault,
    complaints_of_logs,
    evaluated,
    stopped_by_machine,
)
from endurance.log_tail import LogTail
from endurance.records import TASKS_FILE, EnduranceReport, TaskRecord, line_of
from endurance.watch import ArmWatch, TrueMotion
from impact_control.pipeline import Outcome
from impact_control.scenario import load_scenario, robot_of
from impact_control.util.errors import ImpactControlError, InterruptedByUserError, InvalidInputError
from impact_control_ros.bridge.calls import NoAnswerError
from impact_control_ros.bridge.task_messages import Progress
from impact_control_ros.session.client import ImpactClient
from impact_control_ros.session.graph import Duty, NodeSpec, describe_graph
from impact_control_ros.session.processes import (
    GraphError,
    NodeDiedError,
    RecordingCutOffError,
    RobotStoppedError,
    isolate,
)
from impact_control_ros.session.runs import new_run_directory
from impact_control_ros.session.session import Session

SCENARIOS = ("tabletop", "tabletop_tilted", "tabletop_raised", "tabletop_absent")

LOOP = "impact_loop"

REST_TIME = 0.4
"""[s] in which an arm that is damped comes to rest."""

RESET_PATIENCE = 5.0
"""[s] in which the supervisor lets commands through again after a fault."""


@dataclass(frozen=True)
class Workload:
    """Tasks to run: scenarios, taken in turn.

    seed: of the sensor noise of all tasks and of the faults. faults: every other task has one, after which the step of
    docs/safety.md is taken and the next task has to go as its file says. real_time_factor: see `describe_graph`.
    """

    seed: int = 0
    faults: bool = False
    scenarios: Sequence[str] = SCENARIOS
    real_time_factor: float | None = None


def endure(
    workload: Workload,
    minutes: float,
    output: Path,
    *,
    tell: Callable[[str], None] = lambda text: None,
    stop_requested: Callable[[], bool] = lambda: False,
) -> tuple[EnduranceReport, Path]:
    """Run tasks for a time; the report, and the directory below `output` with it, a line for each task, and logs.

    Bags of tasks with complaints are kept. tell: is given a line for each task. A stop ends the run in order, with its
    report.

    Raises ImpactControlError where the graph cannot be started.
    """
    kind = "faults" if workload.faults else "soak"
    directory = new_run_directory(output, kind)
    isolate(directory / "log")
    with (
        StandstillWatch() as machine,
        TrueMotion() as motion,
        Endurance(workload, directory, motion, machine, stop_requested) as endurance,
    ):
        broke_off = "by an error that is none of ours"
        try:
            with (directory / TASKS_FILE).open("a") as lines:
                for record in endurance.run(60.0 * minutes):
                    lines.write(json.dumps(asdict(record)) + "\n")
                    lines.flush()
                    tell(line_of(record))
            broke_off = ""
        except InterruptedByUserError:
            broke_off = STOPPED_BY_USER
        except ImpactControlError as error:
            broke_off = str(error)
            raise
        finally:
            report = endurance.report(kind, broke_off)
            report.write(directory)
    return report, directory


class Endurance:
    """Tasks on one graph for as long as it lives, on a new one after it. Use as a context manager."""

    def __init__(
        self,
        workload: Workload,
        directory: Path,
        motion: TrueMotion,
        machine: StandstillWatch,
        stop_requested: Callable[[], bool],
    ) -> None:
        self._workload = workload
        self._plans = {name: load_scenario(name).arm() for name in workload.scenarios}
        self._random = np.random.default_rng(workload.seed)
        self._directory = directory
        self._motion = motion
        self._machine = machine
        self._stop_requested = stop_requested
        self._first = workload.scenarios[0]
        self._limits = robot_of(self._plans[self._first].robot).limits
        self._watch = ArmWatch(self._limits)
        self._session: Session | None = None
        self._sessions = 0
        self._log = LogTail(directory)
        self._loop_cores: Collection[int] = ()
        self._records: list[TaskRecord] = []
        self._memory: dict[str, list[tuple[float, float]]] = {}
        # Before the run: meanwhile somebody may commit.
        self._described = describe_machine()
        self._start = time.monotonic()

    def __enter__(self) -> Endurance:
        """Return it; the graph is started with the first task."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the graph."""
        self._end_session()

    def run(self, seconds: float) -> Iterator[TaskRecord]:
        """Yield a record for each task, until the time is over. Raises InterruptedByUserError."""
        names = itertools.cycle(self._plans)
        for number in itertools.count(1):
            if time.monotonic() - self._start >= seconds:
                return
            fault = draw_fault(self._random) if self._workload.faults and number % 2 == 0 else None
            record = self._task(number, next(names) if fault is None else self._first, fault)
            self._records.append(record)
            yield record

    def report(self, kind: str, broke_off: str) -> EnduranceReport:
        """Return what came out so far; broke_off: the error that ended it."""
        seconds = time.monotonic() - self._start
        return EnduranceReport(
            kind, self._workload.seed, seconds, self._described, self._records, self._memory, broke_off
        )

    # ------------------------------------------------------------------ a task

    def _task(self, number: int, name: str, fault: Fault | None) -> TaskRecord:
        seed, plan = self._workload.seed + number, self._plans[name]
        bag = self._directory / f"bag-{number}"
        session = self._session or self._begin_session()
        self._motion.forget()
        self._watch.clear()
        begun = time.monotonic_ns()
        end = self._run(session, name, seed, bag, fault)
        spans = self._machine.take()
        complaints = self._complaints_of_motion(fault)
        evaluation = None
        stopped = stopped_by_machine(end, spans)
        if fault is not None:
            complaints += complaints_of_fault(end, plan, fault, excused=stopped)
        if fault is None and not stopped:
            evaluation, more = evaluated(end, plan, bag, spans)
            complaints += more
        else:
            complaints += complaints_of_logs(end, excused=stopped) + complaints_of_bag(bag, self._limits)
        if end.session_over:
            self._end_session()
            complaints += complaints_of_logs(TaskEnd(logged=self._log.lines()))
        self._note_memory()
        if not complaints:
            shutil.rmtree(bag, ignore_errors=True)
        analysis = None if evaluation is None else evaluation.analysis
        return TaskRecord(
            number=number,
            time=time.monotonic() - self._start,
            scenario=plan.name,
            seed=seed,
            fault="" if fault is None else str(fault),
            outcome=end.outcome,
            said=end.said,
            complaints=tuple(complaints),
            recovery=end.recovery,
            duration=1e-9 * (time.monotonic_ns() - begun),
            detection_delay=None if analysis is None else analysis.detection_delay,
            late=None if analysis is None else analysis.timing.late_fraction,
            missed=None if analysis is None else analysis.timing.missed_samples,
            unseen=self._watch.unseen,
            standstill=longest(spans, begun, time.monotonic_ns()) if self._machine.above_all else None,
            stopped_by_machine=stopped,
        )

    def _run(self, session: Session, name: str, seed: int, bag: Path, fault: Fault | None) -> TaskEnd:
        """Run a task to its end, with its fault, and take the step after it that docs/safety.md names."""
        injection = None if fault is None else Injection(session, fault)
        end = TaskEnd(loop_cores=self._loop_cores)

        def look(progress: Progress) -> None:
            self._motion.show(self._watch)
            if injection is not None:
                injection.look(progress)

        try:
            session.restart_arm(name, seed)
            session.record(bag, self._plans[name].with_overrides({"simulation.seed": seed}).to_yaml())
            end.result = session.run_task(name, on_progress=look)
            end.time = time.monotonic_ns()
            if injection is not None:
                injection.end()
            self._wait_for_rest(session)
            self._let_go_on(session, end)
            session.pause(True)
            session.record(None)
        except InterruptedByUserError:
            raise
        except NodeDiedError as died:
            end.death = str(died.death)
        except RobotStoppedError as stopped:
            end.robot_stopped = stopped.reason
        except RecordingCutOffError as cut:
            end.cut_off = str(cut)
        except ImpactControlError as ended:
            end.error = str(ended)
        finally:
            if injection is not None:
                injection.let_go()
        try:
            self._motion.show(self._watch)
        except InvalidInputError as seen:
            end.error = end.error or str(seen)
        end.injected = injection is not None and injection.begun
        end.logged = self._log.lines()
        return end

    def _let_go_on(self, session: Session, end: TaskEnd) -> None:
        """Let commands through again where the supervisor keeps them from the robot."""
        end.looked = time.monotonic_ns()
        if session.robot_stopped:
            end.robot_stopped = session.stop_reason
            end.refusal = _reset(session)
            end.step = "reset"
        elif end.result is not None and end.result.outcome is Outcome.FAULT:
            end.step = "loop activated again"

    def _wait_for_rest(self, session: Session) -> None:
        end = time.monotonic() + REST_TIME / (self._workload.real_time_factor or 1.0)
        while time.monotonic() < end:
            session.watch(0.1)
            self._motion.show(self._watch)

    # ------------------------------------------------------------------ what is to be complained about

    def _complaints_of_motion(self, fault: Fault | None) -> list[str]:
        watch = self._watch
        if not watch.samples:
            return ["the arm was not seen"]
        gone = fault is not None and (fault.kind.name, fault.target) == ("kill", "simulator")
        moving = not watch.at_rest and not gone
        return watch.violations() + ([f"moving at the end, at {watch.speed:.3f} rad/s"] if moving else [])

    # ------------------------------------------------------------------ the graph

    def _begin_session(self) -> Session:
        self._sessions += 1
        log = self._directory / "log" / f"session-{self._sessions}"
        session = Session(self._specs(), log, stop_requested=self._stop_requested)
        self._log = LogTail(log)
        try:
            session.start()
        except BaseException:
            session.close()
            raise
        self._loop_cores = os.sched_getaffinity(session.processes.pid(LOOP))
        self._session = session
        return session

    def _specs(self) -> list[NodeSpec]:
        """Return the graph; with faults, the simulator disturbs its lines on request."""
        return [
            replace(spec, executable="endurance.faulty_simulator")
            if self._workload.faults and spec.duty is Duty.ROBOT
            else spec
            for spec in describe_graph(self._first, real_time_factor=self._workload.real_time_factor)
        ]

    def _end_session(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def _note_memory(self) -> None:
        if self._session is None or self._workload.faults:
            return
        sizes = {
            name: own_memory(pid)
            for name, pid in (self._session.processes.pids() | {"this process": os.getpid()}).items()
        }
        now = time.monotonic() - self._start
        for name, size in sizes.items():
            self._memory.setdefault(name, []).append((now, size))


def _reset(session: Session) -> str:
    """Have the supervisor let commands through again; return why it does not, "" where it does."""
    with ImpactClient() as client:
        give_up = time.monotonic() + RESET_PATIENCE
        while True:
            refusal = "the robot side did not obey the reset"
            try:
                client.reset()
            except (GraphError, NoAnswerError) as refused:
                refusal = str(refused)
            else:
                session.watch_until(lambda: not session.robot_stopped, RESET_PATIENCE)
            if not session.robot_stopped:
                return ""
            if time.monotonic() > give_up:
                return refusal
            session.watch(0.2)
