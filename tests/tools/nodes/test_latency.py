"""What the benchmark measures over DDS: answers of the loop and of the ping-pong, measures of real time, messages."""

import contextlib
import itertools
import os
import threading
import time
from pathlib import Path

import pytest
import rclpy
from sensor_msgs.msg import JointState

from benchmark.latency import EVERY, Latency, figures_of, in_own_process, measure_latency
from benchmark.message_costs import LOST, _one_by_one, message_figures
from impact_control_ros.bridge import qos, real_time, runtime
from impact_control_ros.bridge.rclpy_internals import Inbox
from impact_control_ros.session.processes import GraphError

pytestmark = pytest.mark.wall_clock


def test_both_answer_most_samples():
    latencies = measure_latency(0.5)
    assert list(latencies) == ["ping_pong", "impact_loop"]
    for way in latencies.values():
        assert way.cycles == 500
        assert way.own_missed <= way.missed < 250
        assert 0.0 < way.median <= way.high <= way.highest <= way.longest
        assert 0.0 < way.jitter < way.longest
        times, sizes = zip(*way.memory, strict=True)
        assert sorted(times) == list(times)
        assert all(10.0 < size < 1000.0 for size in sizes)


def test_a_set_of_measures_is_held_against_all_of_them():
    def answers(median, missed):
        return Latency("impact_loop", median, 2 * median, 3 * median, 9.0, 1.0, missed, 0, 1000, ())

    found = {EVERY: [answers(10.0, 1), answers(30.0, 1), answers(20.0, 1)], "without heap": [answers(30.0, 7)] * 3}
    heap, missed = figures_of(found)
    assert heap.name == "loop over DDS without heap" and heap.values == {"median": 30.0, "99 %": 60.0, "99.9 %": 90.0}
    assert heap.peers[0].ratio == pytest.approx(1.5)
    assert (missed.unit, missed.values) == ("of 3000 cycles", {EVERY: 3, "without heap": 21})


def test_what_the_loop_does_with_messages_is_shorter_than_what_rclpy_offers():
    state, command, waiting = message_figures(rounds=30, count=10)
    assert state.peers[0].ratio < 0.6
    assert command.peers[0].ratio < 0.3
    inbox, single_threaded = waiting.peers
    assert inbox.ratio > 1.0 > single_threaded.ratio


@pytest.fixture
def node():
    rclpy.init()
    made = rclpy.create_node("costs")
    yield made
    made.destroy_node()
    rclpy.try_shutdown()


def test_a_topic_that_nobody_listens_to_is_named(node):
    with pytest.raises(GraphError, match=r"no subscriber to topic '/unheard' within 0.2 s"):
        _one_by_one(node, "unheard", lambda: True, 1, 0.2)


def test_a_topic_on_which_nothing_comes_is_named(node):
    inbox = Inbox(node)
    inbox.subscribe(JointState, "lost", qos.RECORD, raw=True)
    one_pass = _one_by_one(node, "lost", lambda: False, 1, 0.3)
    with pytest.raises(GraphError, match=r"no message came on topic '/lost' within 0.3 s"):
        one_pass()
    inbox.close()


def test_a_message_that_is_lost_is_sent_again_and_not_timed(node):
    """Every other message is thrown away, as if it had not come."""
    inbox, number = Inbox(node), itertools.count()
    slot = inbox.subscribe(JointState, "leaky", qos.RECORD, raw=True)
    one_pass = _one_by_one(node, "leaky", lambda: slot.take() is not None and next(number) % 2 == 1, 3, 2.0)
    durations = one_pass()
    assert len(durations) == 3 and max(durations) < LOST
    assert next(number) == 6
    inbox.close()


def measured_badly():
    """Raise what a measurement may."""
    raise GraphError("no message came")


def test_an_error_of_a_measurement_in_its_own_process_comes_back():
    with pytest.raises(GraphError, match="no message came"):
        in_own_process(measured_badly)
    with pytest.raises(GraphError, match="without a result"):
        in_own_process(os._exit, 3)


ANSWERING = ("benchmark.bench_echo", "impact_control_ros.nodes.loop")


def policies(directory):
    """Scheduling policies of the threads of those who answer from a directory, by the name of their module."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().decode().split("\0")
            name = next((word for word in ANSWERING if word in words), "")
            if not name or (process / "cwd").readlink() != directory:
                continue
            for thread in (process / "task").iterdir():
                found.setdefault(name, set()).add(os.sched_getscheduler(int(thread.name)))
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    ("in_environment", "measures", "taken"),
    [("1", "heap", False), ("1", "fifo,heap", True), ("0", None, False), ("1", "awake,cores,memory,heap", False)],
)
def test_those_who_answer_have_real_time_priority_only_by_the_measures(
    tmp_path, monkeypatch, in_environment, measures, taken
):
    """The sender has it, and processes inherit it."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    permitted = real_time.prefer_real_time(runtime.ROBOT_PRIORITY)
    os.sched_setscheduler(0, *before)
    if not permitted:
        pytest.skip("real-time scheduling is not permitted")
    monkeypatch.setenv(real_time.VARIABLE, in_environment)
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    seen = {name: set() for name in ANSWERING}
    measuring = threading.Thread(target=measure_latency, args=(0.5, measures))
    measuring.start()
    while measuring.is_alive():
        for name, found in policies(tmp_path).items():
            seen[name] |= found
        time.sleep(0.02)
    for found in seen.values():
        assert found and (os.SCHED_FIFO in found) is taken
