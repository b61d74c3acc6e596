"""One impact: plant, sensors, observer, detector, contact completion and control in one loop at 1 kHz."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_control.classification import ContactCompletion, ExternalForce, RecordedImpact
from impact_control.detection import ImpactDetector
from impact_control.impacts import ExponentialHuntCrossley
from impact_control.observation import MomentumObserver
from impact_control.robots import Dynamics, InertiaModel, RobotDescription, load_robot
from impact_control.scenario import CompletionSettings
from impact_control.simulation import FlexibleJointPlant, PlantOptions, Sensors, Surface, inclined_plane
from impact_control.util.types import Vector
from impact_studies.frame.trials import from_arrays
from impact_studies.planar_impact.response import PLANAR_TASK
from impact_studies.three_plants.course import EXPECTED_NORMAL, PRESSING_FORCE, SPEED, STIFFNESS
from impact_studies.three_plants.plan import Plan, Timetable, measured_pose, plan_impact, tabulate
from impact_studies.three_plants.response import CONTACT_DAMPING, CONTACT_EXPONENT, CONTACT_STIFFNESS

PERIOD = 1e-3
"""[s] Of samples and control."""

LEAD = 0.04
"""[s] From the start to the first touch that is expected of this surface."""

AFTER = 0.125
"""[s] From the last impact or the completion of the contact to the end."""

LATEST = 0.5
"""[s] After the expected impact, when a trial ends that has not ended before."""

LONGEST_INTERIM = 0.15
"""t_switch [s] of Proper 2021, 3.5.2: when contact is not complete by then, the post phase begins."""

OBSERVER_GAIN = 100.0
"""K_O [1/s]. Proper 2021, 2.5 has 30; only the rate of the residual is used, and scales with it."""

RATE_THRESHOLD = np.array([4300.0, 3000.0, 450.0])
"""r_b [Nm/s]: ten standard deviations of the rate that the velocity noise makes, K_O M sigma sqrt(2) / dt."""

REFRACTORY = 0.01
"""[s] Least time between two detections."""

COMPLETION = CompletionSettings(window=8, largest_speed=4e-3, least_force=2.0)

_LAW = ExponentialHuntCrossley(CONTACT_STIFFNESS, CONTACT_DAMPING, CONTACT_EXPONENT)
_OPTIONS = PlantOptions.of(sample_period=PERIOD, joint_friction=False, largest_step=125e-6)
"""Without friction, as in the source. A step of free flight is an eighth of a radian of the fastest resonance; in
contact the law sets the step."""

_TASK = list(PLANAR_TASK)


@dataclass(frozen=True)
class SweepPoint:
    """One approach angle [deg] and place of impact [m] with an end-effector, over tilts [deg] of the surface.

    seed: of the noise; every tilt has its own, and also every repetition of a tilt that stands there more than once.
    """

    end_effector: str
    angle: float
    distance: float
    tilts: tuple[float, ...]
    seed: int


@dataclass(frozen=True, eq=False)
class SweptImpact(RecordedImpact):
    """One trial: what was measured, and what was true. Times [s] count from the expected impact.

    deviation: the tilt [deg]; completion_sample: -1 without a completion. Attributes besides:
        point: of the sweep, to which it belongs.
        closed_time: [s] from when on all points touched until the end; NaN if they did not.
        touches: (n_c,) [s] first touch of each point; infinite if there was none.
    """

    point: SweepPoint
    closed_time: float
    touches: Vector

    @property
    def completion_decision(self) -> float:
        """Time [s] at which full contact was reported; NaN if it was not."""
        return float(self.time[self.completion_sample]) if self.completion_sample >= 0 else math.nan


def run_point(point: SweepPoint) -> Mapping[str, NDArray[Any]]:
    """Simulate all tilts of a sweep point; arrays by the name of the attribute of `SweptImpact` and the tilt."""
    robot = load_robot("planar_rrr", point.end_effector)
    earliest = _start_time(robot, point.angle, max(map(abs, point.tilts)))
    plan = plan_impact(robot, point.angle, point.distance, earliest - 0.01, LATEST + 0.1)
    table = tabulate(plan, round(earliest / PERIOD), 1 + round(LATEST / PERIOD), PERIOD)
    found: dict[str, NDArray[Any]] = {}
    for index, tilt in enumerate(point.tilts):
        seed = np.random.SeedSequence([point.seed, round(100 * point.angle), round(1e4 * point.distance), index])
        trial = run_trial(robot, plan, table, point, tilt, int(seed.generate_state(1)[0]))
        found |= {f"{name} {index}": np.asarray(getattr(trial, name)) for name in _KEPT}
    return found


_KEPT = tuple(entry.name for entry in fields(SweptImpact) if entry.name != "point")


def unpack(point: SweepPoint, arrays: Mapping[str, NDArray[Any]]) -> list[SweptImpact]:
    """Return the trials of `run_point` in the order of the tilts."""
    return [
        from_arrays(SweptImpact, {name: arrays[f"{name} {index}"] for name in _KEPT}, point=point)
        for index in range(len(point.tilts))
    ]


def run_trial(
    robot: RobotDescription, plan: Plan, table: Timetable, point: SweepPoint, tilt: float, seed: int
) -> SweptImpact:
    """Simulate one impact on the surface tilted by `tilt` [deg] about the expected place, Proper 2021 (3.3).

    table: of the plan, from the first sample of the trial to LATEST.
    From a state on the way to the impact, LEAD before the first touch. Observer, detector, completion and control see
    samples with the noise of (3.5). The post phase begins with the detection of the impact of a single point, and of
    more points with the completion of the contact, (3.11) without counting.
    """
    beta = math.radians(tilt)
    surface = Surface(*inclined_plane(beta, -math.tan(beta) * point.distance), _LAW, friction=0.0)
    start = _start_time(robot, point.angle, abs(tilt))
    plant = _moving_plant(robot, plan, surface, start)
    sensors = Sensors(robot.noise, 1.0, seed)
    loop = _Loop(robot, table)
    rows: list[tuple[float, Vector, Vector, NDArray[np.bool_]]] = []
    while plant.time + start < min(loop.end, LATEST):
        time = plant.time + start
        sample = sensors.measure(plant)
        reference = loop.observe(time, sample.position, sample.velocity, sample.torque)
        rows.append((time, sample.velocity, reference, plant.gaps <= 0.0))
        plant.step(loop.torque)
    times, velocities, references, closed = (np.array(column) for column in zip(*rows, strict=True))
    opened = np.flatnonzero(~np.all(closed, axis=1))
    last_open = int(opened[-1]) if opened.size else -1
    return SweptImpact(
        time=times,
        velocity=velocities,
        reference=references,
        impact_times=np.array(loop.impact_times),
        impact_samples=np.array(loop.impact_samples, dtype=int),
        configurations=np.array(loop.configurations).reshape(-1, 3),
        completion_time=loop.completion.contact_time if loop.completion_sample >= 0 else math.nan,
        completion_sample=loop.completion_sample,
        nominal_time=0.0,
        nominal_configuration=plan.configuration,
        deviation=tilt,
        point=point,
        closed_time=float(times[last_open + 1]) if last_open + 1 < times.size else math.nan,
        touches=plant.first_contact_times + start,
    )


def _start_time(robot: RobotDescription, angle: float, tilt: float) -> float:
    """Return when to start [s]: the outer points of a wide end-effector touch a tilted surface early."""
    reach = float(np.max(np.abs(robot.end_effector.contact_points[:, 0])))
    early = reach * math.tan(math.radians(tilt)) / (SPEED * math.sin(math.radians(angle)))
    return -PERIOD * round((LEAD + early) / PERIOD)


def _moving_plant(robot: RobotDescription, plan: Plan, surface: Surface, start: float) -> FlexibleJointPlant:
    """Return the plant on its way: links and motors at the speed of the reference, springs holding the arm."""
    q, dq = plan.ante(start), plan.ante(start, 1)
    plant = FlexibleJointPlant(robot, q, surface, _OPTIONS)
    dynamics = Dynamics(robot)
    dynamics.compute(q, dq)
    torque = dynamics.mass_matrix @ plan.ante(start, 2) + dynamics.nonlinear
    plant.link_velocity[:] = plant.motor_velocity[:] = dq
    plant.motor_position[:] = q + torque / robot.transmission.stiffness
    plant.filtered_torque[:] = torque
    return plant


class _Loop:
    """Everything that runs on the samples. `torque` (3,) [Nm] is the command, without gravity."""

    def __init__(self, robot: RobotDescription, table: Timetable) -> None:
        transmission = robot.transmission
        self._table = table
        self._dynamics = Dynamics(robot)
        self._gain = np.full(3, OBSERVER_GAIN)
        self._observer = MomentumObserver(self._gain, transmission.damping / transmission.stiffness)
        self._detector = ImpactDetector(RATE_THRESHOLD, REFRACTORY)
        self._points = len(robot.end_effector.contact_points)
        self._force = ExternalForce(self._gain)
        self.completion = ContactCompletion(robot.end_effector.contact_points, COMPLETION)
        self.impact_times: list[float] = []
        self.impact_samples: list[int] = []
        self.configurations: list[Vector] = []
        self.completion_sample = -1
        self.end = math.inf
        self.torque = np.zeros(3)
        self._samples = 0

    def observe(self, time: float, position: Vector, velocity: Vector, torque: Vector) -> Vector:
        """Take a sample; return the joint velocity (3,) [rad/s] that is expected at it."""
        dynamics, observer = self._dynamics, self._observer
        dynamics.compute(position, velocity)
        dynamics.compute_momentum_terms()
        transposed = dynamics.coriolis_transposed_velocity
        observer.observe(dynamics.mass_matrix, velocity, torque, transposed, dynamics.gravity, time)
        if self._detector.detect(observer.residual_rate, time):
            if not self.impact_times:
                self.end = time + (LONGEST_INTERIM if self._points > 1 else 0.0)
            self.end = max(self.end, time + AFTER)
            self.impact_times.append(self._detector.impact_time)
            self.impact_samples.append(self._samples)
            self.configurations.append(position)
        if self.impact_times and not self.completion.complete:
            force = self._force.estimate(dynamics.jacobian, observer.residual, observer.residual_rate)
            if self.completion.observe(time, dynamics.rotation, dynamics.twist, force):
                self.completion_sample = self._samples
                self.end = time + AFTER
        row = self._table.row(time)
        self.torque = self._commanded(time, row)
        self._samples += 1
        velocities = self._table.post_velocity if self.impact_times else self._table.ante_velocity
        expected: Vector = velocities[row]
        return expected

    def _commanded(self, time: float, row: int) -> Vector:
        """Return the torque (3,) [Nm] of the phase, (3.11), (3.12): ante, without damping in between, post."""
        dynamics = self._dynamics
        ante = not self.impact_times
        interim = not ante and self._points > 1 and not self.completion.complete
        interim = interim and time - self.impact_times[0] < LONGEST_INTERIM
        pose, rate, second = (self._table.ante_pose if ante or interim else self._table.post_pose)[row]
        damping = 0.0 if interim else 2.0 * math.sqrt(STIFFNESS)
        error = pose - measured_pose(dynamics)
        if not (ante or interim) and self._points > 1:
            # The contact task of every point (3.3.3) leaves the turn to the surface, whatever its tilt.
            error[2] = 0.0
        desired = second + damping * (rate - dynamics.twist[_TASK]) + STIFFNESS * error
        ddq = np.linalg.solve(dynamics.jacobian[_TASK], desired - dynamics.jacobian_rate_velocity[_TASK])
        torque: Vector = dynamics.inertia(InertiaModel.REDUCED_MOTORS) @ ddq + dynamics.coriolis
        if not (ante or interim):
            torque -= PRESSING_FORCE * (EXPECTED_NORMAL @ dynamics.jacobian[:3])
        return torque
