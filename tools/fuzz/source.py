"""Source of the choices of an input: draws of hypothesis, or the bytes of a fuzzer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from hypothesis import strategies as st

_T = TypeVar("_T")

REMARKABLE = (0.0, -0.0, 1.0, -1.0, math.nan, math.inf, -math.inf, 5e-324, 1e-9, 1e9, 1.7e308, -1.7e308, 2.0**63)
"""Numbers at which code tends to break."""

EDITS = 6
"""Most places at which `edited` changes bytes."""

WORDS = (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
LONG_WORDS = (0, 1, 2**31, 2**63 - 1, 2**64 - 1)
"""Lengths and offsets that are rarely right."""

PIECE = 24
"""[bytes] most that one edit puts in."""


class Source(Protocol):
    """Choices, one after the other. When a fuzzer's bytes are used up, the smallest of each follows."""

    def integer(self, low: int, high: int) -> int:
        """Return a whole number from low to high, both allowed."""

    def real(self) -> float:
        """Return any float64, also none that is finite."""

    def text(self, longest: int) -> str:
        """Return a text without surrogates of so many letters at most."""

    def data(self, longest: int) -> bytes:
        """Return so many bytes at most."""


class Drawn:
    """Choices of hypothesis; the argument is what its strategy `data()` gives."""

    def __init__(self, data: Any) -> None:
        self._draw = data.draw

    def integer(self, low: int, high: int) -> int:
        """Return a whole number from low to high."""
        return int(self._draw(st.integers(low, high)))

    def real(self) -> float:
        """Return any float64."""
        return float(self._draw(st.floats()))

    def text(self, longest: int) -> str:
        """Return a text."""
        return str(self._draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=longest)))

    def data(self, longest: int) -> bytes:
        """Return bytes."""
        return bytes(self._draw(st.binary(max_size=longest)))


class FromBytes:
    """Choices of a coverage-guided fuzzer; the argument is a FuzzedDataProvider of atheris over its input."""

    def __init__(self, provider: Any) -> None:
        self._provider = provider

    def integer(self, low: int, high: int) -> int:
        """Return a whole number from low to high."""
        return int(self._provider.ConsumeIntInRange(low, high))

    def real(self) -> float:
        """Return any float64."""
        return float(self._provider.ConsumeFloat())

    def text(self, longest: int) -> str:
        """Return a text."""
        return str(self._provider.ConsumeUnicodeNoSurrogates(self.integer(0, longest)))

    def data(self, longest: int) -> bytes:
        """Return bytes."""
        return bytes(self._provider.ConsumeBytes(self.integer(0, longest)))


def choice(source: Source, options: Sequence[_T]) -> _T:
    """Return one of several."""
    return options[source.integer(0, len(options) - 1)]


def chance(source: Source, one_in: int) -> bool:
    """Return True once in so many times; False when the bytes are used up."""
    return source.integer(0, one_in - 1) == one_in - 1


def number(source: Source) -> float:
    """Return a number: of an everyday size, remarkable, or any."""
    kind = source.integer(0, 3)
    if kind == 3:
        return source.real()
    if kind == 2:
        return choice(source, REMARKABLE)
    return source.integer(-1_000_000, 1_000_000) * (1e-6 if kind else 1e-3)


def numbers(source: Source, usual: int) -> list[float]:
    """Return numbers, most often as many as usual."""
    count = source.integer(0, 2 * usual) if chance(source, 4) else usual
    return [number(source) for _ in range(count)]


def edited(source: Source, original: bytes) -> bytes:
    """Return bytes that differ from the original in a few places: overwritten, put in, taken out, repeated, cut off."""
    content = bytearray(original)
    for _ in range(source.integer(1, EDITS)):
        place = source.integer(0, max(0, len(content) - 1))
        how = source.integer(0, 6)
        if how == 0:
            content[place : place + 1] = bytes([source.integer(0, 255)])
        elif how == 1:
            content[place : place + 4] = choice(source, WORDS).to_bytes(4, "little")
        elif how == 2:
            content[place : place + 8] = choice(source, LONG_WORDS).to_bytes(8, "little")
        elif how == 3:
            content[place:place] = source.data(PIECE)
        elif how == 4:
            del content[place : place + source.integer(1, 4 * PIECE)]
        elif how == 5:
            content[place:place] = content[place : place + source.integer(1, 4 * PIECE)]
        else:
            del content[place:]
    return bytes(content)
