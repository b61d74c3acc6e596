"""An edge meets a tilted surface: residual of the momentum observer and its rate beside the true external torque."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_control.detection import ImpactDetector
from impact_control.impacts import ExponentialHuntCrossley
from impact_control.observation import MomentumObserver
from impact_control.robots import Dynamics, contact_jacobians, load_robot, lowest_points
from impact_control.simulation import FlexibleJointPlant, PlantOptions, Sensors, Surface
from impact_control.util.errors import ImpactControlError
from impact_control.util.types import Matrix, Vector
from impact_studies.three_plants.course import STIFFNESS, Course, expected_approach, tilted_surface
from impact_studies.three_plants.response import CONTACT_DAMPING, CONTACT_EXPONENT, CONTACT_STIFFNESS

PERIOD = 1e-3
"""[s] Of samples and control."""

GAIN = 30.0
"""[1/s] K_O of Proper 2021, 2.5."""

BOUND = np.array([4500.0, 2500.0, 1450.0])
"""[Nm/s] r_b of Proper 2021, 3.2."""

REFRACTORY = 0.01
"""[s] Least time between two detections, longer than a hard contact takes."""

TILT = 5.0
"""[deg] of the surface, which nobody expects."""

WAY = 0.02
"""[m] of a slow approach at its speed: the lower end of the edge touches 6 mm before the point that is expected."""

OBSERVED = 0.15
"""[s] after the second point has touched, or after the first where it does not."""


@dataclass(frozen=True)
class ObserverCase:
    """One impact: its speed [m/s], the size of the noise (0: none, 1: Proper 2021 (3.5)) and its seed."""

    speed: float
    noise: float
    seed: int


@dataclass(frozen=True, eq=False)
class Observed:
    """Samples (m,) around the impact.

    time (m,) [s] from the first touch; residual, torque (m, n) [Nm]: estimate and truth of the external joint torque,
    residual_rate (m, n) [Nm/s]; gaps (m, 2) [m] of both ends of the edge; touches (2,) [s]: first touch of each,
    infinite if there was none; detections (k,) [s] of the rate by the bound of the source.
    """

    time: Vector
    residual: Matrix
    residual_rate: Matrix
    torque: Matrix
    gaps: Matrix
    touches: Vector
    detections: Vector


def observe(case: ObserverCase) -> Mapping[str, NDArray[Any]]:
    """Simulate plant A and return the arrays of `Observed`. Raises ImpactControlError without contact."""
    robot = load_robot("planar_rrr", "planar_edge")
    course = Course(robot, STIFFNESS, expected_approach(case.speed, max(0.2, WAY / case.speed)))
    point, normal = tilted_surface(TILT)
    law = ExponentialHuntCrossley(CONTACT_STIFFNESS, CONTACT_DAMPING, CONTACT_EXPONENT)
    start = course.approach.configuration(robot, course.approach.at(0.0)[0])
    options = PlantOptions.of(sample_period=PERIOD, joint_friction=False)
    plant = FlexibleJointPlant(robot, start, Surface(point, normal, law, friction=0.0), options)
    sensors = Sensors(robot.noise, case.noise, case.seed)
    transmission, tool = robot.transmission, robot.end_effector
    observer = MomentumObserver(np.full(start.size, GAIN), transmission.damping / transmission.stiffness)
    detector = ImpactDetector(BOUND, REFRACTORY)
    measured, true = Dynamics(robot), Dynamics(robot)
    rows: list[tuple[float, Vector, Vector, Vector, Vector]] = []
    detections: list[float] = []
    while plant.time < _end(plant, course.approach.impact_time):
        sample = sensors.measure(plant)
        measured.compute(sample.position, sample.velocity)
        measured.compute_momentum_terms()
        transposed = measured.coriolis_transposed_velocity
        observer.observe(measured.mass_matrix, sample.velocity, sample.torque, transposed, measured.gravity, plant.time)
        if detector.detect(observer.residual_rate, plant.time):
            detections.append(plant.time)
        true.compute(plant.link_position, plant.link_velocity)
        offsets = lowest_points(tool.contact_points, tool.radius, true.rotation, normal)
        jacobians = contact_jacobians(true.jacobian, offsets)
        torque = sum(
            (j.T @ force for j, force in zip(jacobians, plant.contact_forces, strict=True)), np.zeros(start.size)
        )
        rows.append((plant.time, observer.residual.copy(), observer.residual_rate.copy(), torque, plant.gaps.copy()))
        phase = course.phase(plant.time, plant.first_contact_times)
        plant.step(course.torque(phase, plant.time, sample.position, sample.velocity))
    time, residual, rate, torques, gaps = (np.array(column) for column in zip(*rows, strict=True))
    first = plant.first_contact_time
    return {
        "time": time - first,
        "residual": residual,
        "residual_rate": rate,
        "torque": torques,
        "gaps": gaps,
        "touches": plant.first_contact_times - first,
        "detections": np.array(detections) - first,
    }


def _end(plant: FlexibleJointPlant, expected: float) -> float:
    """Return when to stop [s], as far as is known now. Raises ImpactControlError when there is no contact."""
    if math.isnan(plant.first_contact_time):
        if plant.time > 4.0 * expected:
            raise ImpactControlError(f"no contact until {plant.time:.3f} s, expected at {expected:.3f} s")
        return math.inf
    touched = plant.first_contact_times[np.isfinite(plant.first_contact_times)]
    both = touched.size == plant.first_contact_times.size
    return float(touched.max()) + (OBSERVED if both else 4.0 * OBSERVED)
