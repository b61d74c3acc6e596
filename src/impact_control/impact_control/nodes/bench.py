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

from impact_control.classification import SingleImpactClassifier
from impact_control.impacts import predict_post_impact_velocity
from impact_control.nodes.environment import isolate
from impact_control.nodes.session import GraphError
from impact_control.pipeline import (
    Pipeline,
    classifier_parameters,
    make_detector,
    make_observer,
    warm_up,
)
from impact_control.references import ImpactReference, build_reference
from impact_control.robots import Dynamics, InertiaModel, RobotDescription, contact_point_jacobian, load_robot
from impact_control.scenario import Scenario, load_scenario
from impact_control.simulation import build_simulation
from impact_control.types import Vector

STEP_TARGET = 60e-6
LATENCY_RATIO_TARGET = 1.5

LOOK_BEFORE_END = 50_000
"""[ns] before the next sample, at which the answer to a sample has to be there."""


@dataclass(frozen=True)
class Figure:
    """One measured figure: median, 99 % and 99.9 % [us], target in words and whether it was met (None: no target)."""

    name: str
    median: float
    high: float
    highest: float
    target: str = ""
    met: bool | None = None


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
    figures = core_figures()
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


# ---------------------------------------------------------------------- without ROS


def core_figures(scenario_name: str = "tabletop") -> list[Figure]:
    """Measure the parts of a tick on the samples of a simulated run."""
    scenario = load_scenario(scenario_name)
    robot = load_robot(scenario.robot.model, scenario.robot.end_effector, scenario.robot.motor_inertia)
    reference = build_reference(scenario, robot)
    warm_up(scenario, robot)
    samples = record_run(scenario, robot, reference)
    return [
        _control_step(scenario, robot, reference, samples),
        _whole_tick(scenario, robot, reference, samples),
        _detector(scenario, robot, samples),
        _classifier(scenario, robot, reference, samples),
        _impact_map(robot, reference),
        _plant(scenario),
    ]


def record_run(
    scenario: Scenario, robot: RobotDescription, reference: ImpactReference
) -> list[tuple[float, Vector, Vector, Vector]]:
    """Return time, position, velocity and torque of every sample of one simulated run without ROS."""
    plant, sensors, gate = build_simulation(scenario)
    pipeline = Pipeline(scenario, robot)
    pipeline.reset()
    pipeline.start(reference, scenario)
    samples = []
    period = scenario.control.period
    while not pipeline.finished:
        sample = sensors.measure(plant)
        samples.append((len(samples) * period, sample.position, sample.velocity, sample.torque))
        pipeline.tick(*samples[-1])
        gate.offer(pipeline.torque)
        plant.step(gate.select(plant.link_velocity, period))
    return samples


def _figure(name: str, durations: list[float], target: float | None = None) -> Figure:
    median, high, highest = np.percentile(durations, [50, 99, 99.9]) * 1e6
    words = "" if target is None else f"at most {target * 1e6:g} median"
    return Figure(name, median, high, highest, words, None if target is None else bool(median <= target * 1e6))


def _control_step(
    scenario: Scenario,
    robot: RobotDescription,
    reference: ImpactReference,
    samples: list[tuple[float, Vector, Vector, Vector]],
) -> Figure:
    """Dynamics and controller: what it takes from a state to a torque."""
    pipeline = Pipeline(scenario, robot, detect=False, classify=False)
    pipeline.reset()
    pipeline.start(reference, scenario)
    durations = []
    for time_, q, dq, torque in samples:
        if abs(time_ - reference.nominal_impact_time) < 0.5 * scenario.control.period:
            pipeline.impact_detected(time_, q)
        start = time.perf_counter()
        pipeline.tick(time_, q, dq, torque)
        durations.append(time.perf_counter() - start)
    return _figure("control step: state to torque", durations, STEP_TARGET)


def _whole_tick(
    scenario: Scenario,
    robot: RobotDescription,
    reference: ImpactReference,
    samples: list[tuple[float, Vector, Vector, Vector]],
) -> Figure:
    pipeline = Pipeline(scenario, robot)
    pipeline.reset()
    pipeline.start(reference, scenario)
    durations = []
    for sample in samples:
        start = time.perf_counter()
        pipeline.tick(*sample)
        durations.append(time.perf_counter() - start)
    return _figure("whole tick with detector, classifier", durations)


def _detector(
    scenario: Scenario, robot: RobotDescription, samples: list[tuple[float, Vector, Vector, Vector]]
) -> Figure:
    """Momentum terms, observer and detector."""
    dynamics, observer, detector = Dynamics(robot), make_observer(scenario, robot), make_detector(scenario)
    durations = []
    for time_, q, dq, torque in samples:
        dynamics.update(q, dq)
        start = time.perf_counter()
        dynamics.update_momentum_terms()
        observer.update(
            dynamics.mass_matrix, dq, torque, dynamics.coriolis_transposed_velocity, dynamics.gravity, time_
        )
        detector.update(observer.residual_rate, time_)
        durations.append(time.perf_counter() - start)
    return _figure("observer and detector", durations)


def _classifier(
    scenario: Scenario,
    robot: RobotDescription,
    reference: ImpactReference,
    samples: list[tuple[float, Vector, Vector, Vector]],
) -> Figure:
    classifier = SingleImpactClassifier(classifier_parameters(scenario), len(robot.joint_names))
    classifier.start(reference.nominal_impact_time, reference.impact_configuration)
    row = reference.ante.new_sample()
    durations = []
    for time_, _, dq, _ in samples:
        reference.ante.sample(time_, row)
        start = time.perf_counter()
        classifier.update(time_, dq, row.joint_velocity)
        durations.append(time.perf_counter() - start)
    return _figure("classifier", durations)


def _impact_map(robot: RobotDescription, reference: ImpactReference) -> Figure:
    dynamics = Dynamics(robot)
    dynamics.update(reference.impact_configuration, reference.ante_impact_velocity)
    geometry = reference.geometry
    jacobian = contact_point_jacobian(dynamics.jacobian, geometry.contact_offset)
    inertia = dynamics.inertia(InertiaModel.REDUCED_MOTORS)
    durations = []
    for _ in range(3000):
        start = time.perf_counter()
        predict_post_impact_velocity(inertia, jacobian, geometry.normal, reference.ante_impact_velocity, 0.1)
        durations.append(time.perf_counter() - start)
    return _figure("impact map, validated", durations)


def _plant(scenario: Scenario) -> Figure:
    plant, _, _ = build_simulation(scenario)
    zeros = np.zeros_like(plant.link_position)
    durations = []
    for _ in range(2000):
        start = time.perf_counter()
        plant.step(zeros)
        durations.append(time.perf_counter() - start)
    return _figure("plant, 1 ms", durations)


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
