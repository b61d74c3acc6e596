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
from impact_control.recording.summary import Grid, Mark, RunSummary, summarise
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
            f'<p class="verdict {"good" if summary.good else "bad"}">{escape(summary.verdict)}</p>',
            _facts(summary),
            *(_grid(grid) for grid in summary.grids),
            *sections,
            source,
        ]
    )
    return document(summary.title, body)


def _facts(summary: RunSummary) -> str:
    lines = []
    for row in summary.rows:
        mark = "" if row.mark is Mark.PLAIN else f' class="{row.mark.value}"'
        lines.append(f"<tr><th>{escape(row.label)}</th><td{mark}>{escape(row.value)}</td></tr>")
    return '<table class="facts">\n' + "\n".join(lines) + "\n</table>"


def _grid(grid: Grid) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in grid.header)
    lines = []
    for i, (label, *cells) in enumerate(grid.rows):
        texts = (
            f"<td>{f'<b>{escape(cell)}</b>' if (i, j) in grid.bold else escape(cell)}</td>"
            for j, cell in enumerate(cells, 1)
        )
        lines.append(f"<tr><th>{escape(label)}</th>{''.join(texts)}</tr>")
    return (
        f'<table class="grid">\n<caption>{escape(grid.title)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(lines) + "\n</tbody>\n</table>"
    )
