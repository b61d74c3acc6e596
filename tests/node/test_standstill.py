"""The watch over the cores sees a core that is kept from running what it should."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

from impact_control.nodes import real_time
from impact_control.nodes.standstill import PRIORITY, StandstillWatch, longest, overlap

pytestmark = pytest.mark.wall_clock


def test_a_core_that_is_taken_away_is_noted():
    cores, policy = os.sched_getaffinity(0), os.sched_getscheduler(0)
    with StandstillWatch() as watch:
        time.sleep(0.01)
        before = watch.take()
        begin = time.monotonic_ns()
        try:
            if not real_time.prefer_real_time(PRIORITY + 1):
                pytest.skip("real-time scheduling is not permitted")
            real_time.keep_to_cores(real_time.LOOP_CORES)
            taken = time.monotonic_ns()
            while time.monotonic_ns() - taken < 50_000_000:
                pass  # and nothing below our priority runs on this core
            end = time.monotonic_ns()
        finally:
            os.sched_setscheduler(0, policy, os.sched_param(0))
            os.sched_setaffinity(0, cores)
    assert longest(watch.spans, begin, end) >= 0.045
    assert not overlap(before, begin, end)


@pytest.mark.parametrize(("begin", "end", "touches"), [(0, 9, False), (0, 11, True), (12, 13, True), (21, 30, False)])
def test_spans_touch_a_time_that_they_share(begin, end, touches):
    assert overlap(np.array([[10, 20], [40, 50]]), begin, end) is touches


def test_the_longest_of_those_that_touch_a_time_counts():
    spans = np.array([[0, 10], [20, 50], [60, 200]])
    assert longest(spans, 5, 21) == pytest.approx(30e-9)
    assert longest(spans, 11, 19) == longest(spans[:0], 0, 100) == 0.0
