"""Modes of the controller from its samples."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.recording.decisions import ModeInterval, mode_intervals


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_mode_intervals_reproduce_the_modes(modes: list[int]) -> None:
    time = np.arange(len(modes), dtype=float)
    intervals = mode_intervals(time, np.array(modes, dtype=np.uint8), {0: "a", 1: "b", 2: "c"})
    again = [next(interval.mode for interval in reversed(intervals) if interval.start <= t) for t in time]
    assert again == [{0: "a", 1: "b", 2: "c"}.get(mode, "mode 3") for mode in modes]
    assert all(one.mode != other.mode for one, other in pairwise(intervals))


def test_single_mode() -> None:
    assert mode_intervals(np.array([0.0, 1.0]), np.array([1, 1]), {1: "x"}) == (ModeInterval("x", 0.0, 1.0),)
