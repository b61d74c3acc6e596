"""Scenario files as trees of plain values that remember where each value was written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.scalarbool import ScalarBoolean

from impact_control.scenario.shipped import available_scenarios, available_scenes, find_scenario
from impact_control.util.errors import ScenarioError
from impact_control.util.words import nearest
from impact_control.util.yaml_text import LARGEST_FILE, parse_yaml, regular_text

EXTENDS = "extends"
"""Key of the file, relative to the one it stands in, or name of the shipped scenario, whose entries hold where this one
has none."""

INCLUDE = "include"
"""Key that lists files, relative to the one it stands in, whose sections are laid over the extended file, in their
order, and under the entries of this one: the output of `impact-control calibrate` and `tune`."""

NAME = "name"
"""Key of the scenario's name. It is not inherited; left out, it is the name of the file."""

ROBOT_FILES = ("model", "end_effector")
"""Keys of the section `robot` that may name a file, relative to the one they stand in."""

LARGEST = 100_000
"""Values in a file, aliases written out: a few lines of them could otherwise stand for more than fit anywhere."""

_OVERRIDE = "override"
"""Origin of what is in no file."""

_KEY_AND_VALUE = re.compile(r"\s*([\w.\[\]-]+?)\s*[=:]\s*(.*)", re.DOTALL)

_YAML_HINT = "YAML 1.2 without duplicate keys; an array with a unit is written `1.0, 2.0, 3.0 m`, no brackets"


@dataclass(frozen=True)
class Node:
    """A mapping from key to Node, or a plain value (list, str, float, int, bool, None), and its origin.

    The mappings inside a list are Nodes, too. origin: `path:line`, or the word `override`.
    """

    value: Any
    origin: str

    @property
    def is_mapping(self) -> bool:
        """True for a section."""
        return isinstance(self.value, dict)

    def plain(self) -> Any:
        """Return the value without origins."""
        if isinstance(self.value, list):
            return [item.plain() if isinstance(item, Node) else item for item in self.value]
        return {key: node.plain() for key, node in self.value.items()} if self.is_mapping else self.value


def load_document(path: Path) -> Node:
    """Read a scenario file and everything it extends and includes.

    Raises ScenarioError when a file cannot be read, is no YAML mapping, extends itself, or is included and not plain.
    """
    try:
        whole = path.resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise ScenarioError(str(path), "", str(error), "the path of a file") from None
    return _load(whole, ())


def overlay(base: Node, top: Node) -> Node:
    """Lay one tree over another: sections are merged key by key, anything else is replaced."""
    if not (base.is_mapping and top.is_mapping):
        return top
    merged = dict(base.value)
    for key, node in top.value.items():
        merged[key] = overlay(merged[key], node) if key in merged else node
    return Node(merged, top.origin)


def override_tree(overrides: Mapping[str, Any]) -> Node:
    """Turn {"simulation.seed": 3, ...} into a tree to lay over a document."""
    tree = Node({}, _OVERRIDE)
    for key, value in overrides.items():
        tree = overlay(tree, nested(key, _from_plain(value)))
    return tree


def nested(key: str, node: Node) -> Node:
    """Return the sections around an entry with a dotted key."""
    for part in reversed(key.split(".")):
        node = Node({part: node}, node.origin)
    return node


def parse_overrides(lines: Iterable[str]) -> dict[str, Any]:
    """Return overrides that are written as `key=value` or `key: value`, the values as they would stand in a file.

    Raises ScenarioError.
    """
    overrides: dict[str, Any] = {}
    for line in lines:
        words = _KEY_AND_VALUE.fullmatch(line)
        if words is None:
            raise ScenarioError(_OVERRIDE, "(key)", line, "key=value, such as task.impact.speed='0.3 m/s'")
        try:
            overrides[words[1]] = _plain_scalar(parse_yaml(words[2]))
        except YAMLError as error:
            raise ScenarioError(_OVERRIDE, words[1], words[2], f"{_YAML_HINT}: {error}") from None
    return overrides


def _from_plain(value: Any) -> Node:
    if isinstance(value, Mapping):
        return Node({str(key): _from_plain(item) for key, item in value.items()}, _OVERRIDE)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        value = [_from_plain(item) if isinstance(item, Mapping) else item for item in value]
    return Node(value, _OVERRIDE)


def _load(path: Path, extended_by: tuple[Path, ...]) -> Node:
    if path in extended_by:
        chain = " -> ".join(p.name for p in (*extended_by, path))
        raise ScenarioError(str(extended_by[-1]), EXTENDS, path.name, f"a file that does not lead back: {chain}")
    node = _with_robot_files(_read(path), path.parent)
    own = dict(node.value)
    base, included = own.pop(EXTENDS, None), own.pop(INCLUDE, Node([], node.origin))
    own.setdefault(NAME, Node(path.stem, node.origin))
    node = Node(own, node.origin)
    names = [included.value] if isinstance(included.value, str) else included.value
    if not isinstance(names, list):
        raise ScenarioError(included.origin, INCLUDE, included.plain(), "the name of a file, or a list of them")
    for name in reversed(names):
        node = overlay(_sections(_neighbour(name, INCLUDE, included.origin, path)), node)
    if base is None:
        return node
    return overlay(_load(_extended(base, path), (*extended_by, path)), node)


def _extended(base: Node, path: Path) -> Path:
    """Return the file that the file `path` extends."""
    name = base.plain()
    if isinstance(name, str) and Path(name).suffix not in (".yaml", ".yml"):
        with suppress(ScenarioError):
            return find_scenario(name).resolve()
    return _neighbour(name, EXTENDS, base.origin, path)


