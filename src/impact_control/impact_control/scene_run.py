"""A scene in lockstep: simulated arms and objects, and the team that moves them, sample by sample, without ROS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from impact_control.checks import require_positive
from impact_control.classification import Verdict
from impact_control.control import Fault
from impact_control.pipeline import Outcome
from impact_control.robots import RobotDescription
from impact_control.simulation import SceneSimulation, build_scene_simulation
from impact_control.team import Team, TeamPlan
from impact_control.types import Matrix, Vector

_LONGEST_END = 3.0
"""[s] after the end of the task at which a run is given up, finished or not."""


@dataclass(frozen=True, eq=False)
class ArmSignals:
    """What one arm did, N samples. World frame A.

    position, velocity (N, 3) of the origin of E, as the controller sees it [m, m/s]; ante_position, ante_velocity,
    post_position, post_velocity (N, 3): the references; joint_position, joint_velocity (N, n) of the links [rad,
    rad/s]; torque (N, n) commanded [Nm]; mode, gamma (N,): of the controller; normal_force (N,) [N].
    """

    position: Matrix
    velocity: Matrix
    ante_position: Matrix
    ante_velocity: Matrix
    post_position: Matrix
    post_velocity: Matrix
    joint_position: Matrix
    joint_velocity: Matrix
    torque: Matrix
    mode: Vector
    gamma: Vector
    normal_force: Vector


@dataclass(frozen=True, eq=False)
class ArmCourse:
    """The signals of one arm, and what was found.

    detection_time, first_contact_time [s] since the start of the task, NaN without; impacts: how many were detected;
    impact, post_impact: the verdicts, reason: of the last; outcome; fault: of the controller.
    """

    signals: ArmSignals
    detection_time: float
    first_contact_time: float
    impacts: int
    impact: Verdict
    post_impact: Verdict
    reason: str
    outcome: Outcome
    fault: Fault


@dataclass(frozen=True, eq=False)
class ObjectCourse:
    """What an object did: position, velocity of its centre (N, 3) [m, m/s], orientation (N, 4) as quaternion, in A."""

    position: Matrix
    velocity: Matrix
    orientation: Matrix


@dataclass(frozen=True, eq=False)
class SceneCourse:
    """A run of a scene: times (N,) [s] since the start of the task, arms and objects by name, how it ended."""

    time: Vector
    arms: Mapping[str, ArmCourse]
    objects: Mapping[str, ObjectCourse]
    outcome: Outcome
    finished: bool

    def at(self, time: float) -> int:
        """Return the number of the sample at `time` [s]."""
        return int(np.clip(np.searchsorted(self.time, time - 1e-9), 0, self.time.size - 1))


@dataclass
class _Log:
    """Rows that a run fills, one a sample."""

    arms: dict[str, list[tuple[Vector, ...]]] = field(default_factory=dict)
    objects: dict[str, list[tuple[Vector, ...]]] = field(default_factory=dict)
    detections: dict[str, float] = field(default_factory=dict)


def run_scene(
    plan: TeamPlan, real_robots: Mapping[str, RobotDescription] | None = None, until: float | None = None
) -> SceneCourse:
    """Run what was planned for a scene against its simulated actual environment until it is over.

    A command acts one period after the sample it answers. real_robots: the arms that are simulated, by name, when they
    are not those of the plan. until [s]: after the start of the task, the time at which the run is left, finished or
    not. Raises InvalidInputError.
    """
    scene = plan.scene
    robots = {name: arm.robot for name, arm in plan.arms.items()} if real_robots is None else real_robots
    starts = {name: arm.reference.initial_configuration for name, arm in plan.arms.items()}
    simulation = build_scene_simulation(scene, robots, starts)
    team = Team(plan)
    team.reset()
    team.start()
    log = _Log({name: [] for name in plan.arms}, {name: [] for name in simulation.objects})
    period = scene.control.period
    last = scene.task.duration + _LONGEST_END if until is None else require_positive("until", until)
    times = []
    for k in range(round(last / period)):
        time = k * period
        times.append(time)
        measured = {name: simulation.sensors[name].measure(arm) for name, arm in simulation.arms.items()}
        team.tick(time, {name: (m.position, m.velocity, m.torque) for name, m in measured.items()})
        _take(log, team, simulation, time)
        torques = [gate.select(simulation.arms[name].link_velocity, period) for name, gate in simulation.gates.items()]
        simulation.plant.step(torques)
        for name, gate in simulation.gates.items():
            gate.offer(team.pipelines[name].torque)
        if team.finished:
            break
    return _course(np.array(times), log, team, simulation)


def _take(log: _Log, team: Team, simulation: SceneSimulation, time: float) -> None:
    """Add one sample to the log."""
    for name, pipeline in team.pipelines.items():
        controller, arm = pipeline.controller, simulation.arms[name]
        if controller is None:
            continue
        if pipeline.impact_now:
            log.detections.setdefault(name, time)
        scalars = (np.array(float(values)) for values in (controller.mode, controller.gamma, arm.normal_force))
        ante, post = controller.ante, controller.post
        row = (
            pipeline.dynamics.position, pipeline.dynamics.twist[:3], ante.position, ante.velocity, post.position,
            post.velocity, arm.link_position, arm.link_velocity, controller.torque, *scalars)  # fmt: skip
        log.arms[name].append(tuple(values.copy() for values in row))
    for name, box in simulation.objects.items():
        log.objects[name].append((box.position.copy(), box.velocity.copy(), box.orientation.copy()))


def _course(times: Vector, log: _Log, team: Team, simulation: SceneSimulation) -> SceneCourse:
    arms = {}
    for name, pipeline in team.pipelines.items():
        columns = (np.array(values) for values in zip(*log.arms[name], strict=True))
        controller = pipeline.controller
        arms[name] = ArmCourse(
            signals=ArmSignals(*columns),
            detection_time=log.detections.get(name, np.nan),
            first_contact_time=simulation.arms[name].first_contact_time,
            impacts=pipeline.judge.impacts,
            impact=pipeline.judge.impact,
            post_impact=pipeline.judge.post_impact,
            reason=pipeline.judge.reason,
            outcome=pipeline.outcome,
            fault=Fault.NONE if controller is None else controller.fault,
        )
    objects = {
        name: ObjectCourse(*(np.array(values) for values in zip(*rows, strict=True)))
        for name, rows in log.objects.items()
    }
    return SceneCourse(times, arms, objects, team.outcome, team.finished)
