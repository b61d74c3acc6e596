"""Trials of an experiment in one HDF5 file; the layout is documented in docs/recordings.md.

Nothing of this package is needed to read such a file: every dataset carries its unit and meaning as attributes.
"""

from __future__ import annotations

import importlib
import math
import mmap
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_control.util.errors import InvalidInputError, MissingDependencyError, ScenarioError
from impact_control.util.types import Vector

FORMAT, FORMAT_VERSION = "impact_control.trials", 1
"""Attributes `format` and `format_version` of the file."""

_FILE_ATTRIBUTES = ("format_version", "software_version", "seed", "trials")
_FACTS = "facts"

_COMPRESSION = 1032
"""Bytes that one byte of a compressed dataset may stand for: what deflate makes of zeros."""

_HEAP = b"GCOL\x01\0\0\0"
"""First bytes of a heap of texts (global heap collection): signature, version, reserved; its size follows."""

_HEAP_SIZE, _OBJECT = Struct("<Q"), Struct("<HH4xQ")
"""Size of a heap; head of an object in it: index, references, size. Index 0 is free space, its size that of all."""


@dataclass(frozen=True, eq=False)
class Quantity:
    """Numbers with their unit and meaning.

    values: float64 of any shape; of a signal the first axis are the samples. unit: SI, "1" for a ratio. meaning: with
    its frame. Raises InvalidInputError for an empty unit.
    """

    values: NDArray[np.float64]
    unit: str
    meaning: str = ""

    def __post_init__(self) -> None:
        if not self.unit:
            raise InvalidInputError("unit", self.unit, 'the unit, "1" for a ratio')
        values = np.array(self.values, dtype=np.float64)
        values.setflags(write=False)
        object.__setattr__(self, "values", values)


@dataclass(frozen=True, eq=False)
class Source:
    """Signals on one clock: of an arm, an object, or the controller.

    time: (m,) [s], increasing, 0 at the start of the trial. signals: by name, each (m, ...); samples that were not
    measured are NaN. Raises InvalidInputError.
    """

    time: Vector
    signals: Mapping[str, Quantity]

    def __post_init__(self) -> None:
        time = np.array(self.time, dtype=np.float64)
        if time.ndim != 1 or not np.all(np.isfinite(time)) or not np.all(np.diff(time) > 0.0):
            raise InvalidInputError("time", self.time, "increasing stamps of shape (m,)")
        for name, signal in self.signals.items():
            _require_name(name)
            if signal.values.shape[:1] != time.shape:
                raise InvalidInputError(name, signal.values.shape, f"values of shape ({time.size}, ...)")
        if "time" in self.signals:
            raise InvalidInputError("signals", "time", "names other than that of the stamps")
        time.setflags(write=False)
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "signals", MappingProxyType(dict(self.signals)))


@dataclass(frozen=True, eq=False)
class Trial:
    """One run.

    sources: by name: `arm`, or `arm_1` and `arm_2`; `object`; `feedback`. facts: single numbers by name, e.g.
    `impact_time` or `reference_scale`. Raises InvalidInputError.
    """

    sources: Mapping[str, Source]
    facts: Mapping[str, Quantity]

    def __post_init__(self) -> None:
        for name in (*self.sources, *self.facts):
            _require_name(name)
        if _FACTS in self.sources:
            raise InvalidInputError("sources", _FACTS, "names other than that of the facts")
        for name, fact in self.facts.items():
            if fact.values.ndim:
                raise InvalidInputError(name, fact.values.shape, "a single number")
        object.__setattr__(self, "sources", MappingProxyType(dict(self.sources)))
        object.__setattr__(self, "facts", MappingProxyType(dict(self.facts)))


@dataclass(frozen=True, eq=False)
class TrialSet:
    """Trials of one scenario: its text, the seed of all random numbers, and the version of the software."""

    scenario: str
    seed: int
    software_version: str
    trials: tuple[Trial, ...]


def hdf5_library() -> Any:
    """Return h5py, which only files of trials and studies need. Raises MissingDependencyError without it."""
    try:
        return importlib.import_module("h5py")
    except ImportError as error:
        raise MissingDependencyError("trial data and results of studies need h5py: pip install h5py==3.16.0") from error


@contextmanager
def new_hdf5(path: Path) -> Iterator[Any]:
    """Open a new HDF5 file for writing; one of the same name is replaced by the whole new one or not at all.

    Raises MissingDependencyError without h5py, and InvalidInputError for a path that cannot be written.
    """
    h5py = hdf5_library()
    partial = path.with_name(path.name + ".part")
    try:
        with h5py.File(partial, "w") as file:
            yield file
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise InvalidInputError("path", path, f"a file that can be written; {error}") from error


def write_trials(path: Path, trials: TrialSet) -> None:
    """Write trials to a file. Raises as `new_hdf5`."""
    with new_hdf5(path) as file:
        file.attrs.update({"format": FORMAT, "format_version": FORMAT_VERSION, "trials": len(trials.trials)})
        file.attrs.update({"software_version": trials.software_version, "seed": trials.seed})
        file["scenario"] = trials.scenario
        for number, trial in enumerate(trials.trials):
            group = file.create_group(f"trial_{number:04d}")
            _write_quantities(group.create_group(_FACTS), trial.facts)
            for name, source in trial.sources.items():
                time = Quantity(source.time, "s", "since the start of the trial")
                _write_quantities(group.create_group(name), {"time": time, **source.signals})


