"""The report of a study: one self-contained page with verdict, findings, tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from impact_control import __version__
from impact_control.recording.page import document, figure_section, png
from impact_control.recording.style import styled
from impact_studies.frame.results import VERDICTS
from impact_studies.frame.study import Cell, Column, Comparison, Finding, Mark, Study, StudyResult, Table, columns

REPORT_FILE = "report.html"

_STYLE = """
ul.findings { padding-left: 1.2rem; margin: .4rem 0 0; }
ul.findings li { margin: .2rem 0; }
li.good::marker { content: "✓  "; color: var(--good); }
li.bad::marker { content: "✗  "; color: var(--bad); }
div.wide { overflow-x: auto; }
article { border-top: .15rem solid var(--line); margin-top: 4rem; padding-top: 1rem; }
p.note { color: var(--soft); font-size: .88rem; margin: .4rem 0 0; }
table.grid .text { text-align: left; }
table.grid td.text { font-weight: 400; }
table.grid thead th { vertical-align: bottom; white-space: pre-line; }
table.dense { font-size: .78rem; }
table.dense th, table.dense td { padding: .2rem .22rem; }
@media print {
  table.dense { font-size: 7pt; }
  section, table { break-inside: auto; }
  tr { break-inside: avoid; }
}
"""

_DENSE = 10
"""Columns from which a table is set in small type."""


def write_report(study: Study, result: StudyResult, directory: Path, *, seed: int, quick: bool) -> str:
    """Write the pictures and `report.html` into an existing directory and return what stands on the page."""
    sections = []
    with styled():
        for entry in result.figures:
            picture = png(entry.draw())
            (directory / f"{entry.name}.png").write_bytes(picture)
            sections.append(figure_section(entry.title, entry.caption, picture))
    extent = ", quick version" if quick else ""
    origin = f"{study.source}. Computed by version {__version__} with seed {seed}{extent}."
    body = "\n".join(
        [
            f"<h1>{escape(study.title)}</h1>",
            f'<p class="origin">{escape(origin)}</p>',
            f'<p class="verdict {"good" if result.holds else "bad"}">{escape(result.verdict)}</p>',
            f"<p>{escape(study.shows)}</p>",
            _list("Findings", result.findings),
            table_section(comparisons_table([("", one) for one in result.comparisons])) if result.comparisons else "",
            *(table_section(table) for table in result.tables),
            *sections,
            _list("Assumptions", tuple(Finding(text) for text in result.assumptions)),
        ]
    )
    write_page(directory / REPORT_FILE, study.title, body)
    return body


def write_page(path: Path, title: str, body: str) -> None:
    """Write a page in the style of the reports of studies."""
    path.write_text(document(title, body, _STYLE), encoding="utf-8")


def comparisons_table(compared: Sequence[tuple[str, Comparison]]) -> Table:
    """Return the published figures beside ours, each with the name of its study where there is one."""
    named = any(name for name, _ in compared)
    head = ("where", "what", "published", "own", "difference", "verdict")
    rows = [(*([name] if named else []), *_compared(one)) for name, one in compared]
    return Table(
        "comparisons",
        "What is published, and what came out",
        columns(("study", *head) if named else head),
        tuple(rows),
        {(i, len(rows[i]) - 1): one.mark for i, (_, one) in enumerate(compared)},
        "Difference: own less published. No verdict where the source does not say how close ours has to be.",
    )


def _compared(one: Comparison) -> tuple[Cell, ...]:
    texts = (_with_unit(value, one.unit) for value in (one.published, one.own, one.difference))
    return (one.where, one.what, *texts, VERDICTS[one.mark])


def _with_unit(value: str | float | None, unit: str) -> str:
    shown = Column("").text(value)
    return shown if value is None or isinstance(value, str) or not unit else f"{shown} {unit}"


def _list(title: str, findings: tuple[Finding, ...]) -> str:
    if not findings:
        return ""
    lines = "\n".join(f'<li class="{finding.mark.value}">{escape(finding.text)}</li>' for finding in findings)
    return f'<section class="text">\n<h2>{escape(title)}</h2>\n<ul class="findings">\n{lines}\n</ul>\n</section>'


def _cell(element: str, text: str, kind: str) -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f"<{element}{attribute}>{escape(text)}</{element}>"


def table_section(table: Table) -> str:
    """Return a table with its title and note."""
    texts = ["text" if table.has_words(j) else "" for j in range(len(table.columns))]
    head = "".join(_cell("th", column.broken_heading, text) for column, text in zip(table.columns, texts, strict=True))
    lines = []
    for i, row in enumerate(table.rows):
        cells = []
        for j, (column, cell) in enumerate(zip(table.columns, row, strict=True)):
            mark = table.mark(i, j)
            kinds = (mark.value if mark is not Mark.PLAIN else "", texts[j])
            cells.append(_cell("td" if j else "th", column.text(cell), " ".join(filter(None, kinds))))
        lines.append(f"<tr>{''.join(cells)}</tr>")
    note = f'<p class="note">{escape(table.note)}</p>\n' if table.note else ""
    rows = "\n".join(lines)
    dense = " dense" if len(table.columns) > _DENSE else ""
    return (
        f'<section>\n<div class="wide">\n<table class="grid{dense}">\n<caption>{escape(table.title)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n</div>\n{note}</section>"
    )
