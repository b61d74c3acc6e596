"""Summaries: rows and tables, for reports and the terminal; that of a recorded run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial

import numpy as np

from impact_control.recording.analysis import RunAnalysis
from impact_control.recording.gaps import BRIDGED
from impact_control.recording.measures import SUCCEEDED, Envelope, Timing, Verdict
from impact_control.recording.series import Recording
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Vector
from impact_control.util.words import counted, fixed

REST_SPEED = 0.05
"""[rad/s] joint speed below which the arm counts as at rest; above the noise of a velocity measurement."""

_NAMED = 3
"""Times listed in a row."""


class Mark(Enum):
    """Mark of a row of a summary."""

    GOOD = "good"
    BAD = "bad"
    PLAIN = "plain"

    @classmethod
    def of(cls, good: bool | None) -> Mark:
        """Return GOOD or BAD, PLAIN for None."""
        return cls.PLAIN if good is None else cls.GOOD if good else cls.BAD


@dataclass(frozen=True)
class Row:
    """Fact of a summary: label, value in words, and mark."""

    label: str
    value: str
    mark: Mark = Mark.PLAIN


@dataclass(frozen=True)
class Grid:
    """Table of texts: header, rows of equal length, and the cells (row, column) to emphasise."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    bold: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class RunSummary:
    """Summary: title, rows and tables, the verdict in one sentence, and good for a run that is as expected."""

    title: str
    rows: tuple[Row, ...]
    grids: tuple[Grid, ...]
    verdict: str
    good: bool


def plain_number(value: float) -> str:
    """Return a number for a table, `-` for NaN."""
    if math.isnan(value):
        return "-"
    value += 0.0  # without the sign of a zero
    return f"{value:.0f}" if abs(value) >= 1000.0 else f"{value:.3g}" if abs(value) >= 1e-3 else f"{value:.1g}"


def number_grid(
    title: str,
    lines: Iterable[tuple[str, Vector]],
    columns: Sequence[str],
    cell: Callable[[float], str] = plain_number,
) -> Grid:
    """Return a table of numbers: a row a line with its label, a column a channel; cell: text of a number."""
    return Grid(title, ("", *columns), tuple((label, *map(cell, values)) for label, values in lines))


