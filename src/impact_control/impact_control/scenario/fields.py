"""Kinds of entries: type, unit and bounds of a setting, declared once for loading, checks and documentation."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import numpy as np

from impact_control.scenario.units import parse_quantity, parse_unit, spellings
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

JOINTS = "joints"
"""Size of an array with one element per joint of the scenario's robot."""

UNIT_NORM_TOLERANCE = 1e-5
"""A direction written with six digits has a length of 1 within this."""

REQUIRED: Final = object()
"""Default of an entry that has to be there."""

_HUGE = 1e300

Sizes = Mapping[str, int]
"""Sizes known only when the scenario is read, by name: `JOINTS`."""


class Refusal(Exception):  # noqa: N818 (it never leaves this package)
    """An entry is refused: its key in the section (empty: the entry itself), its value, what is allowed."""

    def __init__(self, key: str, value: object, allowed: str) -> None:
        super().__init__(key, value, allowed)
        self.key = key
        self.value = value
        self.allowed = allowed


@dataclass(frozen=True)
class Range:
    """Interval of admissible values in SI; an `open` end does not belong to it."""

    lower: float = -math.inf
    upper: float = math.inf
    open_lower: bool = False
    open_upper: bool = False

    def contains(self, value: float) -> bool:
        """Return whether a finite value lies inside."""
        above = value > self.lower if self.open_lower else value >= self.lower
        below = value < self.upper if self.open_upper else value <= self.upper
        return above and below

    def describe(self, unit: str) -> str:
        """Return the interval in words; empty for the whole axis."""
        suffix = f" {unit}" if unit else ""
        parts = []
        if math.isfinite(self.lower):
            parts.append(f"{'above' if self.open_lower else 'at least'} {self.lower:.6g}{suffix}")
        if math.isfinite(self.upper):
            parts.append(f"{'below' if self.open_upper else 'at most'} {self.upper:.6g}{suffix}")
        return " and ".join(parts)


ANY = Range()
POSITIVE = Range(lower=0.0, open_lower=True)
NOT_NEGATIVE = Range(lower=0.0)
FRACTION = Range(lower=0.0, upper=1.0)


class Kind(ABC):
    """Type, unit and bounds of the value at one key."""

    @abstractmethod
    def parse(self, raw: Any, sizes: Sizes, siblings: Mapping[str, Any]) -> Any:
        """Convert the value in the file; raises Refusal.

        siblings: the entries of the same section that were read before.
        """

    @abstractmethod
    def allowed(self) -> str:
        """Return the allowed values in words."""

    def admits(self, value: Any) -> bool:
        """Return whether a value in SI, as `parse` returns it, is inside the bounds."""
        return True


@dataclass(frozen=True)
class Number(Kind):
    """One real number: text with a unit of the dimension of `unit`, an SI unit; a plain number when empty."""

    unit: str = ""
    range: Range = ANY

    def parse(self, raw: Any, sizes: Sizes, siblings: Mapping[str, Any]) -> float:
        """Return the number in SI."""
        unit = self.unit_beside(siblings)
        try:
            values = _numbers(raw, unit, self.range)
            if len(values) == 1 and not isinstance(raw, list):
                return values[0]
            reason = "more than one number"
        except _Unreadable as error:
            reason = str(error)
        raise Refusal("", raw, _with_reason(_number_words("a finite number", unit, self.range), reason))

    def allowed(self) -> str:
        """Return unit and range in words."""
        return _number_words("a finite number", self.unit, self.range)

    def admits(self, value: Any) -> bool:
        """Return whether a number is finite and inside the range."""
        return math.isfinite(value) and self.range.contains(value)

    def unit_beside(self, siblings: Mapping[str, Any]) -> str:
        """Return the SI unit, which may depend on the entries read before."""
        return self.unit


@dataclass(frozen=True)
class PowerLawCoefficient(Number):
    """Coefficient of a power law: in `unit` over the metre to the sibling `exponent`, Rey Arias 2024 (6)."""

    exponent: str = "exponent"
    added: int = 0

    def allowed(self) -> str:
        """Return the unit with the name of the exponent."""
        power = f"({self.exponent}+{self.added})" if self.added else self.exponent
        return f"a finite number in {self.unit}/m^{power}, {self.range.describe('')}"

    def unit_beside(self, siblings: Mapping[str, Any]) -> str:
        """Return the unit with the exponent's value."""
        return f"{self.unit}/m^{siblings[self.exponent] + self.added:.10g}"


