"""A drawn fault happens to the process it names, at its time, for as long as it says, and is undone."""

from __future__ import annotations

import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from impact_control.endurance import FAULTS, Fault
from impact_control.nodes.injection import Injection

pytestmark = pytest.mark.wall_clock

TICKS = "import time\nwhile True:\n    print(time.monotonic(), flush=True)\n    time.sleep(5e-4)"
"""A process that says when it runs."""


def stop_of(seconds):
    kind = next(kind for kind in FAULTS if kind.name == "stop" and "recorder" in kind.targets)
    return Fault(kind, "recorder", 0.5, seconds)


def longest_silence(seconds):
    """The longest pause [s] of a process in which a stop is injected, and of one that is ended early."""
    with subprocess.Popen([sys.executable, "-c", TICKS], stdout=subprocess.PIPE, text=True) as ticking:
        session = SimpleNamespace(processes=SimpleNamespace(pid=lambda name: ticking.pid))
        injection = Injection(session, stop_of(seconds))
        first = float(ticking.stdout.readline())  # however long Python takes to start
        injection.look(SimpleNamespace(task_time=0.49))
        assert not injection.begun
        injection.look(SimpleNamespace(task_time=0.51))
        assert injection.begun
        time.sleep(min(seconds, 0.2) + 0.1)
        injection.end()
        time.sleep(0.1)
        ticking.kill()
        times = [first, *map(float, ticking.stdout.read().splitlines())]
    return np.diff(times).max()


@pytest.mark.parametrize("seconds", [0.02, 0.1])
def test_a_process_is_stopped_for_as_long_as_is_drawn(seconds):
    # The median: now and then the machine itself stands still.
    assert seconds <= np.median([longest_silence(seconds) for _ in range(5)]) < seconds + 0.01


def test_a_stop_ends_with_its_task():
    assert 0.3 <= longest_silence(60.0) < 1.0
