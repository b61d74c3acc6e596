"""The works whose ratios to a yardstick are checked: each a fixed piece of about a millisecond.

Not the plants: their long kernels gain and lose up to 26 % against either yardstick with what else runs on the machine,
so that 20 % cannot be told from that.
"""

from __future__ import annotations

import json

import numpy as np
import pinocchio as pin
from qpsolvers import Problem, solve_problem

from benchmark.course import Course, observe, observing_parts, record_course
from benchmark.physics import OneImpact, eight_contacts
from benchmark.yardstick import Work, yardstick
from impact_control.classification import SingleImpactClassifier
from impact_control.control import ContactForce, ReferenceSpreadingController
from impact_control.pipeline import Pipeline
from impact_control.robots import Dynamics


def checked_works(course: Course | None = None) -> dict[str, tuple[Work, Work]]:
    """Return the works by name, each with the yardstick it is measured with. course: None records one."""
    course = record_course() if course is None else course
    plain, broad = yardstick(), broad_yardstick()
    return {
        "control step": (_control_steps(course), broad),
        "whole tick": (_ticks(course), broad),
        "observer and detector": (_observer(course), plain),
        "classifier": (_classifier(course), plain),
        "impact map, one contact": (_repeated(OneImpact().by_map, 100), plain),
        "impact map, 8 contacts": (_repeated(eight_contacts(), 5), broad),
    }


def _repeated(act: Work, count: int) -> Work:
    def work() -> None:
        for _ in range(count):
            act()

    return work


def _control_steps(course: Course) -> Work:
    """Dynamics and controller: 8 samples of the approach and 8 after the impact, where limits are met."""
    scenario, robot, reference = course.scenario, course.robot, course.reference
    dynamics, home = Dynamics(robot), scenario.task.home_configuration
    controller, untouched = ReferenceSpreadingController(robot, scenario.control, home), np.zeros_like(home)
    force = ContactForce.of(scenario, reference)
    impact = next(k for k, sample in enumerate(course.samples) if sample[0] >= reference.nominal_impact_time)
    before, after = course.samples[impact - 40 : impact - 32], course.samples[impact + 10 : impact + 18]

    def work() -> None:
        controller.start(reference, force, 0.0)
        for time, q, dq, _ in before:
            dynamics.compute(q, dq)
            controller.compute_torque(dynamics, time, q, dq, untouched)
        controller.impact(after[0][0])
        for time, q, dq, _ in after:
            dynamics.compute(q, dq)
            controller.compute_torque(dynamics, time, q, dq, untouched)

    return work


def _ticks(course: Course) -> Work:
    """The first 12 samples of a task through the whole pipeline."""
    pipeline = Pipeline(course.scenario, course.robot)
    samples = course.samples[:12]

    def work() -> None:
        pipeline.reset()
        pipeline.start(course.reference, course.scenario)
        for sample in samples:
            pipeline.tick(*sample)

    return work


def _observer(course: Course) -> Work:
    """Momentum terms, observer and detector, 150 samples of a moving arm."""
    dynamics, observer, detector, signals = observing_parts(course)
    _, signals.position, signals.velocity, signals.joint_torque = course.samples[len(course.samples) // 4]
    dynamics.compute(signals.position, signals.velocity)
    period = course.scenario.control.period

    def work() -> None:
        observer.reset()
        detector.reset()
        for k in range(150):
            observe(observer, dynamics, signals.velocity, signals.joint_torque, k * period)
            detector.detect(signals, k * period)

    return work


def _classifier(course: Course) -> Work:
    """The classifier: 100 samples before and 100 after an impact."""
    reference = course.reference
    classifier = SingleImpactClassifier(course.scenario.classification, len(course.robot.joint_names))
    expected = reference.ante_impact_velocity
    when, where = reference.nominal_impact_time, reference.impact_configuration
    times = [when + course.scenario.control.period * k for k in range(-100, 100)]

    def work() -> None:
        classifier.await_impact(when, where)
        for time in times[:100]:
            classifier.classify(time, expected, expected)
        classifier.impact_detected(when, where)
        for time in times[100:]:
            classifier.classify(time, expected, expected)

    return work


_PLAIN_PARTS = 6
"""Calls of the plain yardstick in one of this: about half of its time."""


def broad_yardstick() -> Work:
    """Return the work, about 600 us of it. What `yardstick` says of changes holds here too."""
    plain, model = yardstick(), pin.buildSampleModelManipulator()
    data, q = model.createData(), np.linspace(-0.5, 0.8, model.nq)
    matrix, vector, free = np.eye(7) + 0.1, np.linspace(-1.0, 1.0, 7), np.full(7, 2.0)
    rows = np.vstack([np.eye(7), -np.eye(7)])
    problem = Problem(matrix, vector, rows, np.full(14, 0.3), None, None, -free, free)
    record = {"name": "sample", "values": vector.tolist(), "more": {"a": 1, "b": [1.5, 2.5, "x"]}}

    def work() -> None:
        for _ in range(_PLAIN_PARTS):
            plain()
        pin.computeAllTerms(model, data, q, q)
        solve_problem(problem, solver="daqp")
        json.loads(json.dumps(record))
        np.linalg.solve(matrix, vector)
        np.einsum("ij,j->i", matrix, vector)
        np.sort(vector)
        np.clip(vector, -0.5, 0.5)

    return work