@dataclass(frozen=True)
class Numbers(Kind):
    """An array of real numbers, as `Number`; with `repeats`, a single number stands for all elements."""

    size: int | str = JOINTS
    unit: str = ""
    range: Range = ANY
    repeats: bool = False

    def parse(self, raw: Any, sizes: Sizes, siblings: Mapping[str, Any]) -> Vector:
        """Return the read-only array in SI."""
        size = self.size if isinstance(self.size, int) else sizes[self.size]
        try:
            values = _numbers(raw, self.unit, self.range)
            if len(values) == 1 and self.repeats:
                values = values * size
            if len(values) == size:
                array = np.array(values, dtype=float)
                array.setflags(write=False)
                return array
            reason = f"there are {len(values)}"
        except _Unreadable as error:
            reason = str(error)
        raise Refusal("", raw, _with_reason(self._words(f"{size} finite numbers"), reason))

    def allowed(self) -> str:
        """Return size, unit and range in words."""
        each = "one finite number per joint"
        return self._words(f"{self.size} finite numbers" if isinstance(self.size, int) else each)

    def admits(self, value: Any) -> bool:
        """Return whether an array (n,), or the number that stands for all elements, is finite and inside the range."""
        fits = np.ndim(value) == 1 and (not isinstance(self.size, int) or np.size(value) == self.size)
        fits = fits or (self.repeats and isinstance(value, (int, float)))
        return fits and all(math.isfinite(number) and self.range.contains(number) for number in np.atleast_1d(value))

    def _words(self, what: str) -> str:
        return _number_words(f"one finite number or {what}" if self.repeats else what, self.unit, self.range)


@dataclass(frozen=True)
class Rows(Kind):
    """A list of rows, each as `Numbers` with one number per joint."""

    unit: str = ""

    def parse(self, raw: Any, sizes: Sizes, siblings: Mapping[str, Any]) -> Matrix:
        """Return the read-only matrix, a row for each of the list, in SI."""
        if not isinstance(raw, list) or not raw:
            raise Refusal("", raw, self.allowed())
        row = Numbers(JOINTS, self.unit)
        matrix = np.array([row.parse(item, sizes, siblings) for item in raw])
        matrix.setflags(write=False)
        return matrix

    def allowed(self) -> str:
        """Return what a row is, in words."""
        return f"a list of rows, each {Numbers(JOINTS, self.unit).allowed()}"


@dataclass(frozen=True)
class Direction(Kind):
    """A unit vector in three dimensions, normalised to machine precision when read."""

    def parse(self, raw: Any, sizes: Sizes, siblings: Mapping[str, Any]) -> Vector:
        """Return the read-only unit vector (3,)."""
        try:
            values = _numbers(raw, "", ANY)
        except _Unreadable as error:
            raise Refusal("", raw, _with_reason(self.allowed(), str(error))) from None
        length = math.hypot(*values)
        if len(values) != 3 or abs(length - 1.0) > UNIT_NORM_TOLERANCE:
            raise Refusal("", raw, _with_reason(self.allowed(), f"there are {len(values)}, of length {length:.6g}"))
        direction = np.array(values, dtype=float) / length
        direction.setflags(write=False)
        return direction

    def allowed(self) -> str:
        """Return the definition of a direction."""
        return f"3 finite numbers without a unit, a vector of length 1 within {UNIT_NORM_TOLERANCE:g}"


@dataclass(frozen=True)
class Count(Kind):
    """A whole number."""

    lower: int = 0
    upper: int = 2**31 - 1

    def parse(self, raw: Any, sizes: Sizes, siblings: Mapping[str, Any]) -> int:
        """Return the number."""
        if isinstance(raw, bool) or not isinstance(raw, int) or not self.lower <= raw <= self.upper:
            raise Refusal("", raw, self.allowed())
        return raw

    def allowed(self) -> str:
        """Return the smallest and the largest number in words."""
        return f"a whole number from {self.lower} to {self.upper}"

    def admits(self, value: Any) -> bool:
        """Return whether a whole number is inside the range."""
        return isinstance(value, int) and self.lower <= value <= self.upper


