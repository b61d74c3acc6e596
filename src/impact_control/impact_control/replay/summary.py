"""Summary and report of a replay: what was found beside what was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from impact_control.recording.page import figure_section, png, write_page
from impact_control.recording.recorded_run import RecordedEvent
from impact_control.recording.style import styled
from impact_control.recording.summary import (
    Grid,
    Mark,
    Row,
    RunSummary,
    prediction_grids,
    prediction_rows,
    short_joint_names,
)
from impact_control.recording.torque_figures import replayed_residual
from impact_control.replay.file import ReplayedRun
from impact_control.replay.samples import ReplayedEvent
from impact_control.util.words import counted, in_words

SAME_EVENT = 0.05
"""[s] apart, at most, that an event of the replay and a recorded one are the same impact."""

SAME_SAMPLE = 1.5e-3
"""[s] apart, at most, that both were detected on the same sample, or the next one at 1 kHz."""

_NOT_RECORDED = "not recorded"


@dataclass(frozen=True)
class EventPair:
    """Replayed and recorded event of one impact; None if only the other detected it."""

    replayed: ReplayedEvent | None
    recorded: RecordedEvent | None

    @property
    def difference(self) -> float | None:
        """[s] by which the replay detected it later."""
        if self.replayed is None or self.recorded is None:
            return None
        return self.replayed.detection_time - self.recorded.detection_time

    @property
    def same(self) -> bool:
        """Detected on the same sample in both, or on the next."""
        return self.difference is not None and abs(self.difference) <= SAME_SAMPLE


def pair_events(replayed: Sequence[ReplayedEvent], recorded: Sequence[RecordedEvent]) -> tuple[EventPair, ...]:
    """Return the events of both, in order of time; each recorded one beside the nearest of the replay, if any is."""
    left = list(recorded)
    pairs = []
    for event in replayed:
        near = min(left, key=lambda other: abs(other.detection_time - event.detection_time), default=None)
        if near is not None and abs(near.detection_time - event.detection_time) <= SAME_EVENT:
            left.remove(near)
            pairs.append(EventPair(event, near))
        else:
            pairs.append(EventPair(event, None))
    pairs += [EventPair(None, event) for event in left]
    return tuple(sorted(pairs, key=_time))


def summarise_replay(run: ReplayedRun) -> RunSummary:
    """Put a replay into words."""
    replay, recorded = run.replay, run.run
    pairs = pair_events(replay.events, recorded.events or ())
    used = f"{len(replay.time)} of {len(run.samples.time)} used, {run.duration:.3f} s"
    rows = [
        Row("File", f"{run.file.path} ({run.file.format}){f', arm {run.arm}' if run.arm else ''}"),
        Row("Scenario", run.scenario.name),
        Row("Samples", used),
        Row("Speed", f"{run.speed:.1f} times real time, {run.seconds:.2f} s"),
        *_verdict_rows(run),
        *prediction_rows(run.comparison),
        *(Row("Defect", defect) for defect in replay.defects),
        *(Row("Note", note) for note in run.notes),
    ]
    sentence, good = _conclusion(run, pairs)
    grids = [*_event_grid(pairs, recorded.contact_time, recorded.events is not None)]
    grids += prediction_grids(run.comparison)
    return RunSummary(f"Replay of {run.scenario.name}", tuple(rows), tuple(grids), sentence, good)


def _time(pair: EventPair) -> float:
    event = pair.replayed or pair.recorded
    return 0.0 if event is None else event.detection_time


def _verdicts(run: ReplayedRun) -> list[tuple[str, str, str | None]]:
    """Return name, replayed and recorded verdict; none when there was nothing to judge by."""
    if not run.judged:
        return []
    recorded = run.run.verdict
    return [
        ("Impact verdict", in_words(run.replay.impact), None if recorded is None else recorded.impact),
        ("Post-impact verdict", in_words(run.replay.post_impact), None if recorded is None else recorded.post_impact),
    ]


def _verdict_rows(run: ReplayedRun) -> list[Row]:
    rows = []
    for label, replayed, recorded in _verdicts(run):
        mark = Mark.PLAIN if recorded is None else Mark.of(replayed == recorded)
        rows.append(Row(label, f"{replayed}, recorded: {recorded or 'none'}", mark))
    return [*rows, *([Row("Reason", run.reason)] if run.reason else [])]


def _event_grid(pairs: Sequence[EventPair], contact: float | None, known: bool) -> list[Grid]:
    if not pairs:
        return []
    header = ("", "detected [s]", "impact [s]", "link", "recorded [s]", "differs [ms]", "delay [ms]")
    rows = []
    for number, pair in enumerate(pairs, 1):
        event, before = pair.replayed, pair.recorded
        label = f"{number} (doubtful)" if event is not None and event.doubt else str(number)
        found = ("missed", "-", "-")
        if event is not None:
            found = (f"{event.detection_time:.4f}", f"{event.impact_time:.4f}", str(event.link or "-"))
        there = f"{before.detection_time:.4f}" if before is not None else ("none" if known else _NOT_RECORDED)
        difference = "-" if pair.difference is None else f"{1e3 * pair.difference:.1f}"
        delay = "-" if contact is None or event is None else f"{1e3 * (event.detection_time - contact):.1f}"
        rows.append((label, *found, there, difference, delay))
    title = "Impacts; delay after the first true contact" if contact is not None else "Impacts"
    return [Grid(title, header, tuple(rows))]


def _conclusion(run: ReplayedRun, pairs: Sequence[EventPair]) -> tuple[str, bool]:
    """Compare what counts: doubtful events only where they were recorded."""
    complaints = []
    if run.run.events is not None:
        missed = sum(pair.replayed is None for pair in pairs)
        new = sum(pair.recorded is None and pair.replayed is not None and not pair.replayed.doubt for pair in pairs)
        moved = sum(pair.difference is not None and not pair.same for pair in pairs)
        counts = ((missed, "recorded impacts not found"), (new, "impacts not recorded"), (moved, "at another time"))
        complaints += [f"{count} {words}" for count, words in counts if count]
    compared = [entry for entry in _verdicts(run) if entry[2] is not None]
    complaints += [
        f"{label.lower()} {found}, not {recorded}" for label, found, recorded in compared if found != recorded
    ]
    if complaints:
        return f"NOT AS RECORDED: {', '.join(complaints)}.", False
    impacts = counted(len(run.replay.impacts), "impact")
    if run.run.events is None and not compared:
        return f"REPLAYED: {impacts} detected; neither impacts nor verdicts were recorded.", True
    parts = [*(["impacts"] if run.run.events is not None else []), *(["verdicts"] if compared else [])]
    return f"AS RECORDED: the same {' and '.join(parts)}, {impacts}.", True


REPORT_FILE = "replay.html"
_TITLE = "External torque"
_CAPTION = (
    "Momentum residual of the replay on the recorded one; at the top how near its rate came to the bound of the "
    "detector, largest over the joints: an impact is detected above 1."
)


def write_replay_report(run: ReplayedRun, directory: Path) -> RunSummary:
    """Write `replay.html` into a directory, which is made if needed; return the summary."""
    summary, replay, recorded = summarise_replay(run), run.replay, run.run.residual
    joints = short_joint_names(run.samples.names)
    with styled():
        figure = replayed_residual(
            joints,
            replay.time,
            replay.residual,
            replay.residual_rate,
            run.threshold,
            [event.detection_time for event in replay.events],
            recorded if recorded is not None and recorded[1].shape[1] == len(joints) else None,
        )
        section = figure_section(_TITLE, _CAPTION, png(figure))
    directory.mkdir(parents=True, exist_ok=True)
    write_page(directory / REPORT_FILE, summary, [section])
    return summary
