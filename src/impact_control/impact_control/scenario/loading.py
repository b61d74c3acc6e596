"""Scenarios from files, by name or path."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

from impact_control.scenario.document import Node, load_document, parse_document
from impact_control.scenario.object_scene import ObjectScene
from impact_control.scenario.scene import Scenario, Scene
from impact_control.scenario.shipped import find_scenario


def load_scenario(name_or_path: str | Path) -> Scene:
    """Load and check a scenario: one arm and a surface, or arms and objects where the file has a section `arms`.

    name_or_path: a name in `config/scenarios` or `config/scenarios/scenes`, or the path of a `.yaml` file. Raises
    ScenarioError with file and line, key, value, and what is allowed.
    """
    return scene_from_document(load_document(find_scenario(name_or_path)))


def scenario_from_text(text: str, origin: str) -> Scene:
    """Build a scenario from the text of `Scene.to_yaml`, as recorders keep it.

    origin: what errors name as the file. Raises ScenarioError.
    """
    return scene_from_document(parse_document(text, Path(origin)))


def scene_from_document(document: Node) -> Scene:
    """Check a document and build the scene it describes. Raises ScenarioError."""
    return ObjectScene.read(document) if "arms" in document.value else Scenario.read(document)


class Parts(TypedDict):
    """Names of what is really there of a scene; of arms at least one, "" where an arm is alone."""

    arms: tuple[str, ...]
    objects: tuple[str, ...]


def parts_of(scene: Scene) -> Parts:
    """Return the names of arms and objects that are really there, for `describe_graph`."""
    return {"arms": scene.arm_names, "objects": tuple(scene.actual_objects)}
