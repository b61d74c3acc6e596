"""Which cores a process keeps to, which of its threads run at real-time priority, and what it keeps in memory."""

import gc
import os
import weakref
from pathlib import Path

import pytest
import rclpy
from harness import Peer
from std_srvs.srv import Trigger

from impact_control.graph import Duty, NodeSpec
from impact_control.nodes import runtime
from impact_control.nodes.simulator import SimulatorNode

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


@pytest.fixture
def collector():
    """Give the test's own process its garbage collector back."""
    yield
    gc.unfreeze()
    gc.enable()


def test_what_a_node_was_built_of_is_kept_until_it_is_given_up(collector):
    class Ring:
        pass

    ring = Ring()
    ring.itself, gone = ring, weakref.ref(ring)
    runtime.still_heap()
    del ring
    runtime.still_heap()
    assert gone() is not None
    runtime.thaw_heap()
    runtime.still_heap()
    assert gone() is None
    assert not gc.isenabled()


def test_an_arm_that_is_put_back_leaves_nothing_behind(collector):
    rclpy.init()
    node = SimulatorNode()
    try:
        node.trigger_configure()
        node.trigger_activate()
        objects = []
        for _ in range(6):
            assert node._on_reset(Trigger.Request(), Trigger.Response()).success
            objects.append(gc.get_freeze_count() + len(gc.get_objects()))
        # Each of them left 303 where nothing collected them.
        assert objects[-1] - objects[2] < 40, objects
    finally:
        node.trigger_shutdown()
        node.destroy_node()
        rclpy.shutdown()
