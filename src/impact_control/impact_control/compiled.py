"""Compile small numeric kernels where numba is installed; run them as plain Python where it is not.

The kernels are written once, in readable Python; the tests compare both forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])

try:
    from numba import njit
except ImportError:
    HAVE_NUMBA = False
else:
    HAVE_NUMBA = True


def compiled(function: _Function) -> _Function:
    """Return `function` compiled to machine code with a cache on disk, or unchanged without numba.

    The readable form stays reachable as `function.py_func` when compiled.
    """
    if not HAVE_NUMBA:
        return function
    return cast(_Function, njit(cache=True)(function))
