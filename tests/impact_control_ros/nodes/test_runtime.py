"""Cores of a process, real-time priorities of its threads, locked memory and collected garbage."""

import gc
import os
import subprocess
import sys
import time
import weakref
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread

import pytest
import rclpy
from lifecycle_msgs.msg import Transition
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from harness import Peer
from impact_control_ros.bridge import real_time, runtime
from impact_control_ros.bridge.real_time import Measure
from impact_control_ros.nodes.simulator import SimulatorNode
from impact_control_ros.session.graph import Duty, NodeSpec

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
    real_time.keep_to_cores(real_time.LOOP_CORES)
    loop = os.sched_getaffinity(0)
    os.sched_setaffinity(0, allowed)
    real_time.keep_to_cores(real_time.ROBOT_CORES)
    robot = os.sched_getaffinity(0)
    assert len(loop) == 1
    if len(allowed) > 1:
        assert loop | robot == allowed
        assert not loop & robot


def test_the_only_core_is_for_both(allowed):
    only = {min(allowed)}
    for cores in (real_time.LOOP_CORES, real_time.ROBOT_CORES):
        os.sched_setaffinity(0, only)
        real_time.keep_to_cores(cores)
        assert os.sched_getaffinity(0) == only


@pytest.mark.parametrize("place", range(4))
def test_each_arm_of_a_scene_has_the_core_of_its_loop_for_itself_as_long_as_there_are_cores(place, allowed):
    """Two loops on one core filled it, and the kernel stopped them for 50 ms: 0 of 8 grabs were judged."""
    if len(allowed) < 2:
        pytest.skip("one core is for all")
    real_time.keep_to_cores(real_time.LOOP_CORES)
    moved, ended = SimpleQueue(), Event()
    before = Thread(target=lambda: (ended.wait(5.0), moved.put(os.sched_getaffinity(0))))
    before.start()
    real_time.keep_to_core_of_arm(place)
    ended.set()
    before.join()
    assert os.sched_getaffinity(0) == moved.get() == {sorted(allowed)[-1 - place % len(allowed)]}


def test_a_loop_that_keeps_to_no_core_goes_on_so(allowed):
    real_time.keep_to_core_of_arm(1)
    assert os.sched_getaffinity(0) == allowed


def started(peer, spec):
    """Start a node and return its process, once it is heard of: Python takes seconds to load it."""
    peer.processes.start(spec)
    peer.until(lambda: spec.name in peer.node.get_node_names(), patience=60.0, what="the node")
    return peer.processes.pid(spec.name)


def policies_of(pid):
    """Scheduling policies of the threads of a process: of those that send in the background, and of all others."""
    found = {True: [], False: []}
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        sends = (thread / "comm").read_text().startswith("dds.asyn")
        found[sends].append(os.sched_getscheduler(int(thread.name)))
    return found[True], found[False]


def priorities_of(pid):
    """Priorities of the threads of a process that have one of real time."""
    threads = [int(thread.name) for thread in Path(f"/proc/{pid}/task").glob("*")]
    return {os.sched_getparam(one).sched_priority for one in threads if os.sched_getscheduler(one) == os.SCHED_FIFO}


@pytest.mark.parametrize(("priority", "niceness"), [(runtime.LOOP_PRIORITY, real_time.LEAST_NICE), (0, 0)])
def test_what_runs_beside_the_loop_is_ordinary_comes_before_others_and_has_every_core(
    priority, niceness, ordinary, allowed
):
    """On the core of the loop it waited for the planner of the other arm, and held its loop up for 240 ms."""
    if priority and not real_time.prefer_real_time(priority):
        pytest.skip("real-time scheduling is not permitted")
    if priority:
        real_time.keep_to_cores(real_time.LOOP_CORES)
    found = SimpleQueue()
    real_time.run_beside(
        "beside",
        lambda *given: found.put(
            (os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0), *given)
        ),
        7,
    )
    assert found.get(timeout=5.0) == (os.SCHED_OTHER, niceness, allowed, 7)
    assert os.sched_getparam(0).sched_priority == priority and os.getpriority(os.PRIO_PROCESS, 0) == 0


