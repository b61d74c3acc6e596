"""Trials of an experiment in one HDF5 file, and back. The layout is documented in docs/recordings.md.

Nothing of this package is needed to read such a file: every dataset carries its unit and meaning as attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_control.errors import InvalidInputError, ScenarioError
from impact_control.recording.hdf5 import hdf5_library, new_hdf5, require_whole_heaps
from impact_control.types import Vector

FORMAT = "impact_control.trials"
"""Attribute `format` of the file."""

FORMAT_VERSION = 1
"""Attribute `format_version` of the file."""

_COMPRESSION = 1032
"""Bytes that one byte of a compressed dataset may stand for: what deflate makes of zeros."""

_FACTS = "facts"
_FILE_ATTRIBUTES = ("format_version", "software_version", "seed", "trials")


@dataclass(frozen=True, eq=False)
class Quantity:
    """Numbers with their unit and meaning.

    values: float64 of any shape; of a signal the first axis are the samples. unit: SI, "1" for a ratio. meaning: what
    it is, with its frame. Raises InvalidInputError for an empty unit.
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

    sources: by name: `arm`, or `arm_1` and `arm_2`; `object`; `feedback`. facts: single numbers about it by name, e.g.
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
    """Trials of one scenario: its text, the seed of all random numbers, and the version of what made them."""

    scenario: str
    seed: int
    software_version: str
    trials: tuple[Trial, ...]


def write_trials(path: Path, trials: TrialSet) -> None:
    """Write trials to a file; one of the same name is replaced, by the whole new one or not at all.

    Raises MissingDependencyError without h5py, and InvalidInputError for a path that cannot be written.
    """
    with new_hdf5(path) as file:
        file.attrs["format"] = FORMAT
        file.attrs["format_version"] = FORMAT_VERSION
        file.attrs["software_version"] = trials.software_version
        file.attrs["seed"] = trials.seed
        file.attrs["trials"] = len(trials.trials)
        file["scenario"] = trials.scenario
        for number, trial in enumerate(trials.trials):
            _write_trial(file.create_group(f"trial_{number:04d}"), trial)


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
            count = int(file.attrs["trials"])
            groups = [_group(name, file, f"trial_{number:04d}", h5py) for number in range(count)]
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


def _write_trial(group: Any, trial: Trial) -> None:
    facts = group.create_group(_FACTS)
    for name, fact in trial.facts.items():
        _write_quantity(facts, name, fact)
    for source_name, source in trial.sources.items():
        signals = group.create_group(source_name)
        _write_quantity(signals, "time", Quantity(source.time, "s", "since the start of the trial"))
        for name, signal in source.signals.items():
            _write_quantity(signals, name, signal)


def _write_quantity(group: Any, name: str, quantity: Quantity) -> None:
    dataset = group.create_dataset(name, data=quantity.values)
    dataset.attrs["unit"] = quantity.unit
    dataset.attrs["meaning"] = quantity.meaning


def _read_trial(file: str, group: Any, h5py: Any) -> Trial:
    facts = _quantities(file, _group(file, group, _FACTS, h5py), h5py)
    sources = {}
    for name in group:
        if name == _FACTS:
            continue
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


def _require_within_file(file: str, key: str, dataset: Any) -> None:
    """Refuse a dataset that says it is larger than the file can hold: reading it would fill the memory with zeros."""
    largest = Path(file).stat().st_size * (1 if dataset.compression is None else _COMPRESSION)
    if dataset.nbytes > largest:
        raise ScenarioError(file, key, f"{dataset.nbytes} bytes", f"at most {largest}, by the size of the file")


def _group(file: str, parent: Any, name: str, h5py: Any) -> Any:
    group = parent.get(name)
    if not isinstance(group, h5py.Group):
        raise ScenarioError(file, f"{parent.name.rstrip('/')}/{name}", None, "a group")
    return group


def _require_name(name: str) -> None:
    if not name.isidentifier():
        raise InvalidInputError("name", name, "letters, digits and underscores, not a digit first")
