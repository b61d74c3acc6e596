"""Drive the target of one surface by coverage, in a process of its own: libFuzzer ends it when it is through.

    python tools/fuzz/coverage_guided.py SURFACE RECORD INPUTS [arguments of libFuzzer]

Writes the record of the run as JSON when so many inputs are done. An input that fails is kept, and the next one tried.
"""

from __future__ import annotations

import operator
import resource
import sys
from pathlib import Path
from typing import Any

import atheris

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "impact_control"

INSTRUMENTED = ["impact_control", "rclpy", "mcap"]
"""Packages whose edges count: ours, and what stands between others and us."""

SPARE_MEMORY = 2 * 2**30
"""[bytes] that inputs may make the process grow by before they get a MemoryError, which is a finding."""

GUIDING = frozenset((bool, bytes, float, int, str))
"""Types of values that atheris compares to be guided by the difference."""

COMPARISONS = (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge)
"""By the number that CPython gives them."""


def kernels() -> list[str]:
    """Return the modules with kernels: what is compiled cannot be instrumented."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if "@compiled" in path.read_text(encoding="utf-8"):
            found.append(".".join(path.relative_to(PACKAGE).with_suffix("").parts))
    return found


def compare_the_rest_in_python() -> None:
    """Let atheris compare only what guides it: it never lets go of what it returns, which arrays make a leak of.

    For a fuzzer that runs: beginning it sets anew what instrumented code calls.
    """
    compare_and_trace = atheris._trace_cmp

    def compare(left: Any, right: Any, comparison: int, place: int, constant: bool) -> Any:
        if type(left) in GUIDING and type(right) in GUIDING:
            return compare_and_trace(left, right, comparison, place, constant)
        return COMPARISONS[comparison](left, right)

    atheris._trace_cmp = compare


def limit_memory() -> None:
    """Let the process have a little more memory than it has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + SPARE_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main() -> None:
    """Fuzz."""
    surface, record, inputs, *arguments = sys.argv[1:]
    with atheris.instrument_imports(include=INSTRUMENTED, exclude=kernels()):
        from keeping import Keeper
        from surfaces import make_target

        target = make_target(surface)
    from source import FromBytes

    keeper = Keeper(surface, Path(record), int(inputs), target)
    limit_memory()

    begun = False

    def take(data: bytes) -> None:
        nonlocal begun
        if not begun:
            compare_the_rest_in_python()
            begun = True
        keeper.take(data, FromBytes(atheris.FuzzedDataProvider(data)))

    atheris.Setup([sys.argv[0], *arguments], take)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
