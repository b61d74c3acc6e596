"""Names of constants, and numbers, in words."""

from __future__ import annotations

from enum import Enum


def in_words(member: Enum) -> str:
    """Return the name of a member of an enumeration in words: POST_IMPACT_UNEXPECTED as `post impact unexpected`."""
    return member.name.lower().replace("_", " ")


def fixed(value: float, digits: int, sign: str = "") -> str:
    """Return a number with this many digits behind the point, without a sign where that is 0; sign: "+" or ""."""
    return f"{round(value, digits) + 0.0:{sign}.{digits}f}"
