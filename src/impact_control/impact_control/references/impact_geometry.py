"""Geometry of the planned impact on the expected surface, and the start of the task.

It meets it with all of its contact points at once, a simultaneous impact of an edge or a plate (Proper 2021 section
2.2.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_control.references.joint_space import UnreachableReferenceError
from impact_control.robots import RobotDescription, UnreachablePoseError, lowest_points, rotation_from_roll_pitch_yaw
from impact_control.robots.inverse_kinematics import solve
from impact_control.scenario import Scenario
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

_LARGEST_TILT = 1e-5
"""[m] by which the contact points may differ in height over the expected surface and still meet it at once."""


@dataclass(frozen=True, eq=False)
class ImpactGeometry:
    """Geometry of the planned impact on the expected surface, world frame A.

    Attributes:
        normal: (3,) of the surface, to the robot.
        heading: (3,) unit vector along the surface.
        contact_point: (3,) [m] point of the surface that is hit: the middle of the contact points.
        contact_offsets: (n_c, 3) [m] from the origin of E to the contact points, axes of A; all lie in the surface.
        contact_offset: (3,) [m] from the origin of E to their middle; -radius normal for a sphere. A force there,
            without a moment, is shared equally.
        start_position, impact_position, rest_position: (3,) [m] of the origin of E at the start, at the
            impact, and at the end of the reference when there is no surface.
        approach_velocity: (3,) [m/s] of the origin of E before the impact.
        orientation: R_d (3, 3), axes of E as columns.
    """

    normal: Vector
    heading: Vector
    contact_point: Vector
    contact_offsets: Matrix
    contact_offset: Vector
    start_position: Vector
    impact_position: Vector
    rest_position: Vector
    approach_velocity: Vector
    orientation: Matrix


def impact_geometry(scenario: Scenario, robot: RobotDescription) -> ImpactGeometry:
    """Return the planned impact of a scenario.

    Raises InvalidInputError when the contact points of the end-effector would not meet the surface at once.
    """
    task, surface = scenario.task, scenario.expected_environment.surface
    normal = surface.normal
    heading = task.impact.heading - (task.impact.heading @ normal) * normal
    heading /= np.linalg.norm(heading)
    sine, cosine = np.sin(task.impact.approach_angle), np.cos(task.impact.approach_angle)
    direction = cosine * heading - sine * normal
    tool, orientation = robot.end_effector, rotation_from_roll_pitch_yaw(task.impact.orientation)
    offsets = lowest_points(tool.contact_points, tool.radius, orientation, normal)
    difference = float(np.ptp(offsets @ normal))
    if difference > _LARGEST_TILT:
        allowed = f"all contact points at once on the expected surface; they differ by {1e3 * difference:.3g} mm"
        raise InvalidInputError("task.impact.orientation", np.rad2deg(task.impact.orientation).tolist(), allowed)
    contact_offset = offsets.mean(axis=0)
    impact_position = task.impact.position - contact_offset
    return ImpactGeometry(
        normal=normal,
        heading=heading,
        contact_point=task.impact.position,
        contact_offsets=offsets,
        contact_offset=contact_offset,
        start_position=impact_position - task.ante.distance * direction,
        impact_position=impact_position,
        rest_position=impact_position + task.ante.extension_depth / sine * direction,
        approach_velocity=task.impact.speed * direction,
        orientation=orientation,
    )


def initial_configuration(scenario: Scenario, robot: RobotDescription, iterations: int = 200) -> Vector:
    """Return the configuration (n,) [rad] in which the task starts, at rest.

    iterations: after which the search for it is given up. Raises UnreachableReferenceError when the start of the
    approach is out of reach.
    """
    geometry, task = impact_geometry(scenario, robot), scenario.task
    try:
        return solve(
            robot, geometry.start_position, geometry.orientation, task.posture, task.home_configuration, iterations
        )
    except UnreachablePoseError as error:
        remaining = max(error.position_error, error.rotation_error, error.posture_error)
        allowed = "below 1e-9 m or rad, the start of the approach inside workspace and joint limits"
        raise UnreachableReferenceError(0.0, None, remaining, allowed) from error
