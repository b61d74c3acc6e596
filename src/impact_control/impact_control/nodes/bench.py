"""Measures the stack on this machine, every figure with its target and its peer, from one run."""

from __future__ import annotations

import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from impact_control.benchmark import loop_figures, physics_figures
from impact_control.nodes.environment import isolate
from impact_control.nodes.session import GraphError
from impact_control.robots import load_robot
from impact_control.scenario import load_scenario

LATENCY_RATIO_TARGET = 1.5

LOOK_BEFORE_END = 50_000
"""[ns] before the next sample, at which the answer to a sample has to be there."""


@dataclass(frozen=True)
class Latency:
    """Answer times [us] over DDS and samples without answer, of `cycles` samples at 1 kHz."""

    name: str
    median: float
    high: float
    highest: float
    missed: int
    cycles: int


def run_bench(seconds: float, output: Path | None, tell: Callable[[str], None]) -> None:
    """Measure and print; also write JSON to `output`."""
    tell(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, numbers in microseconds\n")
    figures = [*loop_figures(), *physics_figures()]
    tell(f"{'':38s}{'median':>9s}{'99 %':>9s}{'99.9 %':>9s}   target")
    for figure in figures:
        mark = {True: "met", False: "MISSED", None: ""}[figure.met]
        numbers = f"{figure.median:9.1f}{figure.high:9.1f}{figure.highest:9.1f}"
        tell(f"{figure.name:38s}{numbers}   {figure.target} {mark}")
    tell(f"\nState to torque over DDS, {seconds:g} s at 1 kHz each, one process sends and one answers:")
    tell(f"{'':38s}{'median':>9s}{'99 %':>9s}{'99.9 %':>9s}   missed")
    with tempfile.TemporaryDirectory() as directory:
        isolate(Path(directory))
        echo, loop = (latency(kind, seconds) for kind in ("echo", "loop"))
    for way in (echo, loop):
        numbers = f"{way.median:9.1f}{way.high:9.1f}{way.highest:9.1f}"
        tell(f"{way.name:38s}{numbers}   {way.missed} of {way.cycles} ({way.missed / way.cycles:.2%})")
    ratio = loop.median / echo.median
    ratio_met = "met" if ratio <= LATENCY_RATIO_TARGET else "MISSED"
    missed_met = "met" if loop.missed <= echo.missed else "MISSED"
    tell(f"\nmedian, loop over ping-pong: {ratio:.2f}   target at most {LATENCY_RATIO_TARGET:g} {ratio_met}")
    tell(f"missed, loop against ping-pong: {loop.missed} against {echo.missed}   target no more {missed_met}")
    if output is not None:
        output.write_text(
            json.dumps(
                {"figures": [asdict(f) for f in figures], "latency": [asdict(way) for way in (echo, loop)]}, indent=2
            )
        )


# ---------------------------------------------------------------------- over DDS


def latency(kind: str, seconds: float) -> Latency:
    """Send joint states at 1 kHz to an answering process and measure the time to the torque that comes back.

    kind: `echo` answers with an empty command at once, `loop` is the loop node holding its pose.
    """
    # A fresh process each: rclpy of the sender must not be that of this one.
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(kind, seconds, sender))
    process.start()
    sender.close()
    try:
        result: Latency = receiver.recv()
    except EOFError as error:
        raise GraphError(f"the measurement of {kind!r} ended without a result, see above") from error
    finally:
        process.join()
    return result


def _measure(kind: str, seconds: float, sender: multiprocessing.connection.Connection) -> None:
    import rclpy
    from lifecycle_msgs.msg import Transition
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray

    from impact_control.graph import Duty, NodeSpec
    from impact_control.nodes import qos, runtime, topics
    from impact_control.nodes.calls import Caller
    from impact_control.nodes.inbox import Inbox
    from impact_control.nodes.messages import to_stamp
    from impact_control.nodes.processes import Processes
    from impact_control.references import initial_configuration

    if runtime.prefer_real_time(runtime.ROBOT_PRIORITY):
        runtime.keep_cores_awake()
    rclpy.init()
    node = rclpy.create_node("bench")
    executor = runtime.EventsExecutor()
    executor.add_node(node)
    caller = Caller(node, lambda limit: executor.spin_once(timeout_sec=limit))
    processes = Processes(Path(os.environ["ROS_LOG_DIR"]))
    publisher = node.create_publisher(JointState, topics.JOINT_STATES, qos.STREAM)
    inbox = Inbox(node)
    commands = inbox.subscribe(Float64MultiArray, topics.COMMANDS, qos.COMMAND)
    scenario = load_scenario("tabletop")
    robot = load_robot()
    try:
        if kind == "loop":
            spec = NodeSpec("impact_loop", "loop", Duty.LOOP, {"scenario": "tabletop", "state_patience": 0.0})
            processes.start(spec)
            caller.await_node(spec.name)
            for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
                caller.change(spec.name, transition)
        else:
            processes.start(NodeSpec("bench_echo", "bench_echo", Duty.LOOP))
        caller.wait(lambda: publisher.get_subscription_count() and commands.publishers, 30.0, kind)
        q = initial_configuration(scenario, robot).tolist()
        message = JointState(name=list(robot.joint_names), position=q, velocity=[0.0] * 7, effort=[0.0] * 7)
        cycles = round(seconds / scenario.control.period)
        period = round(scenario.control.period * 1e9)
        start = time.monotonic_ns() + 100_000_000
        answers: list[float] = []
        runtime.still_heap()
        for k in range(cycles):
            _sleep_until(start + k * period)
            for _ in commands.drain():
                pass  # too late for its own sample
            sent = time.time_ns()
            to_stamp(sent, message.header.stamp)
            publisher.publish(message)
            # Looking for the answer meanwhile would take the core from who computes it; DDS notes when it came.
            _sleep_until(start + (k + 1) * period - LOOK_BEFORE_END)
            answers += [(received - sent) * 1e-9 for _, received, _ in commands.drain()]
        median, high, highest = np.percentile(answers, [50, 99, 99.9]) * 1e6
        name = {"echo": "bare rclpy ping-pong", "loop": "loop node"}[kind]
        sender.send(Latency(name, median, high, highest, cycles - len(answers), cycles))
    finally:
        processes.stop_all()
        inbox.close()
        node.destroy_node()
        rclpy.try_shutdown()


def _sleep_until(due: int) -> None:
    """Sleep until `due` [ns] of the monotonic clock."""
    while (left := due - time.monotonic_ns()) > 0:
        time.sleep(left * 1e-9)
