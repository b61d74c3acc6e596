"""The report of a run: one self-contained page with the summary and all figures, and the figures as files."""

from __future__ import annotations

from html import escape
from pathlib import Path

from impact_control.recording.analysis import RunAnalysis
from impact_control.recording.comparison import PostImpactComparison
from impact_control.recording.figures import FIGURES
from impact_control.recording.figures.run_data import Envelope, RunData
from impact_control.recording.page import document, figure_section, png
from impact_control.recording.series import Recording, read_bag
from impact_control.recording.style import styled
from impact_control.recording.summary import RunSummary, summarise
from impact_control.recording.summary_page import summary_section
from impact_control.recording.topics import METADATA_NAME, Topics

REPORT_FILE = "report.html"
FIGURES_DIRECTORY = "figures"


def write_report(
    recording: Recording | Path | str,
    output_directory: Path | str,
    analysis: RunAnalysis,
    *,
    comparison: PostImpactComparison | None = None,
    envelope: Envelope | None = None,
    topics: Topics | None = None,
) -> RunSummary:
    """Write `report.html` and `figures/*.png`.

    Args:
        recording: what to show, or the directory of its bag.
        output_directory: is made if needed; files of an earlier report are replaced.
        analysis: figures of merit of the recording, see `analyse`.
        comparison: predicted and observed velocity after the impact.
        envelope: of the joint velocity error.
        topics: names of the topics.

    Returns:
        what stands at the top of the report.
    """
    if not isinstance(recording, Recording):
        recording = read_bag(recording)
    output = Path(output_directory)
    images = output / FIGURES_DIRECTORY
    images.mkdir(parents=True, exist_ok=True)
    run = RunData(recording, analysis, topics or Topics(), comparison, envelope)
    sections = []
    with styled():
        for entry in FIGURES:
            figure = entry.draw(run)
            if figure is not None:
                picture = png(figure)
                (images / f"{entry.name}.png").write_bytes(picture)
                sections.append(figure_section(entry.title, entry.caption, picture))
    summary = summarise(analysis, comparison)
    page = _page(summary, recording, sections)
    (output / REPORT_FILE).write_text(page, encoding="utf-8")
    return summary


def _page(summary: RunSummary, recording: Recording, sections: list[str]) -> str:
    record = recording.metadata.get(METADATA_NAME, {})
    origin = f"{recording.directory}, {recording.message_count()} messages on {len(recording.topics)} topics"
    if record.get("version"):
        origin += f", recorded by version {record['version']}"
    scenario = record.get("scenario", "")
    source = f"<details><summary>Scenario file</summary><pre>{escape(scenario)}</pre></details>" if scenario else ""
    body = "\n".join(
        [
            f"<h1>{escape(summary.title)}</h1>",
            f'<p class="origin">{escape(origin)}</p>',
            summary_section(summary),
            *sections,
            source,
        ]
    )
    return document(summary.title, body)
