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

_CSS = Path(__file__).with_name("data") / "page.css"

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
    style = _CSS.read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}{extra_style}</style>\n</head>\n"
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
