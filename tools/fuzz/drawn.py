"""Drive the target of a surface by hypothesis: examples of choices, and the smallest that fails.

    python tools/fuzz/drawn.py SURFACE RECORD INPUTS SEED HANG

Writes the record of the run as JSON. An input that takes longer than HANG seconds ends the process by SIGALRM, after
it has printed where it hangs: no Python code could end an input that hangs in compiled code.
"""

from __future__ import annotations

import faulthandler
import json
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from counting import Counted
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from source import Drawn
from surfaces import Target, make_target

PHASES = (Phase.explicit, Phase.generate, Phase.shrink)


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Let the process get SIGALRM where what is done here takes longer."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def drawn(target: Target, inputs: int, hang: float) -> Callable[[], None]:
    """Return a test that puts so many examples into a target; it raises what the smallest one that fails raises.

    hang [s]: that an example may take.
    """

    @settings(max_examples=inputs, deadline=None, suppress_health_check=list(HealthCheck), database=None, phases=PHASES)
    @given(st.data())
    def test(data: st.DataObject) -> None:
        with alarm(hang):
            target(Drawn(data))

    return test


def main() -> None:
    """Fuzz one surface."""
    surface, record, inputs, number, hang = sys.argv[1:]
    target = Counted(make_target(surface))
    faulthandler.register(signal.SIGALRM, chain=True)
    begin, failures = time.monotonic(), 0
    try:
        seed(int(number))(drawn(target, int(inputs), float(hang)))()
    except Exception:
        failures = 1
        traceback.print_exc()
    found = {**target.counts, "seconds": time.monotonic() - begin, "failures": failures}
    Path(record).write_text(json.dumps(found) + "\n")
    target.close()


if __name__ == "__main__":
    main()
