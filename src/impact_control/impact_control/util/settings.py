"""Settings outside of scenarios, declared once: command line, launch files and node parameters are made from these."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from impact_control.util.errors import InvalidInputError


@dataclass(frozen=True)
class Setting:
    """A value that a user can choose.

    description: a noun phrase. default: of the value; None: it may be left open, and `unset` says what holds then.
    kind: of number; bounds: the least and the largest.
    """

    name: str
    description: str
    default: Any = None
    unset: str = ""
    kind: type[float] | type[int] = float
    bounds: tuple[float, float] = (-math.inf, math.inf)

    def words(self, left_open: str) -> str:
        """Return the description for where the value is left open in this way, e.g. "empty"."""
        return f"{self.description}; {left_open}: {self.unset}" if self.unset else self.description

    def number(self, text: str) -> float | None:
        """Return the number that a text stands for, None for an empty one.

        Raises InvalidInputError for any other text, and outside the bounds.
        """
        if not text:
            return None
        low, high = self.bounds
        try:
            value = self.kind(text)
        except ValueError:
            value = math.nan
        if low <= value <= high and math.isfinite(value):
            return value
        limits = f"from {low:g} to {high:g}" if math.isfinite(high) else f"of at least {low:g}"
        raise InvalidInputError(self.name, text, f"a {'whole ' if self.kind is int else ''}number {limits}, or empty")


SCENARIO = Setting("scenario", "name of a scenario, or path of a file", "tabletop")
PORT = Setting("port", "port of the page in the browser", 8080, kind=int, bounds=(1, 65535))
HOST = Setting("host", "address the page listens at; 0.0.0.0: for other machines, too", "127.0.0.1")
