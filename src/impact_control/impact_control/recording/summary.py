"""A run in a few lines: what the report and the terminal table both show."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from impact_control.recording.analysis import RunAnalysis
from impact_control.recording.comparison import PostImpactComparison
from impact_control.recording.decisions import Verdict
from impact_control.recording.timing import Timing

REST_SPEED = 0.05
"""[rad/s] joint speed below which the arm is called at rest; above the noise of a velocity measurement."""


class Mark(Enum):
    """How a line of the summary is to be read."""

    GOOD = "good"
    BAD = "bad"
    PLAIN = "plain"

    @classmethod
    def of(cls, good: bool) -> Mark:
        """Return GOOD or BAD."""
        return cls.GOOD if good else cls.BAD


@dataclass(frozen=True)
class Row:
    """One line: what it is, its value in words, and whether that is as it should be."""

    label: str
    value: str
    mark: Mark = Mark.PLAIN


@dataclass(frozen=True)
class Grid:
    """A table of texts: header, rows of equal length, and the cells (row, column) to emphasise."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    bold: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class RunSummary:
    """The run in short.

    Attributes:
        title: scenario.
        rows: one line a fact.
        grids: tables with one column a joint.
        verdict: the run in one sentence.
        good: impact and post-impact as expected, at rest, and the limits kept.
    """

    title: str
    rows: tuple[Row, ...]
    grids: tuple[Grid, ...]
    verdict: str
    good: bool


def summarise(analysis: RunAnalysis, comparison: PostImpactComparison | None = None) -> RunSummary:
    """Put an analysis into words."""
    rows = [
        Row("Scenario", analysis.scenario or "not named"),
        Row("Outcome", _outcome(analysis), Mark.of(analysis.outcome == "succeeded")),
        Row("Modes", " → ".join(interval.mode for interval in analysis.modes) or "not recorded"),
        Row("Impact", _impact(analysis), Mark.PLAIN if analysis.detections.size else Mark.BAD),
        *_verdict_rows(analysis.verdict),
        *_contact_rows(analysis),
        *_limit_rows(analysis),
        *_timing_rows(analysis.timing),
    ]
    grids = [*_torque_grid(analysis), *prediction_grids(comparison)]
    sentence, good = _conclusion(analysis)
    return RunSummary(analysis.scenario or "Recording", tuple(rows), tuple(grids), sentence, good)


def _outcome(analysis: RunAnalysis) -> str:
    return f"fault: {analysis.fault}" if analysis.fault else analysis.outcome


def _impact(analysis: RunAnalysis) -> str:
    if analysis.true_impact_time is None and not analysis.detections.size:
        return "none detected"
    parts = []
    if analysis.true_impact_time is not None:
        parts.append(f"contact at {analysis.true_impact_time:.4f} s")
    if analysis.detections.size:
        parts.append(f"detected at {analysis.detections[0]:.4f} s")
    else:
        parts.append("not detected")
    if analysis.detection_delay is not None:
        parts.append(f"delay {1e3 * analysis.detection_delay:.1f} ms")
    if analysis.detections.size > 1:
        parts.append(f"{analysis.detections.size} detections")
    return ", ".join(parts)


def _verdict_rows(verdict: Verdict | None) -> list[Row]:
    if verdict is None:
        return [Row("Verdict", "not recorded")]
    marks = {"expected": Mark.GOOD, "unexpected": Mark.BAD}
    reason = [Row("Reason", verdict.reason)] if verdict.reason else []
    return [
        Row("Impact verdict", verdict.impact, marks.get(verdict.impact, Mark.PLAIN)),
        Row("Post-impact verdict", verdict.post_impact, marks.get(verdict.post_impact, Mark.PLAIN)),
        *reason,
    ]


def _contact_rows(analysis: RunAnalysis) -> list[Row]:
    rows = []
    if analysis.final_force is not None:
        desired = f", desired {analysis.desired_force:.1f} N" if analysis.desired_force is not None else ""
        peak = f", peak {analysis.peak_force:.0f} N" if analysis.peak_force is not None else ""
        rows.append(Row("Final normal force", f"{analysis.final_force:.1f} N{desired}{peak}"))
    at_rest = analysis.final_speed <= REST_SPEED
    error = analysis.final_position_error
    position = f", position error {1e3 * error:.1f} mm" if error is not None else ""
    speed = f"{'at rest' if at_rest else 'moving'}, largest joint speed {analysis.final_speed:.3f} rad/s"
    rows.append(Row("At the end", f"{speed}{position}", Mark.of(at_rest)))
    return rows


