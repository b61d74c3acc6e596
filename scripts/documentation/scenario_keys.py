"""The reference page of scenario keys: the schema as the library describes it, one table for each section."""

from __future__ import annotations

from collections.abc import Iterable

from impact_control.scenario import ObjectScene, Scenario, describe_schema

PAGE = "reference/scenario_keys.md"
HEAD = "| key | allowed | default | meaning |\n|---|---|---|---|\n"


def page() -> str:
    """Return the page in Markdown."""
    single = _rows(describe_schema())
    scene = _rows(describe_schema(ObjectScene, beside=Scenario))
    text = "# Scenario keys\n\nGenerated from the schema; `impact-control scenarios --schema` prints the same.\n"
    return text + _tables("One arm", single) + _tables("Several arms and objects", scene)


def _rows(table: str) -> list[str]:
    return [line for line in table.splitlines() if line.startswith("| `")]


def _tables(title: str, rows: Iterable[str]) -> str:
    sections: dict[str, list[str]] = {}
    for row in rows:
        sections.setdefault(row.split("`")[1].split(".")[0], []).append(row)
    alone = [own[0] for own in sections.values() if len(own) == 1]
    whole = {name: own for name, own in sections.items() if len(own) > 1}
    tables = [f"\n## {title}\n\n{HEAD}" + "\n".join(alone) + "\n"] if alone else [f"\n## {title}\n"]
    return "".join(tables + [f"\n### {name}\n\n{HEAD}" + "\n".join(own) + "\n" for name, own in whole.items()])
