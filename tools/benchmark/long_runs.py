"""One long run that was done before a benchmark, as its report shows it: what it found, of what code, how it ended."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmark.figure import Figure
from endurance.records import MEMORY_TARGET, STOPPED_AT_MOST, EnduranceReport, line_of, readable_reports, report_text

SOAK, FAULTS, FUZZING = "soak", "faults", "fuzzing"
"""The kinds."""

FAILED_SINCE = "newer ones that failed"
"""Name of the value that counts records which are passed over and found something."""


@dataclass(frozen=True)
class LongRun:
    """A long run.

    kind: SOAK, FAULTS or FUZZING. directory, commit, date, machine: where its record lies and what that says of itself,
    "" where it says nothing. other_commit: whether it is, or may be, of other code than the report. figures: what it
    found. log: its summary and its end, in lines. record: what of it stands in the JSON of the report. memory: see
    `EnduranceReport`. passed_over: newer records of its kind, and why.
    """

    kind: str
    directory: str
    commit: str
    date: str
    machine: str
    other_commit: bool
    figures: Sequence[Figure]
    log: Sequence[str]
    record: Mapping[str, Any]
    memory: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    passed_over: Sequence[str] = ()

    @property
    def lines(self) -> list[str]:
        """Kind, place and origin, what was passed over, and the log."""
        mark = " (ANOTHER COMMIT than this report, or changes to it)" if self.other_commit else ""
        origin = f"commit {self.commit or 'unknown'}{mark}, {self.date or 'date unknown'}"
        heading = f"{self.kind}: {self.directory}, {origin}, {self.machine or 'machine unknown'}"
        return [
            heading,
            *(f"  passed over, newer: {one}" for one in self.passed_over),
            *(f"  {one}" for one in self.log),
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON; its figures and memory stand elsewhere in the report."""
        names = ("kind", "directory", "commit", "date", "machine", "other_commit", "passed_over", "log", "record")
        return {name: getattr(self, name) for name in names}


def same_commit(one: str, other: str) -> bool:
    """Tell whether two commits, as `commit_of` names them, surely mean the same code.

    Changes that were not committed may be any, and so may a commit without a name.
    """
    return bool(one) and one == other and not one.endswith("+")


def read_json(file: Path) -> Any:
    """Return the content of a JSON file; None where it cannot be read."""
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError):
        return None


LEAST_MINUTES = 60.0
"""[min] that a run has to last."""

LAST_TASKS = 10
"""Tasks of its end that the report shows."""

MINUTES, COMPLAINTS, STOPPED = "minutes", "with complaints", "stopped by the machine"
BROKE_OFF = "runs broken off"


def endured(directory: Path, kind: str, commit: str) -> LongRun | None:
    """Return the run of this kind whose record in the directories below `directory` counts; None without any.

    commit: of the report it is for. Records that cannot be read are passed over.
    """
    reports = {place: report for place, report in readable_reports(directory) if report.kind == kind}
    if not reports:
        return None
    place = max(reports, key=lambda one: (*_standing(reports[one]), one.name))
    report, machine = reports[place], reports[place].machine
    newer = {one: its for one, its in reports.items() if one.name > place.name}
    other = not same_commit(machine.get("commit", ""), commit)
    return LongRun(
        kind=kind,
        directory=str(place),
        commit=machine.get("commit", ""),
        date=machine.get("date", ""),
        machine=machine.get("kind", ""),
        other_commit=other,
        figures=_figures(report, other, sum(its.went_wrong for its in newer.values())),
        log=[*report_text(report).splitlines(), *(["last tasks:"] if report.tasks else []), *_last_tasks(report)],
        record=_record(report),
        memory=report.memory,
        passed_over=[f"{one}: {_shortcoming_of_task(its)}" for one, its in newer.items()],
    )


def _standing(report: EnduranceReport) -> tuple[bool, bool]:
    """Return whether the run is complete and long enough, and whether it is complete."""
    complete = bool(report.tasks) and not report.broke_off
    return complete and report.seconds >= 60.0 * LEAST_MINUTES, complete


def _shortcoming_of_task(report: EnduranceReport) -> str:
    length = f"{report.seconds / 60.0:.1f} min, {len(report.tasks)} tasks, {len(report.bad)} with complaints"
    grown = "" if report.flat else f", memory grew by {max(report.growth().values()):.1f} MB"
    return f"broke off after {length}{grown}: {report.broke_off}" if report.broke_off else f"only {length}{grown}"


def _figures(report: EnduranceReport, other_commit: bool, failed_since: int) -> list[Figure]:
    name = f"{report.kind}{', another commit' if other_commit else ''}"
    minutes, least = {MINUTES: report.seconds / 60.0}, {MINUTES: LEAST_MINUTES}
    counts = {
        **minutes,
        "tasks": len(report.tasks),
        "with a fault": sum(bool(task.fault) for task in report.tasks),
        COMPLAINTS: len(report.bad),
        STOPPED: len(report.stopped),
        BROKE_OFF: int(bool(report.broke_off) or not report.tasks),
        FAILED_SINCE: failed_since,
    }
    most_stopped = int(STOPPED_AT_MOST * len(report.tasks))
    limits = {COMPLAINTS: 0, STOPPED: most_stopped, BROKE_OFF: 0, FAILED_SINCE: 0}
    figures = [Figure(name, counts, "tasks, min", limits, floors=least)]
    if growth := report.growth():
        most = dict.fromkeys(growth, MEMORY_TARGET)
        figures.append(Figure(f"{name}: growth of memory", growth | minutes, "MB, min", most, floors=least))
    return figures


def _last_tasks(report: EnduranceReport) -> list[str]:
    return [line for task in report.tasks[-LAST_TASKS:] for line in line_of(task).splitlines()]


