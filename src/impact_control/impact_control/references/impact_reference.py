"""What is planned for one arm: its references before and after the impact, joined at the nominal impact time.

van Steen 2024 section IV-A, Proper 2021 sections 3.4 and 3.4.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from impact_control.references.approach import Approach
from impact_control.references.impact_geometry import ImpactGeometry
from impact_control.references.joint_space import TaskMotion, joint_motion
from impact_control.references.planning import knots, reference_table
from impact_control.references.table import ReferenceTable
from impact_control.robots import Dynamics, RobotDescription
from impact_control.types import Vector


@dataclass(frozen=True, eq=False)
class ImpactReference:
    """Everything the controller and the classifier follow and expect.

    Attributes:
        ante, post: the references, both from the start to the end of the task, van Steen 2024 (11)-(14).
        geometry: of the planned impact.
        nominal_impact_time: T_nom [s].
        initial_configuration: (n,) [rad] at which the task starts, at rest.
        impact_configuration: q(T_nom) (n,) [rad] of both references.
        ante_impact_velocity: dq^- (n,) [rad/s], Proper 2021 (3.18) extended by joint 1.
        post_impact_velocity: dq^+ (n,) [rad/s], (3.17).
        normal_impulse: predicted impulse along the normal [Ns].
    """

    ante: ReferenceTable
    post: ReferenceTable
    geometry: ImpactGeometry
    nominal_impact_time: float
    initial_configuration: Vector
    impact_configuration: Vector
    ante_impact_velocity: Vector
    post_impact_velocity: Vector
    normal_impulse: float


def reference_through_impact(
    robot: RobotDescription,
    approach: Approach,
    post_motion: Callable[[Vector], TaskMotion],
    *,
    nominal_impact_time: float,
    lead: float,
    durations: tuple[float, ...],
    post_impact_velocity: Vector,
    normal_impulse: float,
) -> ImpactReference:
    """Put the reference after the impact beside that of the approach, with the configuration of the impact in both.

    post_motion: of the end-effector and joint 1 at times (N,) [s]; it has corners at `lead` [s] before the nominal
    impact time and at each of `durations` [s] after it. post_impact_velocity dq^+ (n,) [rad/s] and normal_impulse
    [Ns]: as predicted. Raises UnreachableReferenceError naming joint and time.
    """
    places = knots(
        [nominal_impact_time - lead, nominal_impact_time, *sorted({nominal_impact_time + d for d in durations})]
    )
    at_impact = int(np.searchsorted(places, nominal_impact_time))
    orientation, start = approach.geometry.orientation, approach.impact_configuration
    joints = joint_motion(Dynamics(robot), places, post_motion, orientation, start, at_impact)
    return ImpactReference(
        ante=approach.table,
        post=reference_table(robot, approach.times, post_motion, places, joints),
        geometry=approach.geometry,
        nominal_impact_time=nominal_impact_time,
        initial_configuration=approach.initial_configuration,
        impact_configuration=approach.impact_configuration,
        ante_impact_velocity=approach.ante_impact_velocity,
        post_impact_velocity=post_impact_velocity,
        normal_impulse=normal_impulse,
    )
