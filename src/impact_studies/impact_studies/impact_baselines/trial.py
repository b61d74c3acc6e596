"""The ways to meet an impact that are compared, each as changes of one scenario, and the surfaces they meet."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_control.control import RUNNING, ReferenceSpreadingController
from impact_control.pipeline import Pipeline
from impact_control.references import ImpactReference, build_reference
from impact_control.robots import Dynamics, InertiaModel, RobotDescription
from impact_control.scenario import Control, Feedback, Scenario, load_scenario, robot_of
from impact_control.simulation import build_world
from impact_control.simulation.sensors import Measurement
from impact_control.util.types import Matrix, Vector
from impact_studies.impact_baselines.impedance import Impedance

SCENARIO = "tabletop"

HEIGHT, TILT = 8e-3, 2.0
"""Half-widths [m, deg] of the uniform distributions of height and tilts about x and y of the real surface."""

REFERENCE_SPREADING = "reference spreading"
JOINT_SPACE = "reference spreading, joint space"
WITHOUT_INTERIM = "without interim mode"
PLAIN = "plain tracking"
SLOW = "slow approach"

SOFT, STIFF = "impedance, 300 N/m", "impedance, 1000 N/m"

STIFFNESS = {SOFT: 300.0, STIFF: 1000.0}
"""[N/m] of the methods that are no reference spreading at all."""

SLOW_SPEED = 0.05
"""[m/s]. Slower still, the surface is met up to half a second off, which no reference with a fixed time fits."""

METHODS: dict[str, dict[str, str]] = {
    REFERENCE_SPREADING: {},
    JOINT_SPACE: {"control.feedback": "joint_space"},
    WITHOUT_INTERIM: {"control.impact_strategy": "without_interim"},
    PLAIN: {"control.impact_strategy": "plain_tracking"},
    # An approach that is never much faster than at its end, and goes on no faster.
    SLOW: {
        "task.impact.speed": f"{SLOW_SPEED} m/s",
        "task.impact.time": "2.5 s",
        "task.ante.extension_depth": "12.5 mm",
        "task.duration": "4.0 s",
    },
    SOFT: {},
    STIFF: {},
}


@dataclass(frozen=True)
class Case:
    """One trial: a method of METHODS on a real surface that is height [m] higher and tilted about x and y [deg].

    seed: of the sensor noise.
    """

    method: str
    height: float
    tilt_x: float
    tilt_y: float
    seed: int


def cases(count: int, seed: int) -> list[Case]:
    """Return `count` surfaces, each met by every method with the same noise; more of them begin with the same ones."""
    found = []
    for k in range(count):
        random = np.random.default_rng([seed, k])
        height, tilts = float(random.uniform(-HEIGHT, HEIGHT)), random.uniform(-TILT, TILT, 2)
        noise = int(random.integers(0, 2**31))
        found += [Case(method, height, float(tilts[0]), float(tilts[1]), noise) for method in METHODS]
    return found


def planned(method: str) -> Scenario:
    """Return the scenario with the method of METHODS, which goes on whatever the classifier says."""
    changes = {"reaction.on_unexpected_impact": "continue", "reaction.on_unexpected_post_impact": "continue"}
    return load_scenario(SCENARIO).arm().with_overrides({**changes, **METHODS[method]})


def met(scenario: Scenario, case: Case) -> Scenario:
    """Return the scenario with the real surface of a case."""
    x, y, z = scenario.expected_environment.surface.point
    tilt_x, tilt_y = math.radians(case.tilt_x), math.radians(case.tilt_y)
    normal = np.array([math.sin(tilt_y), -math.cos(tilt_y) * math.sin(tilt_x), math.cos(tilt_y) * math.cos(tilt_x)])
    return scenario.with_overrides(
        {
            "actual_environment.surface.point": f"{x}, {y}, {z + case.height} m",
            "actual_environment.surface.normal": [float(value) for value in normal],
            "simulation.seed": case.seed,
        }
    )


WINDOW = 0.3
"""[s] after the first contact in which peaks and errors are looked for."""

BEFORE, AFTER = 0.08, 0.2
"""[s] around the first contact that are kept for pictures."""

RESTING = 5e-3
"""[m/s] along the surface. The task is done when E is never faster again."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Measures of one trial. Peaks are the largest over joints and samples of WINDOW after the first contact.

    contact_offset [s]: first contact less nominal time. detection_delay [s]: NaN when it was not detected.
    peak_torque [Nm], peak_torque_rate [Nm/s]: of the command. rate_limited [s]: how long a torque rate was at its
    limit. peak_feedback [Nm]: of the feedback torque; peak_feedback_detected: from the detection on, and
    peak_velocity_feedback: of what the velocity errors have in it. tracking_error [m]: root mean square of the way
    along the surface to the post-impact reference. cycle_time [s]: until E rests on the surface, NaN if it does not
    before the task ends. peak_force [N]: of the contact. impact_speed [m/s]: of E before the contact, less the planned
    one. force_error [N]: mean normal force over HELD before the end of the motion, less what the task asks for.
    limits_kept: torque and rate limits by the command, position and velocity limits by the arm.
    time (k,) [s] from the first contact, feedback (k,) [Nm]: course of the largest feedback torque of all joints.
    """

    contact_offset: float
    detection_delay: float
    peak_torque: float
    peak_torque_rate: float
    rate_limited: float
    peak_feedback: float
    peak_feedback_detected: float
    peak_velocity_feedback: float
    tracking_error: float
    cycle_time: float
    peak_force: float
    impact_speed: float
    force_error: float
    limits_kept: bool
    time: Vector
    feedback: Vector


HELD = 0.2
"""[s] before the end of the motion in which the force is looked at."""


class FeedbackTorque:
    """The torque that feedback alone asks for: (M + B_theta) ddq with the feedback part (28) of the tasks as target."""

    def __init__(self, control: Control, joints: int) -> None:
        gains = control.gains
        self._gains = np.concatenate([np.full(3, gains.position), np.full(3, gains.orientation), [gains.posture]])
        self._joint_gain = gains.joint
        self._joint_space = control.feedback is Feedback.JOINT_SPACE
        self._tasks = np.zeros((7, joints))
        self._tasks[6, 0] = 1.0

    def at(self, controller: ReferenceSpreadingController, dynamics: Dynamics) -> Matrix:
        """Return it for the sample that the controller has just answered, before all limits, and its velocity part.

        Two rows (2, n) [Nm].
        """
        desired, gamma = controller.desired, controller.gamma
        inertia = dynamics.inertia(InertiaModel.REDUCED_MOTORS)
        if self._joint_space:
            place = self._joint_gain * (desired.joint_position - dynamics.q)
            rate = 2.0 * gamma * math.sqrt(self._joint_gain) * (desired.joint_velocity - dynamics.dq)
            torque: Matrix = np.array([place + rate, rate]) @ inertia
            return torque
        posture = desired.posture[:2] - np.array([dynamics.q[0], dynamics.dq[0]])
        turning = desired.angular_velocity - dynamics.twist[3:]
        place = self._gains * np.concatenate([controller.position_error, controller.orientation_error, posture[:1]])
        rate = np.concatenate([controller.velocity_error, turning, posture[1:]])
        rate *= 2.0 * gamma * np.sqrt(self._gains)
        self._tasks[:6] = dynamics.jacobian
        torque = np.linalg.solve(self._tasks, np.array([place + rate, rate]).T).T @ inertia
        return torque


@lru_cache(maxsize=8)
def _plan(method: str) -> tuple[RobotDescription, ImpactReference]:
    scenario = planned(method)
    robot = robot_of(scenario.robot)
    return robot, build_reference(scenario, robot)


@dataclass(frozen=True, eq=False)
class _Course:
    """All samples of a task: time, normal force (k,), command (k, n), feedback (k, 2, n), motion of E (k, 3)."""

    time: Vector
    torque: Matrix
    feedback: NDArray[np.float64]
    place: Matrix
    velocity: Matrix
    force: Vector
    inside: bool
    contact: float
    detection: float
    peak_force: float


def run_case(case: Case) -> Mapping[str, NDArray[Any]]:
    """Simulate one case; the arrays are the attributes of `Measured`."""
    robot, reference = _plan(case.method)
    course = _simulate(case, robot, reference)
    task = planned(case.method).task
    end = task.impact.time + max(task.post.duration, task.post.settle_duration)
    measured = _measure(course, robot, reference, end, task.post.force)
    return {name: np.asarray(value) for name, value in vars(measured).items()}


class _Spreading:
    """The pipeline with the controller of the scenario: reference spreading, or one of its variants."""

    def __init__(self, scenario: Scenario, robot: RobotDescription, reference: ImpactReference) -> None:
        self._pipeline = Pipeline(scenario, robot)
        self._pipeline.reset()
        self._pipeline.start(reference, scenario)
        self._controller = self._pipeline.controller
        self._law = FeedbackTorque(scenario.control, len(robot.joint_names))
        self._begun = False
        self.dynamics = self._pipeline.dynamics
        self.detection = math.nan

    @property
    def finished(self) -> bool:
        return self._pipeline.finished or (self._begun and self._controller.mode not in RUNNING)

    def answer(self, time: float, sample: Measurement) -> tuple[Vector, Matrix]:
        pipeline = self._pipeline
        pipeline.tick(time, sample.position, sample.velocity, sample.torque)
        self._begun = True
        if pipeline.impact_now and math.isnan(self.detection):
            self.detection = time
        running = self._controller.mode in RUNNING
        none = np.full((2, sample.position.size), np.nan)
        return pipeline.torque.copy(), self._law.at(self._controller, self.dynamics) if running else none


class _Impedance:
    """Impedance control until the end of the task."""

    detection = math.nan

    def __init__(self, case: Case, scenario: Scenario, robot: RobotDescription, reference: ImpactReference) -> None:
        self._law = Impedance(STIFFNESS[case.method], scenario, robot, reference)
        self._end = scenario.task.duration - 0.5 * scenario.control.period
        self.dynamics = Dynamics(robot)
        self.finished = False

    def answer(self, time: float, sample: Measurement) -> tuple[Vector, Matrix]:
        self.dynamics.compute(sample.position, sample.velocity)
        self.finished = time >= self._end
        return self._law.answer(time, self.dynamics)


def _simulate(case: Case, robot: RobotDescription, reference: ImpactReference) -> _Course:
    scenario = met(planned(case.method), case)
    world = build_world(scenario)
    plant, sensors, gate = world.single
    impedance = case.method in STIFFNESS
    side = _Impedance(case, scenario, robot, reference) if impedance else _Spreading(scenario, robot, reference)
    period = scenario.control.period
    rows: list[tuple[float, Vector, Matrix, Vector, Vector, float]] = []
    inside, peak_force = True, 0.0
    lower, upper = robot.limits.position_lower, robot.limits.position_upper
    while not side.finished:
        time = len(rows) * period
        torque, feedback = side.answer(time, sensors.measure(plant))
        place, velocity = side.dynamics.position.copy(), side.dynamics.twist[:3].copy()
        rows.append((time, torque, feedback, place, velocity, plant.normal_force))
        gate.offer(torque)
        world.step([gate.select(plant.link_velocity, period)])
        peak_force = max(peak_force, plant.peak_normal_force)
        position, speed = plant.link_position, np.abs(plant.link_velocity)
        inside = inside and bool(np.all((lower <= position) & (position <= upper) & (speed <= robot.limits.velocity)))
    times, torques, feedbacks, places, velocities, forces = (np.array(column) for column in zip(*rows, strict=True))
    contact, detection = float(plant.first_contact_time), side.detection
    return _Course(times, torques, feedbacks, places, velocities, forces, inside, contact, detection, peak_force)


def _measure(
    course: _Course, robot: RobotDescription, reference: ImpactReference, end: float, force: float
) -> Measured:
    """Return the measures; end [s]: of the planned motion, force [N]: that the task asks for."""
    limits, period = robot.limits, float(course.time[1] - course.time[0])
    change = np.diff(course.torque, axis=0, prepend=np.zeros((1, course.torque.shape[1]))) / period
    since = course.time - course.contact
    after = (since >= 0.0) & (since <= WINDOW)
    detected = after & (course.time >= course.detection)
    feedback, by_velocity = np.max(np.abs(course.feedback), axis=2).T
    shown = (since >= -BEFORE) & (since <= AFTER)
    desired = reference.post.columns.position[np.minimum(np.arange(course.time.size), len(reference.post.times) - 1)]
    normal = reference.geometry.normal
    error = desired - course.place
    error -= np.outer(error @ normal, normal)
    along = course.velocity - np.outer(course.velocity @ normal, normal)
    before, approach = int(np.flatnonzero(since < 0.0)[-1]), reference.geometry.approach_velocity
    task = int(np.count_nonzero(np.isfinite(feedback)))
    rests = int(np.flatnonzero(np.linalg.norm(along[:task], axis=1) > RESTING)[-1]) + 1
    at_limit = np.any(np.abs(change) >= limits.torque_rate * (1.0 - 1e-6), axis=1)
    kept = np.all(np.abs(course.torque) <= limits.torque) and np.all(np.abs(change) <= limits.torque_rate * (1 + 1e-9))
    return Measured(
        contact_offset=course.contact - reference.nominal_impact_time,
        detection_delay=course.detection - course.contact,
        peak_torque=float(np.max(np.abs(course.torque[after]))),
        peak_torque_rate=float(np.max(np.abs(change[after]))),
        rate_limited=period * float(np.count_nonzero(at_limit[after])),
        peak_feedback=float(np.max(feedback[after])),
        peak_feedback_detected=float(np.max(feedback[detected])) if np.any(detected) else math.nan,
        peak_velocity_feedback=float(np.max(by_velocity[after])),
        tracking_error=float(np.sqrt(np.mean(np.sum(error[after] ** 2, axis=1)))),
        cycle_time=period * rests if rests < task else math.nan,
        peak_force=course.peak_force,
        impact_speed=float(np.linalg.norm(course.velocity[before])) - float(np.linalg.norm(approach)),
        force_error=float(np.mean(course.force[(course.time > end - HELD) & (course.time <= end)])) - force,
        limits_kept=bool(kept and course.inside),
        time=since[shown],
        feedback=feedback[shown],
    )
