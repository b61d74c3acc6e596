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

from counting import Counted
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
    found = {**target.counts, "seconds": time.monotonic() - begin, "failures": failures}
    Path(record).write_text(json.dumps(found) + "\n")
    target.close()


if __name__ == "__main__":
    main()
