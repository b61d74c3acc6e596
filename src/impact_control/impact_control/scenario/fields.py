"""Kinds of entries: type, unit and bounds of a setting, declared once for loading, checks and documentation."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Final, get_args, get_origin

import numpy as np

from impact_control.scenario.units import parse_quantity, parse_unit, spellings
from impact_control.util.errors import InvalidInputError, shown
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


LONGEST_TEXT = 500
"""Characters of a text in a scenario."""


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

    def parse(self, raw: Any, sizes: Sizes, siblings: Mapping[str, Any]) -> Any:
        """Convert the value in the file, by default one that is admitted as it stands; raises Refusal.

        siblings: the entries of the same section that were read before.
        """
        if not self.admits(raw):
            raise Refusal("", raw, self.allowed())
        return raw

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
            if len(values) != 1 or isinstance(raw, list):
                raise _Unreadable("more than one number")
        except _Unreadable as error:
            raise Refusal("", raw, f"{_number_words('a finite number', unit, self.range)} ({error})") from None
        return values[0]

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
            if len(values) != size:
                raise _Unreadable(f"there are {len(values)}")
        except _Unreadable as error:
            raise Refusal("", raw, f"{self._words(f'{size} finite numbers')} ({error})") from None
        return _read_only(values)

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


def each_joint(unit: str = "", interval: Range = ANY) -> Numbers:
    """Return the kind of an array with one number per joint, for which a single number may stand."""
    return Numbers(JOINTS, unit, interval, repeats=True)


@dataclass(frozen=True)
class Rows(Kind):
    """A list of rows, each as `Numbers` with one number per joint."""

    unit: str = ""

    def parse(self, raw: Any, sizes: Sizes, siblings: Mapping[str, Any]) -> Matrix:
        """Return the read-only matrix, a row for each of the list, in SI."""
        if not isinstance(raw, list) or not raw:
            raise Refusal("", raw, self.allowed())
        row = Numbers(JOINTS, self.unit)
        return _read_only([row.parse(item, sizes, siblings) for item in raw])

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
            length = math.hypot(*values)
            if len(values) != 3 or abs(length - 1.0) > UNIT_NORM_TOLERANCE:
                raise _Unreadable(f"there are {len(values)}, of length {length:.6g}")
        except _Unreadable as error:
            raise Refusal("", raw, f"{self.allowed()} ({error})") from None
        return _read_only(np.array(values) / length)

    def allowed(self) -> str:
        """Return the definition of a direction."""
        return f"3 finite numbers without a unit, a vector of length 1 within {UNIT_NORM_TOLERANCE:g}"


@dataclass(frozen=True)
class Count(Kind):
    """A whole number."""

    lower: int = 0
    upper: int = 2**31 - 1

    def allowed(self) -> str:
        """Return the smallest and the largest number in words."""
        return f"a whole number from {self.lower} to {self.upper}"

    def admits(self, value: Any) -> bool:
        """Return whether a whole number is inside the range."""
        return isinstance(value, int) and not isinstance(value, bool) and self.lower <= value <= self.upper


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

    def allowed(self) -> str:
        """Return the two values."""
        return "true or false"

    def admits(self, value: Any) -> bool:
        """Return whether a value is one of them."""
        return isinstance(value, bool)


@dataclass(frozen=True)
class Text(Kind):
    """Text that is not empty, of at most `LONGEST_TEXT` characters: it stands in logs, answers and reports."""

    def parse(self, raw: Any, sizes: Sizes, siblings: Mapping[str, Any]) -> str:
        """Return the text without surrounding space."""
        if not isinstance(raw, str) or not 0 < len(raw.strip()) <= LONGEST_TEXT:
            raise Refusal("", raw, self.allowed())
        return raw.strip()

    def allowed(self) -> str:
        """Return the condition on a text."""
        return f"text that is not empty, of at most {LONGEST_TEXT} characters"


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
    """One of a few words, or one of the members of an enumeration of words."""

    words: tuple[str, ...] | type[StrEnum]

    def parse(self, raw: Any, sizes: Sizes, siblings: Mapping[str, Any]) -> str:
        """Return the word, or the member."""
        for word in self.words:
            if raw == word:
                return word
        raise Refusal("", raw, self.allowed())

    def allowed(self) -> str:
        """List the words."""
        return "one of " + ", ".join(self.words)

    def admits(self, value: Any) -> bool:
        """Return whether a value is one of the words, or a member."""
        return any(value == word and isinstance(value, type(word)) for word in self.words)


@dataclass(frozen=True)
class Nested(Kind):
    """Entries below an entry, described by a dataclass whose fields they are; `validation` reads what has the form.

    FORM: what may stand at the key; NONE: and where `none` is allowed. BELOW: between the key and those below.
    """

    FORM: ClassVar[str]
    NONE: ClassVar[str] = ", or none"
    BELOW: ClassVar[str] = "."

    type: type
    none_allowed: bool = False

    def parse(self, raw: Any, sizes: Sizes, siblings: Mapping[str, Any]) -> None:
        """Refuse what has not the form."""
        raise Refusal("", raw, self.allowed())

    def allowed(self) -> str:
        """Return the form in words."""
        return self.FORM + self.NONE * self.none_allowed


@dataclass(frozen=True)
class Section(Nested):
    """A nested section; where it is allowed, `none` takes its place."""

    FORM: ClassVar[str] = "a section with keys of its own"

    def parse(self, raw: Any, sizes: Sizes, siblings: Mapping[str, Any]) -> None:
        """Read `none`."""
        if not (self.none_allowed and raw == "none"):
            super().parse(raw, sizes, siblings)


@dataclass(frozen=True)
class Sections(Nested):
    """A list of nested sections of one kind."""

    FORM: ClassVar[str] = "a list of sections, each with keys of its own"
    BELOW: ClassVar[str] = "[]."


@dataclass(frozen=True)
class NamedSections(Nested):
    """Nested sections of one kind, each under a name that the file chooses."""

    FORM: ClassVar[str] = "sections under names of one's own"
    NONE: ClassVar[str] = ", none for one that is not there"
    BELOW: ClassVar[str] = ".NAME."


@dataclass(frozen=True)
class Entry:
    """One key of a section: what may stand there, what it means, and what holds when it is left out.

    Declared as `Annotated[type, kind, description]`, or with the default behind the description; without the kind where
    it follows from the type, see `kind_of`. default: as it would stand in the file, so that it passes the same checks;
    None: the entry may be left out and is then None. Without it the entry is required.
    """

    kind: Kind
    description: str
    default: Any = REQUIRED


def kind_of(declared: Any) -> Kind:
    """Return the kind of an entry whose type says everything.

    Truth values, texts, enumerations of words, sections, `Section | None`, tuples of sections, sections by name.
    """
    if declared in (bool, str):
        return Flag() if declared is bool else Text()
    arguments = get_args(declared)
    if get_origin(declared) is tuple:
        return Sections(arguments[0])
    if get_origin(declared) is Mapping:
        one, *none = get_args(arguments[1]) or (arguments[1],)
        return NamedSections(one, bool(none))
    if arguments:
        return Section(arguments[0], none_allowed=True)
    return Choice(declared) if issubclass(declared, StrEnum) else Section(declared)


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
            raise _Unreadable(f"{shown(item)} is no number")
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


def _read_only(values: Any) -> Matrix:
    array = np.array(values, dtype=float)
    array.setflags(write=False)
    return array
