"""A measurement in a new process, whose rclpy, threads and heap are its own."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeVar

import numpy as np
import rclpy
from lifecycle_msgs.msg import Transition
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from benchmark.check import own_memory
from benchmark.figure import HIGH, HIGHEST, MEDIAN, Figure, Peer
from benchmark.standstill import Spans, StandstillWatch, overlap
from impact_control.references import initial_configuration
from impact_control.robots import load_robot
from impact_control.scenario import load_scenario
from impact_control.util.errors import ImpactControlError
from impact_control_ros.bridge import qos, real_time, runtime, topics
from impact_control_ros.bridge.calls import Caller
from impact_control_ros.bridge.messages import to_stamp
from impact_control_ros.bridge.rclpy_internals import EventsExecutor, Inbox
from impact_control_ros.bridge.real_time import ALL, Measure
from impact_control_ros.session.graph import Duty, NodeSpec
from impact_control_ros.session.processes import GraphError, Processes

Result = TypeVar("Result")


def in_own_process(measure: Callable[..., Result], *arguments: object) -> Result:
    """Return what a function of a module returns there for its arguments.

    Raises the error of ours that it raises there, and GraphError when the process ends without a result.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send_result, args=(sender, measure, arguments))
    process.start()
    sender.close()
    try:
        result: Result | ImpactControlError = receiver.recv()
    except EOFError as error:
        raise GraphError("a measurement ended without a result, see above") from error
    finally:
        process.join()
    if isinstance(result, ImpactControlError):
        raise result
    return result


def _send_result(sender: Connection, measure: Callable[..., object], arguments: tuple[object, ...]) -> None:
    try:
        sender.send(measure(*arguments))
    except ImpactControlError as error:
        sender.send(error)


@contextmanager
def measuring_node(name: str) -> Iterator[tuple[Node, Inbox]]:
    """Give a node with its inbox, for which rclpy is started, and end all that."""
    rclpy.init()
    node = rclpy.create_node(name)
    inbox = Inbox(node)
    try:
        yield node, inbox
    finally:
        inbox.close()
        node.destroy_node()
        rclpy.try_shutdown()


SCENARIO = "tabletop"

PING_PONG = NodeSpec("ping_pong", "benchmark.bench_echo", Duty.LOOP)

LOOP = NodeSpec("impact_loop", "loop", Duty.LOOP, {"scenario": SCENARIO, "state_patience": 0.0})

TURN = 0.5
"""[s] each is asked before it is the other's turn: misses come in bursts, which in turns of 5 s met one of both."""

START = 10
"""Samples at the start of a turn that are not counted: half a second has passed, and caches are cold."""

WEIGHINGS = 200
"""Largest number of samples of the memory of a process."""

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

    @property
    def answers(self) -> dict[str, float]:
        """Answer times [us] by name."""
        return {MEDIAN: self.median, HIGH: self.high, HIGHEST: self.highest}


@dataclass
class Answerer:
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
        """Return True once both topics are connected."""
        return bool(self.publisher.get_subscription_count() and self.commands.publishers)

    def result(self, standstills: Spans, period: int) -> Latency:
        """Return what was measured; standstills: of the cores, period [ns]."""
        answers = 1e6 * np.array(self.answers or [np.nan])
        median, high, highest, longest = np.percentile(answers, [50, 99, 99.9, 100]).tolist()
        own = sum(not overlap(standstills, sent, sent + period) for sent in self.missed)
        return Latency(
            self.name,
            median,
            high,
            highest,
            longest,
            float(answers.std()),
            len(self.missed),
            own,
            self.cycles,
            tuple(self.memory),
        )

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


def measure_latency(seconds: float, measures: str | None = None) -> dict[str, Latency]:
    """Return what the ping-pong, which answers with an empty command at once, and the loop node needed, by name.

    seconds: for each; the loop holds its pose meanwhile. measures: of real time that both take, see
    `real_time.VARIABLE`; None: as the environment says, which also says what the sender of the samples takes. Raises
    GraphError when the process ends too early, NoAnswerError when one of them does not start, InvalidInputError for
    measures that there are not.
    """
    return in_own_process(_measure, seconds, measures)


