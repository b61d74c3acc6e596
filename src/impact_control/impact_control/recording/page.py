"""Summaries for the terminal and as self-contained pages, with pictures inside the file."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from impact_control.recording.summary import Grid, Mark, RunSummary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 80
"""Columns of the narrowest terminal the table is made for."""

DOTS_PER_INCH = 150
"""Resolution of every picture."""

STYLE = """
:root { color-scheme: light dark; --ink: #1f2933; --soft: #616e7c; --line: #e4e7eb; --paper: #fff; --pale: #f5f7fa;
  --good: #00794f; --bad: #b3261e; --pale-good: #edf8f3; --pale-bad: #fdf0ee; --mark: #7b3294; --ground: #d3d9e0; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #dfe5ec; --soft: #9aa7b5; --line: #343d48; --paper: #14181d; --pale: #1f252c;
    --good: #4fcf9c; --bad: #ff8f85; --pale-good: #12291f; --pale-bad: #351b19; --mark: #d9a8ec; --ground: #3d4752; }
}
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
  color: var(--ink); background: var(--paper); max-width: 62rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
h1 { font-size: 1.9rem; margin: 0 0 .2rem; }
h2 { font-size: 1.25rem; margin: 2.8rem 0 .3rem; }
p.origin { color: var(--soft); margin: 0 0 1.4rem; font-size: .9rem; overflow-wrap: anywhere; }
p.verdict { border-left: .3rem solid; padding: .7rem 1rem; margin: 0 0 1.6rem; font-weight: 600; }
p.verdict.good { color: var(--good); background: var(--pale-good); }
p.verdict.bad { color: var(--bad); background: var(--pale-bad); }
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
figure img { width: 100%; height: auto; display: block; background: #fff; border-radius: .4rem; }
figcaption { color: var(--soft); font-size: .92rem; margin: 0 0 .8rem; }
details { margin-top: 3rem; }
pre { font-size: .82rem; background: var(--pale); padding: 1rem; overflow-x: auto; }
@media (max-width: 40rem) {
  body { padding: 1.2rem .8rem 3rem; }
  table.grid { display: block; overflow-x: auto; white-space: nowrap; }
  table.facts th { width: 7rem; }
}
@media print {
  @page { size: A4; margin: 1.6cm; }
  body { font-size: 10.5pt; max-width: none; padding: 0; }
  h2 { break-after: avoid; }
  section, figure, table { break-inside: avoid; }
  figure img { max-height: 23cm; width: auto; max-width: 100%; margin: 0 auto; }
  details { display: none; }
}
"""

_STYLES = {Mark.GOOD: "green", Mark.BAD: "bold red", Mark.PLAIN: ""}


# ---------------------------------------------------------------------- terminal


def summary_table(summary: RunSummary) -> RenderableType:
    """Return a summary for `rich` to print; its last line is the verdict."""
    facts = Table(box=box.SIMPLE_HEAD, show_header=False, pad_edge=False)
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    for row in summary.rows:
        facts.add_row(Text(row.label), Text(row.value, _STYLES[row.mark]))
    verdict = Text(summary.verdict, _STYLES[Mark.of(summary.good)])
    return Group(facts, *(_grid_table(grid) for grid in summary.grids), verdict)


def summary_text(summary: RunSummary, width: int = WIDTH, color: bool = False) -> str:
    """Return a summary as text of at most `width` columns, with terminal colours if asked for."""
    output = StringIO()
    console = Console(file=output, width=width, force_terminal=color, no_color=not color, legacy_windows=False)
    console.print(summary_table(summary))
    return output.getvalue()


def _grid_table(grid: Grid) -> Table:
    title = Text(grid.title)
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for i, name in enumerate(grid.header):
        table.add_column(Text(name.replace("joint ", "J")), justify="right" if i else "left", vertical="bottom")
    for i, row in enumerate(grid.rows):
        cells = (Text(cell, "bold" if (i, j) in grid.bold else "", no_wrap=j > 0) for j, cell in enumerate(row))
        table.add_row(*cells)
    return table


# ---------------------------------------------------------------------- pages


def write_page(path: Path, summary: RunSummary, sections: Sequence[str] = (), origin: str = "") -> None:
    """Write a page: title, origin, summary, and sections of HTML."""
    head = [f"<h1>{escape(summary.title)}</h1>"]
    if origin:
        head.append(f'<p class="origin">{escape(origin)}</p>')
    body = "\n".join([*head, _summary_section(summary), *sections])
    path.write_text(document(summary.title, body), encoding="utf-8")


def document(title: str, body: str, extra_style: str = "") -> str:
    """Return the whole page; body and extra_style are taken as they are, the title is escaped."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}{extra_style}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def png(figure: Figure) -> bytes:
    """Return a figure as a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    output = BytesIO()
    FigureCanvasAgg(figure)
    figure.savefig(output, format="png", dpi=DOTS_PER_INCH)
    return output.getvalue()


def figure_section(title: str, caption: str, picture: bytes) -> str:
    """Return a heading with a PNG picture and its caption."""
    data = base64.b64encode(picture).decode("ascii")
    return (
        f"<section>\n<h2>{escape(title)}</h2>\n<figure>\n<figcaption>{escape(caption)}</figcaption>\n"
        f'<img src="data:image/png;base64,{data}" alt="{escape(title)}">\n</figure>\n</section>'
    )


def _summary_section(summary: RunSummary) -> str:
    verdict = f'<p class="verdict {"good" if summary.good else "bad"}">{escape(summary.verdict)}</p>'
    facts = []
    for row in summary.rows:
        mark = "" if row.mark is Mark.PLAIN else f' class="{row.mark.value}"'
        facts.append(f"<tr><th>{escape(row.label)}</th><td{mark}>{escape(row.value)}</td></tr>")
    table = '<table class="facts">\n' + "\n".join(facts) + "\n</table>"
    return "\n".join([verdict, table, *(_grid_section(grid) for grid in summary.grids)])


def _grid_section(grid: Grid) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in grid.header)
    lines = []
    for i, (label, *cells) in enumerate(grid.rows):
        texts = (f"<b>{escape(cell)}</b>" if (i, j) in grid.bold else escape(cell) for j, cell in enumerate(cells, 1))
        lines.append(f"<tr><th>{escape(label)}</th>{''.join(f'<td>{text}</td>' for text in texts)}</tr>")
    return (
        f'<table class="grid">\n<caption>{escape(grid.title)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(lines) + "\n</tbody>\n</table>"
    )
