"""Compiled kernels are cached for one state of the sources only."""

from pathlib import Path

import numpy as np
import pytest

from impact_control.compiled import HAVE_NUMBA, compiled_in_place, kernel_digest
from impact_control.types import Vector


def test_a_change_of_any_kernel_changes_the_cache(tmp_path: Path) -> None:
    caller, called, other = (tmp_path / name for name in ("caller.py", "called.py", "other.py"))
    caller.write_text("@compiled\ndef f(): g()\n")
    called.write_text("@compiled\ndef g(): return 1\n")
    other.write_text("def h(): return 1\n")
    before = kernel_digest(tmp_path)
    other.write_text("def h(): return 2\n")
    assert kernel_digest(tmp_path) == before
    called.write_text("@compiled\ndef g(): return 2\n")
    assert kernel_digest(tmp_path) != before


@pytest.mark.skipif(not HAVE_NUMBA, reason="numba is not installed")
def test_kernels_that_work_in_place_cannot_make_or_return_an_array() -> None:
    from numba import TypingError

    def half(array: Vector) -> Vector:
        return array[:1]

    def ones(array: Vector) -> float:
        return float(np.ones(array.size)[0])

    def first(array: Vector) -> float:
        return float(array[:1][0])

    for function in (half, ones):
        with pytest.raises(TypingError):
            compiled_in_place(function)(np.zeros(2))
    assert compiled_in_place(first)(np.array([2.0, 3.0])) == 2.0


@pytest.mark.skipif(not HAVE_NUMBA, reason="numba is not installed")
def test_kernels_are_cached_under_the_digest() -> None:
    from impact_control.impacts import exponential_hunt_crossley_force

    assert f"impact_control-{kernel_digest()}" in exponential_hunt_crossley_force.stats.cache_path  # type: ignore[attr-defined]
