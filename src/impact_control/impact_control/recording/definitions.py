"""Message definitions: the text that travels inside a bag, and the fields it describes."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from impact_control.errors import InvalidInputError

PRIMITIVES: Mapping[str, str] = {
    "bool": "?",
    "byte": "u1",
    "char": "u1",
    "int8": "i1",
    "uint8": "u1",
    "int16": "i2",
    "uint16": "u2",
    "int32": "i4",
    "uint32": "u4",
    "int64": "i8",
    "uint64": "u8",
    "float32": "f4",
    "float64": "f8",
}
"""Numeric types of a .msg file and their numpy type codes."""

_SEPARATOR = "=" * 80
_DIGITS = 10
"""Of the largest array there can be: its size travels in 32 bits."""

_SECTION = re.compile(r"^=+\nMSG: (\S+)\n", re.MULTILINE)
_ENTRY = re.compile(
    r"(?P<type>[A-Za-z][\w/]*)(?:<=\d+)?"
    r"(?P<array>\[(?P<bounded><=)?(?P<size>\d*)\])?"
    r"\s+(?P<name>[A-Za-z]\w*)\s*(?:=\s*(?P<constant>.*))?"
)


@dataclass(frozen=True)
class Field:
    """One field of a message.

    Attributes:
        name: its name.
        type: a key of `PRIMITIVES`, `string`, `wstring`, or a message as `package/Type`.
        is_array: array or sequence of that type.
        size: number of elements of an array of fixed size; None for a sequence, whose size travels with it.
    """

    name: str
    type: str
    is_array: bool = False
    size: int | None = None


@dataclass(frozen=True)
class MessageType:
    """Fields of a message in the order of their serialisation, and its integer constants."""

    fields: tuple[Field, ...]
    constants: Mapping[str, int] = field(default_factory=dict)


def default_search_paths() -> tuple[Path, ...]:
    """Prefixes of the sourced ROS workspaces, then the prefix of this Python environment."""
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    return (*(Path(prefix) for prefix in prefixes if prefix), Path(sys.prefix))


def short_name(type_name: str) -> str:
    """`package/Type` of `package/Type` or `package/msg/Type`."""
    parts = type_name.split("/")
    if len(parts) not in (2, 3) or not all(parts) or (len(parts) == 3 and parts[1] != "msg"):
        raise InvalidInputError("type_name", type_name, "package/Type or package/msg/Type")
    return f"{parts[0]}/{parts[-1]}"


def message_definition(type_name: str, search_paths: Iterable[Path | str] | None = None) -> str:
    """Text of a message and of all it contains, as rosbag2 stores it (schema encoding `ros2msg`).

    Args:
        type_name: `package/msg/Type` or `package/Type`.
        search_paths: ament prefixes, searched in order for `share/<package>/msg/<Type>.msg`;
            `default_search_paths()` if None.

    Returns:
        the .msg file, followed by each message it contains, once, under a line `MSG: package/Type`.

    Raises:
        InvalidInputError: a message is in none of the search paths.
    """
    paths = tuple(Path(path) for path in (default_search_paths() if search_paths is None else search_paths))
    root = short_name(type_name)
    sections: dict[str, str] = {}
    pending = [root]
    while pending:
        name = pending.pop(0)
        if name in sections:
            continue
        sections[name] = _read_definition(name, paths)
        entries = _message_type(sections[name], package=name.split("/")[0]).fields
        pending += [entry.type for entry in entries if "/" in entry.type]
    text = sections.pop(root)
    return text + "".join(f"\n{_SEPARATOR}\nMSG: {name}\n{section}" for name, section in sections.items())


def parse_definition(type_name: str, text: str) -> dict[str, MessageType]:
    """Message types, by short name, described by a text made as by `message_definition`."""
    root = short_name(type_name)
    parts = _SECTION.split(text)
    names = [root, *(short_name(name) for name in parts[1::2])]
    return {
        name: _message_type(section, package=name.split("/")[0])
        for name, section in zip(names, parts[0::2], strict=True)
    }


def _read_definition(name: str, search_paths: tuple[Path, ...]) -> str:
    package, message = name.split("/")
    for path in search_paths:
        file = path / "share" / package / "msg" / f"{message}.msg"
        if file.is_file():
            return file.read_text(encoding="utf-8")
    places = ", ".join(str(path) for path in search_paths)
    raise InvalidInputError(
        "type_name", name, f"a message installed as share/{package}/msg/{message}.msg under one of: {places}"
    )


def _message_type(text: str, package: str) -> MessageType:
    fields: list[Field] = []
    constants: dict[str, int] = {}
    for line in text.splitlines():
        entry = _ENTRY.match(line.split("#", 1)[0].strip())
        if entry is None:
            continue
        base = entry["type"]
        if entry["constant"] is not None:
            if base in PRIMITIVES and re.fullmatch(r"[+-]?\d{1,20}", entry["constant"].strip()):
                constants[entry["name"]] = int(entry["constant"])
            continue
        if base not in PRIMITIVES and base not in ("string", "wstring"):
            base = short_name(base if "/" in base else f"{package}/{base}")
        fixed = entry["size"] if entry["size"] and not entry["bounded"] else None
        if fixed and len(fixed) > _DIGITS:
            raise InvalidInputError("size", f"{len(fixed)} digits", f"a number of elements, at most {_DIGITS} digits")
        fields.append(Field(entry["name"], base, entry["array"] is not None, int(fixed) if fixed else None))
    return MessageType(tuple(fields), constants)
