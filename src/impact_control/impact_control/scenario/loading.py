"""Finds scenario files by name or path."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import TypedDict

from impact_control.errors import ScenarioError
from impact_control.scenario.document import Node, load_document, parse_document
from impact_control.scenario.scene import SceneScenario, scene_from_document
from impact_control.scenario.schema import Scenario, scenario_from_document

_PACKAGE = "impact_control"

_CHECKOUT = Path(__file__).resolve().parents[4]
"""Made once: pathlib interns the parts of every path it makes. What is interned and forgotten makes Python build its
table of such names anew, after some 40 min of tasks: 2 MB, and milliseconds in which the loop stands still."""


def config_directory() -> Path:
    """Return the directory `config`: of the checkout this file lies in, else of an installation.

    Searched are the checkout, `$AMENT_PREFIX_PATH` and the Python prefix, each below `share/impact_control`.
    Raises ScenarioError when there is none.
    """
    prefixes = [Path(p) for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    installed = [prefix / "share" / _PACKAGE for prefix in (*prefixes, Path(sys.prefix))]
    for root in (_CHECKOUT, *installed):
        if (root / "config" / "scenarios").is_dir():
            return root / "config"
    searched = ", ".join(str(root / "config") for root in (_CHECKOUT, *installed))
    raise ScenarioError(searched, "(directory)", None, "one of these directories has to hold `scenarios`")


def available_scenarios() -> tuple[str, ...]:
    """List the names in `config/scenarios`."""
    return _names(_directory())


def available_scenes() -> tuple[str, ...]:
    """List the names in `config/scenarios/scenes`."""
    return _names(_directory() / "scenes")


def scenario_digest() -> str:
    """Return a digest of all files in `config/scenarios`, which is another one when a scenario or a scene changes."""
    digest = hashlib.sha256()
    for path in sorted(_directory().rglob("*.yaml")):
        digest.update(path.relative_to(_directory()).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def load_scenario(name_or_path: str | Path) -> Scenario:
    """Load and check a scenario.

    name_or_path: a name in `config/scenarios`, or the path of a `.yaml` file. Raises ScenarioError with
    file and line, key, value, and what is allowed.
    """
    return scenario_from_document(load_document(_find(name_or_path, _directory(), available_scenarios())))


def load_scene(name_or_path: str | Path) -> SceneScenario:
    """Load and check a scene: arms and objects.

    name_or_path: a name in `config/scenarios/scenes`, or the path of a `.yaml` file. Raises ScenarioError as
    `load_scenario`.
    """
    return scene_from_document(load_document(_find(name_or_path, _directory() / "scenes", available_scenes())))


def load_any(name_or_path: str | Path) -> Scenario | SceneScenario:
    """Load and check a scenario with one arm, or a scene: a file is a scene when it names arms.

    Raises ScenarioError as `load_scenario`.
    """
    names = {name: _directory() for name in available_scenarios()}
    names |= {name: _directory() / "scenes" for name in available_scenes()}
    directory = names.get(str(name_or_path), _directory())
    document = load_document(_find(name_or_path, directory, tuple(names)))
    return any_from_document(document)


def any_from_document(document: Node) -> Scenario | SceneScenario:
    """Check a document and build what it describes, see `load_any`. Raises ScenarioError."""
    return scene_from_document(document) if "arms" in document.value else scenario_from_document(document)


class Parts(TypedDict):
    """Names of what is really there of a scene."""

    arms: tuple[str, ...]
    objects: tuple[str, ...]


def parts_of(scenario: Scenario | SceneScenario) -> Parts:
    """Return the names of `arms` and `objects` that are really there, for `describe_graph`; none of a scenario."""
    if isinstance(scenario, Scenario):
        return {"arms": (), "objects": ()}
    there = tuple(name for name, box in scenario.actual_environment.objects.items() if box is not None)
    return {"arms": tuple(scenario.arms), "objects": there}


def _directory() -> Path:
    return config_directory() / "scenarios"


def _names(directory: Path) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in directory.glob("*.yaml")))


def _find(name_or_path: str | Path, directory: Path, names: tuple[str, ...]) -> Path:
    """Return the file of a name in a directory, or the path itself."""
    try:
        path = Path(name_or_path).expanduser()
    except (RuntimeError, ValueError) as error:
        raise ScenarioError(str(name_or_path), "(file)", str(error), "the path of a file") from None
    if path.suffix in (".yaml", ".yml"):
        return path
    if str(name_or_path) not in names:
        allowed = f"one of {', '.join(names)}, or a .yaml file"
        raise ScenarioError(str(directory), "(name)", str(name_or_path), allowed)
    return directory / f"{name_or_path}.yaml"


def scenario_from_text(text: str, origin: str) -> Scenario:
    """Build a scenario from the text of `Scenario.to_yaml`, as recorders keep it.

    origin: what errors name as the file. Raises ScenarioError.
    """
    return scenario_from_document(parse_document(text, Path(origin)))


def any_from_text(text: str, origin: str) -> Scenario | SceneScenario:
    """As `scenario_from_text`, of a scenario or a scene. Raises ScenarioError."""
    return any_from_document(parse_document(text, Path(origin)))