@pytest.mark.parametrize(("arm", "partner", "place"), [("left", "right", 0), ("right", "left", 1)])
def test_the_loop_of_an_arm_of_a_scene_keeps_to_the_core_of_its_arm(arm, partner, place, tmp_path, ordinary, allowed):
    if len(allowed) < 2 or not real_time.prefer_real_time(runtime.LOOP_PRIORITY):
        pytest.skip("one core is for all, or real-time scheduling is not permitted")
    real_time.prefer_ordinary()
    given = {"scenario": "grab_juice_1", "arm": arm, "partners": [partner]}
    with Peer(tmp_path) as peer:
        pid = started(peer, NodeSpec("watched", "loop", Duty.LOOP, given))
        assert peer.change("watched", Transition.TRANSITION_CONFIGURE), peer.log("watched")
        assert os.sched_getaffinity(pid) == {sorted(allowed)[-1 - place]}


def test_the_log_of_the_loop_is_written_behind_it_and_before_other_processes(tmp_path, ordinary):
    if not real_time.prefer_real_time(runtime.LOOP_PRIORITY):
        pytest.skip("real-time scheduling is not permitted")
    real_time.prefer_ordinary()
    with Peer(tmp_path) as peer:
        pid = started(peer, NodeSpec("watched", "loop", Duty.LOOP))

        def taken():
            threads = [int(thread.name) for thread in Path(f"/proc/{pid}/task").glob("*")]
            log = [os.sched_getscheduler(one) for one in threads if os.getpriority(os.PRIO_PROCESS, one) < 0]
            return log == [os.SCHED_OTHER] and priorities_of(pid) == {runtime.LOOP_PRIORITY}

        peer.until(taken, what="a thread for the log, and the priority of the loop")


def test_the_recorder_comes_before_ordinary_processes_and_after_all_with_a_clock(tmp_path, ordinary):
    """Behind a planner and a client it lost messages, and the request to end the recording with them."""
    if not real_time.prefer_real_time(runtime.LOOP_PRIORITY):
        pytest.skip("real-time scheduling is not permitted")
    real_time.prefer_ordinary()
    assert runtime.RECORDER_PRIORITY < runtime.SUPERVISOR_PRIORITY < runtime.LOOP_PRIORITY < runtime.ROBOT_PRIORITY
    with Peer(tmp_path) as peer:
        pid = started(peer, NodeSpec("watched", "recorder", Duty.RECORDER))
        peer.until(lambda: priorities_of(pid) == {runtime.RECORDER_PRIORITY}, what="its priority and no other")


@pytest.mark.parametrize("executable", ["benchmark.bench_echo", "loop", "simulator"])
def test_what_sends_in_the_background_cannot_keep_the_loop_from_running(executable, tmp_path, ordinary):
    """Such a thread was seen to spin for minutes after a listener was killed.

    Where all threads share one core and one priority, it does not even have its name when the node is made.
    """
    with Peer(tmp_path) as peer:
        pid = started(peer, NodeSpec("watched", executable, Duty.LOOP))
        peer.until(lambda: set(policies_of(pid)[0]) == {os.SCHED_OTHER}, what="ordinary priority of the senders")
        _, others = policies_of(pid)
    # Those that carry samples and commands keep it, where it is permitted.
    assert (os.SCHED_FIFO in others) == real_time.prefer_real_time(runtime.LOOP_PRIORITY)


@pytest.mark.parametrize(
    ("text", "measures"),
    [
        ("1", set(Measure)),
        ("0", {Measure.HEAP}),
        ("fifo", {Measure.FIFO}),
        ("memory,heap", {Measure.MEMORY, Measure.HEAP}),
    ],
)
def test_measures_are_chosen_by_their_words(text, measures, monkeypatch):
    monkeypatch.setenv(real_time.VARIABLE, text)
    assert real_time.chosen() == measures


