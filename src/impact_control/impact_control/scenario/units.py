"""Physical quantities written as text, such as `0.2 m/s` or `0.48, 0.0, 0.22 m`, turned into SI numbers."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

from impact_control.util.errors import InvalidInputError, shown

Dimension = tuple[float, float, float, float]
"""Powers of metre, kilogram, second and radian. The radian counts, so that an angle needs its unit."""

DIMENSIONLESS: Dimension = (0.0, 0.0, 0.0, 0.0)

_ATOMS: dict[str, tuple[Dimension, float]] = {
    "1": (DIMENSIONLESS, 1.0),
    "m": ((1.0, 0.0, 0.0, 0.0), 1.0),
    "cm": ((1.0, 0.0, 0.0, 0.0), 1e-2),
    "mm": ((1.0, 0.0, 0.0, 0.0), 1e-3),
    "um": ((1.0, 0.0, 0.0, 0.0), 1e-6),
    "kg": ((0.0, 1.0, 0.0, 0.0), 1.0),
    "g": ((0.0, 1.0, 0.0, 0.0), 1e-3),
    "s": ((0.0, 0.0, 1.0, 0.0), 1.0),
    "ms": ((0.0, 0.0, 1.0, 0.0), 1e-3),
    "us": ((0.0, 0.0, 1.0, 0.0), 1e-6),
    "Hz": ((0.0, 0.0, -1.0, 0.0), 1.0),
    "rad": ((0.0, 0.0, 0.0, 1.0), 1.0),
    "mrad": ((0.0, 0.0, 0.0, 1.0), 1e-3),
    "deg": ((0.0, 0.0, 0.0, 1.0), math.pi / 180.0),
    "N": ((1.0, 1.0, -2.0, 0.0), 1.0),
    "kN": ((1.0, 1.0, -2.0, 0.0), 1e3),
    "Nm": ((2.0, 1.0, -2.0, 0.0), 1.0),
}

_COMMON = (
    *("m", "cm", "mm", "kg", "g", "s", "ms", "us", "rad", "mrad", "deg", "N", "kN", "Nm"),
    *("m/s", "cm/s", "mm/s", "rad/s", "deg/s", "m/s^2", "rad/s^2", "deg/s^2"),
    *("Hz", "1/s", "1/s^2", "Nm/s", "Nm*s/rad"),
)
"""Spellings named in error messages; any other product of known units of the right dimension will do."""

_FACTOR = re.compile(r"([*/]?)([A-Za-z]+|1)(?:\^(-?\d+(?:\.\d+)?))?")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?\.?(inf|nan)", re.IGNORECASE)


@dataclass(frozen=True)
class Unit:
    """A unit: its dimension, and the factor that turns a value in it into SI."""

    text: str
    dimension: Dimension
    factor: float


@lru_cache(maxsize=256)
def parse_unit(text: str) -> Unit:
    """Read a product of known units with powers, such as `Nm/s`, `1/s^2` or `N*s/m^2.5`.

    Raises InvalidInputError when a part is not known.
    """
    dimension = list(DIMENSIONLESS)
    factor = 1.0
    position = 0
    while position < len(text) or not text:
        match = _FACTOR.match(text, position)
        starts_well = match is not None and bool(match[1]) == (position > 0)
        if match is None or not starts_well or match[2] not in _ATOMS:
            raise InvalidInputError("unit", text, f"products and powers of {', '.join(_ATOMS)}")
        power = float(match[3] or 1.0) * (-1.0 if match[1] == "/" else 1.0)
        atom_dimension, atom_factor = _ATOMS[match[2]]
        dimension = [d + power * a for d, a in zip(dimension, atom_dimension, strict=True)]
        try:
            factor *= atom_factor**power
        except OverflowError:
            raise InvalidInputError("unit", text, "powers that occur in nature") from None
        position = match.end()
    length, mass, time, angle = (round(d, 9) for d in dimension)
    return Unit(text, (length, mass, time, angle), factor)


def spellings(unit: Unit) -> str:
    """Name the usual units of the same dimension, the given one first."""
    others = [u for u in _COMMON if u != unit.text and parse_unit(u).dimension == unit.dimension]
    return ", ".join([unit.text, *others])


def is_number(text: str) -> bool:
    """Return whether the text is one plain number, `inf` and `nan` included."""
    return _NUMBER.fullmatch(text) is not None


def parse_quantity(text: str, unit: Unit) -> list[float]:
    """Read one or more numbers followed by a unit of the dimension of `unit`; return them in SI.

    The numbers are separated by commas or spaces and may stand in brackets. Raises InvalidInputError
    when a number cannot be read, or the unit is missing, unknown or of another dimension.
    """
    words = text.replace("[", " ").replace("]", " ").replace(",", " ").split()
    if not words or is_number(words[-1]):
        raise InvalidInputError("quantity", text, "the unit is missing")
    *numbers, given_text = words
    unread = [word for word in numbers if not is_number(word)]
    if unread or not numbers:
        raise InvalidInputError("quantity", text, f"{shown((unread or words)[0])} is no number")
    try:
        given = parse_unit(given_text)
    except InvalidInputError:
        raise InvalidInputError("quantity", text, f"the unit {shown(given_text)} is not known") from None
    if given.dimension != unit.dimension:
        raise InvalidInputError("quantity", text, f"{shown(given_text)} is a unit of something else")
    return [float(word.replace(".inf", "inf").replace(".nan", "nan")) * given.factor for word in numbers]
