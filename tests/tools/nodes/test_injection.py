"""A drawn fault happens to the process it names, at its time, for as long as it says, and is undone."""

from __future__ import annotations

import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from endurance.faults import FAULTS, Fault
from endurance.injection import Injection

pytestmark = pytest.mark.wall_clock

AS_IT_IS = 0.005
"""[s] of standing still, or of a signal that comes late, with which a machine measures well enough."""

TICKS = "import time\nwhile True:\n    print(time.monotonic(), flush=True)\n    time.sleep(5e-4)"
"""A process that says when it runs."""


def stop_of(seconds):
    kind = next(kind for kind in FAULTS if kind.name == "stop" and "recorder" in kind.targets)
    return Fault(kind, "recorder", 0.5, seconds)


def ticking_process():
    return subprocess.Popen([sys.executable, "-c", TICKS], stdout=subprocess.PIPE, text=True)


def longest_pause(process, first):
    """End a ticking process; return its longest pause [s] since the first tick."""
    process.kill()
    return np.diff([first, *map(float, process.stdout.read().splitlines())]).max()


def longest_silence(seconds):
    """The longest pause [s] of a process in which a stop is injected, and by how much the machine may have made it so.

    A stop longer than 0.2 s is ended early.
    """
    with ticking_process() as ticking, ticking_process() as beside:
        session = SimpleNamespace(processes=SimpleNamespace(pid=lambda name: ticking.pid))
        injection = Injection(session, stop_of(seconds))
        signalled, send = [], injection._signal
        injection._signal = lambda number: (send(number), signalled.append(time.monotonic()))
        first, first_beside = (float(one.stdout.readline()) for one in (ticking, beside))  # Python has started
        injection.look(SimpleNamespace(task_time=0.49))
        assert not injection.begun
        injection.look(SimpleNamespace(task_time=0.51))
        assert injection.begun
        time.sleep(min(seconds, 0.2) + 0.1)
        injection.end()
        time.sleep(0.1)
        late = signalled[1] - signalled[0] - seconds
        return longest_pause(ticking, first), max(late, longest_pause(beside, first_beside))


@pytest.mark.parametrize("seconds", [0.02, pytest.param(0.1, marks=pytest.mark.long)])
def test_a_process_is_stopped_for_as_long_as_is_drawn(seconds):
    found = []
    for _ in range(30):
        silence, machine = longest_silence(seconds)
        if machine < AS_IT_IS:
            found.append(silence)
        if len(found) == 5:
            break
    assert len(found) == 5, "the machine is too busy for this test"
    assert seconds <= np.median(found) < seconds + 0.01


def test_a_stop_ends_with_its_task():
    silence, _ = longest_silence(60.0)
    assert 0.3 <= silence < 1.0
