"""One process or three, in turns on the same machine: from a sample to its command, from a detected impact to its mode.

`python -m benchmark.shapes DIRECTORY` measures and prints.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
import rclpy
from lifecycle_msgs.msg import Transition
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState

from benchmark.latency import SCENARIO, Answerer, Latency, ask_in_turn, in_own_process
from benchmark.standstill import StandstillWatch
from impact_control.control import Mode
from impact_control.recording.series import Recording, read_bag
from impact_control.scenario import load_scenario
from impact_control_ros.bridge import qos, topics
from impact_control_ros.bridge.calls import Caller
from impact_control_ros.bridge.rclpy_internals import Inbox
from impact_control_ros.session.graph import Duty, describe_graph
from impact_control_ros.session.processes import Processes, isolate
from impact_control_ros.session.session import Session
from impact_control_ros.session.shape import Shape

SECONDS = 20.0
"""[s] for which each shape is asked for answers."""

BLOCKS, RUNS = 3, 4
"""Blocks in which the shapes take turns, and runs of each in a block."""


def main() -> int:
    """Measure both shapes and print medians and 99 %."""
    directory = Path(sys.argv[1])
    isolate(directory / "log")
    for way in in_own_process(_answers, SECONDS):
        print(
            f"{way.name}: sample to command {way.median:.0f} us, 99 % {way.high:.0f}, missed {way.missed}", flush=True
        )
    later: dict[Shape, list[float]] = {shape: [] for shape in Shape}
    for block in range(BLOCKS):
        for shape in Shape:
            later[shape] += [until_interim(bag) for bag in record(shape, directory / f"{shape.value}-{block}")]
    for shape, found in later.items():
        median, high = np.nanpercentile(found, [50, 99])
        reached = np.isfinite(found).sum()
        print(f"{shape.value}: detection to mode {median:.2f} ms, 99 % {high:.2f}, in {reached} of {len(found)} runs")
    return 0


def _answers(seconds: float) -> list[Latency]:
    """Return how long each shape takes to answer a sample while it holds its pose, in turns."""
    rclpy.init()
    node = rclpy.create_node("bench")
    inbox, processes = Inbox(node), list[Processes]()
    try:
        return ask_in_turn([_start(shape, node, inbox, processes) for shape in Shape], seconds, StandstillWatch())
    finally:
        for one in processes:
            one.stop_all()
        inbox.close()
        node.destroy_node()
        rclpy.try_shutdown()


def _start(shape: Shape, node: Node, inbox: Inbox, processes: list[Processes]) -> Answerer:
    """Start the nodes of a shape, in a namespace of its name, and wait until they are there."""
    name = shape.value
    processes.append(Processes(Path(os.environ["ROS_LOG_DIR"]), name))
    publisher = node.create_publisher(JointState, f"{name}/{topics.JOINT_STATES}", qos.STREAM)
    executor = EventsExecutor()
    executor.add_node(node)
    caller = Caller(node, lambda limit: executor.spin_once(timeout_sec=limit))
    graph = describe_graph(SCENARIO, shape=shape, simulate=False, record=False, supervise=False)
    specs = [spec for spec in graph if spec.duty is Duty.LOOP]
    for spec in specs:
        processes[-1].start(spec)
    for spec in specs:
        caller.await_node(f"{name}/{spec.path}")
        for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
            caller.change(f"{name}/{spec.path}", transition)
    peer = Answerer(name, processes[-1].pid(specs[-1].path), publisher, inbox)
    caller.wait(peer.present, 30.0, name)
    executor.remove_node(node)
    time.sleep(1.0)
    return peer


def record(shape: Shape, directory: Path) -> list[Recording]:
    """Return the recordings of a block of runs in real time."""
    recordings = []
    with Session(describe_graph(SCENARIO, shape=shape), directory / "log") as session:
        session.start()
        for seed in range(1, RUNS + 1):
            bag = directory / f"bag-{seed}"
            session.restart_arm(SCENARIO, seed)
            session.record(bag, load_scenario(SCENARIO).to_yaml())
            session.run_task(SCENARIO)
            session.record(None)
            recordings.append(read_bag(bag))
    return recordings


def until_interim(recording: Recording) -> float:
    """Return the time [ms] by the stamps of the samples from the detection to the interim mode; NaN without one."""
    events, reference = recording.series("impact/events"), recording.series("controller/reference")
    interim = np.flatnonzero(reference["mode"] == Mode.INTERIM)
    if not len(events["stamp"]) or not interim.size:
        return float("nan")
    return float(1e3 * (reference["stamp"][interim[0]] - events["stamp"][0]))


if __name__ == "__main__":
    sys.exit(main())
