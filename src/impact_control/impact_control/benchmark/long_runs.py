"""What long runs found, which are done apart: `impact-control endure`, with and without faults, and `make fuzz`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from impact_control.benchmark.figure import Figure
from impact_control.endurance import EnduranceReport, read_reports
from impact_control.endurance.records import MEMORY_TARGET

COMPLAINTS = "with complaints"


def long_run_figures(directory: Path) -> list[Figure]:
    """Return figures of the newest long run of each kind in the directories below `directory`."""
    endured = [figure for report in read_reports(directory).values() for figure in _figures(report)]
    return [*endured, *_fuzzing(directory)]


def _figures(report: EnduranceReport) -> Sequence[Figure]:
    name = f"{report.kind}, {report.seconds / 60:.0f} min"
    with_fault = sum(bool(task.fault) for task in report.tasks)
    counts = {
        "tasks": len(report.tasks),
        "with a fault": with_fault,
        COMPLAINTS: len(report.bad),
        "stopped by the machine": len(report.stopped),
    }
    figures = [Figure(name, counts, "tasks", {COMPLAINTS: 0})]
    if growth := report.growth():
        figures.append(Figure(f"{name}, growth of memory", growth, "MB", dict.fromkeys(growth, MEMORY_TARGET)))
    return figures


def _fuzzing(directory: Path) -> list[Figure]:
    """Return how many inputs each surface was given by the newest run of `make fuzz`, and how many failed."""
    runs = sorted(directory.glob("*-fuzz/fuzz.json"))
    if not runs:
        return []
    return [
        Figure(
            f"fuzzing, {surface['name'].replace('_', ' ')}",
            {"inputs": surface["inputs"], "failures": surface["failures"], "slowest": surface["slowest"]},
            "inputs, s",
            {"failures": 0},
        )
        for surface in json.loads(runs[-1].read_text())["surfaces"]
    ]
