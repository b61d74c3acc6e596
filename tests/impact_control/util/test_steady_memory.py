"""Samples through observer, detector, completion and classifiers of seven joints: nothing is kept.

`make test` takes a hundred thousand, `make verify` a million.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from impact_control.classification import ExternalForce, SingleImpactClassifier, Verdict
from impact_control.detection import DetectionSignals
from impact_control.pipeline.judge import ContactWatch, make_classifier
from impact_control.pipeline.sensing import make_detector, make_observer
from impact_control.robots import Dynamics, load_robot
from impact_control.scenario import load_scenario

PERIOD = 1e-3
SAMPLES = (100_000, pytest.param(1_000_000, marks=pytest.mark.long))
TASK = 1000
"""Samples of one task: from rest to rest with a touch in the middle."""

TOUCH = 500
PUSH = np.array([0.0, 0.0, 40.0, 0.0, 0.0, 0.0])
"""[N, Nm] The face bears on something from the touch on, less and less until the end: a release is an event too."""

SOME = 10_000
"""Samples under the eyes of tracemalloc, which takes its time."""

PAGE = 4096
LARGEST_GROWTH = 2_000_000
"""[bytes] Of the process in any number of samples: two for each of a million."""

RARE = 1000
"""Samples for each of which one object more may be there."""


class Recording:
    """What the parts read of one task of the Panda with a plate, over and over again."""

    def __init__(self, robot) -> None:
        dynamics, random = Dynamics(robot), np.random.default_rng(1)
        home = np.array([0.0, -0.3, 0.0, -2.2, 0.0, 1.9, 0.785])
        time = PERIOD * np.arange(TASK)
        phase = np.minimum(time / (TOUCH * PERIOD), 1.0)
        duration = TOUCH * PERIOD
        swing = 0.1 * np.array([1.0, 0.5, -0.8, 0.6, 0.4, -0.3, 0.7])
        position = home + np.outer(phase - np.sin(2 * np.pi * phase) / (2 * np.pi), swing)
        velocity = np.outer((1 - np.cos(2 * np.pi * phase)) / duration, swing)
        acceleration = np.outer(2 * np.pi * np.sin(2 * np.pi * phase) / duration**2, swing)
        self.rows = []
        for k in range(TASK):
            dynamics.compute(position[k], velocity[k])
            dynamics.compute_momentum_terms()
            contact = PUSH * (k >= TOUCH) * (TASK - k) / (TASK - TOUCH) + 30.0 * PUSH * (k == TOUCH)
            torque = dynamics.mass_matrix @ acceleration[k] + dynamics.nonlinear - dynamics.jacobian.T @ contact
            terms = (dynamics.mass_matrix, dynamics.coriolis_transposed_velocity, dynamics.gravity)
            frame = (dynamics.rotation, dynamics.jacobian, dynamics.twist)
            noise = 1e-5 * random.normal(size=7)
            self.rows.append(tuple(np.array(x) for x in (position[k], velocity[k] + noise, torque, *terms, *frame)))
        self.velocity = velocity


class Loop:
    """The parts of the loop that see a sample, as the scenario chooses them; both classifiers, task about."""

    def __init__(self) -> None:
        scenario = load_scenario("tabletop_plate")
        robot = load_robot(scenario.robot.model, scenario.robot.end_effector, scenario.robot.motor_inertia)
        n = len(robot.joint_names)
        self.recording = Recording(robot)
        self.observer = make_observer(scenario, robot)
        self.detector = make_detector(scenario, n)
        self.force = ExternalForce(scenario.detection.observer_gain)
        self.completion = ContactWatch(scenario, robot).completion
        self.classifiers = (
            make_classifier(scenario.classification, n),
            SingleImpactClassifier(scenario.classification, n),
        )
        self.classifier = self.classifiers[0]
        self.signals = DetectionSignals(n)
        self.signals.residual, self.signals.residual_rate = self.observer.residual, self.observer.residual_rate
        self.keep = None
        self.kept: list[object] = []
        self.count = self.detections = self.completions = self.settled = 0

    def run(self, samples: int) -> None:
        """Take this many samples more; every TASK of them are a task of their own, the clock goes on."""
        for _ in range(samples):
            self._tick(self.count % TASK, PERIOD * self.count)
            self.count += 1

    def _tick(self, k: int, time: float) -> None:
        observer, signals, completion = self.observer, self.signals, self.completion
        q, dq, torque, mass, transposed, gravity, rotation, jacobian, twist = self.recording.rows[k]
        if k == 0:
            self.settled += self.classifier.settled
            self.classifier = self.classifiers[self.count // TASK % 2]
            self.classifier.await_impact(time + TOUCH * PERIOD, self.recording.rows[TOUCH][0])
            completion.reset()
            self.touched = False
        observer.observe(mass, dq, torque, transposed, gravity, time)
        signals.position, signals.velocity, signals.joint_torque = q, dq, torque
        if self.detector.detect(signals, time):
            self.detections += 1
            self.touched = True
            self.classifier.impact_detected(self.detector.impact_time, q)
        if self.touched and not completion.complete:
            force = self.force.estimate(jacobian, observer.residual, observer.residual_rate)
            if completion.observe(time, rotation, twist, force):
                self.completions += 1
                self.classifier.contact_completed(time)
        self.classifier.classify(time, dq, self.recording.velocity[k])
        if self.keep is not None:
            self.keep(time)


def footprint() -> tuple[int, int]:
    """Return how many objects the interpreter holds, and how many bytes of memory the process has [0: not known]."""
    gc.collect()
    statistics = Path("/proc/self/statm")
    pages = int(statistics.read_text().split()[1]) if statistics.exists() else 0
    return sys.getallocatedblocks(), PAGE * pages


def traced_growth(loop: Loop) -> int:
    """Return by how many bytes what Python and NumPy hold grows in SOME samples; exact, but slow."""
    tracemalloc.start()
    loop.run(TASK)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    loop.run(SOME)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return grown


@pytest.mark.timeout(300)
@pytest.mark.parametrize("samples", SAMPLES)
def test_samples_leave_nothing_behind(samples) -> None:
    loop = Loop()
    loop.run(20 * TASK)
    objects, size = footprint()
    loop.run(samples)
    more_objects, larger = footprint()
    assert more_objects - objects < samples / RARE
    assert larger - size < LARGEST_GROWTH
    # All paths were walked: a touch in every task, full contact, a verdict of each classifier.
    tasks = loop.count // TASK
    assert loop.detections >= tasks and loop.completions == tasks and loop.settled == tasks - 1
    assert all(classifier.post_impact is not Verdict.UNKNOWN for classifier in loop.classifiers)


def test_not_a_byte_a_sample_is_kept() -> None:
    assert traced_growth(Loop()) < SOME


def test_one_number_kept_a_sample_would_be_seen_among_the_objects() -> None:
    loop = Loop()
    loop.run(TASK)
    loop.keep = lambda time: loop.kept.append(time)
    objects, _ = footprint()
    loop.run(SOME)
    assert footprint()[0] - objects > 0.9 * SOME


def test_one_reference_kept_a_sample_would_be_seen_among_the_bytes() -> None:
    """References to one object add no objects, but eight bytes each."""
    loop = Loop()
    loop.keep = lambda time: loop.kept.append(None)
    assert traced_growth(loop) > 7 * SOME
