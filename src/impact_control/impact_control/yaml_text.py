"""Write YAML, and read that of others with one kind of error: the library raises more at text that is odd enough."""

from __future__ import annotations

from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer, ComposerError
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode


class _PlainKeys(Composer):
    """Refuses keys that have parts: the library takes twice as long for each in another, 5 s for 14 of them."""

    def compose_mapping_node(self, anchor: Any) -> MappingNode:
        """Return a mapping from events."""
        node: MappingNode = super().compose_mapping_node(anchor)
        for key, _ in node.value:
            if not isinstance(key, ScalarNode):
                raise ComposerError("in a mapping", node.start_mark, "found a key that is no word", key.start_mark)
        return node


def yaml_of(content: object) -> str:
    """Return plain values as YAML, an entry a line."""
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    text = StringIO()
    yaml.dump(content, text)
    return text.getvalue()


def parse_yaml(text: str, kind: str = "safe") -> Any:
    """Return what a YAML text says, None of an empty one.

    kind: `safe` for plain values, `rt` for those that know their line. Raises YAMLError, also for keys that are lists
    or mappings.
    """
    yaml = YAML(typ=kind, pure=True)
    yaml.Composer = _PlainKeys
    try:
        return yaml.load(text)
    except YAMLError:
        raise
    except Exception as error:  # KeyError at `!!bool x`, ValueError at a 13th month, RecursionError at many brackets
        raise YAMLError(f"{type(error).__name__}: {error}") from error
