"""A scenario in lockstep without ROS: simulated arms and objects, and the pipelines that move the arms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from impact_control.classification import Verdict
from impact_control.control import Fault
from impact_control.pipeline import Outcome, Pipeline
from impact_control.planning import Plan, plan_scenario
from impact_control.planning.team import Team
from impact_control.robots import RobotDescription
from impact_control.scenario import Scene
from impact_control.simulation.scene_bodies import SimulatedArm
from impact_control.simulation.sensors import Measurement
from impact_control.simulation.world import build_world
from impact_control.util.checks import require_positive
from impact_control.util.types import Matrix, Vector

LONGEST_END = 3.0
"""[s] after the end of the task at which a run is given up, finished or not."""


@dataclass(frozen=True, eq=False)
class ArmSignals:
    """Signals of one arm, N samples, n joints. World frame A.

    position, velocity (N, 3) of the origin of E, as the controller sees it [m, m/s]; ante_position, ante_velocity,
    post_position, post_velocity (N, 3): the references; measured_position, measured_velocity (N, n) of the joints, and
    joint_position, joint_velocity (N, n) of the links, without noise and delay [rad, rad/s]; torque (N, n) commanded
    [Nm]; mode, gamma (N,): of the controller; normal_force (N,) [N].
    """

    position: Matrix
    velocity: Matrix
    ante_position: Matrix
    ante_velocity: Matrix
    post_position: Matrix
    post_velocity: Matrix
    measured_position: Matrix
    measured_velocity: Matrix
    joint_position: Matrix
    joint_velocity: Matrix
    torque: Matrix
    mode: Vector
    gamma: Vector
    normal_force: Vector


@dataclass(frozen=True, eq=False)
class ArmCourse:
    """The signals of one arm, and what its pipeline found.

    detection_time, first_contact_time [s] since the start of the task, NaN without; impacts: how many were detected;
    impact, post_impact: the verdicts, reason: of the last; deviation: largest from what is expected as a part of its
    limit; probability: that both are as expected; outcome: how the task ended; fault: of the controller.
    """

    signals: ArmSignals
    detection_time: float
    first_contact_time: float
    impacts: int
    impact: Verdict
    post_impact: Verdict
    reason: str
    deviation: float
    probability: float
    outcome: Outcome
    fault: Fault


@dataclass(frozen=True, eq=False)
class ObjectCourse:
    """Motion of an object: position, velocity of its centre (N, 3) [m, m/s], orientation (N, 4) as quaternion, in A."""

    position: Matrix
    velocity: Matrix
    orientation: Matrix


@dataclass(frozen=True, eq=False)
class Course:
    """A run of a scenario: times (N,) [s] since the start of the task, arms and objects by name, how it ended."""

    time: Vector
    arms: Mapping[str, ArmCourse]
    objects: Mapping[str, ObjectCourse]
    outcome: Outcome
    finished: bool

    @property
    def single(self) -> ArmCourse:
        """Course of the arm of a scenario with one arm."""
        (arm,) = self.arms.values()
        return arm

    def at(self, time: float) -> int:
        """Return the number of the sample at `time` [s]."""
        return int(np.clip(np.searchsorted(self.time, time - 1e-9), 0, self.time.size - 1))


def run_scenario(
    scenario: Scene,
    until: float | None = None,
    plan: Plan | None = None,
    robots: Mapping[str, RobotDescription] | None = None,
) -> Course:
    """Run a scenario against its simulated actual environment until its task is over.

    A command acts one period after the sample it answers. until [s]: after the start of the task, the time at which the
    run is left, finished or not. plan: of the same task, in whatever actual environment; None: it is made here. robots:
    the arms that are simulated, by name, when they are not those of the plan. Raises ScenarioError, InvalidInputError,
    UnreachableReferenceError, its subclass InfeasibleTaskError for a task that breaks a limit.
    """
    if plan is None:
        plan = plan_scenario(scenario)
    if robots is None:
        robots = {name: arm.robot for name, arm in plan.arms.items()}
    world = build_world(
        scenario, robots, {name: arm.reference.initial_configuration for name, arm in plan.arms.items()}
    )
    team = Team(plan)
    team.reset()
    team.start()
    signals: dict[str, list[tuple[Vector, ...]]] = {name: [] for name in plan.arms}
    motions: dict[str, list[tuple[Vector, ...]]] = {name: [] for name in world.objects}
    times: list[float] = []
    detections: dict[str, float] = {}
    period = scenario.control.period
    last = scenario.duration + LONGEST_END if until is None else require_positive("until", until)
    for k in range(round(last / period)):
        time = k * period
        times.append(time)
        measured = {name: world.sensors[name].measure(arm) for name, arm in world.arms.items()}
        arrived = {name: m for name, m in measured.items() if not world.sensors[name].lost}
        team.tick(
            {name: (time + world.sensors[name].late, m.position, m.velocity, m.torque) for name, m in arrived.items()}
        )
        for name, pipeline in team.pipelines.items():
            if pipeline.impact_now and name in arrived:
                detections.setdefault(name, time)
            signals[name].append(_sample(pipeline, world.arms[name], measured[name]))
        for name, box in world.objects.items():
            motions[name].append((box.position.copy(), box.velocity.copy(), box.orientation.copy()))
        world.step([gate.select(world.arms[name].link_velocity, period) for name, gate in world.gates.items()])
        for name in arrived:
            world.gates[name].offer(team.pipelines[name].torque)
        if team.finished:
            break
    arms = {}
    for name, pipeline in team.pipelines.items():
        judge = pipeline.judge
        arms[name] = ArmCourse(
            signals=ArmSignals(*_columns(signals[name])),
            detection_time=detections.get(name, math.nan),
            first_contact_time=world.arms[name].first_contact_time,
            impacts=judge.impacts,
            impact=judge.impact,
            post_impact=judge.post_impact,
            reason=judge.reason,
            deviation=judge.deviation,
            probability=judge.probability,
            outcome=pipeline.outcome,
            fault=pipeline.controller.fault,
        )
    objects = {name: ObjectCourse(*_columns(rows)) for name, rows in motions.items()}
    return Course(np.array(times), arms, objects, team.outcome, team.finished)


def _sample(pipeline: Pipeline, arm: SimulatedArm, measured: Measurement) -> tuple[Vector, ...]:
    """Return one sample of `ArmSignals`."""
    controller = pipeline.controller
    row = (
        *(pipeline.dynamics.position, pipeline.dynamics.twist[:3]),
        *(controller.ante.position, controller.ante.velocity),
        *(controller.post.position, controller.post.velocity),
        *(measured.position, measured.velocity),
        *(arm.link_position, arm.link_velocity),
        controller.torque,
        *(np.array(float(value)) for value in (controller.mode, controller.gamma, arm.normal_force)),
    )
    return tuple(values.copy() for values in row)


def _columns(rows: list[tuple[Vector, ...]]) -> Iterator[Matrix]:
    return (np.array(values) for values in zip(*rows, strict=True))
