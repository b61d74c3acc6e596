"""Checks for kernels of the loop: no allocation, and the same result compiled and in plain Python."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterable
from typing import Any


def python_form(kernel: Any) -> Any:
    """Return the readable form of a kernel, which is the kernel itself without numba."""
    return getattr(kernel, "py_func", kernel)


def peak_memory(call: Callable[[Any], object], arguments: Iterable[Any]) -> int:
    """Return the most memory [bytes] that calls with these arguments have taken at once, one call after the other."""
    tracemalloc.start()
    for argument in arguments:
        call(argument)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak
