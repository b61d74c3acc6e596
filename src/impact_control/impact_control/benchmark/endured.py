"""Runs of `impact-control endure`, with and without faults: which record counts, and what it says.

The newest that is complete and an hour long, else the newest that is complete, else the newest. What it complains about
plays no part in that. What was passed over is told, and the figure misses where a newer one of them failed.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from impact_control.benchmark.figure import Figure
from impact_control.benchmark.long_run import FAILED_SINCE, LongRun, same_commit
from impact_control.endurance import EnduranceReport
from impact_control.endurance.records import MEMORY_TARGET, STOPPED_AT_MOST, readable_reports
from impact_control.endurance.summary import line_of, report_text

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
        passed_over=[f"{one}: {_shortcoming(its)}" for one, its in newer.items()],
    )


def _standing(report: EnduranceReport) -> tuple[bool, bool]:
    """Return whether the run is complete and long enough, and whether it is complete."""
    complete = bool(report.tasks) and not report.broke_off
    return complete and report.seconds >= 60.0 * LEAST_MINUTES, complete


def _shortcoming(report: EnduranceReport) -> str:
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
