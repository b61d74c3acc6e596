"""The report of a replay: one self-contained page."""

from __future__ import annotations

from html import escape
from pathlib import Path

from impact_control.recording.figures.replayed import replayed_residual
from impact_control.recording.page import document, figure_section, png
from impact_control.recording.style import styled
from impact_control.recording.summary import RunSummary, short_joint_names
from impact_control.recording.summary_page import summary_section
from impact_control.replay.file import ReplayedRun
from impact_control.replay.summary import summarise_replay

REPORT_FILE = "replay.html"
_TITLE = "External torque"
_CAPTION = (
    "Momentum residual of the replay on the recorded one; at the top how near its rate came to the bound of the "
    "detector, largest over the joints: an impact is detected above 1."
)


def write_replay_report(run: ReplayedRun, directory: Path) -> RunSummary:
    """Write `replay.html` into a directory, which is made if needed; return what stands at its top."""
    summary = summarise_replay(run)
    recorded = run.run.residual
    joints = len(run.samples.names)
    with styled():
        figure = replayed_residual(
            short_joint_names(run.samples.names),
            run.replay.time,
            run.replay.residual,
            run.replay.residual_rate,
            run.threshold,
            [event.detection_time for event in run.replay.events],
            recorded if recorded is not None and recorded[1].shape[1] == joints else None,
        )
        picture = png(figure)
    directory.mkdir(parents=True, exist_ok=True)
    body = "\n".join(
        [f"<h1>{escape(summary.title)}</h1>", summary_section(summary), figure_section(_TITLE, _CAPTION, picture)]
    )
    (directory / REPORT_FILE).write_text(document(summary.title, body), encoding="utf-8")
    return summary
