"""Message definitions that travel inside a bag, and decoding of many serialised messages of one type at once.

Messages of a control loop repeat their layout: same array sizes, same names, only the numbers differ. The layout is
read from the first message; all messages whose length words agree with it are then one byte matrix whose columns are
the fields. That takes 0.2 to 4 us a message, where mcap-ros2-support takes 5 to 30 us without making columns: the live
view decodes some 5000 messages a second beside the control loop. Damaged definitions and lengths end with an error.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from impact_control.util.errors import InvalidInputError

PRIMITIVES: Mapping[str, str] = {"bool": "?", "byte": "u1", "char": "u1"} | {
    f"{kind}{8 * size}": f"{kind[0]}{size}"
    for kind, sizes in (("int", (1, 2, 4, 8)), ("uint", (1, 2, 4, 8)), ("float", (4, 8)))
    for size in sizes
}
"""Numeric types of a .msg file and their numpy type codes."""

_NOT_ON_PYPI = {"tf2_msgs/TFMessage": "geometry_msgs/TransformStamped[] transforms\n"}
"""Definitions by short name of messages that are recorded without their package."""

_SEPARATOR = "=" * 80
_DIGITS = 10
"""Digits of the largest size of an array, which travels in 32 bits."""

_SECTION = re.compile(r"^=+\nMSG: (\S+)\n", re.MULTILINE)
_ENTRY = re.compile(
    r"(?P<type>[A-Za-z][\w/]*)(?:<=\d+)?"
    r"(?P<array>\[(?P<bounded><=)?(?P<size>\d*)\])?"
    r"\s+(?P<name>[A-Za-z]\w*)\s*(?:=\s*(?P<constant>.*))?"
)


@dataclass(frozen=True)
class Field:
    """Field of a message.

    type: a key of `PRIMITIVES`, `string`, `wstring`, or a message as `package/Type`. is_array: array or sequence of
    that type. size: of an array of fixed size; None for a sequence, whose size travels with it.
    """

    name: str
    type: str
    is_array: bool = False
    size: int | None = None


@dataclass(frozen=True)
class MessageType:
    """Fields of a message in the order of their serialisation, and its integer constants."""

    fields: tuple[Field, ...]
    constants: Mapping[str, int]


def default_search_paths() -> tuple[Path, ...]:
    """Return the prefixes of the sourced ROS workspaces, then the prefix of this Python environment."""
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    return (*(Path(prefix) for prefix in prefixes if prefix), Path(sys.prefix))


def short_name(type_name: str) -> str:
    """Return `package/Type` of `package/Type` or `package/msg/Type`."""
    parts = type_name.split("/")
    if len(parts) not in (2, 3) or not all(parts) or (len(parts) == 3 and parts[1] != "msg"):
        raise InvalidInputError("type_name", type_name, "package/Type or package/msg/Type")
    return f"{parts[0]}/{parts[-1]}"


def message_definition(type_name: str, search_paths: Iterable[Path | str] | None = None) -> str:
    """Return the text of a message as rosbag2 stores it (schema encoding `ros2msg`).

    The .msg file, followed by each message it contains, once, under a line `MSG: package/Type`. type_name:
    `package/msg/Type` or `package/Type`. search_paths: ament prefixes, searched in order for
    `share/<package>/msg/<Type>.msg`; `default_search_paths()` if None. Raises InvalidInputError for a message in none,
    but for those of `_NOT_ON_PYPI`.
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
    """Return the message types, by short name, of a text as `message_definition` gives it."""
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
    if name in _NOT_ON_PYPI:
        return _NOT_ON_PYPI[name]
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


Column = NDArray[Any] | list[Any]
"""Field of all messages: an array whose first axis is the message, or a list where that is impossible."""

_ENCAPSULATION = 4
_TIMES = {"builtin_interfaces/Time": "datetime64[ns]", "builtin_interfaces/Duration": "timedelta64[ns]"}
_COORDINATES = (("x", "y", "z"), ("x", "y", "z", "w"))

