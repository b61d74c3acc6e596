"""The terminal: its colors, its width, names in columns, errors."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable

from impact_control.util.errors import ImpactControlError, words_of

_MANY = 8
"""Names from which on a list is easier to read in columns than in a sentence."""


def in_color() -> bool:
    """Return whether standard output is a terminal that shows colors: not where `NO_COLOR` is set (no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def width(elsewhere: int) -> int:
    """Return the columns of the terminal, or of `COLUMNS`; `elsewhere` for a file or a pipe."""
    return shutil.get_terminal_size((elsewhere, 0)).columns


def listing(entries: Iterable[tuple[str, str]]) -> str:
    """Return names with a text beside each, which is wrapped on a terminal and one line elsewhere."""
    entries = list(entries)
    indent = max(len(name) for name, _ in entries) + 2
    beside = max(width(10_000) - indent, 20)
    lines = [[name, *(textwrap.wrap(text, beside) or [""])] for name, text in entries]
    return "\n".join(
        f"{name:{indent}s}{first}" + "".join(f"\n{'':{indent}s}{line}" for line in more) for name, first, *more in lines
    )


def complain(error: ImpactControlError) -> None:
    """Write an error to standard error: one line, but for names to choose from on a terminal."""
    text = words_of(error)
    sys.stderr.write(f"impact-control: {_with_columns(text, width(80)) if sys.stderr.isatty() else text}\n")


def _with_columns(text: str, columns: int) -> str:
    """Return a text that ends with "one of a, b, c" with these names in columns, where they are many.

    "; nearest: a" may follow, and has a line of its own then.
    """
    listed, _, near = text.partition("; nearest: ")
    head, _, names = listed.rpartition("one of ")
    entries = names.split(", ")
    if not head or len(entries) < _MANY or len(text) <= columns:
        return text
    cell = max(map(len, entries)) + 2
    many = max(1, (columns - 2) // cell)
    rows = (entries[k : k + many] for k in range(0, len(entries), many))
    lines = ["  " + "".join(f"{name:{cell}s}" for name in row).rstrip() for row in rows]
    return "\n".join([f"{head}one of", *lines, *([f"nearest: {near}"] if near else [])])