def _measure(seconds: float, measures: str | None) -> dict[str, Latency]:
    own = real_time.chosen()
    real_time.chosen(measures)  # refuses words that there are not, before anything is started
    # That idle cores stay awake holds for the whole machine: who answers asks for it, if the measures say so.
    above_others = real_time.Measure.FIFO in own and real_time.prefer_real_time(runtime.ROBOT_PRIORITY)
    processes: list[Processes] = []
    with measuring_node("bench") as (node, inbox):
        try:
            peers = [_start(spec, node, inbox, processes, measures) for spec in (PING_PONG, LOOP)]
            watch = StandstillWatch()
            if above_others and real_time.Measure.CORES in own:
                real_time.keep_to_cores(real_time.ROBOT_CORES)
            return {latency.name: latency for latency in ask_in_turn(peers, seconds, watch)}
        finally:
            for one in processes:
                one.stop_all()


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


def _start(spec: NodeSpec, node: Node, inbox: Inbox, processes: list[Processes], measures: str | None) -> Answerer:
    """Start one who answers and wait until it is there."""
    processes.append(Processes(Path(os.environ["ROS_LOG_DIR"]), spec.name, measures=measures))
    publisher = node.create_publisher(JointState, f"{spec.name}/{topics.JOINT_STATES}", qos.STREAM)
    executor = EventsExecutor()
    executor.add_node(node)
    caller = Caller(node, lambda limit: executor.spin_once(timeout_sec=limit))
    with _without_priority():
        processes[-1].start(spec)
    peer = Answerer(spec.name, processes[-1].pid(spec.path), publisher, inbox)
    if spec is LOOP:
        name = f"{spec.name}/{spec.name}"
        caller.await_node(name)
        for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
            caller.change(name, transition)
    caller.wait(peer.present, 30.0, spec.name)
    executor.remove_node(node)
    return peer


def ask_in_turn(peers: list[Answerer], seconds: float, watch: StandstillWatch) -> list[Latency]:
    """Return the answers of the peers, `seconds` for each; they take turns."""
    scenario = load_scenario(SCENARIO).arm()
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


def _ask(peer: Answerer, message: JointState, period: int, count: int) -> None:
    """Send START samples and then others, `period` [ns] apart, until the answers to `count` cycles are noted.

    Answers do not say which sample they belong to. So nothing is sent after a missed one until its answer came; cycles
    that end meanwhile are missed, too, also where the sender was held up and saw the answer late.

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


def _received(peer: Answerer, look: int) -> int | None:
    """Return when an answer came [ns], looking for it at `look` [ns] of the monotonic clock; None without one.

    Looking for it before would take the core from who computes it; DDS notes when it came.
    """
    _sleep_until(look)
    return max((received for _, received, _ in peer.commands.drain()), default=None)


def _sleep_until(due: int) -> None:
    """Sleep until `due` [ns] of the monotonic clock."""
    while (left := due - time.monotonic_ns()) > 0:
        time.sleep(left * 1e-9)


ROUNDS = 3
EVERY = "all measures"


def measure_figures(seconds: float, tell: Callable[[str], None]) -> list[Figure]:
    """Measure the loop over DDS, `seconds` for each set of measures in each round.

    Without `fifo` neither cores are kept awake nor is the loop kept to one, see `real_time.ask_for`.
    """
    sets = {EVERY: ALL}
    for left_out in Measure:
        sets[f"without {left_out.value}"] = ",".join(one.value for one in Measure if one is not left_out)
    found: dict[str, list[Latency]] = {name: [] for name in sets}
    for number in range(1, ROUNDS + 1):
        for name, measures in sets.items():
            tell(f"measuring over DDS with {name}, {number} of {ROUNDS} ...".replace("with without", "without"))
            found[name].append(measure_latency(seconds, measures)[LOOP.name])
    return figures_of(found)


def figures_of(found: dict[str, list[Latency]]) -> list[Figure]:
    """Return the answers with each set beside those with all, and what was missed; found: by set, a round each."""
    values = {name: _together(rounds) for name, rounds in found.items()}
    figures = [
        Figure(f"loop over DDS {name}", its, peers=(Peer(EVERY, values[EVERY], its[MEDIAN] / values[EVERY][MEDIAN]),))
        for name, its in values.items()
        if name != EVERY
    ]
    cycles = sum(way.cycles for way in found[EVERY])
    missed = {name: sum(way.missed for way in rounds) for name, rounds in found.items()}
    return [*figures, Figure("missed", missed, f"of {cycles} cycles")]


def _together(rounds: Sequence[Latency]) -> dict[str, float]:
    """Return the medians over the rounds."""
    return {name: float(np.median([way.answers[name] for way in rounds])) for name in rounds[0].answers}
