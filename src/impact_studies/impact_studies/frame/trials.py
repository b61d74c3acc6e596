"""Keeps the result of each trial of a study on disk, and goes on where a run was interrupted."""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from impact_control.util.errors import ImpactControlError, InvalidInputError
from impact_studies.frame.computing import Case, Computed, Experiment, Trial, charge, current_place
from impact_studies.frame.provenance import versions, writable_directory
from impact_studies.frame.study import Progress

Made = TypeVar("Made")

_SECONDS = "processor seconds"
"""Beside the arrays of a trial in its file."""

_PART = re.compile(r"[0-9a-f]{16}-[0-9a-f]{24}\.[0-9]+")
"""Name of a file that is being written: that of the trial with the number of the process."""

_LONGEST_WRITE = 3600.0
"""[s] A partial file unchanged for so long is abandoned. Its process may be of another machine or container: its
number does not say."""


def trials_directory(study: str) -> Path:
    """Return where the trials of a study are kept: below XDG_CACHE_HOME, or ~/.cache without it."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return caches / "impact_control" / "trials" / study


def run_trials(
    function: Experiment[Case], cases: Sequence[Case], directory: Path | None, progress: Progress
) -> list[Trial]:
    """Return the result of `function` for each of `cases`, in their order, computed where `computing_at` says.

    function: of a module, not within another; its result depends on the case only and is arrays of numbers by
        name. A number that is no array comes back as an array without axes.
    cases: numbers, texts, tuples or frozen dataclasses of them: what repr tells apart, and what can be sent to
        another process. Random numbers come from a seed in the case.
    directory: where the result of each case is kept as soon as it is there. The next call with the same
        function, case and `versions` finds it; results of other sources of this package are removed, and what a
        killed process left of its file, those of other packages or scenarios stay for when these are back. None keeps
        nothing.
    progress: called after each trial, and first with what was found.

    An interruption (Ctrl-C) or an error in a trial ends the run after the trials that are running; what is done
    is kept. An error names its case. Raises InvalidInputError for a directory that cannot be written to, and for a
    result to be kept that is not made of numbers or texts; ImpactControlError for a file in it that cannot be written
    or removed; and what the function raises.
    """
    name = f"{function.__module__}.{function.__qualname__}"
    paths = [None if directory is None else directory / _file_name(name, case) for case in cases]
    if directory is not None:
        writable_directory(directory, "directory of trials", ", below XDG_CACHE_HOME or ~/.cache")
        _remove_leftovers(directory)
    kept = [None if path is None else _read(path) for path in paths]
    results = [None if one is None else one.result for one in kept]
    missing = [index for index, result in enumerate(results) if result is None]
    done = len(cases) - len(missing)
    if done:
        for path, one in zip(paths, kept, strict=True):
            if one is not None:
                charge(one.seconds, path, found=True)
        progress(done / len(cases), f"{done} of {len(cases)} trials found")

    def take(number: int, computed: Computed) -> None:
        nonlocal done
        index = missing[number]
        path = paths[index]
        if path is not None:
            _keep(path, computed)
        charge(computed.seconds, path, found=False)
        results[index] = computed.result
        done += 1
        progress(done / len(cases), f"trial {done} of {len(cases)}")

    if missing:
        current_place().compute(function, [cases[index] for index in missing], take)
    return [result for result in results if result is not None]


def from_arrays(kind: type[Made], arrays: Mapping[str, NDArray[Any]], **others: object) -> Made:
    """Return the dataclass `kind` made of others and of the arrays by the name of its fields.

    An array without axes becomes the number or text that it holds; arrays of other names are left out.
    """
    names = [entry.name for entry in fields(kind) if entry.name in arrays]  # type: ignore[arg-type]
    return kind(**{name: arrays[name] if arrays[name].ndim else arrays[name].item() for name in names}, **others)


def _keep(path: Path, computed: Computed) -> None:
    """Keep the result of a trial at `path`, whole or not at all."""
    part = path.with_suffix(f".{os.getpid()}")
    arrays: dict[str, Any] = {**computed.result, _SECONDS: np.asarray(computed.seconds)}
    for name, array in arrays.items():
        # By hand: numpy 1.26 takes the option of `savez` for one more array.
        if array.dtype.hasobject:
            raise InvalidInputError(f"type of {name!r} in a trial", str(array.dtype), "numbers or texts")
    with _naming(path, "a finished trial cannot be kept"):
        try:
            with part.open("wb") as file:
                np.savez(file, **arrays)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def _read(path: Path) -> Computed | None:
    """Return what is kept at `path`; None when there is nothing, or nothing that can be read."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
            return Computed(arrays, float(arrays.pop(_SECONDS)))
    except (OSError, ValueError, EOFError, KeyError, BadZipFile, pickle.UnpicklingError):
        return None


def _file_name(function: str, case: object) -> str:
    whole = f"{sorted(versions().items())} {function} {case!r}"
    return f"{versions()['source']}-{hashlib.sha256(whole.encode()).hexdigest()[:24]}.npz"


def _remove_leftovers(directory: Path) -> None:
    for path in directory.iterdir():
        # Another process may be faster: it has removed the file, or finished what was a part.
        with _naming(path, "what is left of an earlier run cannot be removed"), suppress(FileNotFoundError):
            if _is_left_over(path):
                path.unlink()


def _is_left_over(path: Path) -> bool:
    """Distinguish results of other sources, and partial files of killed processes."""
    if path.suffix == ".npz":
        return not path.name.startswith(versions()["source"])
    return _PART.fullmatch(path.name) is not None and path.stat().st_mtime < time.time() - _LONGEST_WRITE


@contextmanager
def _naming(path: Path, failure: str) -> Iterator[None]:
    """Raise ImpactControlError with a file and what failed where the system raises an error."""
    try:
        yield
    except OSError as error:
        raise ImpactControlError(f"{path}: {failure}: {error}") from error
