"""What long runs found, which are done apart: `impact-control endure`, with and without faults."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from impact_control.benchmark.figure import Figure
from impact_control.endurance import EnduranceReport, read_reports
from impact_control.endurance.records import MEMORY_TARGET

COMPLAINTS = "with complaints"


def long_run_figures(directory: Path) -> list[Figure]:
    """Return figures of the newest long run of each kind in the directories below `directory`."""
    return [figure for report in read_reports(directory).values() for figure in _figures(report)]


def _figures(report: EnduranceReport) -> Sequence[Figure]:
    name = f"{report.kind}, {report.seconds / 60:.0f} min"
    with_fault = sum(bool(task.fault) for task in report.tasks)
    counts = {"tasks": len(report.tasks), "with a fault": with_fault, COMPLAINTS: len(report.bad)}
    figures = [Figure(name, counts, "tasks", {COMPLAINTS: 0})]
    if growth := report.growth():
        figures.append(Figure(f"{name}, growth of memory", growth, "MB", dict.fromkeys(growth, MEMORY_TARGET)))
    return figures
