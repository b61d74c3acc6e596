"""Reading and writing of YAML, with one type of error for every malformed text."""

from __future__ import annotations

import os
import stat
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer, ComposerError
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode

LARGEST_FILE = 256 * 1024
"""Bytes of a file that is read: over a hundred times those of the scenarios here."""


DEEPEST = 20
"""Levels of values in each other; a scenario has five."""


class _PlainTrees(Composer):
    """Refuses what takes the library long: deep trees, 10 s for 2000 brackets, and keys with parts, 5 s for 14."""

    _level = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Return a node from events."""
        if self._level == DEEPEST:
            raise ComposerError(None, None, f"found more than {DEEPEST} values in each other", parent.start_mark)
        self._level += 1
        node = super().compose_node(parent, index)
        self._level -= 1
        return node

    def compose_mapping_node(self, anchor: Any) -> MappingNode:
        """Return a mapping from events."""
        node: MappingNode = super().compose_mapping_node(anchor)
        for key, _ in node.value:
            if not isinstance(key, ScalarNode):
                raise ComposerError("in a mapping", node.start_mark, "found a key that is no word", key.start_mark)
        return node


class InLine(list[float]):
    """Numbers that YAML holds in a line, in brackets."""


def regular_text(path: Path) -> str:
    """Return the text of a regular file of at most LARGEST_FILE bytes, in UTF-8; nothing is read of what is none.

    Raises OSError, UnicodeDecodeError.
    """
    # A pipe without a writer is opened without waiting for one.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{stat.filemode(status.st_mode)} is no regular file")
        if status.st_size > LARGEST_FILE:
            raise OSError(f"it has {status.st_size} bytes, more than {LARGEST_FILE}")
        return file.read(LARGEST_FILE).decode("utf-8")


def yaml_of(content: object) -> str:
    """Return plain values as YAML, an entry a line, and numbers that are `InLine` in one."""
    yaml = YAML(typ="safe", pure=True)
    yaml.representer.add_representer(InLine, _in_line)
    yaml.default_flow_style = False
    text = StringIO()
    yaml.dump(content, text)
    return text.getvalue()


def _in_line(representer: Any, values: InLine) -> Any:
    return representer.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=True)


def parse_yaml(text: str, kind: str = "safe") -> Any:
    """Return what a YAML text says, None of an empty one.

    kind: `safe` for plain values, `rt` for those that know their line. Raises YAMLError, also for keys that are lists
    or mappings, and for more than DEEPEST levels.
    """
    yaml = YAML(typ=kind, pure=True)
    yaml.Composer = _PlainTrees
    try:
        return yaml.load(text)
    except YAMLError:
        raise
    except Exception as error:  # KeyError at `!!bool x`, ValueError at a 13th month
        raise YAMLError(f"{type(error).__name__}: {error}") from error