@dataclass(frozen=True)
class JointNumbers(Kind):
    """A list of joints by number, the first is 1."""

    def parse(self, raw: Any, sizes: Sizes, siblings: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the numbers as they stand."""
        given = raw if isinstance(raw, list) else [raw]
        whole = all(isinstance(item, int) and not isinstance(item, bool) for item in given)
        if not given or not whole or len(set(given)) < len(given) or not set(given) <= set(range(1, sizes[JOINTS] + 1)):
            raise Refusal("", raw, f"different whole numbers from 1 to {sizes[JOINTS]}, at least one")
        return tuple(given)

    def allowed(self) -> str:
        """Return the allowed numbers in words."""
        return "different numbers of joints, the first is 1, at least one"


@dataclass(frozen=True)
class Flag(Kind):
    """true or false."""

    def parse(self, raw: Any, sizes: Sizes, siblings: Mapping[str, Any]) -> bool:
        """Return the truth value."""
        if not isinstance(raw, bool):
            raise Refusal("", raw, self.allowed())
        return raw

    def allowed(self) -> str:
        """Return the two values."""
        return "true or false"


@dataclass(frozen=True)
class Text(Kind):
    """Text that is not empty."""

    def parse(self, raw: Any, sizes: Sizes, siblings: Mapping[str, Any]) -> str:
        """Return the text without surrounding space."""
        if not isinstance(raw, str) or not raw.strip():
            raise Refusal("", raw, self.allowed())
        return raw.strip()

    def allowed(self) -> str:
        """Return the condition on a text."""
        return "text that is not empty"


@dataclass(frozen=True)
class Texts(Kind):
    """A list of different texts; one alone may stand without brackets."""

    def parse(self, raw: Any, sizes: Sizes, siblings: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the texts without surrounding space."""
        given = raw if isinstance(raw, list) else [raw]
        texts = tuple(item.strip() for item in given if isinstance(item, str) and item.strip())
        if not given or len(texts) < len(given) or len(set(texts)) < len(texts):
            raise Refusal("", raw, self.allowed())
        return texts

    def allowed(self) -> str:
        """Return the condition on the list."""
        return "different texts that are not empty, at least one"


@dataclass(frozen=True)
class Choice(Kind):
    """One of a few words."""

    words: tuple[str, ...]

    def parse(self, raw: Any, sizes: Sizes, siblings: Mapping[str, Any]) -> str:
        """Return the word."""
        if raw not in self.words:
            raise Refusal("", raw, self.allowed())
        return str(raw)

    def allowed(self) -> str:
        """List the words."""
        return "one of " + ", ".join(self.words)


@dataclass(frozen=True)
class Option(Kind):
    """One of the members of an enumeration of words."""

    type: type[StrEnum]

    def parse(self, raw: Any, sizes: Sizes, siblings: Mapping[str, Any]) -> StrEnum:
        """Return the member."""
        if raw not in list(self.type):
            raise Refusal("", raw, self.allowed())
        return self.type(raw)

    def allowed(self) -> str:
        """List the words."""
        return "one of " + ", ".join(self.type)

    def admits(self, value: Any) -> bool:
        """Return whether a value is a member."""
        return isinstance(value, self.type)


@dataclass(frozen=True)
class Section(Kind):
    """A nested section, described by a dataclass whose fields are entries."""

    type: type
    none_allowed: bool = False

    def parse(self, raw: Any, sizes: Sizes, siblings: Mapping[str, Any]) -> None:
        """Only `none` is read here; a mapping is read by `validation`."""
        if raw == "none" and self.none_allowed:
            return
        raise Refusal("", raw, self.allowed())

    def allowed(self) -> str:
        """Return the form of a section."""
        return "a section with keys of its own" + (", or none" if self.none_allowed else "")


@dataclass(frozen=True)
class Sections(Kind):
    """A list of nested sections of one kind."""

    type: type

    def parse(self, raw: Any, sizes: Sizes, siblings: Mapping[str, Any]) -> None:
        """Refuse what is no list; a list is read by `validation`."""
        raise Refusal("", raw, self.allowed())

    def allowed(self) -> str:
        """Return the form of the list."""
        return "a list of sections, each with keys of its own"


@dataclass(frozen=True)
class NamedSections(Kind):
    """Nested sections of one kind, each under a name that the file chooses."""

    type: type
    none_allowed: bool = False

    def parse(self, raw: Any, sizes: Sizes, siblings: Mapping[str, Any]) -> None:
        """Refuse what is no mapping; a mapping is read by `validation`."""
        raise Refusal("", raw, self.allowed())

    def allowed(self) -> str:
        """Return the form of the sections."""
        return "sections under names of one's own" + (", none for one that is not there" if self.none_allowed else "")


@dataclass(frozen=True)
class Entry:
    """One key of a section: what may stand there, what it means, and what holds when it is left out.

    Declared as `Annotated[type, kind, description]`, or with the default behind the description. default: as it would
    stand in the file, so that it passes the same checks; None: the entry may be left out and is then None. Without it
    the entry is required.
    """

    kind: Kind
    description: str
    default: Any = REQUIRED


class _Unreadable(Exception):  # noqa: N818 (it never leaves this module)
    """The defect of one or several numbers."""


def _numbers(raw: Any, unit: str, interval: Range) -> list[float]:
    """Read one or several numbers in SI, all finite and inside the interval; raises _Unreadable."""
    values: list[float] = []
    for item in raw if isinstance(raw, list) else [raw]:
        if isinstance(item, str) and unit:
            try:
                values.extend(parse_quantity(item, parse_unit(unit)))
            except InvalidInputError as error:
                raise _Unreadable(error.allowed) from None
        elif isinstance(item, bool) or not isinstance(item, int | float):
            raise _Unreadable(f"{item!r} is no number")
        elif unit:
            raise _Unreadable("the unit is missing")
        else:
            values.append(float(item) if abs(item) < _HUGE else math.inf)
    for value in values:
        if not math.isfinite(value):
            raise _Unreadable("it is not finite")
        if not interval.contains(value):
            raise _Unreadable(f"it is {value:.6g} {unit}".rstrip())
    return values


def _number_words(what: str, unit: str, interval: Range) -> str:
    """Return the allowed numbers in words."""
    where = f"in {spellings(parse_unit(unit))}" if unit else "without a unit"
    limits = interval.describe(unit)
    return f"{what} {where}, {limits}" if limits else f"{what} {where}"


def _with_reason(allowed: str, reason: str) -> str:
    return f"{allowed} ({reason})"
