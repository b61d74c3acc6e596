"""Time from a joint state to the command that answers it, over DDS, of the loop node and of bare ping-pongs.

All run at once and are asked in turn, half a second each, so that whatever else the machine does meets all of them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import rclpy
from lifecycle_msgs.msg import Transition
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from impact_control.graph import Duty, NodeSpec
from impact_control.nodes import qos, real_time, runtime, topics
from impact_control.nodes.calls import Caller
from impact_control.nodes.inbox import Inbox
from impact_control.nodes.messages import to_stamp
from impact_control.nodes.own_process import in_own_process
from impact_control.nodes.processes import Processes, own_memory
from impact_control.nodes.standstill import Spans, StandstillWatch, overlap
from impact_control.references import initial_configuration
from impact_control.robots import load_robot
from impact_control.scenario import load_scenario

SCENARIO = "tabletop"

PING_PONG = NodeSpec("ping_pong", "bench_echo", Duty.LOOP)
CPP_PING_PONG = "cpp_ping_pong"
"""Name of the one in C++, which is there where `src/impact_ping_pong` was built with rclcpp."""

LOOP = NodeSpec("impact_loop", "loop", Duty.LOOP, {"scenario": SCENARIO, "state_patience": 0.0})

TURN = 0.5
"""[s] each is asked before it is the other's turn: misses come in bursts, which in turns of 5 s met one of both."""

START = 10
"""Samples at the start of a turn that are not counted: half a second has passed, and caches are cold."""

WEIGHINGS = 200
"""How often, at most, the memory of a process is looked at."""

LOOK_BEFORE_END = 50_000
"""[ns] before the next sample, at which the answer to a sample has to be there."""

GIVEN_UP = 100_000_000
"""[ns] after which a late answer is not waited for any more: longer than the host takes cores; a sample may be lost."""

LATE_START = 100_000
"""[ns] behind its time, from which a sample is not sent: the sender was held up, which says nothing of the answer."""


@dataclass(frozen=True)
class Latency:
    """Answer times [us] over DDS and cycles without answer, of `cycles` at 1 kHz.

    Times: of what was answered in time, NaN where nothing was; jitter is the standard deviation. Of the missed ones
    `own_missed` were missed while all cores of the machine ran. memory: times [s] from the first sample and own
    memory [MB] of the process that answers, without pages of files.
    """

    name: str
    median: float
    high: float
    highest: float
    longest: float
    jitter: float
    missed: int
    own_missed: int
    cycles: int
    memory: tuple[tuple[float, float], ...]


@dataclass
class _Peer:
    """Who answers: its process, its topics, in a namespace of its own, and what was measured [s]."""

    name: str
    pid: int
    publisher: rclpy.publisher.Publisher
    inbox: Inbox
    answers: list[float] = field(default_factory=list)
    missed: list[int] = field(default_factory=list)
    memory: list[tuple[float, float]] = field(default_factory=list)
    cycles: int = 0

    def __post_init__(self) -> None:
        self.commands = self.inbox.subscribe(Float64MultiArray, f"{self.name}/{topics.COMMANDS}", qos.COMMAND)

    def present(self) -> bool:
        return bool(self.publisher.get_subscription_count() and self.commands.publishers)

    def result(self, standstills: Spans, period: int) -> Latency:
        answers = 1e6 * np.array(self.answers or [np.nan])
        median, high, highest, longest = np.percentile(answers, [50, 99, 99.9, 100]).tolist()
        own = sum(not overlap(standstills, sent, sent + period) for sent in self.missed)
        return Latency(
            self.name, median, high, highest, longest, float(answers.std()), len(self.missed), own, self.cycles,
            tuple(self.memory),
        )  # fmt: skip

    def note(self, due: int, answer: float | None) -> None:
        """Note a cycle: when it began [ns] of the monotonic clock, and after what [s] its answer came, if in time."""
        if answer is None:
            self.missed.append(due)
        else:
            self.answers.append(answer)
        self.cycles += 1

    def weigh(self, begin: float) -> None:
        """Note the own memory of the process; begin [s]: of the measurement, on the monotonic clock."""
        self.memory.append((time.monotonic() - begin, own_memory(self.pid)))


def cpp_ping_pong(measures: str | None) -> NodeSpec | None:
    """Return the ping-pong in C++, None where none was built or not all measures are to be taken: it takes them all."""
    if real_time.chosen(measures) != frozenset(real_time.Measure):
        return None
    for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        program = Path(prefix) / "lib" / "impact_ping_pong" / "impact_ping_pong"
        if program.is_file():
            return NodeSpec(CPP_PING_PONG, str(program.resolve()), Duty.LOOP)
    return None


def measure_latency(seconds: float, measures: str | None = None) -> dict[str, Latency]:
    """Return what the ping-pongs, which answer with an empty command at once, and the loop node needed, by name.

    seconds: for each; the loop holds its pose meanwhile. measures: of real time that both take, see
    `real_time.VARIABLE`; None: as the environment says, which also says what the sender of the samples takes. Raises
    GraphError when the process ends too early, NoAnswerError when one of them does not start, InvalidInputError for
    measures that there are not.
    """
    return in_own_process(_measure, seconds, measures)


