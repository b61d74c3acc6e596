"""Compiled kernels are cached for one state of the sources only."""

from pathlib import Path

import pytest

from impact_control.compiled import HAVE_NUMBA, kernel_digest


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
def test_kernels_are_cached_under_the_digest() -> None:
    from impact_control.impacts import exponential_hunt_crossley_force

    assert f"impact_control-{kernel_digest()}" in exponential_hunt_crossley_force.stats.cache_path  # type: ignore[attr-defined]
