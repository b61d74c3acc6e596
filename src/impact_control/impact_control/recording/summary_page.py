"""A summary as part of a page: the verdict, then facts and tables."""

from __future__ import annotations

from html import escape

from impact_control.recording.summary import Grid, Mark, RunSummary


def summary_section(summary: RunSummary) -> str:
    """Return a summary as HTML, without its title."""
    verdict = f'<p class="verdict {"good" if summary.good else "bad"}">{escape(summary.verdict)}</p>'
    return "\n".join([verdict, _facts(summary), *(_grid(grid) for grid in summary.grids)])


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
