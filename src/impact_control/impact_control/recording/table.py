"""The summary of a run for the terminal."""

from __future__ import annotations

from io import StringIO

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from impact_control.recording.summary import Grid, Mark, RunSummary

WIDTH = 80
"""Columns of the narrowest terminal the table is made for."""

_STYLES = {Mark.GOOD: "green", Mark.BAD: "bold red", Mark.PLAIN: ""}


def summary_table(summary: RunSummary) -> RenderableType:
    """The summary as something `rich` can print; its last line is the verdict."""
    facts = Table(box=box.SIMPLE_HEAD, show_header=False, pad_edge=False)
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    for row in summary.rows:
        facts.add_row(row.label, Text(row.value, _STYLES[row.mark]))
    verdict = Text(summary.verdict, _STYLES[Mark.of(summary.good)])
    return Group(facts, *(_grid(grid) for grid in summary.grids), verdict)


def summary_text(summary: RunSummary, width: int = WIDTH, color: bool = False) -> str:
    """The same as text of at most `width` columns, with terminal colours if asked for."""
    output = StringIO()
    console = Console(file=output, width=width, force_terminal=color, no_color=not color, legacy_windows=False)
    console.print(summary_table(summary))
    return output.getvalue()


def _grid(grid: Grid) -> Table:
    table = Table(title=Text(grid.title), box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for i, name in enumerate(grid.header):
        table.add_column(name.replace("joint ", "J"), justify="right" if i else "left", no_wrap=True)
    for i, row in enumerate(grid.rows):
        table.add_row(*(Text(cell, "bold" if (i, j) in grid.bold else "") for j, cell in enumerate(row)))
    return table
