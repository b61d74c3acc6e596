"""Drive the target of a surface by hypothesis: examples of choices, and the smallest that fails.

    python tests/fuzz/drawn.py SURFACE RECORD INPUTS SEED

Writes the record of the run as JSON.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from source import Drawn
from surfaces import Target, make_target

PHASES = (Phase.explicit, Phase.generate, Phase.shrink)


def drawn(target: Target, inputs: int) -> Callable[[], None]:
    """Return a test that puts so many examples into a target; it raises what the smallest one that fails raises."""

    @settings(max_examples=inputs, deadline=None, suppress_health_check=list(HealthCheck), database=None, phases=PHASES)
    @given(st.data())
    def test(data: st.DataObject) -> None:
        target(Drawn(data))

    return test


class Counted:
    """A target that counts its inputs."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.inputs = 0
        self.slowest = 0.0

    def __call__(self, source: Drawn) -> bool:
        """Put one in."""
        begin = time.process_time()
        try:
            return self._target(source)
        finally:
            self.inputs += 1
            self.slowest = max(self.slowest, time.process_time() - begin)

    def close(self) -> None:
        """Give everything back."""
        self._target.close()


def main() -> None:
    """Fuzz one surface."""
    surface, record, inputs, number = sys.argv[1:]
    target = Counted(make_target(surface))
    begin, failures = time.monotonic(), 0
    try:
        seed(int(number))(drawn(target, int(inputs)))()
    except Exception:
        failures = 1
        traceback.print_exc()
    found = {"inputs": target.inputs, "seconds": time.monotonic() - begin, "slowest": target.slowest}
    Path(record).write_text(json.dumps({**found, "failures": failures}) + "\n")
    target.close()


if __name__ == "__main__":
    main()