def _record(report: EnduranceReport) -> dict[str, Any]:
    """Return the record without its memory, which the report holds, and with the last of its tasks only."""
    content = asdict(report) | {"passed": report.passed, "growth": report.growth()}
    tasks = content.pop("tasks")
    del content["memory"]
    return content | {"last_tasks": tasks[-LAST_TASKS:]}


LEAST_INPUTS = 100_000
"""Inputs that every surface has to be given."""

LEAST_SURFACES = 6
"""Surfaces that there are, all of which have to be fuzzed."""

SURFACES, INPUTS, FAILURES = "surfaces", "inputs", "failures"
ACCEPTED, REFUSED = "accepted", "refused"


def fuzzed(directory: Path, commit: str) -> LongRun | None:
    """Return the run whose record in the directories below `directory` counts; None without any.

    commit: of the report it is for. Records that cannot be read are passed over.
    """
    runs: dict[Path, Mapping[str, Any]] = {}
    for file in sorted(directory.glob("*-fuzz/fuzz.json")):
        content = read_json(file)
        # One that was cut off, or is of another version, is passed over.
        try:
            for surface in content[SURFACES]:
                _figure(surface, "")
        except (KeyError, TypeError, AttributeError):
            continue
        runs[file.parent] = content
    if not runs:
        return None
    place = max(runs, key=lambda one: (_enough(runs[one]), one.name))
    content = runs[place]
    other = not same_commit(content.get("commit", ""), commit)
    mark = ", another commit" if other else ""
    newer = {one: its for one, its in runs.items() if one.name > place.name}
    failed_since = sum(any(_failures(surface) for surface in its[SURFACES]) for its in newer.values())
    counts = {SURFACES: len(content[SURFACES]), FAILED_SINCE: failed_since}
    return LongRun(
        kind=FUZZING,
        directory=str(place),
        commit=content.get("commit", ""),
        date=content.get("date", ""),
        machine=content.get("machine", ""),
        other_commit=other,
        figures=[
            Figure(f"fuzzing{mark}", counts, SURFACES, {FAILED_SINCE: 0}, floors={SURFACES: LEAST_SURFACES}),
            *(_figure(surface, mark) for surface in content[SURFACES]),
        ],
        log=[
            _in_words({key: value for key, value in content.items() if key != SURFACES}),
            *(_in_words(surface) for surface in content[SURFACES]),
        ],
        record=content,
        passed_over=[f"{one}: {_shortcoming(its)}" for one, its in newer.items()],
    )


def _enough(content: Mapping[str, Any]) -> bool:
    """Tell whether every surface got its inputs, unless it failed before."""
    surfaces = content[SURFACES]
    return len(surfaces) >= LEAST_SURFACES and all(one[INPUTS] >= LEAST_INPUTS or one[FAILURES] for one in surfaces)


def _shortcoming(content: Mapping[str, Any]) -> str:
    surfaces = content[SURFACES]
    failures = sum(_failures(one) for one in surfaces)
    fewest = min((one[INPUTS] for one in surfaces), default=0)
    return f"only {len(surfaces)} surfaces, the least of them with {fewest} inputs; {failures} failures"


def _failures(surface: Mapping[str, Any]) -> int:
    """Return how many inputs of a surface failed, of both drivers."""
    return int(surface[FAILURES] + surface.get("hypothesis", {}).get(FAILURES, 0))


def _figure(surface: Mapping[str, Any], mark: str) -> Figure:
    """Return a figure of the record of a surface; one that ended early has no more than its failure."""
    drawn = surface.get("hypothesis", {})
    values = {
        INPUTS: surface[INPUTS],
        ACCEPTED: surface.get(ACCEPTED, 0),
        REFUSED: surface.get(REFUSED, 0),
        "examples": drawn.get(INPUTS, 0),
        FAILURES: _failures(surface),
        "slowest": surface.get("slowest", 0.0),
    }
    name = f"fuzzing, {surface['name'].replace('_', ' ')}{mark}"
    # One that lets everything in, or nothing, was not put to the test.
    floors = {INPUTS: LEAST_INPUTS, ACCEPTED: 1, REFUSED: 1}
    return Figure(name, values, "inputs, s", {FAILURES: 0}, floors=floors)


def _in_words(record: Mapping[str, Any]) -> str:
    """Return everything that a record holds in a line, its name first."""
    parts = []
    for key, value in record.items():
        if isinstance(value, Mapping):
            parts.append(f"{key} ({_in_words(value)})")
        elif key != "name":
            parts.append(f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}")
    words = ", ".join(parts)
    return f"{record['name']}: {words}" if "name" in record else words


def long_runs(directory: Path, commit: str) -> list[LongRun]:
    """Return one run of each kind that has a record in the directories below `directory`; commit: of the report."""
    found = (endured(directory, SOAK, commit), endured(directory, FAULTS, commit), fuzzed(directory, commit))
    return [run for run in found if run is not None]


def long_run_figures(runs: Sequence[LongRun]) -> list[Figure]:
    """Return the figures of all runs; of a kind without a record, that there is none."""
    done = {run.kind for run in runs}
    missing = [
        Figure(f"{kind}: no record", {"runs": 0}, "runs") for kind in (SOAK, FAULTS, FUZZING) if kind not in done
    ]
    return [*(figure for run in runs for figure in run.figures), *missing]


def soak_memory(runs: Sequence[LongRun]) -> Mapping[str, Sequence[tuple[float, float]]]:
    """Return the memory of the run without faults, by process: times [s] and own memory [MB]."""
    return {name: series for run in runs if run.kind == SOAK for name, series in run.memory.items()}
