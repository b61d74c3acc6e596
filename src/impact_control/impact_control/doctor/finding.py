"""One line of the doctor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class Level(IntEnum):
    """How bad a finding is: WARN lets the stack run, but worse or on a part of what it can do; FAIL does not."""

    OK = 0
    WARN = 1
    FAIL = 2


@dataclass(frozen=True)
class Finding:
    """What was looked at, what was found, and what to change, "" where nothing is."""

    level: Level
    what: str
    found: str
    advice: str = ""

    def __str__(self) -> str:
        """Say it in a line."""
        return f"{self.level.name:4s}  {self.what}: {self.found}{f'; {self.advice}' if self.advice else ''}"


def good(what: str, found: str) -> Finding:
    """Return a finding that is as it should be."""
    return Finding(Level.OK, what, found)


def warning(what: str, found: str, advice: str) -> Finding:
    """Return a finding with which the stack runs, but worse."""
    return Finding(Level.WARN, what, found, advice)


def failure(what: str, found: str, advice: str) -> Finding:
    """Return a finding with which the stack does not run."""
    return Finding(Level.FAIL, what, found, advice)


def worst(findings: Iterable[Finding]) -> Level:
    """Return the worst level; OK without findings."""
    return max((finding.level for finding in findings), default=Level.OK)
