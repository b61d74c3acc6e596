"""The way to the impact: from rest to the nominal impact, and on past it as if nothing were hit.

van Steen 2024 (11), (12), Proper 2021 section 3.4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from impact_control.references.impact_geometry import ImpactGeometry, impact_geometry, initial_configuration
from impact_control.references.joint_space import TaskMotion, joint_motion
from impact_control.references.planning import FINE, Sampling, knots, reference_table, sample_times
from impact_control.references.quintic import PiecewiseQuintic, ViaPoint
from impact_control.references.table import ReferenceTable
from impact_control.robots import Dynamics, RobotDescription
from impact_control.scenario import Scenario
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Vector

_JOINTS = 7


@dataclass(frozen=True, eq=False)
class Approach:
    """The ante-impact reference of an arm, and the state in which it meets the impact.

    Attributes:
        geometry: of the planned impact.
        initial_configuration: (n,) [rad] at which it starts, at rest.
        times: (N,) [s] from the start to the end of the task, at which references are sampled.
        table: the reference at these times.
        impact_configuration: q(T_nom) (n,) [rad].
        ante_impact_velocity: dq^- (n,) [rad/s], Proper 2021 (3.18) extended by joint 1.
        sampling: how finely it was planned.
    """

    geometry: ImpactGeometry
    initial_configuration: Vector
    times: Vector
    table: ReferenceTable
    impact_configuration: Vector
    ante_impact_velocity: Vector
    sampling: Sampling


def plan_approach(scenario: Scenario, robot: RobotDescription, sampling: Sampling = FINE) -> Approach:
    """Plan the ante-impact reference of a scenario.

    Raises UnreachableReferenceError naming joint and time; InvalidInputError for an arm without seven joints.
    """
    if len(robot.joint_names) != _JOINTS:
        raise InvalidInputError("joints", robot.joint_names, f"{_JOINTS}: six for the pose and one for joint 1")
    task, geometry = scenario.task, impact_geometry(scenario, robot)
    grid = sample_times(task.duration, sampling.samples or scenario.control.period)
    start = initial_configuration(scenario, robot, sampling.iterations)
    nominal = task.impact.time
    motion = _ante_motion(scenario, geometry)
    places = knots([0.0, nominal, nominal + task.ante.extension_duration], sampling)
    joints = joint_motion(Dynamics(robot), places, motion, geometry.orientation, start)
    at_impact = int(np.searchsorted(places, nominal))
    return Approach(
        geometry=geometry,
        initial_configuration=start,
        times=grid,
        table=reference_table(robot, grid, motion, places, joints),
        impact_configuration=joints.position[at_impact],
        ante_impact_velocity=joints.velocity[at_impact],
        sampling=sampling,
    )


def _ante_motion(scenario: Scenario, geometry: ImpactGeometry) -> Callable[[Vector], TaskMotion]:
    """Return the reference before the impact: straight, with constant orientation and joint 1."""
    task = scenario.task
    nominal = task.impact.time
    position = PiecewiseQuintic.through(
        [
            ViaPoint.at_rest(0.0, geometry.start_position),
            ViaPoint(nominal, geometry.impact_position, geometry.approach_velocity, np.zeros(3)),
            ViaPoint.at_rest(nominal + task.ante.extension_duration, geometry.rest_position),
        ]
    )

    def motion(times: Vector) -> TaskMotion:
        still = np.zeros((times.size, 3))
        posture = np.tile([task.posture, 0.0, 0.0], (times.size, 1))
        return TaskMotion(*position.sample(times), still, still, still, posture)

    return motion
