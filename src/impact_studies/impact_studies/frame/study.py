"""Declaration of a study: a question with its source, answered by tables, figures, findings and a verdict."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from impact_control.recording.summary import Mark
from impact_control.util.errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "OWN_TARGET",
    "Cell",
    "Column",
    "Comparison",
    "Finding",
    "Judged",
    "Mark",
    "Progress",
    "Study",
    "StudyData",
    "StudyFigure",
    "StudyResult",
    "Table",
    "all_hold",
    "columns",
    "held",
    "part",
    "tally",
    "targets_table",
]

Cell = str | int | float | None
"""Content of a table cell; None: empty."""

Progress = Callable[[float, str], None]
"""Called with the completed fraction, 0 to 1, and the current step."""


def part(progress: Progress, start: float, share: float, name: str = "") -> Progress:
    """Return the progress of a part of the whole, which is `share` of it and begins at `start`.

    name: prefix of the current step.
    """
    return lambda done, text: progress(start + share * done, f"{name}: {text}" if name else text)


@dataclass(frozen=True)
class Column:
    """Head of a column.

    Attributes:
        name: with a line break where the terminal is to break it.
        unit: "" for none.
        decimals: its numbers are shown with, None for five digits.
    """

    name: str
    unit: str = ""
    decimals: int | None = None

    @property
    def heading(self) -> str:
        """Name and unit in one line."""
        name = " ".join(self.name.split())
        return f"{name} [{self.unit}]" if self.unit else name

    @property
    def broken_heading(self) -> str:
        """Name as it is and unit, each on lines of its own."""
        return f"{self.name}\n[{self.unit}]" if self.unit else self.name

    def text(self, cell: Cell) -> str:
        """Return a cell as shown."""
        if cell is None or (isinstance(cell, float) and math.isnan(cell)):
            return "-"
        if not isinstance(cell, float):
            return str(cell)
        return f"{cell:.5g}" if self.decimals is None else f"{cell:.{self.decimals}f}"


@dataclass(frozen=True)
class Judged:
    """A cell with a verdict; None for none."""

    cell: Cell
    holds: bool | None


def columns(names: Iterable[str], unit: str = "", decimals: int | None = None) -> tuple[Column, ...]:
    """Return columns side by side that have unit and decimals in common."""
    return tuple(Column(name, unit, decimals) for name in names)


@dataclass(frozen=True)
class Table:
    """Numbers with their units. Raises InvalidInputError when a row is not as long as the head.

    Attributes:
        name: of the dataset in the file of results.
        title: above the table.
        columns: the head.
        rows: cells; numbers are kept whole in the file of results and rounded where they are shown.
        marks: cells (row, column) that are to be read as good or bad.
        note: below the table.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    marks: Mapping[tuple[int, int], Mark] = field(default_factory=dict)
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise InvalidInputError(f"row of table {self.name}", row, f"{len(self.columns)} cells")

    @classmethod
    def of(
        cls,
        name: str,
        title: str,
        columns: Iterable[Column],
        rows: Iterable[Iterable[Cell | Judged | np.generic]],
        note: str = "",
    ) -> Table:
        """Return a table of rows whose cells may be numbers of numpy and may carry a verdict."""
        cells = [tuple(row) for row in rows]
        marks = {
            (i, j): Mark.of(cell.holds)
            for i, row in enumerate(cells)
            for j, cell in enumerate(row)
            if isinstance(cell, Judged) and cell.holds is not None
        }
        return cls(name, title, tuple(columns), tuple(tuple(map(_plain, row)) for row in cells), marks, note)

    def has_words(self, column: int) -> bool:
        """Distinguish columns of text, which are aligned to the left, from columns of numbers."""
        return all(isinstance(row[column], str) for row in self.rows)

    def mark(self, row: int, column: int) -> Mark:
        """Return the verdict on a cell."""
        return self.marks.get((row, column), Mark.PLAIN)


def _plain(cell: Cell | Judged | np.generic) -> Cell:
    value = cell.cell if isinstance(cell, Judged) else cell
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True)
class StudyFigure:
    """A picture: name of its file, heading, what it shows, and the function that draws it in the common style."""

    name: str
    title: str
    caption: str
    draw: Callable[[], Figure]


@dataclass(frozen=True)
class StudyData:
    """A file with the measured data themselves: its name, and the function that writes it to a path."""

    name: str
    write: Callable[[Path], None]


