"""Recordings of real arms without contact, as a file names them, and their halves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from ruamel.yaml.error import YAMLError

from impact_control.recording.defects import CheckedSamples
from impact_control.recording.log import load_log_columns
from impact_control.recording.opening import open_recording
from impact_control.replay.file import usable_samples
from impact_control.scenario import Scenario, load_scenario, robot_of
from impact_control.util.errors import InvalidInputError
from impact_control.util.yaml_text import parse_yaml

_KEYS = ("file", "robot", "columns")


@dataclass(frozen=True, eq=False)
class Source:
    """A recording: its name, the scenario with whose observer and shipped thresholds it is looked at, its samples."""

    name: str
    scenario: Scenario
    samples: CheckedSamples

    def half(self, second: bool) -> CheckedSamples:
        """Return the first or the second half of the samples."""
        middle = self.samples.time.size // 2
        return part_of(self.samples, slice(middle, None) if second else slice(0, middle))


def part_of(samples: CheckedSamples, rows: slice | np.ndarray) -> CheckedSamples:
    """Return some rows of checked samples, without the words on their defects."""
    names = ("time", "position", "velocity", "torque", "usable")
    return replace(samples, defects=(), **{name: getattr(samples, name)[rows] for name in names})


def load_sources(path: Path) -> list[Source]:
    """Return the recordings that a YAML file lists under `recordings`, with file, robot and columns of each.

    Paths are relative to that file. Raises InvalidInputError, RecordingError, ScenarioError.
    """
    allowed = f"a YAML file with `recordings`, a list of sections with the keys {', '.join(_KEYS)}"
    try:
        content = parse_yaml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise InvalidInputError("file", path, f"{allowed}: {' '.join(str(error).split())}") from error
    listed = content.get("recordings") if isinstance(content, dict) else None
    if not isinstance(listed, list) or not listed:
        raise InvalidInputError("file", path, allowed)
    return [_source(path, entry, allowed) for entry in listed]


def _source(path: Path, entry: Any, allowed: str) -> Source:
    if not isinstance(entry, dict) or sorted(entry) != sorted(_KEYS) or not all(map(_is_text, entry.values())):
        raise InvalidInputError(f"{path}: recordings", entry, allowed)
    scenario = load_scenario("tabletop").with_overrides({"robot.model": entry["robot"]}).arm()
    columns = load_log_columns(path.parent / entry["columns"])
    file = open_recording(path.parent / entry["file"], columns=columns)
    samples = usable_samples(file, file.arm(""), robot_of(scenario.robot), scenario.control.period)
    usable = part_of(samples, samples.usable)
    return Source(Path(entry["file"]).stem, scenario, usable)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)
