"""Growth of the cost with joints, contacts, length of windows, recorded topics and workers."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pinocchio as pin

from benchmark.chain import bent, chain, control, rest_at
from benchmark.course import Course, observe
from benchmark.physics import UP, OneImpact, falling_box, flexible_plant, point_of_box
from benchmark.yardstick import Work, durations_in_turns
from impact_control.classification import ContactCompletion, SingleImpactClassifier
from impact_control.control import ReferenceSpreadingController
from impact_control.control.contact_force import NO_FORCE
from impact_control.impacts import Contact, predict_multi_contact_impact
from impact_control.observation import MomentumObserver
from impact_control.recording.bag import BagWriter
from impact_control.robots import Dynamics
from impact_control.scenario import CompletionSettings
from impact_studies.frame.computing import computing_at, open_place
from impact_studies.frame.trials import run_trials

JOINTS = (3, 5, 7, 9, 11, 14)
CONTACTS = (1, 2, 4, 8, 16, 32)
WINDOWS = (12, 20, 40, 80, 160, 320)
TOPICS = (1, 2, 4, 8, 16, 32)
WORKERS = (1, 2, 4)

TRIALS = 48
"""Trials of the study whose workers are counted."""

ROUNDS = 15
"""Turns of each; the least counts."""

PERIOD = 1e-3
"""[s] between two samples."""

SAMPLES = 400
"""In a call of the bag writer: it compresses and writes twice in them, and more often where there are many topics."""

MESSAGE = 428
"""[bytes] of a joint state of seven joints."""


@dataclass(frozen=True)
class Curve:
    """Cost against size. places: sizes; lines: cost at each, by name, in `unit`."""

    name: str
    size: str
    unit: str
    places: tuple[int, ...]
    lines: Mapping[str, tuple[float, ...]]


def growth_curves(course: Course, tell: Callable[[str], None]) -> Iterator[Curve]:
    """Measure all curves and yield each; tell: called with its name before it is measured."""
    measures: dict[str, Callable[[], Curve]] = {
        "joints": grow_joints,
        "contacts": grow_contacts,
        "windows": partial(grow_windows, course),
        "recorded topics": grow_topics,
        "workers": grow_workers,
    }
    for name, measure in measures.items():
        tell(name)
        yield measure()


def grow_joints(joints: Sequence[int] = JOINTS) -> Curve:
    """Control step, momentum observer and impact map of arms, and what Pinocchio needs for their dynamics."""
    works: dict[str, list[Work]] = {}
    for n in joints:
        robot, q = chain(n), bent(n)
        impact = OneImpact(robot, q)
        model = robot.pinocchio_model
        terms = partial(pin.computeAllTerms, model, model.createData(), q, q)
        for name, work in (
            ("control step", _control_step(n)),
            ("momentum observer", _observer(n)),
            ("impact map, one contact", impact.by_map),
            ("Pinocchio, impulse dynamics", impact.by_pinocchio),
            ("Pinocchio, all terms", terms),
        ):
            works.setdefault(name, []).append(work)
    return Curve("arm", "joints", "us", tuple(joints), _microseconds(works))


def _control_step(joints: int) -> Work:
    robot, q = chain(joints), bent(joints)
    dynamics = Dynamics(robot)
    controller = ReferenceSpreadingController(robot, control(joints, PERIOD), q)
    controller.start(rest_at(robot, q), NO_FORCE, 0.0)
    nearby, still = q + 1e-3, np.zeros(joints)

    def step() -> None:
        dynamics.compute(nearby, still)
        controller.compute_torque(dynamics, PERIOD, nearby, still, still)

    return step


def _observer(joints: int) -> Work:
    robot, q = chain(joints), bent(joints)
    dynamics, observer = Dynamics(robot), MomentumObserver(np.full(joints, 100.0), np.full(joints, 1e-3))
    torque, samples = np.zeros(joints), iter(range(10**9))
    dynamics.compute(q, q)

    return lambda: observe(observer, dynamics, q, torque, next(samples) * PERIOD)


def grow_contacts(contacts: Sequence[int] = CONTACTS) -> Curve:
    """A box that falls and slides, turning, on this many points of its lower face."""
    half = np.array([0.1, 0.1, 0.05])
    bodies = {"box": replace(falling_box(half), velocity=np.array([0.1, 0.0, -0.1, 0.0, 0.0, 1.0]))}

    def landing(count: int, friction: float) -> Work:
        angle = np.arange(count) * np.pi * (3.0 - np.sqrt(5.0))
        reach = 0.1 * np.sqrt((np.arange(count) + 0.5) / count)
        points = np.stack([reach * np.cos(angle), reach * np.sin(angle), np.full(count, -half[2])], axis=1)
        return partial(
            predict_multi_contact_impact, bodies, [Contact("box", point_of_box(p), UP, friction) for p in points]
        )

    works = {
        name: [landing(count, friction) for count in contacts]
        for name, friction in (("impact map, no friction", 0.0), ("impact map, friction 0.4", 0.4))
    }
    return Curve("box on the ground", "contacts", "us", tuple(contacts), _microseconds(works))


def grow_windows(course: Course, windows: Sequence[int] = WINDOWS) -> Curve:
    """Classifier and contact completion of a plate, a sample each, windows full."""
    noise = np.random.default_rng(0).normal(scale=1e-3, size=(1000, 7))
    works = {
        "classifier": [_classifier(course, window, noise) for window in windows],
        "contact completion": [_completion(window) for window in windows],
    }
    return Curve("filters", "samples in the window", "us", tuple(windows), _microseconds(works))


def _classifier(course: Course, window: int, noise: np.ndarray) -> Work:
    parameters = replace(course.scenario.classification, window_length=window)
    classifier = SingleImpactClassifier(parameters, 7)
    classifier.await_impact(1e6, course.reference.impact_configuration)
    samples, still = iter(range(10**9)), np.zeros(7)

    def update() -> None:
        sample = next(samples)
        classifier.classify(sample * PERIOD, noise[sample % len(noise)], still)

    return _filled(update, window)


def _completion(window: int) -> Work:
    corners = np.array([[x, y, 0.0] for x in (-0.05, 0.05) for y in (-0.05, 0.05)])
    completion = ContactCompletion(corners, CompletionSettings(window=window, largest_speed=1e-3, least_force=1e9))
    samples, twist, force, rotation = iter(range(10**9)), np.full(6, 0.1), np.zeros(3), np.eye(3)

    def update() -> None:
        completion.observe(next(samples) * PERIOD, rotation, twist, force)

    return _filled(update, window)


def _filled(update: Work, window: int) -> Work:
    for _ in range(window + 10):
        update()
    return update


def grow_topics(topics: Sequence[int] = TOPICS) -> Curve:
    """The bag writer of the recorder: one message of each topic, with its part in compressing and writing to a file.

    What the processor does counts: the system puts the file on the disk when it likes.
    """
    data = np.random.default_rng(0).bytes(MESSAGE)
    with tempfile.TemporaryDirectory() as directory:
        bags = [BagWriter(Path(directory) / str(count)) for count in topics]
        works = {"bag writer": [_recording(bag, count, data) for bag, count in zip(bags, topics, strict=True)]}
        lines = {name: tuple(cost / SAMPLES for cost in costs) for name, costs in _microseconds(works).items()}
        for bag in bags:
            bag.close()
    return Curve("recording", "topics", "us a sample", tuple(topics), lines)


def _recording(bag: BagWriter, topics: int, data: bytes) -> Work:
    names, samples = [f"/topic{k}" for k in range(topics)], iter(range(10**9))

    def write() -> None:
        for sample in islice(samples, SAMPLES):
            for name in names:
                bag.write(name, "sensor_msgs/msg/JointState", data, round(1e9 * PERIOD) * sample)

    return write


def grow_workers(workers: Sequence[int] = WORKERS, trials: int = TRIALS) -> Curve:
    """The pool of the studies: the same trials on more processes, and what their start takes."""
    _trial(0)
    lines: dict[str, list[float]] = {"start, and a trial each": [], f"{trials} trials after it": []}
    for count in workers:
        with open_place(count) as place, computing_at(place):
            for line, cases in zip(lines.values(), (count, trials), strict=True):
                begin = time.perf_counter()
                run_trials(_trial, list(range(cases)), None, lambda _part, _text: None)
                line.append(time.perf_counter() - begin)
    return Curve("study", "workers", "s", tuple(workers), {name: tuple(line) for name, line in lines.items()})


def _trial(case: int) -> dict[str, np.ndarray]:
    """Simulate a planar arm that is pushed onto steel, three times."""
    simulate = flexible_plant("planar_rrr")
    for _ in range(3):
        simulate()
    return {"case": np.array(case)}


def _microseconds(works: Mapping[str, Sequence[Work]]) -> dict[str, tuple[float, ...]]:
    """Return the least duration of a call [us] of each, all in turns."""
    flat = [work for row in works.values() for work in row]
    least = iter((1e6 * durations_in_turns(flat, ROUNDS, 1e-3).min(axis=0)).tolist())
    return {name: tuple(next(least) for _ in row) for name, row in works.items()}
