"""The watch over the cores sees a core that is kept from running what it should."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from benchmark.standstill import PRIORITY, StandstillWatch, longest, on_cores, overlap
from impact_control.util.errors import InvalidInputError
from impact_control_ros.bridge import real_time
from impact_control_ros.session.processes import GraphError

pytestmark = pytest.mark.wall_clock


def test_a_core_that_is_taken_away_is_noted():
    cores, policy = os.sched_getaffinity(0), os.sched_getscheduler(0)
    with StandstillWatch() as watch:
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
        noted = watch.take()
    assert longest(noted, begin, end) >= 0.045
    assert not overlap(watch.spans, begin, end)


def test_without_its_priority_it_tells_of_nothing():
    """A watcher that stands still for itself: without priority that may be because of anything that runs."""
    for above_all in (True, False):
        with StandstillWatch() as watch:
            allowed, watch.above_all = watch.above_all, above_all
            for process, _ in watch._watchers:
                os.kill(process.pid, signal.SIGSTOP)
            time.sleep(0.05)
            for process, _ in watch._watchers:
                os.kill(process.pid, signal.SIGCONT)
            time.sleep(0.01)
        assert bool(len(watch.spans)) is above_all, allowed


def test_a_ctrl_c_in_the_terminal_does_not_end_it():
    with StandstillWatch() as watch:
        processes = [process.pid for process, _ in watch._watchers]
        assert all(os.getpgid(pid) == pid != os.getpgid(0) for pid in processes)


@pytest.mark.parametrize(("begin", "end", "touches"), [(0, 9, False), (0, 11, True), (12, 13, True), (21, 30, False)])
def test_spans_touch_a_time_that_they_share(begin, end, touches):
    assert overlap(np.array([[10, 20], [40, 50]]), begin, end) is touches


def test_the_longest_of_those_that_touch_a_time_counts():
    spans = np.array([[0, 10, 0], [20, 50, 1], [60, 200, 1]])
    assert longest(spans, 5, 21) == pytest.approx(30e-9)
    assert longest(spans, 11, 19) == longest(spans[:0], 0, 100) == 0.0
    assert longest(on_cores(spans, {0}), 5, 21) == pytest.approx(10e-9)
    assert longest(on_cores(spans, {2, 3}), 0, 300) == longest(on_cores(spans, ()), 0, 300) == 0.0


def test_a_watcher_that_ends_is_an_error_and_takes_the_others_along():
    with pytest.raises(GraphError, match="watch over the cores"), StandstillWatch() as watch:
        ended, *_ = (process for process, _ in watch._watchers)
        ended.kill()
        ended.join()
        try:
            watch.take()
        finally:
            assert multiprocessing.active_children() == []


def test_a_watcher_that_ended_is_an_error_at_the_end():
    with pytest.raises(GraphError, match="watch over the cores"), StandstillWatch() as watch:
        watch._watchers[-1][0].kill()
    assert multiprocessing.active_children() == []


def test_a_wrong_word_for_the_measures_is_refused_before_anything_is_started(monkeypatch):
    monkeypatch.setenv(real_time.VARIABLE, "fifo,fast")
    with pytest.raises(InvalidInputError, match="'fifo,fast'; allowed: "), StandstillWatch():
        pass
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("command", ["endure", "bench"])
def test_a_wrong_word_ends_a_command_with_a_line_that_names_it(tmp_path, command):
    ended = subprocess.run(
        [sys.executable, "-m", "impact_control.cli.main", command, "--output", str(tmp_path)],
        env={**os.environ, real_time.VARIABLE: "fast"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"impact-control: {real_time.VARIABLE} = 'fast'; allowed: 1, 0, or words of")
    assert ended.stderr.count("\n") == 1, "one line, and no traceback"
