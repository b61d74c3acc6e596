"""A scenario in lockstep: its simulated arm and the pipeline that moves it, sample by sample, without ROS."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_control.checks import require_positive
from impact_control.classification import Verdict
from impact_control.pipeline import Outcome, Pipeline
from impact_control.references import build_reference
from impact_control.scenario import Scenario, robot_of
from impact_control.simulation import build_simulation
from impact_control.types import Matrix, Vector

LONGEST_END = 3.0
"""[s] after the end of the task at which a run is given up, finished or not."""


@dataclass(frozen=True, eq=False)
class ScenarioCourse:
    """A run of a scenario, N samples, n joints.

    time (N,) [s] since the start of the task; position, velocity (N, 3) of the origin of E [m, m/s], frame A;
    joint_position, joint_velocity, torque (N, n): measured [rad, rad/s] and commanded [Nm]; normal_force (N,) [N] of
    the simulated surface. contact_time, detection_time [s]: of the first contact and of the first detected impact, NaN
    without. outcome: how the task ended; impact, post_impact: the verdicts, reason: of the last.
    """

    time: Vector
    position: Matrix
    velocity: Matrix
    joint_position: Matrix
    joint_velocity: Matrix
    torque: Matrix
    normal_force: Vector
    contact_time: float
    detection_time: float
    outcome: Outcome
    impact: Verdict
    post_impact: Verdict
    reason: str


def run_scenario(scenario: Scenario, until: float | None = None) -> ScenarioCourse:
    """Run a scenario against its simulated actual environment until its task is over.

    A command acts one period after the sample it answers. until [s]: after the start of the task, the time at which the
    run is left, finished or not. Raises ScenarioError, InvalidInputError, UnreachableReferenceError.
    """
    robot = robot_of(scenario.robot)
    reference = build_reference(scenario, robot)
    plant, sensors, gate = build_simulation(scenario)
    pipeline = Pipeline(scenario, robot)
    pipeline.reset()
    pipeline.start(reference, scenario)
    period = scenario.control.period
    last = scenario.task.duration + LONGEST_END if until is None else require_positive("until", until)
    rows: list[tuple[Vector, ...]] = []
    detection_time = math.nan
    for k in range(round(last / period)):
        sample = sensors.measure(plant)
        pipeline.tick(k * period, sample.position, sample.velocity, sample.torque)
        if pipeline.impact_now and math.isnan(detection_time):
            detection_time = k * period
        force = np.array(plant.normal_force)
        hand = (pipeline.dynamics.position, pipeline.dynamics.twist[:3])
        rows.append(tuple(np.copy(v) for v in (*hand, sample.position, sample.velocity, pipeline.torque, force)))
        plant.step(gate.select(plant.link_velocity, period))
        gate.offer(pipeline.torque)
        if pipeline.finished:
            break
    columns = (np.array(column) for column in zip(*rows, strict=True))
    position, velocity, joint_position, joint_velocity, torque, normal_force = columns
    return ScenarioCourse(
        time=period * np.arange(len(rows), dtype=np.float64),
        position=position,
        velocity=velocity,
        joint_position=joint_position,
        joint_velocity=joint_velocity,
        torque=torque,
        normal_force=normal_force,
        contact_time=plant.first_contact_time,
        detection_time=detection_time,
        outcome=pipeline.outcome,
        impact=pipeline.judge.impact,
        post_impact=pipeline.judge.post_impact,
        reason=pipeline.judge.reason,
    )