@dataclass(frozen=True)
class Finding:
    """A sentence built from the numbers of the study, and whether it is what the source says; None for no verdict."""

    text: str
    holds: bool | None = None

    @property
    def mark(self) -> Mark:
        """Verdict."""
        return Mark.of(self.holds)


@dataclass(frozen=True)
class Comparison:
    """A figure or statement of a source beside ours.

    Attributes:
        where: table, figure or section.
        what: is compared.
        published: number, or what the source says.
        own: number, or what came out.
        unit: of both numbers, "" for none.
        holds: whether ours is as the source says; None where the source does not say how close it has to be.
    """

    where: str
    what: str
    published: str | float
    own: str | float
    unit: str = ""
    holds: bool | None = None

    @property
    def mark(self) -> Mark:
        """Verdict."""
        return Mark.of(self.holds)

    @property
    def difference(self) -> float | None:
        """Own less published; None between words."""
        if isinstance(self.published, str) or isinstance(self.own, str):
            return None
        return self.own - self.published


OWN_TARGET = "target of our own"
"""Place of a comparison that no source has."""


def all_hold(compared: Iterable[Comparison]) -> bool:
    """Check that all comparisons with a verdict hold."""
    return all(one.mark is not Mark.BAD for one in compared)


def held(compared: Iterable[Comparison]) -> str:
    """Return how many comparisons with a verdict hold, as "2 of 3"."""
    marks = Counter(one.mark for one in compared)
    return f"{marks[Mark.GOOD]} of {marks[Mark.GOOD] + marks[Mark.BAD]}"


def tally(compared: Sequence[Comparison]) -> str:
    """Return in a sentence how many comparisons with a verdict hold, and in another where those are that do not."""
    others = Counter(one.where for one in compared if one.mark is Mark.BAD)
    where = "; ".join(f"{place} ({count})" if count > 1 else place for place, count in others.items())
    return f"{held(compared)} statements hold." + (f" Those that do not: {where}." if where else "")


def targets_table(
    compared: Iterable[Comparison], head: Mapping[str, Column] | None = None, title: str = "Targets", note: str = ""
) -> Table:
    """Return targets beside what was measured, with the verdict on it; head: columns by the attribute they show."""
    head = head or {"what": Column("what"), "published": Column("target"), "own": Column("measured")}

    def row(one: Comparison) -> Iterable[Cell | Judged]:
        for name in head:
            yield Judged(one.own, one.holds) if name == "own" else getattr(one, name)

    return Table.of("targets", title, head.values(), map(row, compared), note)


@dataclass(frozen=True)
class StudyResult:
    """Results of a study.

    Attributes:
        tables, figures: in the order in which they are shown.
        findings: one sentence each, built from numbers.
        assumptions: what the source leaves open, and what was taken instead, one sentence each.
        verdict: the answer in one sentence, which names what `holds` is about and counts the statements that hold.
        holds: whether the main claims of the source hold here; None where none of its statements is above the
            others: it becomes whether all do that have a verdict. Targets of our own are main claims. The exit code
            follows it.
        data: files with what was measured, beside the report.
        comparisons: what the source publishes, one by one, beside ours.
    """

    tables: tuple[Table, ...]
    figures: tuple[StudyFigure, ...]
    findings: tuple[Finding, ...]
    verdict: str
    holds: bool | None = None
    assumptions: tuple[str, ...] = ()
    data: tuple[StudyData, ...] = ()
    comparisons: tuple[Comparison, ...] = ()

    def __post_init__(self) -> None:
        if self.holds is None:
            object.__setattr__(self, "holds", all_hold(self.comparisons))


@dataclass(frozen=True)
class Study:
    """One result of the source documents.

    Attributes:
        name: that of its module; for the command line.
        title: heading.
        source: document with its figure, table or section.
        shows: what is computed and compared, in a sentence or two.
        run: (seed, quick, progress) -> result. The same seed gives the same result; quick is a smaller
            version of the same, for a first look.
        minutes: that the whole takes on two cores, about, with compiled kernels; docs/lab/studies.md says how it was
            measured.
        from_file: path -> the same study with other settings; None where it takes none.
    """

    name: str
    title: str
    source: str
    shows: str
    run: Callable[[int, bool, Progress], StudyResult]
    minutes: float
    from_file: Callable[[Path], Study] | None = None

    def with_file(self, path: Path) -> Study:
        """Return the same study with what a file says. Raises InvalidInputError where it takes none, ScenarioError."""
        if self.from_file is None:
            raise InvalidInputError("file", path, f"none: study {self.name} takes no file")
        return self.from_file(path)