_Reader = Callable[[NDArray[np.uint8]], Column]
"""From the byte matrix of the messages of one layout to the column of one field."""


def decode(payloads: Sequence[bytes], types: Mapping[str, MessageType], root: str) -> dict[str, Column]:
    """Return the columns of all fields of equally typed messages by dotted name, in the order of the fields.

    Numbers give (n,), numeric arrays of constant length k (n, k), messages of coordinates x, y, z (w) (n, 3) ((n, 4));
    `Time` is datetime64[ns] and `Duration` timedelta64[ns]; strings and arrays of changing length are lists. Element i
    of an array of messages is named `field.i....`, and None where a message lacks it.

    payloads: serialised messages, plain CDR with its 4 bytes of encapsulation, either byte order. types: all message
    types involved, by short name. root: short name of the type of the payloads. Raises InvalidInputError for a payload
    that is shorter than its type demands, or of a kind that cannot be decoded.
    """
    parts: dict[str, list[tuple[NDArray[np.int64], Column]]] = {}
    lengths = np.array([len(payload) for payload in payloads])
    for length in np.unique(lengths):
        pending = np.flatnonzero(lengths == length)
        together = b"".join(payloads[int(i)] for i in pending)
        matrix = np.frombuffer(together, dtype=np.uint8).reshape(len(pending), length)
        while pending.size:
            layout = _Layout(matrix[0].tobytes(), types, root)
            alike = (matrix[:, layout.decisive] == matrix[0, layout.decisive]).all(axis=1)
            for name, reader in layout.columns.items():
                parts.setdefault(name, []).append((pending[alike], reader(matrix[alike])))
            pending, matrix = pending[~alike], matrix[~alike]
    return {name: _assemble(found, len(payloads)) for name, found in parts.items()}


def _assemble(parts: list[tuple[NDArray[np.int64], Column]], count: int) -> Column:
    """Return the columns of all layouts in the order of the messages."""
    kinds = {(part.dtype, part.shape[1:]) if isinstance(part, np.ndarray) else None for _, part in parts}
    covered = sum(len(rows) for rows, _ in parts)
    if len(kinds) == 1 and covered == count and (kind := kinds.pop()) is not None:
        dtype, shape = kind
        array = np.empty((count, *shape), dtype=dtype)
        for rows, part in parts:
            array[rows] = part
        return array
    column: list[Any] = [None] * count
    for rows, part in parts:
        for row, value in zip(rows, part, strict=True):
            column[row] = value
    return column


