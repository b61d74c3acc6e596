"""A long run in a few lines."""

from __future__ import annotations

from collections import Counter

import numpy as np

from impact_control.endurance.records import MEMORY_TARGET, STOPPED_AT_MOST, EnduranceReport, TaskRecord


def report_text(report: EnduranceReport) -> str:
    """Say what was run, how it ended, and what is to be complained about."""
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
    """Say a task in a line, and what is to be complained about in others."""
    fault = f" [{record.fault}]" if record.fault else ""
    step = f", {record.recovery}" if record.recovery else ""
    if record.stopped_by_machine and record.standstill is not None:
        step = f", a core stood still for {1e3 * record.standstill:.0f} ms{step}"
    line = f"{record.time:6.0f} s  {record.number:4d}  {record.scenario}{fault}: {record.outcome}{step}"
    return "\n".join([line, *(f"         NOT AS IT SHOULD BE: {complaint}" for complaint in record.complaints)])


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())
