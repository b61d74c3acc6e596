"""Quantities in text."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.scenario.units import parse_quantity, parse_unit, spellings
from impact_control.util.errors import InvalidInputError

NUMBERS = st.floats(min_value=-1e6, max_value=1e6, allow_nan=False)


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("60 deg", "rad", [math.pi / 3.0]),
        ("180, 0, -45 deg", "rad", [math.pi, 0.0, -math.pi / 4.0]),
        ("[0.5, 0.0, 0.2] m", "m", [0.5, 0.0, 0.2]),
        ("0.5 0 .2 m", "m", [0.5, 0.0, 0.2]),
        ("3 cm", "m", [0.03]),
        ("50 ms", "s", [0.05]),
        ("400 1/s^2", "1/s^2", [400.0]),
        ("1 1/ms", "1/s", [1000.0]),
        ("20 cm/s", "m/s", [0.2]),
        ("3.2e9 N/m^1.5", "N/m^1.5", [3.2e9]),
        ("1 N/mm^1.5", "N/m^1.5", [1000.0**1.5]),
        ("3.2e12 N*s/m^2.5", "N*s/m^2.5", [3.2e12]),
        ("2 N*m/s", "Nm/s", [2.0]),
        ("1 kg*m/s^2", "N", [1.0]),
        ("7 Nm*s/rad", "Nm*s/rad", [7.0]),
    ],
)
def test_quantities_become_si(text: str, unit: str, expected: list[float]) -> None:
    assert parse_quantity(text, parse_unit(unit)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "unit", "complaint"),
    [
        ("0.2", "m/s", "unit is missing"),
        ("", "m/s", "unit is missing"),
        ("0.2 m", "m/s", "something else"),
        ("3 rad", "1/s", "something else"),
        ("3 1/s", "rad/s", "something else"),
        ("0.2m/s", "m/s", "'0.2m/s' is no number"),
        ("m/s", "m/s", "no number"),
        ("1 two m", "m", "'two' is no number"),
        ("5 parsec", "m", "not known"),
        ("5 m//s", "m/s", "not known"),
        ("5 m/", "m/s", "not known"),
        ("5 /s", "1/s", "not known"),
        ("5 ms^", "s", "not known"),
    ],
)
def test_what_is_no_quantity_is_refused(text: str, unit: str, complaint: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_quantity(text, parse_unit(unit))
    assert complaint in caught.value.allowed
    assert caught.value.value == text


@given(NUMBERS, st.sampled_from(["m", "cm", "mm"]), st.sampled_from(["s", "ms"]), st.integers(-3, 3))
@settings(deadline=None, max_examples=60)
def test_units_multiply(number: float, length: str, time: str, power: int) -> None:
    product = parse_unit(f"{length}^{power}/{time}")
    by_hand = parse_unit(length).factor ** power / parse_unit(time).factor
    assert product.dimension == (float(power), 0.0, -1.0, 0.0)
    [value] = parse_quantity(f"{number!r} {product.text}", parse_unit(f"m^{power}/s"))
    assert value == pytest.approx(number * by_hand, rel=1e-12)


@pytest.mark.parametrize("text", ["", "furlong", "m^", "*m", "m s", "mm^-400", "km^400", "kN^1000"])
def test_unknown_units_are_refused(text: str) -> None:
    with pytest.raises(InvalidInputError):
        parse_unit(text)


def test_spellings_are_of_one_dimension_and_start_with_the_unit_itself() -> None:
    assert spellings(parse_unit("rad")) == "rad, mrad, deg"
    assert spellings(parse_unit("N*s/m^2.5")) == "N*s/m^2.5"
