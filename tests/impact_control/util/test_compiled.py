"""Compiled kernels are cached for one state of the sources only."""

from pathlib import Path

import numpy as np
import pytest

from impact_control.util import compiled as compiled_module
from impact_control.util.compiled import (
    HAVE_NUMBA,
    compiled_in_place,
    kernel_digest,
    record_type,
    sources_of,
)
from impact_control.util.types import Records, Vector


def test_a_change_of_any_kernel_changes_the_cache(tmp_path: Path) -> None:
    caller, called, other = (tmp_path / name for name in ("caller.py", "called.py", "other.py"))
    caller.write_text("@compiled\ndef f(): g()\n")
    called.write_text("@compiled\ndef g(): return 1\n")
    other.write_text("def h(): return 1\n")
    before = kernel_digest([tmp_path])
    other.write_text("def h(): return 2\n")
    assert kernel_digest([tmp_path]) == before
    called.write_text("@compiled\ndef g(): return 2\n")
    changed = kernel_digest([tmp_path])
    assert changed != before
    other.write_text("THING = record_type(size=float)\n")
    assert kernel_digest([tmp_path]) != changed


@pytest.mark.skipif(not HAVE_NUMBA, reason="numba is not installed")
def test_an_untested_version_of_numba_compiles_without_private_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_module, "_KNOWN", False)

    def half(array: Vector) -> Vector:
        return array[:1]

    half.__annotations__.clear()  # of one that works in place a returned array is refused
    np.testing.assert_array_equal(compiled_in_place(half)(np.ones(2)), [1.0])


def test_records_are_read_and_written_by_name_in_kernels_and_in_plain_python() -> None:
    point = record_type(("place", (float, 3)), ("mass", float), ("seen", bool))

    def shift(points: Records) -> None:
        for i in range(points.shape[0]):
            points[i].place[1] += points[i].mass
            points[i].seen = True

    for kernel in (shift, compiled_in_place(shift)):
        points = np.zeros(2, point)
        points["mass"] = 2.0, 3.0
        kernel(points)
        np.testing.assert_array_equal(points["place"], [[0.0, 2.0, 0.0], [0.0, 3.0, 0.0]])
        assert points["seen"].all()


@pytest.mark.skipif(not HAVE_NUMBA, reason="numba is not installed")
def test_kernels_that_work_in_place_cannot_make_or_return_an_array() -> None:
    from numba import TypingError

    def half(array: Vector) -> Vector:
        return array[:1]

    def ones(array: Vector) -> float:
        return float(np.ones(array.size)[0])

    def first(array: Vector) -> float:
        return float(array[:1][0])

    def both(array: Vector) -> tuple[Vector, float]:
        return array, 1.0

    for function in (half, both):
        with pytest.raises(TypeError, match=r"returns .*; allowed: numbers"):
            compiled_in_place(function)
    half.__annotations__.clear()
    for function in (half, ones):
        with pytest.raises(TypingError):
            compiled_in_place(function)(np.zeros(2))
    assert compiled_in_place(first)(np.array([2.0, 3.0])) == 2.0


@pytest.mark.skipif(not HAVE_NUMBA, reason="numba is not installed")
def test_kernels_are_cached_under_the_digest_of_what_they_call() -> None:
    """Those of the library do not depend on whether the studies are installed."""
    from impact_control.impacts import normal_force
    from impact_studies.models.impacts.normal_impact_kernel import _next_step

    for package, kernel in (("impact_control", normal_force), ("impact_studies", _next_step)):
        directory = f"{package}-{kernel_digest(sources_of(package))}"
        assert directory in kernel.stats.cache_path.split("/")  # type: ignore[attr-defined]
    assert sources_of("impact_control") == sources_of("impact_studies")[:1]
