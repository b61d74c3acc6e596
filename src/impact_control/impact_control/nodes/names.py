"""Names of arms and objects in parameters, which become part of the names of topics."""

from __future__ import annotations

import re

from impact_control.errors import InvalidInputError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def names_in(parameter: str, text: str) -> list[str]:
    """Return the names that a parameter lists; none of an empty text.

    Raises InvalidInputError for what no topic can contain, and for a name that is there twice.
    """
    names = text.split(",") if text else []
    if len(set(names)) < len(names) or not all(map(_NAME.fullmatch, names)):
        allowed = "different names of letters, digits and underscores, a letter first, with commas between them"
        raise InvalidInputError(parameter, text, allowed)
    return names