def _limit_rows(analysis: RunAnalysis) -> list[Row]:
    rate = analysis.peak_torque_rate
    if rate is None:
        return []
    joint = int(np.argmax(rate if analysis.limits is None else rate / analysis.limits.torque_rate))
    value = f"{rate[joint]:.0f} Nm/s in {analysis.joint_names[joint]}"
    if analysis.limits is not None:
        value += f", limit {analysis.limits.torque_rate[joint]:.0f} Nm/s"
    return [Row("Peak torque rate", value, _limit_mark(analysis.within_limits))]


def _limit_mark(kept: bool | None) -> Mark:
    return Mark.PLAIN if kept is None else Mark.of(kept)


def _timing_rows(timing: Timing) -> list[Row]:
    rows = []
    if timing.step_duration is not None:
        median, high, largest = (1e6 * duration for duration in timing.step_duration)
        rows.append(Row("Computation", f"median {median:.0f} µs, 99 % {high:.0f} µs, largest {largest:.0f} µs"))
    counts = []
    if timing.late_fraction is not None:
        counts.append(f"{100 * timing.late_fraction:.2f} % late cycles")
    if timing.missed_samples is not None:
        counts.append(f"{timing.missed_samples} missed samples")
    if timing.held_commands is not None and timing.lost_commands is not None:
        counts.append(f"commands {timing.held_commands} held, {timing.lost_commands} lost")
    return [*rows, *([Row("Loop", ", ".join(counts))] if counts else [])]


def _torque_grid(analysis: RunAnalysis) -> list[Grid]:
    if analysis.peak_torque is None:
        return []
    lines = [("peak", *(f"{value:.1f}" for value in analysis.peak_torque))]
    if analysis.limits is not None:
        lines.append(("limit", *(f"{value:.0f}" for value in analysis.limits.torque)))
        used = 100 * analysis.peak_torque / analysis.limits.torque
        lines.append(("used %", *(f"{value:.0f}" for value in used)))
    header = ("", *short_joint_names(analysis.joint_names))
    return [Grid("Commanded torque, without gravity [Nm]", header, tuple(lines))]


def prediction_grids(comparison: PostImpactComparison | None) -> list[Grid]:
    """Return velocities across the impact and errors of the predictions as tables; none without a comparison."""
    if comparison is None:
        return []
    header = ("", *short_joint_names(comparison.joint_names))
    observed = [("before", comparison.ante), ("after, observed", comparison.gross_post)]
    velocities = tuple(
        (name, *(f"{value:.1f}" for value in values)) for name, values in [*observed, *comparison.predictions.items()]
    )
    errors = comparison.errors()
    lines = tuple((name, *(f"{value:.1f}" for value in error), f"{error.mean():.2f}") for name, error in errors.items())
    order = list(errors)
    bold = {(int(np.argmin([errors[name][j] for name in order])), j + 1) for j in range(len(comparison.joint_names))}
    best = comparison.best()
    if best is not None:
        bold.add((order.index(best), len(header)))
    return [
        Grid("Joint velocity across the impact [deg/s]", header, velocities),
        Grid("Absolute error of the prediction [deg/s]", (*header, "mean"), lines, frozenset(bold)),
    ]


def short_joint_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names without what they all begin with, in front of a number: `fr3_joint1`, … give `joint 1`, …."""
    numbers = [name[len(name.rstrip("0123456789")) :] for name in names]
    stems = {name.rstrip("0123456789") for name in names}
    return tuple(f"joint {number}" for number in numbers) if len(stems) == 1 and all(numbers) else names


def _conclusion(analysis: RunAnalysis) -> tuple[str, bool]:
    complaints = []
    if analysis.outcome != "succeeded":
        complaints.append(_outcome(analysis))
    if analysis.detection_delay is not None and analysis.detection_delay < 0:
        complaints.append("impact detected before the contact")
    if analysis.within_limits is False:
        complaints.append("torque or torque rate above its limit")
    if analysis.final_speed > REST_SPEED:
        complaints.append("still moving at the end")
    if complaints:
        return f"NOT AS EXPECTED: {', '.join(complaints)}.", False
    delay = analysis.detection_delay
    detected = f"impact detected {1e3 * delay:.1f} ms after contact" if delay is not None else "impact detected"
    limits = ", limits kept" if analysis.within_limits else ""
    return f"AS EXPECTED: {detected}, impact and post-impact as expected{limits}, at rest.", True
