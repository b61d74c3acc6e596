"""The ranges in which random tasks were tried, `config/operating_envelope.yaml`, and whether a task lies in them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from impact_control.robots import known_names
from impact_control.scenario import Scenario, Scene, available_scenarios, config_directory, load_scenario
from impact_control.scenario.document import load_document
from impact_control.scenario.fields import (
    NOT_NEGATIVE,
    POSITIVE,
    Entry,
    Number,
    Numbers,
    Range,
    Refusal,
    Section,
    Texts,
)
from impact_control.scenario.settings import entries
from impact_control.scenario.validation import build
from impact_control.util.errors import ScenarioError
from impact_control.util.types import Vector

FILE = "operating_envelope.yaml"
"""In the directory `config`."""

_SHARP = 1e-9
"""Part of a value by which it may lie outside its range: it was converted from another unit."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Ranges:
    """Smallest and largest value (2,) of what is drawn for a task; uniform between them, each by itself."""

    x: Annotated[Vector, Numbers(2, "m"), "`task.impact.position` along x of A"]
    y: Annotated[Vector, Numbers(2, "m"), "`task.impact.position` along y of A"]
    z: Annotated[Vector, Numbers(2, "m"), "`task.impact.position` along z of A"]
    tilt: Annotated[
        Vector,
        Numbers(2, "rad", Range(0.0, math.pi / 2.0)),
        "angle of `expected_environment.surface.normal` to the vertical, about any horizontal axis",
    ]
    approach_angle: Annotated[
        Vector, Numbers(2, "rad", Range(0.0, math.pi / 2.0, open_lower=True)), "`task.impact.approach_angle`"
    ]
    speed: Annotated[Vector, Numbers(2, "m/s", POSITIVE), "`task.impact.speed`"]
    friction: Annotated[Vector, Numbers(2, "", NOT_NEGATIVE), "`expected_environment.surface.friction`"]
    force: Annotated[Vector, Numbers(2, "N", NOT_NEGATIVE), "`task.post.force`"]
    slide: Annotated[Vector, Numbers(2, "m", NOT_NEGATIVE), "`task.post.slide`"]
    stiffness: Annotated[
        Vector,
        Numbers(2, "N/m^1.5", POSITIVE),
        "`actual_environment.surface.contact.stiffness`, uniform in its logarithm; the damping goes with it",
    ]

    def check(self) -> None:
        """Require that no range ends before it begins."""
        for name in entries(Ranges):
            lower, upper = getattr(self, name)
            if lower > upper:
                raise Refusal(name, [float(lower), float(upper)], "the smallest value before the largest")


@dataclass(frozen=True, eq=False, kw_only=True)
class Deviations:
    """Deviations of the actual from the expected environment that have to be found unexpected."""

    tilt: Annotated[
        float, Number("rad", Range(0.0, math.pi / 4.0, open_lower=True)), "of the surface, about any axis in it"
    ]
    time: Annotated[float, Number("s", POSITIVE), "by which the surface is met early or late"]
    friction: Annotated[float, Number("", POSITIVE), "of the surface, more or less, but not below 0"]


@dataclass(frozen=True, eq=False, kw_only=True)
class OperatingEnvelope:
    """Distribution from which tasks are drawn."""

    name: Annotated[str, "name; that of the file when left out"]
    scenario: Annotated[str, "name of the scenario with the entries that are not drawn"]
    robots: Annotated[tuple[str, ...], Texts(), "`robot.model`, each of which gets tasks of its own"]
    end_effector: Annotated[str, "`robot.end_effector`"]
    ranges: Annotated[Ranges, "what is drawn"]
    deviations: Annotated[Deviations, "what is then different from what is expected"]

    def check(self) -> None:
        """Require a scenario with a surface, and robots, that come with the package and fit together.

        What is kept of a study knows the files of the package only.
        """
        for key, names, known in (
            ("scenario", (self.scenario,), available_scenarios()),
            ("robots", self.robots, known_names()),
        ):
            if unknown := [name for name in names if name not in known]:
                raise Refusal(key, unknown[0], f"one of {', '.join(known)}")
        base = load_scenario(self.scenario)
        if base.actual_surface is None:
            raise Refusal("scenario", self.scenario, "a scenario with a surface that is there")
        for robot in self.robots:
            try:
                base.with_overrides({"robot.model": robot, "robot.end_effector": self.end_effector})
            except ScenarioError as error:
                key = "end_effector" if error.key == "robot.end_effector" else "robots"
                raise Refusal(key, self.end_effector if key == "end_effector" else robot, error.allowed) from None


