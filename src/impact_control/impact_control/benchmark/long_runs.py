"""What long runs found, which are done apart: `impact-control endure`, with and without faults, and `make fuzz`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from impact_control.benchmark.figure import Figure
from impact_control.endurance import EnduranceReport, read_reports
from impact_control.endurance.records import MEMORY_TARGET, STOPPED_AT_MOST

COMPLAINTS, STOPPED, BROKE_OFF = "with complaints", "stopped by the machine", "runs broken off"


def long_run_figures(directory: Path) -> list[Figure]:
    """Return figures of the newest long run of each kind in the directories below `directory`."""
    endured = [figure for report in read_reports(directory).values() for figure in _figures(report)]
    return [*endured, *_fuzzing(directory)]


def soak_memory(directory: Path) -> Mapping[str, Sequence[tuple[float, float]]]:
    """Return the memory of the newest run without faults, by process: times [s] and resident memory [MB]."""
    reports = read_reports(directory)
    return reports["soak"].memory if "soak" in reports else {}


def _figures(report: EnduranceReport) -> Sequence[Figure]:
    name = f"{report.kind}, {report.seconds / 60:.0f} min"
    with_fault = sum(bool(task.fault) for task in report.tasks)
    counts = {
        "tasks": len(report.tasks),
        "with a fault": with_fault,
        COMPLAINTS: len(report.bad),
        STOPPED: len(report.stopped),
        BROKE_OFF: int(bool(report.broke_off) or not report.tasks),
    }
    limits = {COMPLAINTS: 0, STOPPED: int(STOPPED_AT_MOST * len(report.tasks)), BROKE_OFF: 0}
    figures = [Figure(name, counts, "tasks", limits)]
    if growth := report.growth():
        figures.append(Figure(f"{name}, growth of memory", growth, "MB", dict.fromkeys(growth, MEMORY_TARGET)))
    return figures


def _fuzzing(directory: Path) -> list[Figure]:
    """Return how many inputs each surface was given by the newest run of `make fuzz`, and how many failed."""
    runs = sorted(directory.glob("*-fuzz/fuzz.json"))
    if not runs:
        return []
    return [_of_surface(surface) for surface in json.loads(runs[-1].read_text())["surfaces"]]


def _of_surface(surface: dict[str, Any]) -> Figure:
    """Return a figure of the record of a surface; one that ended early has no more than its failure."""
    drawn = surface.get("hypothesis", {})
    values = {
        "inputs": surface["inputs"],
        "examples": drawn.get("inputs", 0),
        "failures": surface["failures"] + drawn.get("failures", 0),
        "slowest": surface.get("slowest", 0.0),
    }
    return Figure(f"fuzzing, {surface['name'].replace('_', ' ')}", values, "inputs, s", {"failures": 0})