def _write_quantities(group: Any, quantities: Mapping[str, Quantity]) -> None:
    for name, quantity in quantities.items():
        dataset = group.create_dataset(name, data=quantity.values)
        dataset.attrs["unit"] = quantity.unit
        dataset.attrs["meaning"] = quantity.meaning


def read_trials(path: Path) -> TrialSet:
    """Return the trials of a file.

    Raises MissingDependencyError without h5py, and ScenarioError, which names what is missing, for a file that is not
    there, cut off, of another kind or version, or not whole.
    """
    h5py = hdf5_library()
    name = str(path)
    try:
        require_whole_heaps(path)
        with h5py.File(path, "r") as file:
            if file.attrs.get("format") != FORMAT:
                raise ScenarioError(name, "format", file.attrs.get("format"), FORMAT)
            for key in _FILE_ATTRIBUTES:
                if key not in file.attrs:
                    raise ScenarioError(name, key, None, "an attribute of the file")
            if file.attrs["format_version"] != FORMAT_VERSION:
                raise ScenarioError(name, "format_version", file.attrs["format_version"], str(FORMAT_VERSION))
            if not isinstance(text := file.get("scenario"), h5py.Dataset) or text.shape != ():
                raise ScenarioError(name, "scenario", None, "a text, the scenario")
            _require_within_file(name, "scenario", text)
            groups = [_group(name, file, f"trial_{k:04d}", h5py) for k in range(int(file.attrs["trials"]))]
            return TrialSet(
                scenario=text.asstr()[()],
                seed=int(file.attrs["seed"]),
                software_version=str(file.attrs["software_version"]),
                trials=tuple(_read_trial(name, group, h5py) for group in groups),
            )
    except ScenarioError:
        raise
    except Exception as error:  # whatever the library makes of damaged bytes
        raise ScenarioError(name, "file", str(error), f"a whole HDF5 file of {FORMAT}") from error


def _read_trial(file: str, group: Any, h5py: Any) -> Trial:
    facts = _quantities(file, _group(file, group, _FACTS, h5py), h5py)
    sources = {}
    for name in group:
        if name != _FACTS:
            signals = _quantities(file, _group(file, group, name, h5py), h5py)
            if "time" not in signals:
                raise ScenarioError(file, f"{group.name}/{name}/time", None, "the stamps of the signals")
            time = signals.pop("time")
            sources[name] = Source(time.values, signals)
    return Trial(sources, facts)


def _quantities(file: str, group: Any, h5py: Any) -> dict[str, Quantity]:
    found = {}
    for name, dataset in group.items():
        key = f"{group.name}/{name}"
        if not isinstance(dataset, h5py.Dataset) or dataset.dtype.kind not in "fiu":
            raise ScenarioError(file, key, str(dataset), "a dataset of numbers")
        _require_within_file(file, key, dataset)
        for attribute in ("unit", "meaning"):
            if attribute not in dataset.attrs:
                raise ScenarioError(file, f"{key}.{attribute}", None, "an attribute of the dataset")
        found[name] = Quantity(dataset[()], str(dataset.attrs["unit"]), str(dataset.attrs["meaning"]))
    return found


def _group(file: str, parent: Any, name: str, h5py: Any) -> Any:
    group = parent.get(name)
    if not isinstance(group, h5py.Group):
        raise ScenarioError(file, f"{parent.name.rstrip('/')}/{name}", None, "a group")
    return group


def _require_name(name: str) -> None:
    if not name.isidentifier():
        raise InvalidInputError("name", name, "letters, digits and underscores, not a digit first")


def _require_within_file(file: str, key: str, dataset: Any) -> None:
    """Refuse a dataset larger than the file can hold: reading it would fill the memory with zeros."""
    largest = Path(file).stat().st_size * (1 if dataset.compression is None else _COMPRESSION)
    if dataset.nbytes > largest:
        raise ScenarioError(file, key, f"{dataset.nbytes} bytes", f"at most {largest}, by the size of the file")


def require_whole_heaps(path: Path) -> None:
    """Refuse a file with a heap of texts whose objects do not follow each other up to its end.

    libhdf5 (2.0.0) reads such a heap for ever, where no signal of Python ends it. Raises ScenarioError, and OSError
    without a file. Source: HDF5 file format specification, III.E, with sizes of 8 bytes, as h5py writes them.
    """
    if not path.stat().st_size:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        start = content.find(_HEAP)
        while start >= 0:
            if not _is_whole(content, start):
                found = f"a damaged heap of texts at byte {start}"
                raise ScenarioError(str(path), "file", found, "objects that follow each other up to its end")
            start = content.find(_HEAP, start + len(_HEAP))


def _is_whole(content: mmap.mmap, start: int) -> bool:
    """Return whether each object of the heap at `start` leads on to the next and not beyond its end."""
    at = start + len(_HEAP) + _HEAP_SIZE.size
    end = start + _HEAP_SIZE.unpack_from(content, start + len(_HEAP))[0] if at <= len(content) else math.inf
    if end > len(content):
        return False
    while end - at >= _OBJECT.size:
        index, _, size = _OBJECT.unpack_from(content, at)
        step = _OBJECT.size + -(-size // 8) * 8 if index else size
        if not _OBJECT.size <= step <= end - at:
            return False
        at += step
    return True