def load_envelope(path: Path | None = None) -> OperatingEnvelope:
    """Load a file of ranges, by default the one of the package. Raises ScenarioError."""
    return build(OperatingEnvelope, load_document(path or config_directory() / FILE), {})


@lru_cache(maxsize=1)
def verified_envelope() -> OperatingEnvelope:
    """Return the envelope of the package. Raises ScenarioError."""
    return load_envelope()


@dataclass(frozen=True)
class Departure:
    """An entry of a task that lies outside what was verified: its key, its value and what was verified, in words."""

    key: str
    value: str
    verified: str

    def __str__(self) -> str:
        """Return it in one line."""
        return f"{self.key} is {self.value}, outside what was verified: {self.verified}"


_PLANNED = {
    **{axis: f"task.impact.position, {axis}" for axis in "xyz"},
    "tilt": "expected_environment.surface.normal, tilt",
    "approach_angle": "task.impact.approach_angle",
    "speed": "task.impact.speed",
    "friction": "expected_environment.surface.friction",
    "force": "task.post.force",
    "slide": "task.post.slide",
}
"""Key of each entry of `Ranges` that a planner knows: not of the stiffness."""


def planned_values(scenario: Scenario) -> dict[str, float]:
    """Return the values of a task under the names of `Ranges`, those that a planner knows."""
    impact, post, surface = scenario.task.impact, scenario.task.post, scenario.expected_environment.surface
    x, y, z = impact.position.tolist()
    return {
        "x": x,
        "y": y,
        "z": z,
        "tilt": math.atan2(math.hypot(surface.normal[0], surface.normal[1]), surface.normal[2]),
        "approach_angle": impact.approach_angle,
        "speed": impact.speed,
        "friction": surface.friction,
        "force": post.force,
        "slide": post.slide,
    }


def departures(scene: Scene, envelope: OperatingEnvelope | None = None) -> tuple[Departure, ...]:
    """Return the entries of a task outside an envelope, by default the verified one.

    Of control, detection and classification those that are not the ones of the envelope's scenario. None for arms that
    hit objects: no envelope of such tasks has been verified.
    """
    on_surfaces = [arm for arm in map(scene.arm, scene.arm_names) if arm.target is None]
    return tuple(one for arm in on_surfaces for one in _departures(arm, envelope or verified_envelope()))


def _departures(scenario: Scenario, envelope: OperatingEnvelope) -> Iterator[Departure]:
    robot = scenario.robot
    for key, name, verified in (
        ("robot.model", robot.model, envelope.robots),
        ("robot.end_effector", robot.end_effector, (envelope.end_effector,)),
    ):
        if name not in verified:
            yield Departure(key, name, ", ".join(verified))
    for name, value in planned_values(scenario).items():
        lower, upper = getattr(envelope.ranges, name)
        slack = _SHARP * max(abs(lower), abs(upper))
        if not lower - slack <= value <= upper + slack:
            yield Departure(_PLANNED[name], _range_text(name, value), _range_text(name, lower, upper))
    base = _scenario_of(envelope.scenario)
    for section in ("control", "detection", "classification"):
        yield from _other_settings(section, getattr(scenario, section), getattr(base, section))


def _range_text(name: str, *values: float) -> str:
    """Return values of an entry of `Ranges` in words, angles in degrees."""
    unit = getattr(entries(Ranges)[name].kind, "unit", "")
    if unit == "rad":
        unit, values = "deg", tuple(map(math.degrees, values))
    return f"{' to '.join(f'{value:.6g}' for value in values)} {unit}".rstrip()


@lru_cache(maxsize=4)
def _scenario_of(name: str) -> Scenario:
    """Return a scenario that is read once: every goal is compared with it."""
    return load_scenario(name).arm()


def _other_settings(key: str, given: object, verified: object) -> Iterator[Departure]:
    """Yield the entries of a section that differ."""
    section: type = type(verified)
    for name, entry in entries(section).items():
        value, expected = getattr(given, name), getattr(verified, name)
        if isinstance(entry.kind, Section) and value is not None and expected is not None:
            yield from _other_settings(f"{key}.{name}", value, expected)
        elif not np.array_equal(value, expected):
            yield Departure(f"{key}.{name}", _setting_text(entry, value), _setting_text(entry, expected))


def _setting_text(entry: Entry, value: Any) -> str:
    if value is None:
        return "left out"
    if isinstance(entry.kind, Section):
        return "given"
    unit = getattr(entry.kind, "unit", "")
    numbers = isinstance(value, float | np.ndarray)
    text = ", ".join(f"{one:.6g}" for one in np.ravel(value)) if numbers else str(value)
    return f"{text} {unit}".rstrip()