def short_joint_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names without a common stem in front of a number: `fr3_joint1`, ... give `joint 1`, ...."""
    numbers = [name[len(name.rstrip("0123456789")) :] for name in names]
    stems = {name.rstrip("0123456789") for name in names}
    return tuple(f"joint {number}" for number in numbers) if len(stems) == 1 and all(numbers) else names


# ---------------------------------------------------------------------- predictions of the impact


@dataclass(frozen=True)
class PostImpactComparison:
    """Predicted and observed joint velocity after the impact [deg/s], as in Rey Arias 2024, tables III and IV.

    joint_names (n,). ante (n,): before the impact; gross_post (n,): observed after it, without oscillation.
    predictions: (n,) by name of the inertia model; slips: predicted slip along the surface, in words. noise (n,):
    standard deviation of gross_post by the noise of the sensors, unknown when left out.
    """

    joint_names: tuple[str, ...]
    ante: Vector
    gross_post: Vector
    predictions: Mapping[str, Vector]
    slips: Mapping[str, str] = field(default_factory=dict)
    noise: Vector | None = None

    def __post_init__(self) -> None:
        shape = (len(self.joint_names),)
        for name, array in {"ante": self.ante, "gross_post": self.gross_post, **self.predictions}.items():
            if np.shape(array) != shape:
                raise InvalidInputError(name, np.shape(array), f"shape {shape}, one entry a joint")

    def errors(self) -> dict[str, Vector]:
        """Return the absolute error (n,) [deg/s] of each prediction, Rey Arias 2024 (17)."""
        return {name: np.abs(prediction - self.gross_post) for name, prediction in self.predictions.items()}

    def best(self) -> str | None:
        """Return the name of the prediction with the smallest mean absolute error."""
        errors = self.errors()
        return min(errors, key=lambda name: float(errors[name].mean())) if errors else None


def prediction_rows(comparison: PostImpactComparison | None) -> list[Row]:
    """Return the inertia that predicts best, and the predicted slip along the surface; none without a comparison."""
    return [] if comparison is None else [*_inertia_rows(comparison), *_slip_rows(comparison)]


def _inertia_rows(comparison: PostImpactComparison) -> list[Row]:
    """Return which inertia predicts best, and whether noise may have decided that."""
    errors = {name: float(error.mean()) for name, error in comparison.errors().items()}
    if len(errors) < 2 or comparison.noise is None:
        return []
    noise = float(np.mean(comparison.noise)) * math.sqrt(2.0 / math.pi)  # the mean of |x| of a normal distribution
    best, second = sorted(errors, key=errors.__getitem__)[:2]
    shown = ", ".join(f"{name} {errors[name]:.2f}" for name in (best, second))
    words = "less than that is no difference" if errors[second] - errors[best] < noise else "the first is nearer"
    return [Row("Inertia", f"mean error {shown} deg/s; noise of the positions makes {noise:.2f}: {words}")]


def _slip_rows(comparison: PostImpactComparison) -> list[Row]:
    if not comparison.slips:
        return []
    outcomes = dict.fromkeys(comparison.slips.values())
    by_outcome = (
        f"{outcome} ({', '.join(name for name, slip in comparison.slips.items() if slip == outcome)})"
        for outcome in outcomes
    )
    return [Row("Contact, predicted", ", ".join(outcomes if len(outcomes) == 1 else by_outcome))]


def prediction_grids(comparison: PostImpactComparison | None) -> list[Grid]:
    """Return velocities across the impact and errors of the predictions as tables; none without a comparison."""
    if comparison is None:
        return []
    joints = short_joint_names(comparison.joint_names)
    velocities = [("before", comparison.ante), ("after, observed", comparison.gross_post)]
    errors = comparison.errors()
    order = list(errors)
    bold = {(int(np.argmin([errors[name][j] for name in order])), j + 1) for j in range(len(joints))}
    best = comparison.best()
    if best is not None:
        bold.add((order.index(best), len(joints) + 1))
    lines = tuple((name, *(f"{value:.1f}" for value in error), f"{error.mean():.2f}") for name, error in errors.items())
    title = "Joint velocity across the impact [deg/s]"
    return [
        number_grid(title, [*velocities, *comparison.predictions.items()], joints, partial(fixed, digits=1)),
        Grid("Absolute error of the prediction [deg/s]", ("", *joints, "mean"), lines, frozenset(bold)),
    ]


# ---------------------------------------------------------------------- a recorded run


@dataclass(frozen=True)
class RunData:
    """A recorded run and what its report shows: comparison and envelope are None where there is nothing to show.

    not_compared: why the impact could not be compared with predictions, "" where it was or there was none.
    """

    recording: Recording
    analysis: RunAnalysis
    comparison: PostImpactComparison | None = None
    envelope: Envelope | None = None
    not_compared: str = ""

    @property
    def joints(self) -> tuple[str, ...]:
        """Short names of the joints."""
        return short_joint_names(self.analysis.joint_names)


def summarise(
    analysis: RunAnalysis, comparison: PostImpactComparison | None = None, not_compared: str = ""
) -> RunSummary:
    """Return the summary of an analysis; not_compared: see `RunData`."""
    rows = [
        Row("Scenario", analysis.scenario or "not named"),
        Row("Outcome", _outcome(analysis), Mark.of(analysis.as_meant)),
        Row("Modes", " → ".join(interval.mode for interval in analysis.modes) or "not recorded"),
        Row("Impact", _impact(analysis), Mark.PLAIN if analysis.detections.size or analysis.as_meant else Mark.BAD),
        *_verdict_rows(analysis.verdict, analysis.as_meant),
        *prediction_rows(comparison),
        *([Row("Comparison", not_compared)] if not_compared else []),
        *([Row("Learned", analysis.learned)] if analysis.learned else []),
        *_contact_rows(analysis),
        *_limit_rows(analysis),
        *_timing_rows(analysis.timing),
        *_gap_rows(analysis),
    ]
    grids = (*_torque_grid(analysis), *prediction_grids(comparison))
    return RunSummary(analysis.scenario or "Recording", tuple(rows), grids, *_conclusion(analysis))


def _outcome(analysis: RunAnalysis) -> str:
    outcome = f"fault: {analysis.fault}" if analysis.fault else analysis.outcome
    if analysis.outcome_of_all not in ("", outcome):
        outcome += f", of all arms {analysis.outcome_of_all}"
    if analysis.expected_outcome == SUCCEEDED:
        return outcome
    return f"{outcome}, as meant" if analysis.as_meant else f"{outcome}, meant: {analysis.expected_outcome}"


def _impact(analysis: RunAnalysis) -> str:
    detections, contact, delay = analysis.detections, analysis.true_impact_time, analysis.detection_delay
    if contact is None and not detections.size:
        return "none detected"
    parts = [f"contact at {contact:.4f} s"] if contact is not None else []
    detected = analysis.impact_detection
    parts.append("not detected" if detected is None else f"detected at {detected:.4f} s")
    if delay is not None:
        parts.append(f"delay {1e3 * delay:.1f} ms")
    others = detections if detected is None else detections[np.abs(detections - detected) > 1e-6]
    if others.size:
        parts.append(f"{counted(others.size, 'more detection')}, at {_stamps(others)} s")
    return ", ".join(parts)


def _stamps(times: Vector) -> str:
    shown = ", ".join(f"{time:.3f}" for time in times[:_NAMED])
    return shown if times.size <= _NAMED else f"{shown}, ..."


def _verdict_rows(verdict: Verdict | None, as_meant: bool) -> list[Row]:
    if verdict is None:
        return [Row("Verdict", "not recorded")]
    marks = {"expected": Mark.GOOD, "unexpected": Mark.of(as_meant)}
    rows = [
        Row(f"{name} verdict", value, marks.get(value, Mark.PLAIN))
        for name, value in (("Impact", verdict.impact), ("Post-impact", verdict.post_impact))
    ]
    if not math.isnan(verdict.probability):
        rows.append(Row("Probability", f"{100.0 * verdict.probability:.0f} % that both are as expected"))
    return [*rows, *([Row("Reason", verdict.reason)] if verdict.reason else [])]


def _contact_rows(analysis: RunAnalysis) -> list[Row]:
    rows = []
    if analysis.final_force is not None:
        desired = f", desired {analysis.desired_force:.1f} N" if analysis.desired_force is not None else ""
        peak = f", peak {analysis.peak_force:.0f} N" if analysis.peak_force is not None else ""
        rows.append(Row("Final normal force", f"{analysis.final_force:.1f} N{desired}{peak}"))
    if analysis.impact_impulse is not None and analysis.peak_force:
        lasts = 1e3 * analysis.impact_impulse / analysis.peak_force
        stiff = f"impulse {analysis.impact_impulse:.2f} Ns, the peak force for {lasts:.2f} ms"
        rows.append(Row("Impact force", f"{stiff}: a stiff contact, as steel on steel"))
    at_rest, error = analysis.final_speed <= REST_SPEED, analysis.final_position_error
    position = f", position error {1e3 * error:.1f} mm" if error is not None else ""
    speed = f"{'at rest' if at_rest else 'moving'}, largest joint speed {analysis.final_speed:.3f} rad/s"
    if analysis.cut_off:
        return [*rows, Row("Where it is cut off", f"{speed}{position}")]
    return [*rows, Row("At the end", f"{speed}{position}", Mark.of(at_rest))]


_AT_LIMIT = 1e-3
"""Part of a limit below which what is left of it is no distance."""


def _limit_rows(analysis: RunAnalysis) -> list[Row]:
    rate = analysis.peak_torque_rate
    if rate is None:
        return []
    joint = int(np.argmax(rate if analysis.limits is None else rate / analysis.limits.torque_rate))
    value = f"{rate[joint]:.0f} Nm/s in {analysis.joint_names[joint]}"
    if analysis.limits is not None:
        limit = analysis.limits.torque_rate[joint]
        value += f", limit {limit:.0f} Nm/s"
        if rate[joint] > (1.0 - _AT_LIMIT) * limit:
            value += ": the contact force comes and goes as fast as that"
    return [Row("Peak torque rate", value, Mark.of(analysis.within_limits))]


def _timing_rows(timing: Timing) -> list[Row]:
    rows = []
    if timing.step_duration is not None:
        median, high, largest = (1e6 * duration for duration in timing.step_duration)
        rows.append(Row("Computation", f"median {median:.0f} µs, 99 % {high:.0f} µs, largest {largest:.0f} µs"))
    counts = []
    if timing.late_fraction is not None:
        counts.append(f"{100 * timing.late_fraction:.2f} % of the cycles late")
    if timing.missed_samples is not None:
        counts.append(f"{counted(timing.missed_samples, 'sample')} missed by the controller")
    if timing.held_commands is not None and timing.lost_commands is not None:
        again = counted(timing.held_commands, "time")
        counts.append(f"last command repeated {again}, {counted(timing.lost_commands, 'command')} lost")
    return [*rows, *([Row("Loop", ", ".join(counts))] if counts else [])]


def _gap_rows(analysis: RunAnalysis) -> list[Row]:
    rows = []
    if analysis.cut_off:
        kept = f"cut off {analysis.duration:.3f} s after its start; the file as it was ends in .damaged"
        rows.append(Row("Recording", kept, Mark.BAD))
    if analysis.repeats:
        repeats = f"{counted(analysis.repeats, 'joint state')} repeat the one before and are no new samples"
        rows.append(Row("Repeats", repeats))
    if not analysis.gaps.missing:
        return rows
    rows.append(Row("Recording", analysis.gaps.in_words(), Mark.BAD if analysis.gaps.longest > BRIDGED else Mark.PLAIN))
    if analysis.withheld:
        again = "record again on a less busy machine; `impact-control doctor` names its receive buffers"
        rows.append(Row("Not known", f"{', '.join(analysis.withheld)}: {again}", Mark.BAD))
    return rows


def _torque_grid(analysis: RunAnalysis) -> list[Grid]:
    if analysis.peak_torque is None:
        return []
    lines = [("peak", *(f"{value:.1f}" for value in analysis.peak_torque))]
    if analysis.limits is not None:
        used = 100 * analysis.peak_torque / analysis.limits.torque
        for label, values in (("limit", analysis.limits.torque), ("used %", used)):
            lines.append((label, *(f"{value:.0f}" for value in values)))
    header = ("", *short_joint_names(analysis.joint_names))
    return [Grid("Commanded torque, without gravity [Nm]", header, tuple(lines))]


def _conclusion(analysis: RunAnalysis) -> tuple[str, bool]:
    delay = analysis.detection_delay
    if analysis.cut_off and not analysis.as_meant:
        return f"NOT KNOWN: {_outcome(analysis)}, where the recording was cut off.", False
    complaints = [] if analysis.as_meant else [_outcome(analysis)]
    if delay is not None and delay < 0:
        complaints.append("impact detected before the contact")
    if analysis.within_limits is False:
        complaints.append("torque or torque rate above its limit")
    if analysis.final_speed > REST_SPEED and not analysis.cut_off:
        complaints.append("still moving at the end")
    if complaints:
        return f"NOT AS EXPECTED: {', '.join(complaints)}.", False
    if analysis.expected_outcome != SUCCEEDED:
        what = f"{analysis.expected_outcome}, as this scenario is meant to end"
    else:
        after = f" {1e3 * delay:.1f} ms after contact" if delay is not None else ""
        what = f"impact detected{after}, impact and post-impact as expected"
    limits = ", limits kept" if analysis.within_limits else ""
    lost = counted(analysis.gaps.missing, "sample")
    recorded = f", as far as was recorded ({lost} missing)" if analysis.withheld else ""
    if analysis.cut_off:
        return f"AS EXPECTED, as far as was recorded before it was cut off: {what}{limits}.", True
    return f"AS EXPECTED{recorded}: {what}{limits}, at rest.", True
