"""Runs of `make fuzz`: which record counts, and what it says.

The newest in which every surface got its inputs, or failed before, else the newest. What was passed over is told,
and the figure misses where a newer one of them failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from impact_control.benchmark.figure import Figure
from impact_control.benchmark.long_run import FAILED_SINCE, FUZZING, LongRun, read_json, same_commit

LEAST_INPUTS = 100_000
"""Inputs that every surface has to be given."""

LEAST_SURFACES = 6
"""Surfaces that there are, all of which have to be fuzzed."""

SURFACES, INPUTS, FAILURES = "surfaces", "inputs", "failures"
ACCEPTED, REFUSED = "accepted", "refused"


def fuzzed(directory: Path, commit: str) -> LongRun | None:
    """Return the run whose record in the directories below `directory` counts; None without any.

    commit: of the report it is for. Records that cannot be read are passed over.
    """
    runs: dict[Path, Mapping[str, Any]] = {}
    for file in sorted(directory.glob("*-fuzz/fuzz.json")):
        content = read_json(file)
        # One that was cut off, or is of another version, is passed over.
        try:
            for surface in content[SURFACES]:
                _figure(surface, "")
        except (KeyError, TypeError, AttributeError):
            continue
        runs[file.parent] = content
    if not runs:
        return None
    place = max(runs, key=lambda one: (_enough(runs[one]), one.name))
    content = runs[place]
    other = not same_commit(content.get("commit", ""), commit)
    mark = ", another commit" if other else ""
    newer = {one: its for one, its in runs.items() if one.name > place.name}
    failed_since = sum(any(_failures(surface) for surface in its[SURFACES]) for its in newer.values())
    counts = {SURFACES: len(content[SURFACES]), FAILED_SINCE: failed_since}
    return LongRun(
        kind=FUZZING,
        directory=str(place),
        commit=content.get("commit", ""),
        date=content.get("date", ""),
        machine=content.get("machine", ""),
        other_commit=other,
        figures=[
            Figure(f"fuzzing{mark}", counts, SURFACES, {FAILED_SINCE: 0}, floors={SURFACES: LEAST_SURFACES}),
            *(_figure(surface, mark) for surface in content[SURFACES]),
        ],
        log=[
            _in_words({key: value for key, value in content.items() if key != SURFACES}),
            *(_in_words(surface) for surface in content[SURFACES]),
        ],
        record=content,
        passed_over=[f"{one}: {_shortcoming(its)}" for one, its in newer.items()],
    )


def _enough(content: Mapping[str, Any]) -> bool:
    """Tell whether every surface got its inputs, unless it failed before."""
    surfaces = content[SURFACES]
    return len(surfaces) >= LEAST_SURFACES and all(one[INPUTS] >= LEAST_INPUTS or one[FAILURES] for one in surfaces)


def _shortcoming(content: Mapping[str, Any]) -> str:
    surfaces = content[SURFACES]
    failures = sum(_failures(one) for one in surfaces)
    fewest = min((one[INPUTS] for one in surfaces), default=0)
    return f"only {len(surfaces)} surfaces, the least of them with {fewest} inputs; {failures} failures"


def _failures(surface: Mapping[str, Any]) -> int:
    """Return how many inputs of a surface failed, of both drivers."""
    return int(surface[FAILURES] + surface.get("hypothesis", {}).get(FAILURES, 0))


def _figure(surface: Mapping[str, Any], mark: str) -> Figure:
    """Return a figure of the record of a surface; one that ended early has no more than its failure."""
    drawn = surface.get("hypothesis", {})
    values = {
        INPUTS: surface[INPUTS],
        ACCEPTED: surface.get(ACCEPTED, 0),
        REFUSED: surface.get(REFUSED, 0),
        "examples": drawn.get(INPUTS, 0),
        FAILURES: _failures(surface),
        "slowest": surface.get("slowest", 0.0),
    }
    name = f"fuzzing, {surface['name'].replace('_', ' ')}{mark}"
    # One that lets everything in, or nothing, was not put to the test.
    floors = {INPUTS: LEAST_INPUTS, ACCEPTED: 1, REFUSED: 1}
    return Figure(name, values, "inputs, s", {FAILURES: 0}, floors=floors)


def _in_words(record: Mapping[str, Any]) -> str:
    """Return everything that a record holds in a line, its name first."""
    parts = []
    for key, value in record.items():
        if isinstance(value, Mapping):
            parts.append(f"{key} ({_in_words(value)})")
        elif key != "name":
            parts.append(f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}")
    words = ", ".join(parts)
    return f"{record['name']}: {words}" if "name" in record else words
