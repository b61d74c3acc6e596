"""The report of a benchmark: as text, as JSON, and beside what earlier runs found."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from benchmark.check import LIMIT, NAME_WIDTH, Check
from benchmark.figure import HIGH, HIGHEST, MEDIAN, Figure
from benchmark.growth import Curve

REPORT_FILE = "bench.json"
PICTURE_FILE = "bench.png"
TEXT_FILE = "bench.txt"

_MARKS = {True: "met", False: "MISSED", None: ""}


@dataclass(frozen=True)
class Report:
    """Everything one run of the benchmark measured.

    machine: see `describe_machine`, and the versions of the peers; sections: figures by heading, no two of one name;
    checks: of `run_check`; curves: of the growth; memory: by name, times [s] and own memory [MB] of a process;
    failures: parts that could not be measured to their end, and why.
    """

    machine: Mapping[str, str]
    sections: Mapping[str, Sequence[Figure]] = field(default_factory=dict)
    checks: Sequence[Check] = ()
    curves: Sequence[Curve] = ()
    memory: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)

    def ratios(self) -> dict[str, float]:
        """Return all ratios to work of the same run, by name: what may be compared with other runs."""
        figures = [figure for figures in self.sections.values() for figure in figures]
        pairs = ((figure, peer) for figure in figures for peer in figure.peers)
        ratios = {f"{figure.name} / {peer.name}": peer.ratio for figure, peer in pairs if peer.ratio is not None}
        return ratios | {f"{check.name} / yardstick, checked": check.ratio for check in self.checks}

    def as_json(self, changes: Sequence[Change]) -> str:
        """Return the report, with its `changes` against earlier runs, as JSON."""
        content = {
            "machine": dict(self.machine),
            "failures": dict(self.failures),
            "figures": [
                {"section": heading, **asdict(figure), "target": figure.target, "met": figure.met}
                for heading, figures in self.sections.items()
                for figure in figures
            ],
            "checks": [asdict(check) | {"change": check.change, "passed": check.passed} for check in self.checks],
            "curves": [asdict(curve) for curve in self.curves],
            "memory": {name: list(series) for name, series in self.memory.items()},
            "ratios": self.ratios(),
            "changes": [asdict(change) | {"change": change.change, "worse": change.worse} for change in changes],
        }
        return json.dumps(content, indent=2)


@dataclass(frozen=True)
class Change:
    """A ratio of this run and those of earlier runs, the oldest first."""

    name: str
    ratio: float
    earlier: tuple[float, ...]

    @property
    def before(self) -> float:
        """Median of the earlier runs."""
        return float(np.median(self.earlier))

    @property
    def change(self) -> float:
        """Factor to the median of the earlier runs."""
        return self.ratio / self.before

    @property
    def worse(self) -> bool:
        """True where it is more than the limit above the median of the earlier runs, or no number."""
        return not self.change <= LIMIT


def earlier_changes(report: Report, directory: Path) -> list[Change]:
    """Return each ratio of the report beside those of the reports below `directory` from the same kind of machine.

    Files that cannot be read as a report are passed over.
    """
    found: list[dict[str, float]] = []
    for file in sorted(directory.glob(f"*/{REPORT_FILE}")):
        try:
            content = json.loads(file.read_text())
            if content["machine"]["kind"] == report.machine["kind"]:
                found.append(content["ratios"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    rows = {
        name: tuple(ratios[name] for ratios in found if math.isfinite(ratios.get(name, math.nan)))
        for name in report.ratios()
    }
    return [Change(name, ratio, rows[name]) for name, ratio in report.ratios().items() if rows[name]]


def text_of(report: Report, changes: Sequence[Change]) -> str:
    """Return the report as text, with its `changes` against earlier runs."""
    facts = report.machine
    lines = [
        f"impact_control {facts['version']} {facts['commit']}, {facts['date']}",
        f"{facts['kind']}; {facts['cores']} cores, load {facts['load']}, {facts['system']}",
        f"peers: {facts['peers']}",
        *(f"FAILED: {part}: {reason}" for part, reason in report.failures.items()),
    ]
    for heading, figures in report.sections.items():
        lines += ["", f"{heading + ' [us]':{NAME_WIDTH}s}{MEDIAN:>10s}{HIGH:>10s}{HIGHEST:>10s}{'ratio':>8s}   target"]
        lines += [line for figure in figures for line in _figure_lines(figure)]
    if report.checks:
        lines += ["", f"{'Ratio to the yardstick':{NAME_WIDTH}s}{'ratio':>10s}{'reference':>10s}{'change':>10s}"]
        lines += [check.line for check in report.checks]
    for curve in report.curves:
        lines += ["", f"{curve.name + ': ' + curve.size:{NAME_WIDTH}s}" + "".join(f"{p:9d}" for p in curve.places)]
        for name, values in curve.lines.items():
            lines.append(f"  {name + f' [{curve.unit}]':{NAME_WIDTH - 2}s}" + "".join(f"{v:9.4g}" for v in values))
    if changes:
        lines += ["", f"{'Against earlier runs':{80}s}{'ratio':>8s}{'before':>8s}{'change':>8s}{'runs':>6s}"]
        for change in changes:
            mark = "   WORSE" if change.worse else ""
            numbers = f"{change.ratio:8.2f}{change.before:8.2f}{change.change - 1.0:+8.0%}{len(change.earlier):6d}"
            lines.append(f"  {change.name:78s}{numbers}{mark}")
    return "\n".join(lines)


def _figure_lines(figure: Figure) -> list[str]:
    target = f"   {figure.target} {_MARKS[figure.met]}".rstrip()
    lines = [f"{figure.name:{NAME_WIDTH}s}{_numbers(figure.values, figure.unit)}{'':8s}{target}"]
    for peer in figure.peers:
        if peer.missing:
            lines.append(f"  {peer.name}: {peer.missing}")
            continue
        ratio = f"{peer.ratio:8.2f}" if peer.ratio is not None else f"{'':8s}"
        lines.append(f"  {peer.name:{NAME_WIDTH - 2}s}{_numbers(peer.values, figure.unit)}{ratio}")
    return lines


def _numbers(values: Mapping[str, float], unit: str) -> str:
    if MEDIAN not in values:
        return "  " + ", ".join(f"{name} {value:.6g}" for name, value in values.items()) + f" {unit}"
    digits = 1 if unit == "us" else 2
    return "".join(f"{values[key]:10.{digits}f}" if key in values else f"{'':10s}" for key in (MEDIAN, HIGH, HIGHEST))
