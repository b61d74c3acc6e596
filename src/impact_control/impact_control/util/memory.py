"""Named memory of kernels: one structured array in place of a long list of positional arguments."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Vector

Memory = Any
"""Structured array without axes, float64. A kernel opens it by `m = memory[()]`; then each field is an attribute of m.
Outside, memory["field"] is the same array. Unlike a NamedTuple of arrays it costs a call no more than one array."""


@cache
def _layout(fields: tuple[tuple[str, tuple[int, ...]], ...]) -> np.dtype[np.void]:
    for name, _ in fields:
        if hasattr(np.record, name):
            raise InvalidInputError("field", name, "a name that a NumPy record does not have for a method of its own")
    # One object for each layout: numba looks up the type of an argument at each call, and compares others by field.
    return np.dtype((np.record, [(name, np.float64, shape) for name, shape in fields]))


def named_view(data: Vector, **shapes: tuple[int, ...]) -> Memory:
    """Return the numbers of a contiguous array (N,), one after the other, under these names, which take all of them.

    Raises InvalidInputError for a name that only numba takes for the field: in plain Python a method of records has it.
    """
    return data.view(_layout(tuple(shapes.items()))).reshape(())


def named_memory(**shapes: tuple[int, ...]) -> Memory:
    """Return zeros of these shapes under these names; shape () is a single number. Raises as `named_view`."""
    return np.zeros((), _layout(tuple(shapes.items())))
