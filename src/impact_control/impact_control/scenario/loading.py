"""Finds scenario files by name or path."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TypedDict

from impact_control.scenario.document import Node, load_document, parse_document
from impact_control.scenario.object_scene import ObjectScene
from impact_control.scenario.scene import Scene
from impact_control.scenario.schema import Scenario
from impact_control.util.errors import ScenarioError
from impact_control.util.share import shared_directory
from impact_control.util.words import meant


def config_directory() -> Path:
    """Return the directory `config` of the library, see `shared_directory`. Raises ScenarioError when there is none."""
    try:
        return shared_directory("impact_control", "config/scenarios").parent
    except FileNotFoundError as error:
        raise ScenarioError("config", "(directory)", None, str(error)) from None


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


def load_scenario(name_or_path: str | Path) -> Scene:
    """Load and check a scenario: one arm and a surface, or arms and objects where the file has a section `arms`.

    name_or_path: a name in `config/scenarios` or `config/scenarios/scenes`, or the path of a `.yaml` file. Raises
    ScenarioError with file and line, key, value, and what is allowed.
    """
    return scene_from_document(load_document(_find(name_or_path)))


def scenario_from_text(text: str, origin: str) -> Scene:
    """Build a scenario from the text of `Scene.to_yaml`, as recorders keep it.

    origin: what errors name as the file. Raises ScenarioError.
    """
    return scene_from_document(parse_document(text, Path(origin)))


def scene_from_document(document: Node) -> Scene:
    """Check a document and build the scene it describes. Raises ScenarioError."""
    return ObjectScene.read(document) if "arms" in document.value else Scenario.read(document)


class Parts(TypedDict):
    """Names of what is really there of a scene."""

    arms: tuple[str, ...]
    objects: tuple[str, ...]


def parts_of(scene: Scene) -> Parts:
    """Return the names of arms and objects that are really there, for `describe_graph`; none where an arm is alone."""
    return {"arms": tuple(name for name in scene.arm_names if name), "objects": tuple(scene.actual_objects)}


def _directory() -> Path:
    return config_directory() / "scenarios"


def _names(directory: Path) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in directory.glob("*.yaml")))


def _find(name_or_path: str | Path) -> Path:
    """Return the file of a name, or the path itself."""
    try:
        path = Path(name_or_path).expanduser()
    except (RuntimeError, ValueError) as error:
        raise ScenarioError(str(name_or_path), "(file)", str(error), "the path of a file") from None
    if path.suffix in (".yaml", ".yml"):
        return path
    directories = (_directory(), _directory() / "scenes")
    for directory in directories:
        if str(name_or_path) in _names(directory):
            return directory / f"{name_or_path}.yaml"
    names = [name for directory in directories for name in _names(directory)]
    allowed = f"{meant(str(name_or_path), names)}a .yaml file, or one of {', '.join(names)}"
    raise ScenarioError(str(_directory()), "(name)", str(name_or_path), allowed)
