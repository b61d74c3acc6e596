"""Names of constants, and numbers, in words, and the name that was meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from enum import Enum


def in_words(member: Enum) -> str:
    """Return the name of a member of an enumeration in words: POST_IMPACT_UNEXPECTED as `post impact unexpected`."""
    return member.name.lower().replace("_", " ")


def fixed(value: float, digits: int, sign: str = "") -> str:
    """Return a number with this many digits behind the point, without a sign where that is 0; sign: "+" or ""."""
    return f"{round(value, digits) + 0.0:{sign}.{digits}f}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, whose plural has an s: 1 impact, 2 impacts."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return "; nearest: ..." with the known name closest to a wrong one, "" where none is close."""
    found = get_close_matches(name, known, 1)
    return f"; nearest: {found[0]}" if found else ""
