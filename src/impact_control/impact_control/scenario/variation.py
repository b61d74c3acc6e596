"""Variations of a scenario from a file: for each entry the values it takes in the trials of a series."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from impact_control.scenario.document import NAME, Node, load_document, nested, overlay
from impact_control.scenario.scene import Scene
from impact_control.util.errors import ScenarioError

SECTIONS = ("task", "expected_environment", "classification", "reaction")
"""Sections whose entries may differ between the tasks of one graph; the rest is what it was started with."""


@dataclass(frozen=True, eq=False)
class Variation:
    """A scenario as it is in one trial. changes: varied values by dotted key, as they stand in the file."""

    changes: dict[str, Any]
    scene: Scene


def variations(scene: Scene, file: Path | None, times: int, fixed: Sequence[str] = ()) -> list[Variation]:
    """Return the scenario of each of `times` trials.

    file: YAML with dotted keys or sections as in a scenario, at each entry a list of values; trial k takes the k-th,
    and restarts where a list is shorter. A single value holds in all trials. None: no variation. fixed: dotted keys
    that may not be varied. Raises ScenarioError with line, key, value and what is allowed.
    """
    varied = [] if file is None else list(_varied(file, fixed))
    found = []
    for trial in range(times):
        document, changes = scene.document, {}
        for key, values, origin in varied:
            value = values[trial % len(values)]
            document = overlay(document, nested(key, Node(value, origin)))
            changes[key] = value
        found.append(Variation(changes, scene.read(document)))
    return found


def _varied(file: Path, fixed: Sequence[str]) -> Iterator[tuple[str, list[Any], str]]:
    """Yield key, values and origin of each entry of a file."""
    document = load_document(file)
    for key, node in _entries(Node({name: one for name, one in document.value.items() if name != NAME}, "")):
        values = node.plain() if isinstance(node.value, list) else [node.plain()]
        if key.split(".")[0] not in SECTIONS or key in fixed:
            without = f", but not {', '.join(fixed)}" if key in fixed else ""
            raise ScenarioError(node.origin, key, node.plain(), f"entries of {', '.join(SECTIONS)}{without}")
        if not values or any(isinstance(value, list | dict) for value in values):
            raise ScenarioError(
                node.origin, key, node.plain(), "a list of values, each as it would stand in a scenario"
            )
        yield key, values, node.origin


def _entries(node: Node, key: str = "") -> Iterator[tuple[str, Node]]:
    """Yield the entries below a section with their dotted keys."""
    if not node.is_mapping:
        yield key, node
        return
    for name, one in node.value.items():
        yield from _entries(one, f"{key}.{name}" if key else name)
