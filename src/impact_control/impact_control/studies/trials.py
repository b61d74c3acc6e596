"""Runs the trials of a study on all cores, keeps each result on disk, and goes on where it was interrupted."""

from __future__ import annotations

import hashlib
import os
import pickle
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import fields
from functools import lru_cache
from multiprocessing import get_context, parent_process, resource_tracker
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from impact_control.errors import InvalidInputError
from impact_control.studies.study import Progress

Case = TypeVar("Case")
Made = TypeVar("Made")

Trial = dict[str, NDArray[Any]]
"""What came out of one trial: arrays of numbers by name."""


def trials_directory(study: str) -> Path:
    """Return where the trials of a study are kept: below XDG_CACHE_HOME, or ~/.cache without it."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return caches / "impact_control" / "trials" / study


def run_trials(
    function: Callable[[Case], Mapping[str, NDArray[Any]]],
    cases: Sequence[Case],
    directory: Path | None,
    workers: int | None,
    progress: Progress,
) -> list[Trial]:
    """Return the result of `function` for each of `cases`, in their order.

    function: of a module, not within another; its result depends on the case only and is arrays of numbers by
        name. A number that is no array comes back as an array without axes.
    cases: numbers, texts, tuples or frozen dataclasses of them: what repr tells apart, and what can be sent to
        another process. Random numbers come from a seed in the case.
    directory: where the result of each case is kept as soon as it is there. The next call with the same
        function, case and source of this package finds it; results of other sources are removed. None keeps
        nothing.
    workers: processes, at least 1; with 1 everything runs in this one. None for one on each core.
    progress: called after each trial, and first with what was found.

    An interruption (Ctrl-C) or an error in a trial ends the run after the trials that are running; what is done
    is kept. An error names its case. Raises InvalidInputError for workers below 1 and for a directory that
    cannot be, and what the function raises.
    """
    workers = _cores() if workers is None else workers
    if workers < 1:
        raise InvalidInputError("workers", workers, "at least 1, or None for all cores")
    name = f"{function.__module__}.{function.__qualname__}"
    paths = [None if directory is None else directory / _file_name(name, case) for case in cases]
    if directory is not None:
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            allowed = f"a directory to write to, below XDG_CACHE_HOME or ~/.cache; {error.strerror}"
            raise InvalidInputError("directory of trials", str(directory), allowed) from error
        _remove_results_of_other_sources(directory)
    results = [None if path is None else _read(path) for path in paths]
    missing = [index for index, result in enumerate(results) if result is None]
    done = len(cases) - len(missing)
    if done:
        progress(done / len(cases), f"{done} of {len(cases)} trials found")

    def take(index: int, result: Trial) -> None:
        nonlocal done
        results[index] = result
        done += 1
        progress(done / len(cases), f"trial {done} of {len(cases)}")

    if min(workers, len(missing)) <= 1:
        for index in missing:
            take(index, _run(function, cases[index], paths[index]))
    else:
        # New processes and not copies of this one: its threads (drawing, numeric libraries) would not come along.
        with ProcessPoolExecutor(min(workers, len(missing)), get_context("spawn"), _follow_parent) as pool:
            try:
                with _interruption_kept_back():
                    futures: dict[Future[Trial], int] = {
                        pool.submit(_run, function, cases[index], paths[index]): index for index in missing
                    }
                for future in as_completed(futures):
                    take(futures[future], future.result())
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise
    return [result for result in results if result is not None]


def from_arrays(kind: type[Made], arrays: Mapping[str, NDArray[Any]], **others: object) -> Made:
    """Return the dataclass `kind` made of others and of the arrays by the name of its fields.

    An array without axes becomes the number or text that it holds; arrays of other names are left out.
    """
    names = [entry.name for entry in fields(kind) if entry.name in arrays]  # type: ignore[arg-type]
    return kind(**{name: arrays[name] if arrays[name].ndim else arrays[name].item() for name in names}, **others)


def _cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def _interruption_kept_back() -> Iterator[None]:
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


def _run(function: Callable[[Case], Mapping[str, NDArray[Any]]], case: Case, path: Path | None) -> Trial:
    """Run one trial and keep its result at `path`, whole or not at all."""
    try:
        result = {name: np.asarray(value) for name, value in function(case).items()}
    except Exception as error:
        error.add_note(f"in the trial {case!r}")
        raise
    if path is not None:
        part = path.with_suffix(f".{os.getpid()}")
        try:
            with part.open("wb") as file:
                np.savez(file, allow_pickle=False, **result)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    return result


def _read(path: Path) -> Trial | None:
    """Return the result kept at `path`; None when there is none, or none that can be read."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return dict(file)
    except (OSError, ValueError, EOFError, KeyError, BadZipFile, pickle.UnpicklingError):
        return None


def _file_name(function: str, case: object) -> str:
    return f"{_source_digest()}-{hashlib.sha256(f'{function} {case!r}'.encode()).hexdigest()[:24]}.npz"


def _remove_results_of_other_sources(directory: Path) -> None:
    for path in directory.glob("*.npz"):
        if not path.name.startswith(_source_digest()):
            path.unlink(missing_ok=True)


@lru_cache(maxsize=1)
def _source_digest(package: Path = Path(__file__).parents[1]) -> str:
    """Return a digest of the package: a result of other code or data is not one of this."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            digest.update(str(path.relative_to(package)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
