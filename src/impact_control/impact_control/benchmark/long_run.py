"""One long run that was done before a benchmark, as its report shows it: what it found, of what code, how it ended."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from impact_control.benchmark.figure import Figure

SOAK, FAULTS, FUZZING = "soak", "faults", "fuzzing"
"""The kinds."""

FAILED_SINCE = "newer ones that failed"
"""Name of the value that counts records which are passed over and found something."""


@dataclass(frozen=True)
class LongRun:
    """A long run.

    kind: SOAK, FAULTS or FUZZING. directory, commit, date, machine: where its record lies and what that says of itself,
    "" where it says nothing. other_commit: whether it is, or may be, of other code than the report. figures: what it
    found. log: its summary and its end, in lines. record: what of it stands in the JSON of the report. memory: see
    `EnduranceReport`. passed_over: newer records of its kind, and why.
    """

    kind: str
    directory: str
    commit: str
    date: str
    machine: str
    other_commit: bool
    figures: Sequence[Figure]
    log: Sequence[str]
    record: Mapping[str, Any]
    memory: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    passed_over: Sequence[str] = ()

    @property
    def lines(self) -> list[str]:
        """Kind, place and origin, what was passed over, and the log."""
        mark = " (ANOTHER COMMIT than this report, or changes to it)" if self.other_commit else ""
        origin = f"commit {self.commit or 'unknown'}{mark}, {self.date or 'date unknown'}"
        heading = f"{self.kind}: {self.directory}, {origin}, {self.machine or 'machine unknown'}"
        return [
            heading,
            *(f"  passed over, newer: {one}" for one in self.passed_over),
            *(f"  {one}" for one in self.log),
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON; its figures and memory stand elsewhere in the report."""
        names = ("kind", "directory", "commit", "date", "machine", "other_commit", "passed_over", "log", "record")
        return {name: getattr(self, name) for name in names}


def same_commit(one: str, other: str) -> bool:
    """Tell whether two commits, as `commit_of` names them, surely mean the same code.

    Changes that were not committed may be any, and so may a commit without a name.
    """
    return bool(one) and one == other and not one.endswith("+")


def read_json(file: Path) -> Any:
    """Return the content of a JSON file; None where it cannot be read."""
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError):
        return None
