"""Names of constants in words."""

from __future__ import annotations

from enum import Enum


def in_words(member: Enum) -> str:
    """Return the name of a member of an enumeration in words: POST_IMPACT_UNEXPECTED as `post impact unexpected`."""
    return member.name.lower().replace("_", " ")
