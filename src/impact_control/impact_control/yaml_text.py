"""Read YAML from others with one kind of error: the library raises many more at text that is odd enough."""

from __future__ import annotations

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError


def parse_yaml(text: str, kind: str = "safe") -> Any:
    """Return what a YAML text says, None of an empty one.

    kind: `safe` for plain values, `rt` for those that know their line. Raises YAMLError.
    """
    try:
        return YAML(typ=kind, pure=True).load(text)
    except YAMLError:
        raise
    except Exception as error:  # KeyError at `!!bool x`, ValueError at a 13th month, RecursionError at many brackets
        raise YAMLError(f"{type(error).__name__}: {error}") from error
