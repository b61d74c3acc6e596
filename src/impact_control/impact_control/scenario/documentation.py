"""The schema as a table for the documentation, generated from the declarations."""

from __future__ import annotations

from collections.abc import Iterator

from impact_control.scenario.fields import REQUIRED, Nested
from impact_control.scenario.scene import Scenario
from impact_control.scenario.settings import entries

BAR = "\\|"
"""A vertical bar inside a cell."""


def describe_schema(section: type = Scenario, beside: type | None = None) -> str:
    """Return the schema of a scenario, or of another section, as Markdown: key, what is allowed, default, meaning.

    beside: section whose keys are left out where they are the same.
    """
    known = set() if beside is None else set(_rows(beside, ""))
    head = ["| key | allowed | default | meaning |", "|---|---|---|---|"]
    return "\n".join([*head, *(row for row in _rows(section, "") if row not in known)]) + "\n"


def _rows(section: type, prefix: str) -> Iterator[str]:
    for name, declared in entries(section).items():
        key = prefix + name
        if declared.default is REQUIRED:
            default = "required"
        elif declared.default in (None, {}, []):
            default = "optional"
        else:
            default = f"`{declared.default}`"
        cells = (f"`{key}`", declared.kind.allowed(), default, declared.description)
        yield f"| {' | '.join(cell.replace('|', BAR) for cell in cells)} |"
        if isinstance(declared.kind, Nested):
            yield from _rows(declared.kind.type, key + declared.kind.BELOW)
