"""Places that compute the trials of studies: this process, processes of this machine, or a cluster of Dask."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process, resource_tracker
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from impact_control.util.errors import ImpactControlError, InvalidInputError

Case = TypeVar("Case")

Trial = dict[str, NDArray[Any]]
"""Result of one trial: arrays of numbers by name."""

Experiment = Callable[[Case], Mapping[str, NDArray[Any]]]
"""Function that computes a trial from its case."""


@dataclass(frozen=True, eq=False)
class Computed:
    """The result of a trial, and the processor time it took [s]."""

    result: Trial
    seconds: float


Take = Callable[[int, Computed], None]
"""Called with the number of a case and what came of it, as soon as it is there."""


class Place(Protocol):
    """Computes trials. The results are the same at every place, to the last bit."""

    def compute(self, function: Experiment[Case], cases: Sequence[Case], take: Take) -> None:
        """Hand the result of `function` for each of `cases` to `take`, in any order.

        An interruption (Ctrl-C) or an error in a trial ends it after the trials that are running, which are still
        handed over. An error names its case.
        """


class InThisProcess:
    """One trial after another, here."""

    def compute(self, function: Experiment[Case], cases: Sequence[Case], take: Take) -> None:
        """See `Place`."""
        for index, case in enumerate(cases):
            take(index, compute_case(function, case))


class ProcessPool:
    """Processes of this machine, started when they are first needed; they end with `close`.

    workers: at least 1. Raises InvalidInputError.
    """

    def __init__(self, workers: int) -> None:
        if workers < 1:
            raise InvalidInputError("workers", workers, "at least 1")
        self._workers = workers
        self._executor: ProcessPoolExecutor | None = None

    def compute(self, function: Experiment[Case], cases: Sequence[Case], take: Take) -> None:
        """See `Place`. Raises ImpactControlError when a process was killed."""
        if self._executor is None:
            # New processes and not copies of this one: its threads (drawing, numeric libraries) would not come along.
            self._executor = ProcessPoolExecutor(self._workers, get_context("spawn"), _follow_parent)
        numbers: dict[Future[Computed], int] = {}
        try:
            with interruption_kept_back():
                for index, case in enumerate(cases):
                    numbers[self._executor.submit(compute_case, function, case)] = index
            for future in as_completed(numbers):
                take(numbers[future], future.result())
                del numbers[future]
        except BrokenProcessPool as error:
            self.close()
            raise ImpactControlError(
                "a process that computed trials was ended from outside (killed, or out of memory); "
                "finished trials are kept, the same command goes on from there"
            ) from error
        except BaseException:
            running = [future for future in numbers if not future.cancel()]
            for future in wait(running).done:
                if future.exception() is None:
                    take(numbers[future], future.result())
            raise

    def close(self) -> None:
        """End the processes after the trials that are running."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
            self._executor = None


@dataclass
class Account:
    """Processor time [s] of all trials, and of those found from an earlier run.

    kept: the files of those whose results are kept.
    """

    seconds: float = 0.0
    found_seconds: float = 0.0
    kept: set[Path] = field(default_factory=set)


_PLACE: ContextVar[Place | None] = ContextVar("place", default=None)
_ACCOUNT: ContextVar[Account | None] = ContextVar("account", default=None)
_ALONE = Lock()


@contextmanager
def computing_at(place: Place) -> Iterator[Account]:
    """Let all trials of the block be computed at a place, and return what they take."""
    account = Account()
    chosen, counted = _PLACE.set(place), _ACCOUNT.set(account)
    try:
        yield account
    finally:
        _PLACE.reset(chosen)
        _ACCOUNT.reset(counted)


@contextmanager
def open_place(workers: int, scheduler: str = "") -> Iterator[Place]:
    """Return this process for one worker, a pool of processes for more, or the cluster of a scheduler of Dask.

    Raises InvalidInputError for workers below 1, and what `cluster` raises.
    """
    if scheduler:
        # Late: an optional package.
        from impact_studies.frame.cluster import cluster

        with cluster(scheduler) as place:
            yield place
    elif workers == 1:
        yield InThisProcess()
    else:
        with closing(ProcessPool(workers)) as pool:
            yield pool


def current_place() -> Place:
    """Return where trials are computed now: in this process unless another place is set."""
    return _PLACE.get() or InThisProcess()


def charge(seconds: float, kept: Path | None, *, found: bool) -> None:
    """Add the processor time of a trial [s] to the account that is open, if there is one.

    kept: where its result is kept. found: there, and not computed; what the account has already is not added again.
    """
    account = _ACCOUNT.get()
    if account is None or (found and kept in account.kept):
        return
    account.seconds += seconds
    if found:
        account.found_seconds += seconds
    if kept is not None:
        account.kept.add(kept)


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def compute_case(function: Experiment[Case], case: Case) -> Computed:
    """Compute one trial; an error gets its case as a note."""
    started = time.process_time()
    try:
        # Trials that a trial asks for are part of it.
        with computing_at(InThisProcess()):
            result = {name: np.asarray(value) for name, value in function(case).items()}
    except Exception as error:
        error.add_note(f"in the trial {case!r}")
        raise
    return Computed(result, time.process_time() - started)


def compute_case_alone(function: Experiment[Case], case: Case) -> Computed:
    """As `compute_case`, one trial at a time in a process with several threads: models have work arrays."""
    with _ALONE:
        return compute_case(function, case)


@contextmanager
def interruption_kept_back() -> Iterator[None]:
    """Let Ctrl-C wait. A process that is started inside never sees it: it is for the one that started it."""
    # Started by the first of them otherwise, and it ends with the signal let through.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _follow_parent() -> None:
    """End when the process that started this one is gone; as long as it is there, it waits for the running trials."""
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
