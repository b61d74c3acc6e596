"""The parts of a tick of the loop, on the samples of a simulated run."""

from __future__ import annotations

import time
from functools import partial

import numpy as np

from benchmark.course import Course, observe, observing_parts
from benchmark.figure import Figure, figure_beside
from benchmark.peers import Peers
from benchmark.yardstick import YARDSTICK, yardstick_pass
from impact_control.classification import SingleImpactClassifier
from impact_control.control import ContactForce, ReferenceSpreadingController
from impact_control.pipeline import Pipeline
from impact_control.robots import Dynamics

STEP_TARGET = 20e-6
STEP_TAIL_TARGET = 300e-6
TWO_ARMS_TARGET = 50e-6
TICK_TARGET = 30e-6
JUDGING_TARGET = 30e-6

PASSES = 10
"""Runs through the samples by which a step or a tick is measured: of one run, three samples decide the 99.9 %."""


def loop_figures(course: Course, peers: Peers) -> list[Figure]:
    """Measure the parts of a tick on the samples of a simulated run, each beside its peers."""
    controllers = {name: peers.measurement(name) for name in ("TSID", "pink")}
    ruler = {YARDSTICK: yardstick_pass()}
    observing, classifying = partial(_observer_durations, course), partial(_classifier_durations, course)

    def judging() -> list[float]:
        return [sum(pair) for pair in zip(observing(), classifying(), strict=True)]

    return [
        figure_beside(
            "control step: state to torque",
            partial(_controller_durations, course, 1),
            controllers,
            PASSES,
            STEP_TARGET,
            STEP_TAIL_TARGET,
        ),
        figure_beside(
            "control step of two arms", partial(_controller_durations, course, 2), ruler, PASSES, TWO_ARMS_TARGET
        ),
        figure_beside(
            "whole tick with detector, classifier", partial(_tick_durations, course), ruler, PASSES, TICK_TARGET
        ),
        figure_beside("observer and detector", observing, ruler, 2),
        figure_beside("classifier", classifying, ruler, 2),
        figure_beside("observer, detector and classifier", judging, ruler, 2, JUDGING_TARGET),
    ]


def _controller_durations(course: Course, arms: int) -> list[float]:
    """Return how long dynamics and controllers of this many arms took for each sample [s], every arm on the same."""
    scenario, reference = course.scenario, course.reference
    home, force = scenario.task.home_configuration, ContactForce.of(scenario, reference)
    controllers = [ReferenceSpreadingController(course.robot, scenario.control, home) for _ in range(arms)]
    dynamics, untouched = [Dynamics(course.robot) for _ in controllers], np.zeros_like(home)
    for controller in controllers:
        controller.reset()
        controller.start(reference, force, course.samples[0][0])
    durations = []
    for time_, q, dq, _ in course.samples:
        if abs(time_ - reference.nominal_impact_time) < 0.5 * scenario.control.period:
            for controller in controllers:
                controller.impact(time_)
        start = time.perf_counter()
        for terms, controller in zip(dynamics, controllers, strict=True):
            terms.compute(q, dq)
            controller.compute_torque(terms, time_, q, dq, untouched)
        durations.append(time.perf_counter() - start)
    return durations


def _tick_durations(course: Course) -> list[float]:
    pipeline = Pipeline(course.scenario, course.robot)
    pipeline.reset()
    pipeline.start(course.reference, course.scenario)
    durations = []
    for sample in course.samples:
        start = time.perf_counter()
        pipeline.tick(*sample)
        durations.append(time.perf_counter() - start)
    return durations


def _observer_durations(course: Course) -> list[float]:
    """Return the time of momentum terms, observer and detector for each sample [s]."""
    dynamics, observer, detector, signals = observing_parts(course)
    durations = []
    for time_, q, dq, torque in course.samples:
        dynamics.compute(q, dq)
        start = time.perf_counter()
        observe(observer, dynamics, dq, torque, time_)
        signals.position, signals.velocity, signals.joint_torque = q, dq, torque
        detector.detect(signals, time_)
        durations.append(time.perf_counter() - start)
    return durations


def _classifier_durations(course: Course) -> list[float]:
    reference = course.reference
    classifier = SingleImpactClassifier(course.scenario.classification, len(course.robot.joint_names))
    classifier.await_impact(reference.nominal_impact_time, reference.impact_configuration)
    row = reference.ante.new_sample()
    durations = []
    for time_, _, dq, _ in course.samples:
        reference.ante.sample(time_, row)
        start = time.perf_counter()
        classifier.classify(time_, dq, row.joint_velocity)
        durations.append(time.perf_counter() - start)
    return durations
