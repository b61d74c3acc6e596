"""Records of a long run: a line for each task as it ends, and a report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmark.check import memory_growth

TASKS_FILE = "tasks.jsonl"
REPORT_FILE = "endurance.json"

STOPPED_AT_MOST = 0.05
"""Part of the tasks that may end because the machine stood still: of more, the run says nothing."""

MEMORY_TARGET = 2.0
"""[MB] by which the own memory of a process may grow from the second tenth of the run to the last."""


@dataclass(frozen=True)
class TaskRecord:
    """One task.

    time [s] since the start of the run, when it ended. fault: in words, empty without. outcome: in lower case, or how
    the session ended. said: why. complaints: what should not be so; none where all is well. recovery: the step that
    followed. duration [s] with its preparation. detection_delay [s]: None without an impact. late: part of the periods
    that started late; missed: samples that did not reach the controller; unseen: of the true motion, that did not reach
    the watch. standstill [s]: the longest that a core of the machine stood still, None where that could not be watched;
    stopped_by_machine: whether the task ended for that.
    """

    number: int
    time: float
    scenario: str
    seed: int
    fault: str
    outcome: str
    said: str
    complaints: tuple[str, ...]
    recovery: str
    duration: float
    detection_delay: float | None
    late: float | None
    missed: int | None
    unseen: int = 0
    standstill: float | None = None
    stopped_by_machine: bool = False

    @property
    def good(self) -> bool:
        """True without complaints."""
        return not self.complaints


@dataclass(frozen=True)
class EnduranceReport:
    """A long run: how long [s], what of, and the own memory of its processes by name: times [s] and sizes [MB].

    Memory is without pages of files. broke_off: the error that ended it, "" where none did.
    """

    kind: str
    seed: int
    seconds: float
    machine: Mapping[str, str]
    tasks: Sequence[TaskRecord]
    memory: Mapping[str, Sequence[tuple[float, float]]]
    broke_off: str = ""

    @property
    def bad(self) -> list[TaskRecord]:
        """The tasks with complaints."""
        return [task for task in self.tasks if not task.good]

    @property
    def stopped(self) -> list[TaskRecord]:
        """The tasks that ended because the machine stood still."""
        return [task for task in self.tasks if task.stopped_by_machine]

    def growth(self) -> dict[str, float]:
        """Return by how much [MB] each process grew from the second tenth of the run to the last."""
        return {name: memory_growth(series) for name, series in self.memory.items() if len(series) >= 10}

    @property
    def flat(self) -> bool:
        """True where no process sampled ten times grew by more than `MEMORY_TARGET`."""
        return all(growth <= MEMORY_TARGET for growth in self.growth().values())

    @property
    def passed(self) -> bool:
        """True for a complete run without complaints, memory flat, on a machine that kept up."""
        calm = len(self.stopped) <= STOPPED_AT_MOST * len(self.tasks)
        return bool(self.tasks) and not self.broke_off and not self.bad and self.flat and calm

    def write(self, directory: Path) -> Path:
        """Write it as JSON; the file."""
        content = asdict(self) | {"growth": self.growth(), "passed": self.passed}
        file = directory / REPORT_FILE
        file.write_text(json.dumps(content, indent=1))
        return file


def report_text(report: EnduranceReport) -> str:
    """Describe what was run, how it ended, and the defects."""
    tasks = report.tasks
    faults = Counter(task.fault.split(",")[0] for task in tasks if task.fault)
    delays = [task.detection_delay for task in tasks if task.detection_delay is not None]
    late = [task.late for task in tasks if task.late is not None]
    lines = [
        f"{'PASSED' if report.passed else 'FAILED'}: {len(tasks)} tasks in {report.seconds / 60:.1f} min, "
        f"{sum(faults.values())} with a fault, {len(report.bad)} with complaints",
        f"outcomes: {_counted(Counter(task.outcome for task in tasks))}",
    ]
    if report.broke_off:
        lines.append(f"BROKE OFF: {report.broke_off}")
    if faults:
        lines.append(f"faults: {_counted(faults)}")
        lines.append(f"steps after them: {_counted(Counter(task.recovery or 'none' for task in tasks if task.fault))}")
    if delays:
        shortest, median, longest = (1e3 * value for value in np.percentile(delays, [0, 50, 100]))
        lines.append(f"detection after contact: median {median:.2f} ms, {shortest:.2f} to {longest:.2f} ms")
    if late:
        lines.append(f"late periods: {100 * np.mean(late):.2f} %, {100 * max(late):.2f} % in the worst task")
    if unseen := sum(task.unseen for task in tasks):
        lines.append(f"samples of the true motion that were not seen: {unseen}")
    standstills = [task.standstill for task in tasks if task.standstill is not None]
    if standstills:
        stopped = len(report.stopped)
        mark = "" if stopped <= STOPPED_AT_MOST * len(tasks) else f", MORE THAN {100 * STOPPED_AT_MOST:g} %"
        longest = 1e3 * max(standstills)
        lines.append(f"cores stood still for up to {longest:.0f} ms, which ended {stopped} of the tasks{mark}")
    elif tasks:
        lines.append("whether cores stood still could not be watched: that needs real-time priority")
    if report.memory and not report.growth():
        lines.append("memory: not judged, fewer than ten tasks")
    for name, growth in sorted(report.growth().items()):
        mark = "" if growth <= MEMORY_TARGET else f", MORE THAN {MEMORY_TARGET:g}"
        last = report.memory[name][-1][1]
        lines.append(f"memory of {name}: {last:.1f} MB at the end, grown by {growth:.2f} MB{mark}")
    return "\n".join(lines)


def line_of(record: TaskRecord) -> str:
    """Describe a task in a line, and its defects in others."""
    fault = f" [{record.fault}]" if record.fault else ""
    step = f", {record.recovery}" if record.recovery else ""
    if record.stopped_by_machine and record.standstill is not None:
        step = f", a core stood still for {1e3 * record.standstill:.0f} ms{step}"
    line = f"{record.time:6.0f} s  {record.number:4d}  {record.scenario}{fault}: {record.outcome}{step}"
    return "\n".join([line, *(f"         NOT AS IT SHOULD BE: {complaint}" for complaint in record.complaints)])


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())
