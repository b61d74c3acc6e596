"""Core stalls of this machine: a process on each core sleeps and notes when it wakes late.

On a virtual machine the host takes cores away for milliseconds, which no program inside can prevent.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import time
from collections.abc import Collection
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_control_ros.bridge import real_time
from impact_control_ros.session.processes import GraphError

Spans = NDArray[np.int64]
"""(N, 3): begin and end of each standstill [ns] of the monotonic clock, and the core."""

PRIORITY = 50
"""Priority of SCHED_FIFO, above all our nodes: a late wake-up is then no fault of ours."""

NAP = 1_000_000
"""[ns] between two looks."""

LATE = 500_000
"""[ns] after its time from which a wake-up tells of a standstill."""


class StandstillWatch:
    """Watches the cores that the process could use when this was made, from entering to leaving the context.

    `spans` then holds those of any core, without those that were taken before. `above_all`: whether the watchers have
    their priority; without it, what runs on a core would count as a standstill, too, and nothing is told.
    """

    def __init__(self) -> None:
        self._cores = sorted(os.sched_getaffinity(0))
        self.above_all = False
        self.spans: Spans = np.empty((0, 3), dtype=np.int64)
        self._watchers: list[tuple[SpawnProcess, Connection]] = []

    def __enter__(self) -> StandstillWatch:
        """Start the watchers. Raises InvalidInputError as `real_time.chosen` does, GraphError when a watcher ended."""
        real_time.chosen()
        context = multiprocessing.get_context("spawn")
        for core in self._cores:
            here, there = context.Pipe()
            process = context.Process(target=_watch, args=(core, there), daemon=True)
            process.start()
            there.close()
            self._watchers.append((process, here))
        self.above_all = all(self._answers())
        return self

    def __exit__(self, *error: object) -> None:
        self.spans = self._collect(go_on=False)
        for process, _ in self._watchers:
            process.join()
        self._watchers.clear()

    def take(self) -> Spans:
        """Return those since the last time that this was asked. Raises GraphError when a watcher ended."""
        return self._collect(go_on=True)

    def _collect(self, *, go_on: bool) -> Spans:
        for _, connection in self._watchers:
            # Of one that has ended the answer tells.
            with contextlib.suppress(BrokenPipeError):
                connection.send(go_on)
        found = [span for spans in self._answers() for span in spans]
        return np.array(found if self.above_all else [], dtype=np.int64).reshape(-1, 3)

    def _answers(self) -> list[Any]:
        """Return what each watcher says. Where one has ended all of them are, and GraphError is raised."""
        try:
            return [connection.recv() for _, connection in self._watchers]
        except (EOFError, ConnectionResetError) as error:
            for process, _ in self._watchers:
                process.kill()
                process.join()
            self._watchers.clear()
            raise GraphError("a watch over the cores ended by itself, see above") from error


def longest(spans: Spans, begin: int, end: int) -> float:
    """Return how long [s] the longest of the spans (N, 3) is that touches the time from begin to end; 0 without one."""
    touching = spans[(spans[:, 0] < end) & (spans[:, 1] > begin)]
    return 1e-9 * float(np.max(touching[:, 1] - touching[:, 0], initial=0))


def overlap(spans: Spans, begin: int, end: int) -> bool:
    """Return whether any of the spans (N, 3) touches the time from begin to end."""
    return longest(spans, begin, end) > 0.0


def on_cores(spans: Spans, cores: Collection[int]) -> Spans:
    """Return those of the spans that were on one of the cores."""
    return spans[np.isin(spans[:, 2], list(cores))]


def _watch(core: int, asked: Connection) -> None:
    """Sleep on a core and note late wake-ups; send them on each request, until a request ends it."""
    # A Ctrl-C in the terminal is for who asks, not for this.
    os.setsid()
    os.sched_setaffinity(0, {core})
    above_all = real_time.prefer_real_time(PRIORITY)
    real_time.still_heap()
    spans = []
    asked.send(above_all)
    go_on = True
    due = time.monotonic_ns() + NAP
    while go_on:
        time.sleep(max(0, due - time.monotonic_ns()) * 1e-9)
        now = time.monotonic_ns()
        if now - due > LATE:
            spans.append((due, now, core))
            due = now
        due += NAP
        if asked.poll():
            go_on = asked.recv()
            asked.send(spans)
            spans = []
