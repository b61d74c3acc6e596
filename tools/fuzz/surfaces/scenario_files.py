"""Scenario files and scenes: text and structure of real ones, changed. A scenario, or an error that names the place.

Of those that load some are run: arms that follow them keep the limits.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from source import Source, chance, choice, edited, number

from impact_control.pipeline import Pipeline
from impact_control.planning import ArmPlan, plan_scenario
from impact_control.scenario import (
    Scene,
    available_scenarios,
    available_scenes,
    config_directory,
    load_scenario,
    scenario_from_text,
)
from impact_control.util.errors import ImpactControlError
from surfaces import BrokenPromiseError
from surfaces.command_watch import CommandWatch

SNIPPETS = (
    "none",
    "null",
    "true",
    "~",
    "[]",
    "{}",
    "- 1",
    "&a [*a]",
    "*a",
    "<<: *a",
    "!!python/object:os.system",
    "? x",
    "|",
    ">",
    "'",
    '"',
    "#",
    "---",
    "...",
    "%YAML 1.1",
    "\t",
    "inf",
    ".nan",
    "1e999 m",
    "0x1F",
    "1_000",
    "2001-12-14",
    "0o7",
    "1 m",
    "0 s",
    "-1 N",
    "1, 2, 3 m",
    "[1, 2, 3]",
    "1 m^1e9",
    "1 m^-400",
    "1 km",
    "7",
    "1.0, 2.0",
    "\x00",
    "\ufeff",
    "extends: tabletop.yaml",
    "name: x",
    "arms: {}",
    "!!set {a}",
    "!!binary aGk=",
    "!!timestamp 2001-12-14",
    "a: b: c",
)
"""Texts on which YAML or units may fail."""

UNITS = ("m", "m/s", "N", "s", "ms", "rad", "kg", "Nm/s", "1/s^2", "N/m", "", "Nm*s/rad", "m^3")
NUMBER = re.compile(r"(?<![A-Za-z^])-?\d+\.?\d*(?:e-?\d+)?")

RUN = 50
"""Scenarios that load for each that is run: to plan its task takes a hundred times as long as to load it."""

SAMPLES = 20
"""Samples of a run."""


class ScenarioFiles:
    """Overrides of a scenario, the text of a whole one, files that extend one."""

    def __init__(self) -> None:
        scenarios = config_directory() / "scenarios"
        names = ("tabletop", "tabletop_plate", "tabletop_touch", "push_catfood_1")
        self._bases = [load_scenario(name) for name in names]
        self._texts = [
            (scenarios / f"{directory}{name}.yaml").read_bytes()
            for directory, names in (("", available_scenarios()), ("scenes/", available_scenes()))
            for name in names
        ]
        self._lines = sorted({line for base in self._bases for line in base.to_yaml().splitlines()})
        nodes = [node for base in self._bases for node in nodes_of(base.document.plain())]
        self._entries = {key: value for key, value in nodes if not isinstance(value, dict)}
        self._keys = sorted({key for key, _ in nodes})
        self._words = sorted({word for base in self._bases for word in words_of(base.document.plain())})
        # Files that extend others stand beside those they extend.
        self._directory = tempfile.TemporaryDirectory()
        self._file = Path(self._directory.name) / "fuzzed.yaml"
        for path in scenarios.glob("*.yaml"):
            (self._file.parent / path.name).write_bytes(path.read_bytes())

    def close(self) -> None:
        """Remove the files."""
        self._directory.cleanup()

    def __call__(self, source: Source) -> bool:
        """Load what was made; whatever loads has to be the same after a round trip."""
        try:
            if chance(source, 24):
                loaded = self._file_of(source)
            elif chance(source, 3):
                loaded = scenario_from_text(self._fragment(source), "fuzzed.yaml")
            else:
                base = choice(source, self._bases)
                loaded = base.with_overrides(self._overrides(source))
        except ImpactControlError as error:
            require_words(error)
            return False
        if chance(source, 40):
            require_same_again(loaded)
        if chance(source, RUN):
            try:
                arms = [(plan, Pipeline(plan.scenario, plan.robot)) for plan in plan_scenario(loaded).arms.values()]
            except ImpactControlError as error:  # what loads need not be in reach
                require_words(error)
                return False
            for plan, pipeline in arms:
                follow(plan, pipeline, source)
        return True

    def _file_of(self, source: Source) -> Scene:
        kind = source.integer(0, 2)
        if kind == 0:
            self._file.write_bytes(edited(source, choice(source, self._texts)))
        else:
            head = b"extends: tabletop.yaml\n" if kind == 1 else b""
            self._file.write_bytes(head + self._fragment(source).encode())
        return load_scenario(self._file)

    def _fragment(self, source: Source) -> str:
        """Return a few lines of scenarios, and others."""
        lines = []
        for _ in range(source.integer(0, 12)):
            kind = source.integer(0, 5)
            if kind < 3:
                lines.append(choice(source, self._lines))
            elif kind == 3:
                lines.append(" " * source.integer(0, 4) + f"{choice(source, self._words)}: {choice(source, SNIPPETS)}")
            elif kind == 4:
                lines.append(" " * source.integer(0, 4) + choice(source, SNIPPETS))
            else:
                lines.append(source.text(20))
        if chance(source, 30):
            lines.append(choice(source, ("[", "{a: ", "- ", "? ")) * source.integer(1, 4000))
        return "\n".join(lines)

    def _overrides(self, source: Source) -> dict[str, Any]:
        """Return one or a few entries: as one of the scenarios has them with another number, or anything."""
        overrides = {}
        for _ in range(source.integer(1, 3)):
            key = choice(source, tuple(self._entries))
            overrides[key] = self._near(source, self._entries[key])
            if chance(source, 6):
                overrides[choice(source, self._keys)] = self._value(source, 2)
            if chance(source, 16):
                overrides[f"{key}.{choice(source, self._words)}"] = self._value(source, 2)
            if chance(source, 16):
                overrides[source.text(12)] = self._value(source, 2)
        return overrides

    def _near(self, source: Source, value: Any) -> Any:
        """Return a value that differs from another in one of its numbers."""
        if isinstance(value, bool):
            return chance(source, 2)
        if isinstance(value, int | float):
            return choice(source, (value * 2, value + 1, -value, value / 2, number(source)))
        if not isinstance(value, str) or not (found := list(NUMBER.finditer(value))):
            return choice(source, self._words)
        one = choice(source, found)
        number_then = float(one[0])
        near = choice(source, (0.5, 0.99, 1.01, 2.0, -1.0, 0.0, 1e3)) * number_then
        return f"{value[: one.start()]}{number(source) if chance(source, 4) else near:.9g}{value[one.end() :]}"

    def _value(self, source: Source, depth: int) -> Any:
        kind = source.integer(0, 9 if depth else 7)
        if kind == 0:
            return number(source)
        if kind in (1, 2):
            values = ", ".join(f"{number(source):.6g}" for _ in range(choice(source, (1, 3, 7, 2))))
            return f"{values} {choice(source, UNITS)}"
        if kind == 3:
            return choice(source, self._words)
        if kind == 4:
            return choice(source, SNIPPETS)
        if kind == 5:
            return choice(source, (None, True, False, [], {}, 0, -1, 1, 2**31, 10**400, "", float("nan"), [1, "2 m"]))
        if kind == 6:
            return source.integer(-10, 10**6)
        if kind == 7:
            return source.text(16)
        if kind == 8:
            return [self._value(source, depth - 1) for _ in range(source.integer(0, 7))]
        return {choice(source, self._words): self._value(source, depth - 1) for _ in range(source.integer(0, 4))}


def require_words(error: ImpactControlError) -> None:
    """Raise BrokenPromiseError for a refusal that says nothing."""
    if not str(error).strip():
        raise BrokenPromiseError("refused without a word") from error


def follow(plan: ArmPlan, pipeline: Pipeline, source: Source) -> None:
    """Let an arm begin its task; raise BrokenPromiseError when a command is outside the limits.

    It rests at the start, and from some sample on it is near there, moves, and is touched.
    """
    pipeline.reset()
    pipeline.start(plan.reference, plan.scenario, plan.force, hold=plan.hold)
    period = plan.scenario.control.period
    watch = CommandWatch(plan.robot, period)
    rest = np.zeros(len(plan.robot.joint_names))
    position, velocity, torque = plan.reference.initial_configuration, rest, rest
    elsewhere = source.integer(0, SAMPLES)
    for k in range(SAMPLES):
        if k == elsewhere:
            position, velocity, torque = (
                at + size * np.array([source.integer(-100, 100) for _ in rest])
                for at, size in ((position, 1e-3), (rest, 1e-2), (rest, 0.5))
            )
        pipeline.tick(k * period, position, velocity, torque)
        watch.look(pipeline.torque)


def require_same_again(loaded: Scene) -> None:
    """Raise BrokenPromiseError unless the text of a scenario loads to the same."""
    text = loaded.to_yaml()
    if scenario_from_text(text, "again.yaml").to_yaml() != text:
        raise BrokenPromiseError("the text of the scenario does not load to the same")


def nodes_of(tree: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Return the sections and values of a tree with their dotted keys."""
    found = []
    for key, value in tree.items():
        found.append((f"{prefix}{key}", value))
        if isinstance(value, dict):
            found += nodes_of(value, f"{prefix}{key}.")
    return found


def words_of(tree: Any) -> set[str]:
    """Return all keys and texts of a tree."""
    if isinstance(tree, dict):
        return {str(key) for key in tree}.union(*(words_of(value) for value in tree.values()))
    if isinstance(tree, list):
        return set().union(*(words_of(value) for value in tree))
    return {tree} if isinstance(tree, str) else set()
