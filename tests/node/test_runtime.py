"""Which cores a process keeps to, and which of its threads run at real-time priority."""

import os
from pathlib import Path

import pytest
from harness import Peer

from impact_control.graph import Duty, NodeSpec
from impact_control.nodes import runtime

pytestmark = pytest.mark.wall_clock


@pytest.fixture
def ordinary():
    """Leave the test's own process at ordinary priority."""
    yield
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@pytest.fixture
def allowed():
    before = os.sched_getaffinity(0)
    yield before
    os.sched_setaffinity(0, before)


def test_loop_and_robot_side_share_no_core_where_there_are_two(allowed):
    runtime.keep_to_cores(runtime.LOOP_CORES)
    loop = os.sched_getaffinity(0)
    os.sched_setaffinity(0, allowed)
    runtime.keep_to_cores(runtime.ROBOT_CORES)
    robot = os.sched_getaffinity(0)
    assert len(loop) == 1
    if len(allowed) > 1:
        assert loop | robot == allowed
        assert not loop & robot


def test_the_only_core_is_for_both(allowed):
    only = {min(allowed)}
    for cores in (runtime.LOOP_CORES, runtime.ROBOT_CORES):
        os.sched_setaffinity(0, only)
        runtime.keep_to_cores(cores)
        assert os.sched_getaffinity(0) == only


def policies_of(pid):
    """Scheduling policies of the threads of a process: of those that send in the background, and of all others."""
    found = {True: [], False: []}
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        sends = (thread / "comm").read_text().startswith("dds.asyn")
        found[sends].append(os.sched_getscheduler(int(thread.name)))
    return found[True], found[False]


@pytest.mark.parametrize("executable", ["bench_echo", "loop", "simulator"])
def test_what_sends_in_the_background_cannot_keep_the_loop_from_running(executable, tmp_path, ordinary):
    """Such a thread was seen to spin for minutes after a listener was killed.

    Where all threads share one core and one priority, it does not even have its name when the node is made.
    """
    with Peer(tmp_path) as peer:
        peer.processes.start(NodeSpec("watched", executable, Duty.LOOP))
        pid = peer.processes.pid("watched")
        peer.until(lambda: set(policies_of(pid)[0]) == {os.SCHED_OTHER}, what="ordinary priority of the senders")
        _, others = policies_of(pid)
    # Those that carry samples and commands keep it, where it is permitted.
    assert (os.SCHED_FIFO in others) == runtime.prefer_real_time(runtime.LOOP_PRIORITY)