class _Layout:
    """Places of the fields in a message, found by a walk over one.

    Attributes: columns, readers of the fields; decisive, the bytes that decide on the places.
    """

    def __init__(self, payload: bytes, types: Mapping[str, MessageType], root: str) -> None:
        self._payload = payload
        self._types = types
        self._offset = _ENCAPSULATION
        self._require(_ENCAPSULATION)
        if payload[1] not in (0, 1):
            raise InvalidInputError("encapsulation", payload[1], "0 or 1, plain CDR")
        self._order: Literal["<", ">"] = "<" if payload[1] else ">"
        self.columns: dict[str, _Reader] = {}
        self.decisive = [1]
        self._inside: list[str] = []
        self._message(root, "")

    def _message(self, type_name: str, prefix: str) -> None:
        if type_name not in self._types:
            raise InvalidInputError("type", type_name, f"one of the defined types: {', '.join(self._types)}")
        if type_name in self._inside:
            raise InvalidInputError("type", type_name, "one that does not contain itself")
        fields = self._types[type_name].fields
        if not fields:
            self._skip(1, 1)  # rosidl gives an empty message one byte
        self._inside.append(type_name)
        for field in fields:
            self._field(field, f"{prefix}{field.name}")
        self._inside.pop()

    def _field(self, field: Field, name: str) -> None:
        if field.type in PRIMITIVES:
            count = self._count(field)
            self._numbers(name, PRIMITIVES[field.type], count if field.is_array else None)
        elif field.type == "string":
            self._strings(name, field)
        elif field.type == "wstring":
            raise InvalidInputError("type", "wstring", "string: wide strings have no agreed encoding")
        elif field.is_array:
            count = self._count(field)
            # Each takes a byte or more; those of a damaged definition may take none, and their number any value.
            self._require(self._offset + count)
            for i in range(count):
                self._nested(field.type, f"{name}.{i}")
        else:
            self._nested(field.type, name)

    def _nested(self, type_name: str, name: str) -> None:
        if type_name in _TIMES:
            self._time(name, _TIMES[type_name])
            return
        fields = self._types[type_name].fields if type_name in self._types else ()
        element = {field.type for field in fields if not field.is_array}
        named = tuple(field.name for field in fields) in _COORDINATES
        if named and len(element) == 1 and element <= PRIMITIVES.keys():
            self._numbers(name, PRIMITIVES[element.pop()], len(fields))
        else:
            self._message(type_name, f"{name}.")

    def _numbers(self, name: str, code: str, count: int | None) -> None:
        dtype = np.dtype(code).newbyteorder(self._order)
        start, stop = self._skip(dtype.itemsize, 1 if count is None else count)

        def read(matrix: NDArray[np.uint8]) -> Column:
            if start == stop:
                return np.empty((len(matrix), 0), dtype=dtype.newbyteorder("="))
            values = np.ascontiguousarray(matrix[:, start:stop]).view(dtype).astype(dtype.newbyteorder("="))
            return values[:, 0] if count is None else values

        self.columns[name] = read

    def _time(self, name: str, dtype: str) -> None:
        word = np.dtype(f"{self._order}i4")
        start, stop = self._skip(4, 2)

        def read(matrix: NDArray[np.uint8]) -> Column:
            words = np.ascontiguousarray(matrix[:, start:stop]).view(word).astype(np.int64)
            return (words[:, 0] * 1_000_000_000 + words[:, 1]).view(dtype)

        self.columns[name] = read

    def _strings(self, name: str, field: Field) -> None:
        spans = [self._string() for _ in range(self._count(field))]

        def text(row: NDArray[np.uint8]) -> str | list[str]:
            texts = [row[start:stop].tobytes().decode("utf-8", "replace") for start, stop in spans]
            return texts if field.is_array else texts[0]

        def read(matrix: NDArray[np.uint8]) -> Column:
            positions = [i for start, stop in spans for i in range(start, stop)]
            letters = matrix[:, positions]
            if (letters == letters[0]).all():
                return [text(matrix[0])] * len(matrix)
            return [text(row) for row in matrix]

        self.columns[name] = read

    def _string(self) -> tuple[int, int]:
        """Return the span of a string without its final zero, which some writers leave out when it is empty."""
        length = self._length_word()
        start, stop = self._skip(1, length)
        return start, max(start, stop - 1)

    def _count(self, field: Field) -> int:
        if not field.is_array:
            return 1
        return self._length_word() if field.size is None else field.size

    def _length_word(self) -> int:
        start, stop = self._skip(4, 1)
        self.decisive.extend(range(start, stop))
        return int.from_bytes(self._payload[start:stop], "little" if self._order == "<" else "big")

    def _skip(self, size: int, count: int) -> tuple[int, int]:
        """Return the span of `count` elements of `size` bytes at the next multiple of their size."""
        if count == 0:
            return self._offset, self._offset
        start = self._offset + (_ENCAPSULATION - self._offset) % size
        self._offset = start + size * count
        self._require(self._offset)
        return start, self._offset

    def _require(self, length: int) -> None:
        if len(self._payload) < length:
            raise InvalidInputError("payload", f"{len(self._payload)} bytes", f"at least {length} bytes")
