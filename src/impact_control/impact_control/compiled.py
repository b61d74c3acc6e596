"""Compile small numeric kernels where numba is installed; run them as plain Python where it is not.

The kernels are written once, in readable Python; the tests compare both forms.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])

try:
    from numba import config, njit
except ImportError:
    HAVE_NUMBA = False
else:
    HAVE_NUMBA = True


def kernel_digest(package: Path = Path(__file__).parent) -> str:
    """Return a digest of all source files below `package` that hold kernels."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        source = path.read_bytes()
        if b"@compiled" in source:
            digest.update(source)
    return digest.hexdigest()[:16]


if HAVE_NUMBA:
    # Numba asks only whether the file of a kernel changed, not those of the kernels it calls: without a cache for
    # each state of the sources a changed kernel would go on running as it was inside the others.
    _wanted = vars(config).get("CACHE_DIR")
    _caches = Path(_wanted or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "numba")
    vars(config)["CACHE_DIR"] = str(_caches / f"impact_control-{kernel_digest()}")


def compiled(function: _Function) -> _Function:
    """Return `function` compiled to machine code with a cache on disk, or unchanged without numba.

    The readable form stays reachable as `function.py_func` when compiled.
    """
    if not HAVE_NUMBA:
        return function
    return cast(_Function, njit(cache=True)(function))


def compiled_in_place(function: _Function) -> _Function:
    """Return `function` compiled without counting references to arrays, a good part of the time with tuples of many.

    For kernels that work on arrays their callers hold: numba refuses to compile one that makes or returns an array.
    """
    if not HAVE_NUMBA:
        return function
    # The stubs of numba do not know this option.
    options: dict[str, Any] = {"cache": True, "_nrt": False}
    return cast(_Function, cast(Any, njit)(**options)(function))