def _neighbour(name: Any, key: str, origin: str, path: Path) -> Path:
    """Return the file that a value of `key` in the file `path` names."""
    target = path.parent / name if isinstance(name, str) else None
    if target is None or not _is_file(target):
        neighbours = sorted(p.name for p in path.parent.glob("*.yaml") if p != path)
        known, also = neighbours, ""
        if key == EXTENDS:
            known = [*neighbours, *available_scenarios(), *available_scenes()]
            also = ", or the name of a shipped scenario"
        allowed = f"a file relative to this one: {', '.join(neighbours) or 'there is none'}{also}"
        raise ScenarioError(origin, key, name, f"{allowed}{nearest(name, known) if isinstance(name, str) else ''}")
    return target.resolve()


def _sections(path: Path) -> Node:
    """Read a file that is included: sections of a scenario and nothing about files or names."""
    node = _with_robot_files(_read(path), path.parent)
    for key in (EXTENDS, INCLUDE, NAME):
        if key in node.value:
            raise ScenarioError(node.value[key].origin, key, node.value[key].plain(), "sections only: it is included")
    return node


def _is_file(path: Path) -> bool:
    """Return whether a file is there; there is none under a name that is too long."""
    try:
        return path.is_file()
    except OSError:
        return False


def _with_robot_files(document: Node, directory: Path) -> Node:
    """Return the document with the whole paths of the files that its section `robot` names."""
    robot = document.value.get("robot")
    if robot is None or not robot.is_mapping:
        return document
    entries = dict(robot.value)
    for key in ROBOT_FILES:
        node = entries.get(key)
        if node is not None and isinstance(node.value, str) and node.value.endswith(".yaml"):
            entries[key] = Node(str(directory / node.value), node.origin)
    return Node({**document.value, "robot": Node(entries, robot.origin)}, document.origin)


def _read(path: Path) -> Node:
    if path.suffix != ".yaml":
        raise ScenarioError(str(path), "", f"a file that ends in {path.suffix!r}", "the ending .yaml")
    try:
        text = regular_text(path)
    except (OSError, UnicodeDecodeError) as error:
        allowed = f"a regular file in UTF-8 of at most {LARGEST_FILE} bytes"
        found = getattr(error, "strerror", None) or str(error)
        raise ScenarioError(str(path), "", found, allowed) from None
    return parse_document(text, path)


def parse_document(text: str, path: Path) -> Node:
    """Read the text of one file, `path` in errors. Raises ScenarioError when it is no YAML mapping."""
    try:
        tree = parse_yaml(text, "rt")
    except MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{path}:{mark.line + 1}" if mark else str(path)
        raise ScenarioError(place, "", error.problem or str(error), _YAML_HINT) from None
    except YAMLError as error:
        raise ScenarioError(str(path), "", str(error), _YAML_HINT) from None
    try:
        if not isinstance(tree, CommentedMap):
            raise ScenarioError(str(path), "", "empty" if tree is None else "no mapping", "a mapping of sections")
        if (size := _size(tree, {})) > LARGEST:
            raise ScenarioError(str(path), "", f"{size} values", f"at most {LARGEST}, aliases written out")
        return _with_dotted_keys(_convert(tree, path, 1, ""))
    except RecursionError:
        raise ScenarioError(str(path), "", "an alias inside its own value", "a tree of a few levels") from None


def _with_dotted_keys(document: Node) -> Node:
    """Lay entries with dotted keys, `task.impact.speed: 0.3 m/s`, over the sections that they are of."""
    sections = {key: node for key, node in document.value.items() if "." not in key}
    whole = Node(sections, document.origin)
    for key, node in document.value.items():
        if "." in key:
            whole = overlay(whole, nested(key, node))
    return whole


def _size(raw: Any, known: dict[int, int]) -> int:
    """Return how many values a tree has when its aliases are written out, without doing so. known: sizes by id."""
    items = raw.values() if isinstance(raw, CommentedMap) else raw if isinstance(raw, CommentedSeq) else ()
    if id(raw) not in known:
        known[id(raw)] = 1 + sum(_size(item, known) for item in items)
    return known[id(raw)]


def _convert(raw: Any, path: Path, line: int, key: str) -> Node:
    """Strip what the YAML library adds to values, keep the lines."""
    origin = f"{path}:{line}"
    if isinstance(raw, CommentedMap):
        children = {}
        for name, item in raw.items():
            if not isinstance(name, str):
                raise ScenarioError(origin, key or "key", name, "keys that are words")
            dotted = f"{key}.{name}" if key else name
            children[str(name)] = _convert(item, path, _line_of(raw, name, line), dotted)
        return Node(children, origin)
    if isinstance(raw, CommentedSeq):
        items = [_convert(item, path, _line_of(raw, k, line), f"{key}[{k}]") for k, item in enumerate(raw)]
        return Node([item if item.is_mapping else item.plain() for item in items], origin)
    return Node(_plain_scalar(raw), origin)


def _line_of(raw: CommentedMap | CommentedSeq, item: str | int, line: int) -> int:
    """Return the line in which an item stands, `line` where the YAML library does not know."""
    return int(raw.lc.data.get(item, (line - 1,))[0]) + 1 if raw.lc.data else line


def _plain_scalar(raw: Any) -> Any:
    if isinstance(raw, bool | ScalarBoolean):
        return bool(raw)
    for kind in (int, float, str):
        if isinstance(raw, kind):
            return kind(raw)
    return raw
