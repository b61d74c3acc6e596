"""Compile small numeric kernels where numba is installed; run them as plain Python where it is not.

The kernels are written once, in readable Python; the tests compare both forms. This is the only module that imports
numba. Private parts of numba are used in the versions with which they were tested, and replaced in others.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

_Function = TypeVar("_Function", bound=Callable[..., Any])

try:
    from numba import config, njit, version_info
except ImportError:
    HAVE_NUMBA, _KNOWN = False, False
else:
    HAVE_NUMBA = True
    _KNOWN = (0, 59) <= version_info.short < (0, 70)


_LIBRARY, _STUDIES = "impact_control", "impact_studies"

_kernels: list[Any] = []
"""Every compiled kernel."""


def sources_of(package: str) -> list[Path]:
    """Return the directories whose kernels those of a package call: the library's, for the studies also their own."""
    studies = find_spec(_STUDIES) if package == _STUDIES else None
    return [Path(__file__).parents[1], *map(Path, (studies and studies.submodule_search_locations) or ())]


def kernel_digest(packages: Iterable[Path]) -> str:
    """Return a digest of all source files below `packages` that hold kernels, or records they work on."""
    digest = hashlib.sha256()
    for path in sorted(path for package in packages for path in package.rglob("*.py")):
        source = path.read_bytes()
        if b"@compiled" in source or b"record_type(" in source:
            digest.update(source)
    return digest.hexdigest()[:16]


if HAVE_NUMBA:
    _chosen = vars(config).get("CACHE_DIR")
    _caches = Path(_chosen or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "numba")


@cache
def _cache_directory(package: str) -> str:
    return str(_caches / f"{package}-{kernel_digest(sources_of(package))}")


def _compile(function: _Function, **options: Any) -> _Function:
    """Return `function` compiled with a cache for this state of the sources.

    Numba asks only whether the file of a kernel changed, not those of the kernels it calls: without a cache for each
    state a changed kernel would go on running as it was inside the others. Numba takes the directory at decoration.
    """
    package = function.__module__.partition(".")[0]
    vars(config)["CACHE_DIR"] = directory = _cache_directory(package if package == _STUDIES else _LIBRARY)
    kernel: Any = njit(cache=True, **options)(function)
    if not _KNOWN and not str(kernel.stats.cache_path).startswith(directory):
        kernel = njit(**options)(function)  # without a cache rather than with one of other sources
    _kernels.append(kernel)
    return kernel  # type: ignore[no-any-return]


def compiled(function: _Function) -> _Function:
    """Return `function` compiled to machine code with a cache on disk, or unchanged without numba.

    The readable form stays reachable as `function.py_func` when compiled.
    """
    if not HAVE_NUMBA:
        return function
    return _compile(function)


def compiled_in_place(function: _Function) -> _Function:
    """Return `function` compiled without counting references to arrays, a good part of the time with tuples of many.

    For kernels that work on arrays their callers hold: numba refuses to compile one that makes or returns an array, but
    not one that returns some in a tuple, after which the heap is corrupted: that is refused here, by the annotation.
    An untested version of numba counts: `_nrt` is private.
    """
    returned = str(function.__annotations__.get("return"))
    if any(kind in returned for kind in ("Vector", "Matrix", "Records", "Memory", "ndarray")):
        raise TypeError(f"{function.__name__} returns {returned}; allowed: numbers, for a kernel that works in place")
    if not _KNOWN:
        return compiled(function)
    return _compile(function, _nrt=False)


def compiled_signatures() -> dict[tuple[str, str], int]:
    """Count the compiled signatures of each kernel, by module and name: for tests that nothing compiles late."""
    return {(kernel.__module__, kernel.__name__): len(kernel.signatures) for kernel in _kernels}


def record_type(*groups: tuple[str, Any]) -> Any:
    """Return the type of a record with named fields, for arrays of records.

    groups: names of fields, separated by spaces, and their type, or a pair of type and shape. Kernels and plain Python
    alike read and write `array[i].field`; the offsets are constants of the compiled code.
    """
    fields = [(name, kind) for names, kind in groups for name in names.split()]
    return np.dtype((np.record, np.dtype(fields, align=True)))