def _measure(seconds: float, measures: str | None) -> dict[str, Latency]:
    own = real_time.chosen()
    specs = [spec for spec in (PING_PONG, cpp_ping_pong(measures), LOOP) if spec is not None]
    # That idle cores stay awake holds for the whole machine: who answers asks for it, if the measures say so.
    above_others = real_time.Measure.FIFO in own and real_time.prefer_real_time(runtime.ROBOT_PRIORITY)
    rclpy.init()
    node = rclpy.create_node("bench")
    inbox = Inbox(node)
    processes: list[Processes] = []
    try:
        peers = [_start(spec, node, inbox, processes, measures) for spec in specs]
        watch = StandstillWatch()
        if above_others and real_time.Measure.CORES in own:
            real_time.keep_to_cores(real_time.ROBOT_CORES)
        return {latency.name: latency for latency in _ask_in_turn(peers, seconds, watch)}
    finally:
        for one in processes:
            one.stop_all()
        inbox.close()
        node.destroy_node()
        rclpy.try_shutdown()


@contextmanager
def _without_priority() -> Iterator[None]:
    """Give real-time priority back meanwhile: a process that is started inherits it, whatever it is to take."""
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    if policy == os.SCHED_FIFO:
        real_time.prefer_ordinary()
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, parameters)


def _start(spec: NodeSpec, node: Node, inbox: Inbox, processes: list[Processes], measures: str | None) -> _Peer:
    """Start one who answers and wait until it is there."""
    processes.append(Processes(Path(os.environ["ROS_LOG_DIR"]), spec.name, measures=measures))
    publisher = node.create_publisher(JointState, f"{spec.name}/{topics.JOINT_STATES}", qos.STREAM)
    executor = EventsExecutor()
    executor.add_node(node)
    caller = Caller(node, lambda limit: executor.spin_once(timeout_sec=limit))
    with _without_priority():
        processes[-1].start(spec)
    peer = _Peer(spec.name, processes[-1].pid(spec.path), publisher, inbox)
    if spec is LOOP:
        name = f"{spec.name}/{spec.name}"
        caller.await_node(name)
        for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
            caller.change(name, transition)
    caller.wait(peer.present, 30.0, spec.name)
    executor.remove_node(node)
    return peer


def _ask_in_turn(peers: list[_Peer], seconds: float, watch: StandstillWatch) -> list[Latency]:
    scenario = load_scenario(SCENARIO)
    q = initial_configuration(scenario, load_robot()).tolist()
    still = [0.0] * len(q)
    message = JointState(name=list(load_robot().joint_names), position=q, velocity=still, effort=still)
    period = round(scenario.control.period * 1e9)
    wanted = round(seconds / scenario.control.period)
    turn = min(wanted, round(TURN / scenario.control.period))
    real_time.still_heap()
    between = wanted / WEIGHINGS
    with watch:
        begin = time.monotonic()
        while peers[-1].cycles < wanted:
            for peer in peers:
                if peer.cycles >= len(peer.memory) * between:
                    peer.weigh(begin)
                _ask(peer, message, period, min(turn, wanted - peer.cycles))
    for peer in peers:
        peer.weigh(begin)
    return [peer.result(watch.spans, period) for peer in peers]


def _ask(peer: _Peer, message: JointState, period: int, count: int) -> None:
    """Send START samples and then others, `period` [ns] apart, until the answers to `count` cycles are noted.

    Answers do not say which sample they belong to. So nothing is sent after a missed one until its answer came; cycles
    that end meanwhile are missed, too, also where whoever asks was held up and saw the answer when it was late already.

    DDS notes by the wall clock when an answer came. A time before its sample, or after it was seen, says that this
    clock was set meanwhile: when it came is not known then, and the cycle is missed.
    """
    due = time.monotonic_ns() + 100_000_000
    cycle = -START
    while cycle < count:
        _sleep_until(due)
        while time.monotonic_ns() - due > LATE_START:
            due = time.monotonic_ns() + period
            _sleep_until(due)
        for _ in peer.commands.drain():
            pass  # given up
        sent = time.time_ns()
        to_stamp(sent, message.header.stamp)
        peer.publisher.publish(message)
        end, received = due, None
        while received is None and end - due <= GIVEN_UP:
            end += period
            received = _received(peer, end - LOOK_BEFORE_END)
        took = end - due if received is None else received - sent
        if not 0 <= took <= time.monotonic_ns() - due:
            took = end - due
        missed = (took + LOOK_BEFORE_END) // period
        for number in range(missed or 1):
            if 0 <= cycle < count:
                peer.note(due + number * period, None if missed else took * 1e-9)
            cycle += 1
        due = end


def _received(peer: _Peer, look: int) -> int | None:
    """Return when an answer came [ns], looking for it at `look` [ns] of the monotonic clock; None without one.

    Looking for it before would take the core from who computes it; DDS notes when it came.
    """
    _sleep_until(look)
    return max((received for _, received, _ in peer.commands.drain()), default=None)


def _sleep_until(due: int) -> None:
    """Sleep until `due` [ns] of the monotonic clock."""
    while (left := due - time.monotonic_ns()) > 0:
        time.sleep(left * 1e-9)
