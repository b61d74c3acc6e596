"""Calibrated thresholds as a YAML file: the entries of a scenario's detection section, and where they come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from ruamel.yaml.error import YAMLError

from impact_control.errors import InvalidInputError, ScenarioError
from impact_control.identification.threshold_calibration import Calibration
from impact_control.types import Vector
from impact_control.yaml_text import parse_yaml, yaml_of

SECONDS_PER_HOUR = 3600.0
_SECTION = "detection"


@dataclass(frozen=True)
class Provenance:
    """Where thresholds come from. Raises InvalidInputError for an empty text.

    recording: path or name of the recording; made: day of the calibration; robot, end_effector: names of their data
    files; motion: what the arm did, in words.
    """

    recording: str
    made: date
    robot: str
    end_effector: str
    motion: str

    def __post_init__(self) -> None:
        for name in ("recording", "robot", "end_effector", "motion"):
            if not str(getattr(self, name)).strip():
                raise InvalidInputError(name, getattr(self, name), "a text that is not empty")


def quantity(values: Vector | float, unit: str) -> str:
    """Return numbers with their unit as a scenario file writes them, exactly: `30.0, 30.0 1/s`."""
    return f"{', '.join(repr(float(value)) for value in np.atleast_1d(values))} {unit}"


def store_thresholds(
    path: Path | str,
    calibration: Calibration,
    provenance: Provenance,
    settings: Mapping[str, str],
    *,
    detector: str = "residual_rate",
    unit: str = "Nm/s",
) -> None:
    """Write thresholds to a new file or over an old one.

    settings: the other entries of the detection section with which they were calibrated and belong together, as a
    scenario writes them, e.g. {"observer_gain": "30 1/s", "refractory_time": "50 ms"}; see `quantity`.
    detector, unit: whose thresholds they are, and in which unit.
    """
    document = {
        _SECTION: {**settings, detector: {"threshold": quantity(calibration.threshold, unit)}},
        "provenance": {
            "recording": provenance.recording,
            "made": provenance.made.isoformat(),
            "robot": provenance.robot,
            "end_effector": provenance.end_effector,
            "motion": provenance.motion,
            "samples": calibration.samples,
            "duration": f"{calibration.duration!r} s",
            "false_alarms_per_hour": calibration.false_alarm_rate * SECONDS_PER_HOUR,
            "confidence": calibration.confidence,
            "block": f"{calibration.block!r} s",
            "blocks": calibration.blocks,
            "extrapolation": calibration.extrapolation,
            "law": "Gumbel, of the maxima of the blocks",
            "location": quantity(calibration.location, unit),
            "scale": quantity(calibration.scale, unit),
            "largest": quantity(calibration.largest, unit),
            "objections": list(calibration.objections),
        },
    }
    Path(path).write_text(yaml_of(document), encoding="utf-8")


def load_thresholds(path: Path | str) -> dict[str, str]:
    """Return the stored entries by dotted key, as `Scenario.with_overrides` takes them, which checks their values.

    Raises ScenarioError naming file, key and what is allowed.
    """
    name = str(path)
    try:
        content: Any = parse_yaml(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ScenarioError(name, "(whole file)", error.strerror, "a readable file") from error
    except (YAMLError, UnicodeDecodeError) as error:
        raise ScenarioError(name, "(whole file)", str(error), "valid YAML in UTF-8") from error
    if not isinstance(content, dict):
        raise ScenarioError(name, "(whole file)", content, f"a mapping with {_SECTION} and provenance")
    for key in (_SECTION, "provenance"):
        if not isinstance(content.get(key), dict) or not content[key]:
            raise ScenarioError(name, key, content.get(key), "a mapping that is not empty")
    return dict(_dotted(_SECTION, content[_SECTION]))


def _dotted(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the entries below `key`, each by its dotted key."""
    if not isinstance(value, dict):
        yield key, str(value)
        return
    for name, below in value.items():
        yield from _dotted(f"{key}.{name}", below)
