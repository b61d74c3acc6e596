"""The works whose ratios to a yardstick are checked: each a fixed piece of about a millisecond.

Not the plants: their long kernels gain and lose up to 26 % against either yardstick with what else runs on the machine,
so that 20 % cannot be told from that.
"""

from __future__ import annotations

from impact_control.benchmark.broad_yardstick import broad_yardstick
from impact_control.benchmark.course import Course, observing_parts, record_course
from impact_control.benchmark.physics import OneImpact, eight_contacts
from impact_control.benchmark.turns import Work
from impact_control.benchmark.yardstick import yardstick
from impact_control.classification import SingleImpactClassifier
from impact_control.control import ReferenceSpreadingController
from impact_control.parts import classifier_parameters, contact_force, control_parameters
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
    dynamics = Dynamics(robot)
    controller = ReferenceSpreadingController(robot, control_parameters(scenario, robot))
    force = contact_force(scenario, reference)
    impact = next(k for k, sample in enumerate(course.samples) if sample[0] >= reference.nominal_impact_time)
    before, after = course.samples[impact - 40 : impact - 32], course.samples[impact + 10 : impact + 18]

    def work() -> None:
        controller.start(reference, force, 0.0)
        for time, q, dq, _ in before:
            dynamics.update(q, dq)
            controller.update(dynamics, time, q, dq)
        controller.impact(after[0][0])
        for time, q, dq, _ in after:
            dynamics.update(q, dq)
            controller.update(dynamics, time, q, dq)

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
    dynamics.update(signals.position, signals.velocity)
    period = course.scenario.control.period

    def work() -> None:
        observer.reset()
        detector.reset()
        for k in range(150):
            dynamics.update_momentum_terms()
            observer.update(
                dynamics.mass_matrix, signals.velocity, signals.joint_torque, dynamics.coriolis_transposed_velocity,
                dynamics.gravity, k * period,
            )  # fmt: skip
            detector.update(signals, k * period)

    return work


def _classifier(course: Course) -> Work:
    """The classifier: 100 samples before and 100 after an impact."""
    reference = course.reference
    classifier = SingleImpactClassifier(classifier_parameters(course.scenario), len(course.robot.joint_names))
    expected = reference.ante_impact_velocity
    when, where = reference.nominal_impact_time, reference.impact_configuration
    times = [when + course.scenario.control.period * k for k in range(-100, 100)]

    def work() -> None:
        classifier.start(when, where)
        for time in times[:100]:
            classifier.update(time, expected, expected)
        classifier.impact_detected(when, where)
        for time in times[100:]:
            classifier.update(time, expected, expected)

    return work
