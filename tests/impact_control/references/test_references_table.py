"""Sampled references."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.references import ReferenceColumns, ReferenceTable
from impact_control.references import table as table_module
from impact_control.util.compiled import HAVE_NUMBA
from impact_control.util.errors import InvalidInputError

JOINTS = 7
WIDTH = 21 + 3 * JOINTS


def linear_table(samples: int = 11, period: float = 0.1) -> ReferenceTable:
    """Every column is its number plus the time times its number."""
    times = np.arange(samples) * period
    columns = np.arange(WIDTH, dtype=float)
    return ReferenceTable(period, ReferenceColumns(np.outer(1.0 + times, columns), JOINTS))


@given(st.floats(min_value=-10.0, max_value=20.0))
@settings(deadline=None, max_examples=60)
def test_interpolation_is_exact_for_lines_and_holds_at_the_ends(time: float) -> None:
    table = linear_table()
    out = table.new_sample()
    table.sample(time, out)
    expected = (1.0 + min(max(time, 0.0), 1.0)) * np.arange(WIDTH)
    np.testing.assert_allclose(out.data, expected, rtol=1e-12)


@pytest.mark.parametrize(("time", "row"), [(np.nan, 0), (-np.inf, 0), (np.inf, -1), (1e300, -1)])
def test_times_that_are_no_times_hold_an_end(time: float, row: int) -> None:
    table = linear_table()
    out = table.new_sample()
    table.sample(time, out)
    np.testing.assert_array_equal(out.data, table.columns.data[row])


def test_names_cover_every_column_once() -> None:
    sample = ReferenceColumns(np.arange(WIDTH, dtype=float), JOINTS)
    named = [
        sample.position,
        sample.velocity,
        sample.acceleration,
        sample.orientation,
        sample.angular_velocity,
        sample.angular_acceleration,
        sample.posture,
        sample.joint_position,
        sample.joint_velocity,
        sample.joint_acceleration,
    ]
    np.testing.assert_array_equal(np.concatenate(named), sample.data)


def test_sampling_keeps_no_memory() -> None:
    table = linear_table()
    out = table.new_sample()
    table.sample(0.35, out)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()
    for _ in range(200):
        table.sample(0.35, out)
    after, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before[0] < 1000
    assert peak - before[0] < 2000


@pytest.mark.parametrize("time", [-0.1, 0.0, 0.333, 0.95, 1.0, 7.0])
def test_compiled_and_plain_interpolation_agree(time: float) -> None:
    data = np.random.default_rng(3).normal(size=(11, WIDTH))
    plain = getattr(table_module._interpolate, "py_func", table_module._interpolate)
    assert (plain is not table_module._interpolate) == HAVE_NUMBA
    one, other = np.zeros(WIDTH), np.zeros(WIDTH)
    table_module._interpolate(data, 0.1, time, one)
    plain(data, 0.1, time, other)
    np.testing.assert_allclose(one, other, rtol=1e-14)


def test_tables_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        linear_table().columns.position[0, 0] = 1.0


@pytest.mark.parametrize("shape", [(WIDTH - 1,), (5, WIDTH + 1), (2, 2, WIDTH)])
def test_wrong_widths_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInputError):
        ReferenceColumns(np.zeros(shape), JOINTS)


@pytest.mark.parametrize(
    ("period", "data"),
    [
        (0.0, np.zeros((3, WIDTH))),
        (np.nan, np.zeros((3, WIDTH))),
        (0.1, np.zeros((1, WIDTH))),
        (0.1, np.zeros(WIDTH)),
        (0.1, np.full((3, WIDTH), np.nan)),
    ],
)
def test_impossible_tables_are_refused(period: float, data: np.ndarray) -> None:
    with pytest.raises(InvalidInputError):
        ReferenceTable(period, ReferenceColumns(data, JOINTS))
