"""One simulated run, whose samples all measurements of a control step are made on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_control.detection import DetectionSignals, Detector
from impact_control.observation import MomentumObserver
from impact_control.pipeline import Pipeline, warm_up
from impact_control.pipeline.sensing import make_detector, make_observer
from impact_control.references import ImpactReference, build_reference
from impact_control.robots import Dynamics, RobotDescription
from impact_control.scenario import Scenario, load_scenario, robot_of
from impact_control.simulation import build_world
from impact_control.util.types import Vector

HOMES = {"panda": np.array([0.0, -0.6, 0.0, -2.3, 0.0, 1.8, 0.8]), "planar_rrr": np.radians([45.0, -90.0, -45.0])}
"""Configurations [rad] of the arms that are simulated, above the surface they are pushed onto."""

Sample = tuple[float, Vector, Vector, Vector]
"""Time [s], position (n,) [rad], velocity (n,) [rad/s], joint torque (n,) [Nm]."""


@dataclass(frozen=True, eq=False)
class Course:
    """Samples and references of the controller in a run without ROS."""

    scenario: Scenario
    robot: RobotDescription
    reference: ImpactReference
    samples: tuple[Sample, ...]


def record_course() -> Course:
    """Return the course of one simulated run of the tabletop task. Everything in the loop is compiled after it."""
    scenario = load_scenario("tabletop").arm()
    robot = robot_of(scenario.robot)
    reference = build_reference(scenario, robot)
    warm_up(scenario, robot)
    return Course(scenario, robot, reference, tuple(record_run(scenario, robot, reference)))


def record_run(scenario: Scenario, robot: RobotDescription, reference: ImpactReference) -> list[Sample]:
    """Return every sample of one simulated run without ROS."""
    world = build_world(scenario)
    plant, sensors, gate = world.single
    pipeline = Pipeline(scenario, robot)
    pipeline.reset()
    pipeline.start(reference, scenario)
    samples: list[Sample] = []
    period = scenario.control.period
    while not pipeline.finished:
        sample = sensors.measure(plant)
        samples.append((len(samples) * period, sample.position, sample.velocity, sample.torque))
        pipeline.tick(*samples[-1])
        gate.offer(pipeline.torque)
        world.step([gate.select(plant.link_velocity, period)])
    return samples


def observe(observer: MomentumObserver, dynamics: Dynamics, velocity: Vector, torque: Vector, time: float) -> None:
    """Give an observer a sample (n,) [rad/s, Nm] at a time [s]; dynamics: computed for it, all but the momentum."""
    dynamics.compute_momentum_terms()
    transposed = dynamics.coriolis_transposed_velocity
    observer.observe(dynamics.mass_matrix, velocity, torque, transposed, dynamics.gravity, time)


def observing_parts(course: Course) -> tuple[Dynamics, MomentumObserver, Detector, DetectionSignals]:
    """Return dynamics, observer and detector of the arm, and the detector's signals, which hold what is observed."""
    n = len(course.robot.joint_names)
    observer, signals = make_observer(course.scenario, course.robot), DetectionSignals(n)
    signals.residual, signals.residual_rate = observer.residual, observer.residual_rate
    return Dynamics(course.robot), observer, make_detector(course.scenario, n), signals
