"""Turns a document tree into the dataclasses of the schema, checking every entry on the way."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, TypeVar

from impact_control.scenario.document import Node
from impact_control.scenario.fields import REQUIRED, Entry, NamedSections, Refusal, Section, Sections, Sizes
from impact_control.scenario.settings import entries
from impact_control.util.errors import ScenarioError
from impact_control.util.words import nearest

_T = TypeVar("_T")


def build(section_type: type[_T], node: Node, sizes: Sizes, key: str = "", **extra: Any) -> _T:
    """Read one section and everything below it.

    key: dotted path of the section; sizes: the named array sizes; extra: values of fields that are no entries. Where
    entries have to fit together the section has a method `check`, which raises Refusal when they do not. Raises
    ScenarioError for keys that are unknown or missing and for values that are refused.
    """
    if not node.is_mapping:
        raise ScenarioError(node.origin, key, node.value, "a section with keys of its own")
    plain_type: type = section_type
    declared = entries(plain_type)
    for name, child in node.value.items():
        if name not in declared:
            allowed = f"this key is unknown; known: {', '.join(declared)}{nearest(name, declared)}"
            raise ScenarioError(child.origin, _join(key, name), child.plain(), allowed)
    values: dict[str, Any] = {}
    for name, declaration in declared.items():
        values[name] = _entry(declaration, node, name, key, sizes, values)
    section = section_type(**values, **extra)
    if hasattr(section, "check"):
        try:
            section.check()
        except Refusal as refusal:
            dotted = _join(key, refusal.key)
            raise ScenarioError(_origin(node, refusal.key), dotted, refusal.value, refusal.allowed) from None
    return section


def _entry(
    declaration: Entry, section: Node, name: str, section_key: str, sizes: Sizes, siblings: dict[str, Any]
) -> Any:
    key = _join(section_key, name)
    kind = declaration.kind
    if name in section.value:
        node: Node = section.value[name]
    elif declaration.default is REQUIRED:
        raise ScenarioError(section.origin, key, None, kind.allowed())
    elif declaration.default is None:
        return None
    else:
        node = Node(declaration.default, section.origin)
    if isinstance(kind, Section) and node.is_mapping:
        return build(kind.type, node, sizes, key)
    if isinstance(kind, Sections) and isinstance(node.value, list):
        items = (item if isinstance(item, Node) else Node(item, node.origin) for item in node.value)
        return tuple(build(kind.type, item, sizes, f"{key}[{k}]") for k, item in enumerate(items))
    if isinstance(kind, NamedSections) and node.is_mapping:
        return MappingProxyType({name: _named(kind, item, sizes, f"{key}.{name}") for name, item in node.value.items()})
    try:
        return kind.parse(node.plain(), sizes, siblings)
    except Refusal as refusal:
        raise ScenarioError(node.origin, key, refusal.value, refusal.allowed) from None


def _named(kind: NamedSections, node: Node, sizes: Sizes, key: str) -> Any:
    """Read one of several sections under names; None for one that is taken away."""
    return None if kind.none_allowed and node.value == "none" else build(kind.type, node, sizes, key)


def _origin(node: Node, key: str) -> str:
    """Return where the entry stands, or the nearest section around it when it was left out."""
    for part in key.split("."):
        name, _, index = part.partition("[")
        if not (node.is_mapping and name in node.value):
            break
        node = node.value[name]
        if index:
            node = node.value[int(index.rstrip("]"))]
    return node.origin


def _join(section: str, name: str) -> str:
    return f"{section}.{name}" if section and name else section or name
