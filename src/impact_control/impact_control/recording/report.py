"""The report of a run: one self-contained page with the summary and all figures, and the figures as files."""

from __future__ import annotations

import base64
from html import escape
from io import BytesIO
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from impact_control.recording.analysis import RunAnalysis
from impact_control.recording.comparison import PostImpactComparison
from impact_control.recording.figures import FIGURES, FigureEntry
from impact_control.recording.figures.run_data import Envelope, RunData
from impact_control.recording.series import Recording, read_bag
from impact_control.recording.style import styled
from impact_control.recording.summary import Grid, Mark, RunSummary, summarise
from impact_control.recording.topics import METADATA_NAME, Topics

REPORT_FILE = "report.html"
FIGURES_DIRECTORY = "figures"
_DOTS_PER_INCH = 150

_STYLE = """
:root { --ink: #1f2933; --soft: #616e7c; --line: #e4e7eb; --good: #00794f; --bad: #b3261e; }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
  color: var(--ink); background: #fff; max-width: 62rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
h1 { font-size: 1.9rem; margin: 0 0 .2rem; }
h2 { font-size: 1.25rem; margin: 2.8rem 0 .3rem; }
p.origin { color: var(--soft); margin: 0 0 1.4rem; font-size: .9rem; overflow-wrap: anywhere; }
p.verdict { border-left: .3rem solid; padding: .7rem 1rem; margin: 0 0 1.6rem; font-weight: 600; }
p.verdict.good { color: var(--good); background: #edf8f3; }
p.verdict.bad { color: var(--bad); background: #fdf0ee; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); }
th { font-weight: 400; }
table.facts th { text-align: left; color: var(--soft); width: 12rem; vertical-align: top; }
table.facts th, table.facts td { padding: .32rem .6rem .32rem 0; }
td.good { color: var(--good); font-weight: 600; }
td.bad { color: var(--bad); font-weight: 600; }
table.grid { font-size: .93rem; }
table.grid caption { text-align: left; padding: 1.8rem 0 .3rem; font-weight: 600; }
table.grid th, table.grid td { text-align: right; padding: .28rem .5rem; }
table.grid th:first-child { text-align: left; padding-left: 0; }
table.grid thead th { color: var(--soft); }
figure { margin: .2rem 0 0; }
figure img { width: 100%; height: auto; display: block; }
figcaption { color: var(--soft); font-size: .92rem; margin: 0 0 .8rem; }
details { margin-top: 3rem; }
pre { font-size: .82rem; background: #f5f7fa; padding: 1rem; overflow-x: auto; }
@media print {
  @page { size: A4; margin: 1.6cm; }
  body { font-size: 10.5pt; max-width: none; padding: 0; }
  h2 { break-after: avoid; }
  section, figure, table { break-inside: avoid; }
  figure img { max-height: 23cm; width: auto; max-width: 100%; margin: 0 auto; }
  details { display: none; }
}
"""


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
                picture = _png(figure)
                (images / f"{entry.name}.png").write_bytes(picture)
                sections.append(_section(entry, picture))
    summary = summarise(analysis, comparison)
    page = _page(summary, recording, sections)
    (output / REPORT_FILE).write_text(page, encoding="utf-8")
    return summary


def _png(figure: Figure) -> bytes:
    output = BytesIO()
    FigureCanvasAgg(figure)
    figure.savefig(output, format="png", dpi=_DOTS_PER_INCH)
    return output.getvalue()


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
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(summary.title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


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


def _section(entry: FigureEntry, picture: bytes) -> str:
    data = base64.b64encode(picture).decode("ascii")
    return (
        f"<section>\n<h2>{escape(entry.title)}</h2>\n<figure>\n<figcaption>{escape(entry.caption)}</figcaption>\n"
        f'<img src="data:image/png;base64,{data}" alt="{escape(entry.title)}">\n</figure>\n</section>'
    )
