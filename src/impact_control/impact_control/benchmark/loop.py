"""The parts of a tick of the loop, on the samples of a simulated run."""

from __future__ import annotations

import time

from impact_control.benchmark.figure import Figure, figure_of
from impact_control.benchmark.peers import peer_figures
from impact_control.classification import SingleImpactClassifier
from impact_control.detection import DetectionSignals
from impact_control.parts import classifier_parameters, make_detector, make_observer
from impact_control.pipeline import Pipeline, warm_up
from impact_control.references import ImpactReference, build_reference
from impact_control.robots import Dynamics, RobotDescription, load_robot
from impact_control.scenario import Scenario, load_scenario
from impact_control.simulation import build_simulation
from impact_control.types import Vector

STEP_TARGET = 60e-6
STEP_TAIL_TARGET = 300e-6
TWO_ARMS_TARGET = 150e-6

PASSES = 10
"""Runs through the samples by which a control step is measured: of one run, three samples decide the 99.9 %."""


def loop_figures(scenario_name: str = "tabletop") -> list[Figure]:
    """Measure the parts of a tick on the samples of a simulated run."""
    scenario = load_scenario(scenario_name)
    robot = load_robot(scenario.robot.model, scenario.robot.end_effector, scenario.robot.motor_inertia)
    reference = build_reference(scenario, robot)
    warm_up(scenario, robot)
    samples = record_run(scenario, robot, reference)

    def durations(arms: int) -> list[float]:
        passes = (_controller_durations(scenario, robot, reference, samples, arms) for _ in range(PASSES))
        return [duration for one in passes for duration in one]

    return [
        figure_of("control step: state to torque", durations(1), STEP_TARGET, STEP_TAIL_TARGET),
        *peer_figures(scenario, robot, reference, samples),
        figure_of("control step of two arms", durations(2), TWO_ARMS_TARGET),
        _whole_tick(scenario, robot, reference, samples),
        _detector(scenario, robot, samples),
        _classifier(scenario, robot, reference, samples),
    ]


def record_run(
    scenario: Scenario, robot: RobotDescription, reference: ImpactReference
) -> list[tuple[float, Vector, Vector, Vector]]:
    """Return time, position, velocity and torque of every sample of one simulated run without ROS."""
    plant, sensors, gate = build_simulation(scenario)
    pipeline = Pipeline(scenario, robot)
    pipeline.reset()
    pipeline.start(reference, scenario)
    samples: list[tuple[float, Vector, Vector, Vector]] = []
    period = scenario.control.period
    while not pipeline.finished:
        sample = sensors.measure(plant)
        samples.append((len(samples) * period, sample.position, sample.velocity, sample.torque))
        pipeline.tick(*samples[-1])
        gate.offer(pipeline.torque)
        plant.step(gate.select(plant.link_velocity, period))
    return samples


def _controller_durations(
    scenario: Scenario,
    robot: RobotDescription,
    reference: ImpactReference,
    samples: list[tuple[float, Vector, Vector, Vector]],
    arms: int,
) -> list[float]:
    """Return how long dynamics and controllers of this many arms took for each sample [s], every arm on the same."""
    pipelines = [Pipeline(scenario, robot, detect=False, classify=False) for _ in range(arms)]
    for pipeline in pipelines:
        pipeline.reset()
        pipeline.start(reference, scenario)
    durations = []
    for time_, q, dq, torque in samples:
        if abs(time_ - reference.nominal_impact_time) < 0.5 * scenario.control.period:
            for pipeline in pipelines:
                pipeline.impact_detected(time_, q)
        start = time.perf_counter()
        for pipeline in pipelines:
            pipeline.tick(time_, q, dq, torque)
        durations.append(time.perf_counter() - start)
    return durations


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
    return figure_of("whole tick with detector, classifier", durations)


def _detector(
    scenario: Scenario, robot: RobotDescription, samples: list[tuple[float, Vector, Vector, Vector]]
) -> Figure:
    """Momentum terms, observer and detector."""
    n = len(robot.joint_names)
    dynamics, observer, detector = Dynamics(robot), make_observer(scenario, robot), make_detector(scenario, n)
    signals = DetectionSignals(n)
    signals.residual, signals.residual_rate = observer.residual, observer.residual_rate
    durations = []
    for time_, q, dq, torque in samples:
        dynamics.update(q, dq)
        start = time.perf_counter()
        dynamics.update_momentum_terms()
        observer.update(
            dynamics.mass_matrix, dq, torque, dynamics.coriolis_transposed_velocity, dynamics.gravity, time_
        )
        signals.position, signals.velocity, signals.joint_torque = q, dq, torque
        detector.update(signals, time_)
        durations.append(time.perf_counter() - start)
    return figure_of("observer and detector", durations)


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
    return figure_of("classifier", durations)
