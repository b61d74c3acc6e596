"""Read the YAML data files of the robots; a mistake is named by file, key, value and what is allowed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from ruamel.yaml.error import YAMLError

from impact_control.util.errors import InvalidInputError, ScenarioError
from impact_control.util.types import Matrix, Vector
from impact_control.util.yaml_text import parse_yaml, regular_text

DATA_DIRECTORY = Path(__file__).parent / "data"
"""The data files that come with the package."""

_Built = TypeVar("_Built")


class Section:
    """One mapping of a data file. What is read is checked; what is never read is a mistake, see `finish`.

    Every method raises ScenarioError. `name` is always a key of this mapping.
    """

    def __init__(self, file: str, key: str, content: object) -> None:
        """Wrap `content`, which stands at the dotted path `key` ("" for the whole file) of `file`."""
        self.file = file
        self._key = key
        if not isinstance(content, dict):
            raise ScenarioError(file, key or "(whole file)", content, "a mapping of names to values")
        self._content: dict[Any, Any] = content
        self._unread = set(content)

    def error(self, name: str, value: object, allowed: str) -> ScenarioError:
        """Return the error that says `value` may not stand at `name`."""
        return ScenarioError(self.file, f"{self._key}.{name}" if self._key else name, value, allowed)

    def names(self) -> list[str]:
        """Return the keys of this mapping."""
        return [str(name) for name in self._content]

    def section(self, name: str) -> Section:
        """Return the mapping at `name`."""
        return Section(self.file, f"{self._key}.{name}" if self._key else name, self._take(name, "a mapping"))

    def text(self, name: str) -> str:
        """Return the text at `name`, which may not be empty."""
        value = self._take(name, "a text")
        if not isinstance(value, str) or not value.strip():
            raise self.error(name, value, "a text that is not empty")
        return value.strip()

    def number(self, name: str) -> float:
        """Return the finite number at `name`."""
        value = self._take(name, "a number")
        if not _is_number(value):
            raise self.error(name, value, "a finite number")
        return float(value)

    def vector(self, name: str, size: int) -> Vector:
        """Return the `size` finite numbers at `name` as (size,); a single number stands for all of them."""
        allowed = f"a list of {size} finite numbers, or one for all"
        value = self._take(name, allowed)
        if _is_number(value):
            return np.full(size, float(value))
        if not (isinstance(value, list) and len(value) == size and all(map(_is_number, value))):
            raise self.error(name, value, allowed)
        return np.array(value, dtype=float)

    def vectors(self, size: int, *names: str) -> dict[str, Vector]:
        """Return what `vector` does, by name."""
        return {name: self.vector(name, size) for name in names}

    def matrix(self, name: str, rows: int | None, columns: int) -> Matrix:
        """Return the finite numbers at `name`, a list of rows, as (rows, columns); rows None: one or more."""
        allowed = f"{rows or 'one or more'} lists of {columns} finite numbers each"
        value = self._take(name, allowed)
        if not (isinstance(value, list) and value and len(value) == (rows or len(value))):
            raise self.error(name, value, allowed)
        for row in value:
            if not (isinstance(row, list) and len(row) == columns and all(map(_is_number, row))):
                raise self.error(name, value, allowed)
        return np.array(value, dtype=float)

    def build(self, kind: Callable[..., _Built], **values: object) -> _Built:
        """Return kind(**values); a value that `kind` refuses is reported as an entry of this mapping."""
        try:
            return kind(**values)
        except InvalidInputError as error:
            raise self.error(error.name, error.value, error.allowed) from error

    def finish(self) -> None:
        """Raise when the mapping has entries that were never read: misspelt, or not of this schema."""
        if self._unread:
            name = sorted(map(str, self._unread))[0]
            known = sorted(str(key) for key in self._content if key not in self._unread)
            raise self.error(name, self._content.get(name), f"no such entry; known here: {', '.join(known)}")

    def _take(self, name: str, allowed: str) -> Any:
        if name not in self._content:
            raise self.error(name, None, f"required: {allowed}")
        self._unread.discard(name)
        return self._content[name]


def read_data_file(path: Path) -> Section:
    """Return the content of the YAML file at `path`. Raises ScenarioError when that fails."""
    try:
        content = parse_yaml(regular_text(path))
    except OSError as error:
        raise ScenarioError(str(path), "(whole file)", error.strerror or str(error), "a readable file") from error
    except (YAMLError, UnicodeDecodeError) as error:
        raise ScenarioError(str(path), "(whole file)", str(error), "valid YAML in UTF-8") from error
    return Section(str(path), "", content)


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    # Not math.isfinite, which raises at whole numbers beyond all floats.
    return abs(value) <= sys.float_info.max
