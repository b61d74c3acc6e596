"""HDF5 files: the library for them, a new one in place of an old one, and damage that the library does not survive."""

from __future__ import annotations

import importlib
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from struct import Struct
from typing import Any

from impact_control.errors import InvalidInputError, MissingDependencyError, ScenarioError

_HEAP = b"GCOL\x01\0\0\0"
"""What a heap of texts (global heap collection) begins with: signature, version, reserved."""

_HEAP_SIZE = Struct("<Q")
"""After that: the size of all of it."""

_OBJECT = Struct("<HH4xQ")
"""Head of an object in it: index, references, size. Index 0 is what is free, its size that of head and all."""


def hdf5_library() -> Any:
    """Return h5py, which only files of trials and studies need. Raises MissingDependencyError without it."""
    try:
        return importlib.import_module("h5py")
    except ImportError as error:
        raise MissingDependencyError("trial data and results of studies need h5py: pip install h5py==3.16.0") from error


@contextmanager
def new_hdf5(path: Path) -> Iterator[Any]:
    """Return a new HDF5 file to write to; one of the same name is replaced, by the whole new one or not at all.

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
        raise InvalidInputError("path", str(path), f"a file that can be written; {error}") from error


def require_whole_heaps(path: Path) -> None:
    """Refuse a file with a heap of texts whose objects do not follow each other up to its end.

    libhdf5 (2.0.0) reads such a heap for ever, where no signal of Python ends it. Raises ScenarioError, and OSError
    where there is no file. Source: HDF5 file format specification, III.E, with sizes of 8 bytes, as h5py writes them.
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
    """Return whether the heap that begins there is walked through in steps that lead on and not beyond it."""
    at = start + len(_HEAP) + _HEAP_SIZE.size
    if at > len(content):
        return False
    end = start + _HEAP_SIZE.unpack_from(content, start + len(_HEAP))[0]
    if end > len(content):
        return False
    while end - at >= _OBJECT.size:
        index, _, size = _OBJECT.unpack_from(content, at)
        step = _OBJECT.size + -(-size // 8) * 8 if index else size
        if not _OBJECT.size <= step <= end - at:
            return False
        at += step
    return True
