"""Checks of input: what passes comes back as float64, what does not is named with what is allowed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from impact_control.util import checks
from impact_control.util.errors import InvalidInputError

NAN, INF = math.nan, math.inf
NO_NUMBERS = [NAN, INF, -INF, None, "one", [1.0, 2.0], 10**400]


@pytest.mark.parametrize(
    ("check", "good", "bad", "allowed"),
    [
        (checks.require_positive, [1e-300, 2], [0.0, -1.0], "a finite number above 0"),
        (checks.require_not_negative, [0.0, 2], [-1e-300], "a finite number of at least 0"),
        (checks.require_finite, [0, -1.5], [], "a finite number"),
        (lambda name, value: checks.require_between(name, value, 0.0, 1.0), [0, 0.5, 1], [-0.1, 1.1], "from 0 to 1"),
    ],
)
def test_numbers_pass_as_float_or_are_named(check, good, bad, allowed):
    for value in good:
        found = check("x", value)
        assert isinstance(found, float)
        assert found == value
    for value in bad + NO_NUMBERS:
        with pytest.raises(InvalidInputError) as caught:
            check("x", value)
        assert caught.value.name == "x"
        assert caught.value.value is value
        assert allowed in caught.value.allowed


def test_counts_are_whole():
    assert checks.checked_count("n", np.int64(3), 2) == 3
    for value in (1, 2.0, "3", NAN):
        with pytest.raises(InvalidInputError, match=r"n = .* a whole number of at least 2"):
            checks.checked_count("n", value, 2)


@pytest.mark.parametrize("value", [[1.0], [1.0, NAN], [1.0, INF], "ab", [1.0, [2.0]], None, [10**400, 1.0]])
def test_arrays_of_another_shape_or_without_numbers_are_named(value):
    with pytest.raises(InvalidInputError) as caught:
        checks.finite_array("a", value, (2,))
    assert caught.value.value is value
    assert "(2,)" in caught.value.allowed


def test_rows_are_counted_where_their_number_is_known():
    given = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    for rows in (None, 3):
        np.testing.assert_array_equal(checks.finite_rows("r", given, rows), given)
    for value, rows in ((given, 2), ([1.0, 2.0], None), ([[1.0, NAN]], None), (np.zeros((3, 0)), 3), (None, None)):
        with pytest.raises(InvalidInputError, match=r"r = .* finite numbers of shape") as caught:
            checks.finite_rows("r", value, rows)
        assert caught.value.value is value


def test_stamps_increase():
    for count in (None, 3):
        np.testing.assert_array_equal(checks.increasing_stamps("t", [-1, 0.5, 2], count), [-1.0, 0.5, 2.0])
    assert checks.increasing_stamps("t", [1.0], fewest=1) == [1.0]
    for value in ([0.0, 0.0], [0.0, NAN, 1.0], [0.0, INF], [[0.0, 1.0]], [1.0], [], None):
        with pytest.raises(InvalidInputError, match=r"t = .* at least 2 increasing stamps") as caught:
            checks.increasing_stamps("t", value)
        assert caught.value.value is value
    with pytest.raises(InvalidInputError, match="3 increasing stamps"):
        checks.increasing_stamps("t", [0.0, 1.0], 3)


def test_arrays_are_copies_in_the_order_of_c():
    given = np.asfortranarray(np.arange(6).reshape(2, 3))
    for check in (checks.float_array, checks.finite_array):
        found = check("a", given, (2, 3))
        assert found.dtype == np.float64
        assert found.flags.c_contiguous
        assert found.flags.writeable
        assert not np.shares_memory(found, given)
        np.testing.assert_array_equal(found, given)
    assert np.isnan(checks.float_array("a", [NAN], (1,))[0])


@pytest.mark.parametrize("value", [[], [1.0, -1.0], [1.0, NAN], [[1.0, 2.0]], 1.0, "a"])
def test_vectors_of_parameters_have_entries_and_none_is_negative(value):
    np.testing.assert_array_equal(checks.checked_vector("v", (0, 2)), [0.0, 2.0])
    with pytest.raises(InvalidInputError, match="one or more finite numbers of at least 0"):
        checks.checked_vector("v", value)
    with pytest.raises(InvalidInputError, match="3 finite numbers of at least 0"):
        checks.checked_vector("v", (0, 2), 3)
    with pytest.raises(InvalidInputError, match="one or more finite numbers above 0"):
        checks.checked_vector("v", (0, 2), zero_allowed=False)


def test_unit_vectors_lose_what_is_rounding():
    almost = np.array([0.0, 0.6, 0.8]) * (1.0 + 5e-7)
    assert np.linalg.norm(checks.unit_vector("n", almost)) == pytest.approx(1.0, abs=1e-15)
    with pytest.raises(InvalidInputError, match=r"length 1, not 1\.00001"):
        checks.unit_vector("n", np.array([0.0, 0.6, 0.8]) * (1.0 + 1e-5))


def test_matrices_are_symmetric_and_positive_definite():
    good = np.array([[2.0, 1.0], [1.0, 2.0]])
    np.testing.assert_array_equal(checks.positive_definite("M", good, 2), good)
    with pytest.raises(InvalidInputError, match="symmetric"):
        checks.symmetric("M", [[2.0, 1.0], [1.0 + 1e-6, 2.0]], 2)
    np.testing.assert_array_equal(checks.symmetric("M", -good, 2), -good)
    with pytest.raises(InvalidInputError, match=r"eigenvalues are \[-1\."):
        checks.positive_definite("M", [[1.0, 2.0], [2.0, 1.0]], 2)


@dataclass(frozen=True, eq=False)
class Held:
    """Two vectors, of which `first` may not be negative."""

    first: object
    second: object

    def __post_init__(self) -> None:
        checks.freeze(self, (2,), "first", "second", owner="held")
        checks.not_negative_fields(self, "first", each="joint")
        checks.positive_fields(self, "second", each="joint")


def test_frozen_fields_can_not_be_written_and_do_not_follow_what_was_given():
    given = np.array([0.0, 1.0])
    held = Held(given, [1, 2])
    given[:] = 7.0
    np.testing.assert_array_equal(held.first, [0.0, 1.0])
    with pytest.raises(ValueError, match="read-only"):
        held.second[0] = 3.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (([0.0], [1.0, 2.0]), r"held first = .* shape \(2,\)"),
        (([0.0, 1.0], [1.0, NAN]), "held second = .* finite"),
        (([-1.0, 1.0], [1.0, 2.0]), "first = .* at least 0 in every joint"),
        (([0.0, 1.0], [0.0, 2.0]), "second = .* above 0 in every joint"),
    ],
)
def test_fields_are_named_with_their_owner(values, message):
    with pytest.raises(InvalidInputError, match=message):
        Held(*values)
