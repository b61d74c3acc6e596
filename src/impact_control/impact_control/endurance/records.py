"""What came out of a long run: a line for each task as it ends, and a report."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

TASKS_FILE = "tasks.jsonl"
REPORT_FILE = "endurance.json"

STOPPED_AT_MOST = 0.05
"""Part of the tasks that may end because the machine stood still: of more, the run says nothing."""

STOPPED_BY_USER = "stopped by the user"
"""What ended a run whose user wanted no more of it, which is no failure."""

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
        """Whether nothing is to be complained about."""
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

    @property
    def went_wrong(self) -> bool:
        """Whether something is to be complained about, memory too, or an error ended it.

        Else it may still be too short to pass.
        """
        return bool(self.bad) or not self.flat or self.broke_off not in ("", STOPPED_BY_USER)

    def growth(self) -> dict[str, float]:
        """Return by how much [MB] each process grew from the second tenth of the run to the last."""
        return {name: memory_growth(series) for name, series in self.memory.items() if len(series) >= 10}

    @property
    def flat(self) -> bool:
        """Whether no process grew by more than `MEMORY_TARGET`, of those that were looked at ten times."""
        return all(growth <= MEMORY_TARGET for growth in self.growth().values())

    @property
    def passed(self) -> bool:
        """Whether it went to its end with nothing to be complained about, memory flat, on a machine that let it."""
        calm = len(self.stopped) <= STOPPED_AT_MOST * len(self.tasks)
        return bool(self.tasks) and not self.broke_off and not self.bad and self.flat and calm

    def write(self, directory: Path) -> Path:
        """Write it as JSON; the file."""
        content = asdict(self) | {"growth": self.growth(), "passed": self.passed}
        file = directory / REPORT_FILE
        file.write_text(json.dumps(content, indent=1))
        return file


def readable_reports(directory: Path) -> Iterator[tuple[Path, EnduranceReport]]:
    """Yield all reports in the directories below `directory`, oldest first, each after its directory.

    Those that cannot be read are passed over: cut off, or of another version.
    """
    for file in sorted(directory.glob(f"*/{REPORT_FILE}")):
        try:
            report = _report_of(json.loads(file.read_text()))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
        yield file.parent, report


def _report_of(content: Mapping[str, Any]) -> EnduranceReport:
    """Return the report that `EnduranceReport.write` wrote; of anything else, raise what its shape leads to."""
    tasks = [TaskRecord(**{**task, "complaints": tuple(task["complaints"])}) for task in content["tasks"]]
    memory = {name: [(time, size) for time, size in series] for name, series in content["memory"].items()}
    known = {name: content[name] for name in ("kind", "seed", "seconds", "machine", "broke_off")}
    return EnduranceReport(**known, tasks=tasks, memory=memory)


def memory_growth(series: Sequence[tuple[float, float]]) -> float:
    """Return by how much the sizes [MB] of times and sizes grew from the second tenth of them to the last.

    The first tenth is left out: what runs for the first time takes what it then keeps.
    """
    sizes = np.array([size for _, size in series])
    tenth = max(1, sizes.size // 10)
    begin = sizes[tenth : 2 * tenth] if sizes.size > tenth else sizes
    return float(sizes[-tenth:].mean() - begin.mean())
