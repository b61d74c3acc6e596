"""Courses of values: what is read off them at a time, on a grid, and while they grow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from impact_control.view.signals import EMPTY, GrowingSignals, RecordedSignals, Signal, peaks, sampled

RAMP = Signal(np.arange(10) * 0.1, np.arange(10.0)[:, None])


def test_the_value_at_a_time_is_the_last_one_told():
    assert RAMP.at(-1e-9) is None
    assert RAMP.at(0.0) == 0.0
    assert RAMP.at(0.55) == 5.0
    assert RAMP.at(99.0) == 9.0
    assert EMPTY.at(1.0) is None


def test_what_lies_within_two_times_is_later_than_the_first_and_not_later_than_the_second():
    part = RAMP.within(RAMP.time[2], RAMP.time[5])
    np.testing.assert_array_equal(part.value[:, 0], [3.0, 4.0, 5.0])


def test_a_plot_does_not_carry_on_what_is_too_old():
    values = sampled(RAMP, np.array([-0.1, 0.05, 0.9, 0.93, 1.2]), patience=0.05)
    np.testing.assert_array_equal(values[:, 0], [np.nan, 0.0, 9.0, 9.0, np.nan])


@given(values=st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=60), step=st.integers(1, 7))
def test_peaks_are_the_largest_of_each_step_and_column_with_their_sign(values, step):
    time = np.arange(len(values), dtype=float)
    grid = np.arange(0.0, len(values) + step, step)
    columns = np.column_stack([values, values[::-1]])
    for end, row in zip(grid, peaks(Signal(time, columns), grid), strict=True):
        for column, peak in zip(columns.T, row, strict=True):
            inside = column[(time > end - step) & (time <= end)]
            assert (peak in inside and abs(peak) == np.abs(inside).max()) if inside.size else np.isnan(peak)


@given(cuts=st.lists(st.integers(0, 5000), max_size=8))
def test_a_signal_that_grows_in_handfuls_keeps_the_newest(cuts):
    time = np.arange(5000) * 1e-3
    value = np.sin(time)[:, None]
    growing = GrowingSignals(span=2.0)
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), 5000], strict=True):
        growing.extend({"x": Signal(time[start:end], value[start:end])})
    kept = growing["x"]
    assert kept.time[-1] == time[-1]
    np.testing.assert_array_equal(kept.value, value[-len(kept.time) :])
    np.testing.assert_allclose(kept.time[0], time[-1] - 2.0, atol=2e-3)


def test_more_samples_than_there_is_room_for_push_the_oldest_out():
    growing = GrowingSignals(span=1e9)
    for start in range(0, 40_000, 7_000):
        time = np.arange(start, start + 7_000, dtype=float)
        growing.extend({"x": Signal(time, time[:, None])})
    kept = growing["x"]
    assert kept.time[-1] == 41_999 and len(kept.time) <= 16_384
    np.testing.assert_array_equal(np.diff(kept.time), 1.0)
    np.testing.assert_array_equal(kept.value[:, 0], kept.time)


def test_the_last_value_is_kept_however_old_the_others_grow():
    growing = GrowingSignals(span=1.0)
    growing.extend({"verdict": Signal(np.array([0.5]), np.array([[1.0]])), "reason": Signal(np.array([0.5]), WHY)})
    growing.extend({"position": Signal(np.array([0.0, 100.0]), np.zeros((2, 7)))})
    assert growing["verdict"].at(100.0) == 1.0
    assert growing["reason"].at(100.0)[0] == "in time"
    assert len(growing["position"].time) == 1


WHY = np.array([["in time"]], dtype=object)


def test_a_quantity_that_nobody_tells_of_is_empty_and_one_of_another_size_begins_anew():
    growing = GrowingSignals(span=1.0)
    assert growing["x"] is EMPTY and RecordedSignals()["x"] is EMPTY
    growing.extend({"x": Signal(np.array([1.0]), np.zeros((1, 2)))})
    growing.extend({"x": Signal(np.array([0.5]), np.zeros((1, 3)))})
    assert growing["x"].value.shape == (1, 3)
    growing.extend({"x": Signal(np.array([0.2, 0.6]), np.ones((2, 3)))})
    np.testing.assert_array_equal(growing["x"].time, [0.5, 0.6])
    growing.clear()
    assert growing["x"] is EMPTY


@pytest.mark.parametrize("signal", [EMPTY, Signal(np.array([5.0]), np.ones((1, 3)))])
def test_nothing_within_a_grid_gives_no_peaks(signal):
    found = peaks(signal, np.array([0.0, 0.1]))
    assert found.shape == (2, signal.value.shape[1]) and np.isnan(found).all()
