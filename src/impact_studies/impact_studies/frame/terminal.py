"""A study for the terminal: its tables, findings and verdict, and the list of all studies."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO

from rich import box
from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from impact_control.recording.page import WIDTH
from impact_studies.frame.every import Ended, mark, word
from impact_studies.frame.runner import StudyRun
from impact_studies.frame.study import Mark, Study, StudyResult, Table

_STYLES = {Mark.GOOD: "green", Mark.BAD: "red", Mark.PLAIN: ""}
_SIGNS = {Mark.GOOD: "✓", Mark.BAD: "✗", Mark.PLAIN: "-"}


def study_text(study: Study, result: StudyResult, *, color: bool = False) -> str:
    """Return the result as text of 80 columns, up to 160 if a table needs them, with colours if asked for."""
    parts: list[RenderableType] = [Text(study.title, "bold"), Text(study.source, "dim")]
    for table in result.tables:
        parts.append(Padding(_table(table), (1, 0, 0, 0)))
        if table.note:
            parts.append(Text(table.note, "dim"))
    parts.append(Text())
    parts += [_bullet(_SIGNS[finding.mark], finding.text, _STYLES[finding.mark]) for finding in result.findings]
    parts += [_bullet("assumed:", text, "dim") for text in result.assumptions]
    parts += [Text(), Text(result.verdict, f"bold {_STYLES[Mark.of(result.holds)]}")]
    natural = max((Console(width=2 * WIDTH).measure(_table(table)).maximum for table in result.tables), default=0)
    return _printed(Group(*parts), max(WIDTH, natural), color)


def studies_text(studies: Iterable[Study], *, color: bool = False) -> str:
    """Return a line for each study: name, minutes on two cores, document with figure or table, what it shows."""
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("study", "min", "source", "what it shows"):
        table.add_column(heading, no_wrap=True, justify="right" if heading == "min" else "left")
    for study in studies:
        table.add_row(Text(study.name, "bold"), f"{study.minutes:.1f}", study.source, study.title)
    return _printed(table, max(WIDTH, Console(width=500).measure(table).maximum), color)


def ended_text(ended: Ended, *, color: bool = False) -> str:
    """Return how a study ended, in one line: name, minutes, answer."""
    minutes = f"{ended.seconds / 60.0:6.1f} min" if isinstance(ended, StudyRun) else f"{word(ended):>10s}"
    answer = ended.result.verdict if isinstance(ended, StudyRun) else ended.reason
    line = Text(f"{_SIGNS[mark(ended)]} {ended.study.name:24s} {minutes}  {answer}", _STYLES[mark(ended)])
    return _printed(line, max(WIDTH, line.cell_len), color).rstrip()


def _table(table: Table) -> RichTable:
    title = Text(table.title, "bold")
    shown = RichTable(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False, padding=(0, 1, 0, 0))
    for j, column in enumerate(table.columns):
        side: JustifyMethod = "left" if table.has_words(j) else "right"
        shown.add_column(Text(column.broken_heading), justify=side, overflow="fold")
    for i, row in enumerate(table.rows):
        cells = zip(table.columns, row, strict=True)
        shown.add_row(*(Text(column.text(cell), _STYLES[table.mark(i, j)]) for j, (column, cell) in enumerate(cells)))
    return shown


def _bullet(sign: str, text: str, style: str) -> RenderableType:
    line = RichTable.grid(padding=(0, 1, 0, 0))
    line.add_row(Text(sign, style), Text(text, style))
    return line


def _printed(content: RenderableType, width: int, color: bool) -> str:
    output = StringIO()
    console = Console(file=output, width=width, force_terminal=color, no_color=not color, legacy_windows=False)
    console.print(content)
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines()) + "\n"
