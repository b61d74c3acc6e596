"""A scenario from a few answers: where the surface is, how it is met, and what is done on it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from impact_control.scenario.document import parse_overrides
from impact_control.scenario.loading import load_scenario
from impact_control.scenario.scene import Scenario
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Vector

BASE = "tabletop"
"""Scenario whose values hold where the answers say nothing."""


def _asked(default: Any, question: str) -> Any:
    return field(default=default, metadata={"question": question})


@dataclass(frozen=True)
class ScenarioDraft:
    """Answers from which a scenario is written; each with its question, in the units of the question."""

    robot: str = _asked("panda", "robot, panda or fr3")
    x: float = _asked(0.50, "surface: x of a point on it, from the base of the arm [m]")
    y: float = _asked(0.0, "surface: y of the point [m]")
    z: float = _asked(0.20, "surface: z of the point [m]")
    tilt: float = _asked(0.0, "surface: tilt out of the horizontal [deg]")
    towards: float = _asked(0.0, "surface: direction in which it falls, from x to y [deg]")
    friction: float = _asked(0.1, "surface: coefficient of friction")
    speed: float = _asked(0.2, "speed before the impact [m/s]")
    angle: float = _asked(60.0, "angle between the velocity before the impact and the surface [deg]")
    heading: float = _asked(0.0, "direction of the motion along the surface, from x to y [deg]")
    force: float = _asked(30.0, "force after the impact [N]")
    slide: float = _asked(0.08, "way along the surface after the impact [m]")

    @property
    def normal(self) -> Vector:
        """Normal of the surface, out of it (3,), frame A."""
        tilt, towards = math.radians(self.tilt), math.radians(self.towards)
        return np.array([math.sin(tilt) * math.cos(towards), math.sin(tilt) * math.sin(towards), math.cos(tilt)])

    def entries(self) -> dict[str, str]:
        """Return the entries of the scenario by their dotted keys, as they stand in a file."""
        heading = math.radians(self.heading)
        point = f"{self.x:.4g}, {self.y:.4g}, {self.z:.4g} m"
        met = f"The {self.robot} meets a surface at {point} with {self.speed:.4g} m/s and {self.angle:.4g} deg"
        entries = {
            "description": f"{met}, presses with {self.force:.4g} N and slides {self.slide:.4g} m.",
            "robot.model": self.robot,
            "task.impact.position": point,
            "task.impact.speed": f"{self.speed:.4g} m/s",
            "task.impact.approach_angle": f"{self.angle:.4g} deg",
            "task.impact.heading": _vector(np.array([math.cos(heading), math.sin(heading), 0.0])),
            "task.post.force": f"{self.force:.4g} N",
            "task.post.slide": f"{self.slide:.4g} m",
        }
        for environment in ("expected_environment", "actual_environment"):
            entries[f"{environment}.surface.point"] = point
            entries[f"{environment}.surface.normal"] = _vector(self.normal)
            entries[f"{environment}.surface.friction"] = f"{self.friction:.4g}"
        return entries

    def scenario(self, changes: Mapping[str, str]) -> Scenario:
        """Return the scenario, with these entries changed. Raises ScenarioError for values that are not allowed."""
        lines = (f"{key}: {value}" for key, value in (self.entries() | dict(changes)).items())
        return load_scenario(BASE).with_overrides(parse_overrides(lines)).arm()


QUESTIONS = {one.name: str(one.metadata["question"]) for one in fields(ScenarioDraft)}
"""Question of each answer, by its name."""

_COMMENTS = {
    "expected_environment": "what controller and classifier plan with",
    "actual_environment": "what the simulated arm meets; change it and look at the verdict",
}


def draft_from(answers: Mapping[str, str]) -> ScenarioDraft:
    """Return a draft with these answers, as they are typed; the others keep their default. Raises InvalidInputError."""
    values: dict[str, Any] = {}
    for name, text in answers.items():
        if name not in QUESTIONS:
            raise InvalidInputError("name", name, f"one of {', '.join(QUESTIONS)}")
        values[name] = text if name == "robot" else _number(name, text)
    return replace(ScenarioDraft(), **values)


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InvalidInputError(name, text, f"a finite number: {QUESTIONS[name]}")
    return value


def draft_text(entries: Mapping[str, str], place: Path) -> str:
    """Return the text of a scenario file with these entries; place: of the file."""
    lines = [
        f"# A task of one arm; what is not here is that of {BASE}. `impact-control plan {place}` checks it,",
        f"# `impact-control demo --scenario {place}` runs it, `impact-control scenarios --schema` lists every key.",
        f"extends: {BASE}",
    ]
    open_sections: list[str] = []
    for key, value in entries.items():
        *sections, name = key.split(".")
        pairs = zip(open_sections, sections, strict=False)
        common = next((depth for depth, (one, other) in enumerate(pairs) if one != other), len(open_sections))
        for depth, section in enumerate(sections[common:], start=common):
            comment = f"    # {_COMMENTS[section]}" if section in _COMMENTS else ""
            lines += [""] * (depth == 0) + [f"{'  ' * depth}{section}:{comment}"]
        open_sections = sections
        lines.append(f"{'  ' * len(sections)}{name}: {value}")
    return "\n".join(lines) + "\n"


def _vector(values: Vector) -> str:
    return "[" + ", ".join(f"{value:.6g}" for value in np.round(values, 9) + 0.0) + "]"