def test_a_word_that_is_no_measure_ends_a_node_with_those_there_are(tmp_path, monkeypatch):
    monkeypatch.setenv(real_time.VARIABLE, "fifo,fast")
    with Peer(tmp_path) as peer:
        peer.processes.start(NodeSpec("odd", "benchmark.bench_echo", Duty.LOOP))
        peer.until(lambda: not peer.processes.running("odd"), patience=60.0, what="the end of the node")
        assert "'fifo,fast'; allowed: 1, 0, or words of fifo, awake, cores, memory, heap" in peer.log("odd")


def in_a_process(code, limit=None):
    """Run code in a process with a limit of locked memory [bytes]; return its standard error."""
    limited = f"import resource as r; r.setrlimit(r.RLIMIT_MEMLOCK, ({limit}, {limit})); " if limit is not None else ""
    text = f"from impact_control_ros.bridge import real_time as rt; from pathlib import Path; {limited}{code}"
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    return ran.stderr


def test_memory_is_locked_page_by_page_or_it_is_said_why_not():
    told = in_a_process(
        "import sys; done = rt.lock_memory(); status = Path('/proc/self/status').read_text(); "
        "locked = int(status.split('VmLck:')[1].split()[0]); assert (locked > 10000) == done, status"
    )
    assert not told or told.startswith("memory is not locked: ")


def test_memory_is_left_alone_where_later_memory_would_be_refused():
    told = in_a_process("rt._may_lock_any = lambda: False; assert not rt.lock_memory()", limit=65536)
    assert told == "memory is not locked: at most 64 KiB are permitted; docs/real_time.md says how to permit it\n"


@pytest.mark.parametrize(
    ("ask", "refused", "says"),
    [
        ("rt.prefer_real_time(40)", "sched_setscheduler", "no real-time scheduling"),
        ("rt.keep_to_cores(slice(None))", "sched_setaffinity", "no cores of its own"),
        ("rt.keep_cores_awake()", "open", "idle cores may sleep"),
    ],
)
def test_what_is_not_permitted_is_said(ask, refused, says):
    told = in_a_process(
        f"exec('def refuse(*_): raise PermissionError(1, \"Operation not permitted\")'); rt.os.{refused} = refuse; "
        "rt._idle_driver = str; "
        f"assert not {ask}"
    )
    assert told.startswith(f"{says}: [Errno 1] Operation not permitted; docs/real_time.md says how")


def test_idle_cores_of_a_virtual_machine_that_polls_by_itself_may_halt():
    asked = "opened = []; rt.os.write = lambda *_: None; rt.os.open = lambda path, *_: opened.append(path) or 9; "
    for driver, latency in (("haltpoll", []), ("intel_idle", ["/dev/cpu_dma_latency"])):
        told = in_a_process(
            f"{asked}rt._idle_driver = lambda: '{driver}'; assert rt.keep_cores_awake() is {bool(latency)}; "
            f"assert opened == {latency}, opened"
        )
        assert not told


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
    real_time.still_heap()
    del ring
    real_time.still_heap()
    assert gone() is not None
    real_time.thaw_heap()
    real_time.still_heap()
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
            assert node.built._on_reset(Trigger.Request(), Trigger.Response()).success
            objects.append(gc.get_freeze_count() + len(gc.get_objects()))
        # Each of them left 303 where nothing collected them.
        assert objects[-1] - objects[2] < 40, objects
    finally:
        node.trigger_shutdown()
        node.destroy_node()
        rclpy.shutdown()


@pytest.mark.parametrize("publishers", [8, 1000], ids=["some", "without end"])
def test_a_node_leaves_once_no_publisher_appears_any_more(tmp_path, publishers):
    with Peer(tmp_path) as peer:
        other, left, made = peer.another("other"), Event(), []

        def discover():
            while not left.wait(0.05) and len(made) < publishers:
                made.append(other.create_publisher(Float64MultiArray, f"topic_{len(made)}", 1))

        thread = Thread(target=discover)
        thread.start()
        begin = time.monotonic()
        runtime.await_quiet(peer.node)
        left.set()
        thread.join()
        assert len(made) == publishers or time.monotonic() - begin >= runtime.QUIET_PATIENCE
