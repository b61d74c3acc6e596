"""The arm at the wall: three configurations, the way into it, and the impulse that each inertia predicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from impact_control.robots import Dynamics, InertiaModel, RobotDescription, contact_point_jacobian
from impact_control.util.types import Matrix, Vector
from impact_studies.models.impacts.composite_rigid_body import CompositeRigidBody, composite_rigid_body
from impact_studies.models.impacts.inverse_inertia import (
    end_of_compression_impulse,
    generalized_momentum_inverse_inertia,
    joint_motion_inverse_inertia,
    projected_impulse,
    projected_mass,
)


class InertiaOption(Enum):
    """Inertia that predicts the impulse. The first four are the options of Wang 2022, section VII-B, in their order."""

    ALGEBRAIC = "m_em (8)"
    GENERALIZED_MOMENTUM = "W_gm (6)"
    COMPOSITE = "CRB (17)"
    JOINT_MOTION = "CRB + joints (20)"
    REDUCED_MOTORS = "M + B_theta"
    MOTORS = "M + B_rho"


OPTIONS_OF_WANG = tuple(InertiaOption)[:4]
"""All with the inertia of the links alone."""


@dataclass(frozen=True)
class Configuration:
    """One of the three of Fig. 2.

    Attributes:
        name: one, two or three.
        joints: q (7,) [rad] at the touch. Our choice.
        threshold: [Nm] of the detection by joints 5 and 6, section VI.
    """

    name: str
    joints: tuple[float, ...]
    threshold: float


CONFIGURATIONS = (
    Configuration("one", (0.0, -0.37, 0.0, -1.59, 0.0, 2.79, 0.785), 1.8),
    Configuration("two", (0.0, -1.43, 0.0, -2.74, 0.0, 2.88, 0.785), 1.8),
    Configuration("three", (0.0, 0.52, -0.09, -1.49, -1.21, 2.76, 0.785), 1.5),
)
"""Fig. 2 is in the picture only. Taken from random ones by two properties that the text gives: the ratio (29) within
0.01 of the mean of that row of Table I, and the order of the predictions in Fig. 9, (8) above (17) above (6). The
tool points straight at the wall, in the third 30 deg below that."""


@dataclass(frozen=True, eq=False)
class Approach:
    """The wall at a configuration, and the motion into it: straight along the normal, without turning the tool.

    Attributes:
        configuration: which.
        position: q (n,) [rad] at the touch.
        normal: (3,) unit, from the wall to the robot, horizontal, world frame A.
        point: (3,) [m] of the wall, where the sphere touches it.
        velocity_per_speed: dq (n,) [rad/s] per m/s into the wall, the smallest that does it.
    """

    configuration: Configuration
    position: Vector
    normal: Vector
    point: Vector
    velocity_per_speed: Vector


def prepare_approach(robot: RobotDescription, configuration: Configuration) -> Approach:
    """Put the wall across the tool at a configuration."""
    q = np.array(configuration.joints)
    dynamics = Dynamics(robot)
    dynamics.compute(q, np.zeros_like(q))
    into_wall = dynamics.rotation[:, 2] * (1.0, 1.0, 0.0)
    normal = -into_wall / np.linalg.norm(into_wall)
    twist = np.concatenate((-normal, np.zeros(3)))
    return Approach(
        configuration=configuration,
        position=q,
        normal=normal,
        point=dynamics.position - robot.end_effector.radius * normal,
        velocity_per_speed=np.linalg.pinv(dynamics.jacobian) @ twist,
    )


def predicted_impulses(
    robot: RobotDescription, position: Vector, velocity: Vector, normal: Vector
) -> Mapping[InertiaOption, float]:
    """Return the normal impulse [Ns] at the end of compression by every option. Wang 2022 (8), (32).

    position q (n,) [rad] and velocity dq (n,) [rad/s] at the touch, into the wall; normal (3,), unit. The option (8)
    is taken with e = 0: the impulse that stops the contact.
    """
    at = _Touch.of(robot, position, normal)
    contact_velocity = at.jacobian[:3] @ velocity
    composite = at.body.inverse_inertia(at.point)
    links = at.dynamics.mass_matrix
    impulses = {
        InertiaOption.ALGEBRAIC: float(normal @ projected_impulse(projected_mass(links, at.jacobian), contact_velocity))
    }
    inverse_inertias = {
        InertiaOption.GENERALIZED_MOMENTUM: generalized_momentum_inverse_inertia(links, at.jacobian[:3]),
        InertiaOption.COMPOSITE: composite,
        InertiaOption.JOINT_MOTION: joint_motion_inverse_inertia(
            composite, links, at.jacobian[:3], at.body.velocity_jacobian(at.point)
        ),
        InertiaOption.REDUCED_MOTORS: generalized_momentum_inverse_inertia(
            at.dynamics.inertia(InertiaModel.REDUCED_MOTORS), at.jacobian[:3]
        ),
        InertiaOption.MOTORS: generalized_momentum_inverse_inertia(
            at.dynamics.inertia(InertiaModel.MOTORS), at.jacobian[:3]
        ),
    }
    for option, inverse_inertia in inverse_inertias.items():
        impulses[option] = end_of_compression_impulse(inverse_inertia, normal, contact_velocity)
    return impulses


def contact_jacobians_of(robot: RobotDescription, position: Vector, normal: Vector) -> tuple[Matrix, Matrix]:
    """Return the Jacobians (3, n) of the contact point, and of it as part of the composite rigid body: (14), (15)."""
    at = _Touch.of(robot, position, normal)
    return at.jacobian[:3], at.body.velocity_jacobian(at.point)


@dataclass(frozen=True, eq=False)
class _Touch:
    """The arm with its sphere at the wall: jacobian (6, n) and position point (3,) [m] of the contact point."""

    dynamics: Dynamics
    jacobian: Matrix
    point: Vector
    body: CompositeRigidBody

    @classmethod
    def of(cls, robot: RobotDescription, position: Vector, normal: Vector) -> _Touch:
        dynamics = Dynamics(robot)
        dynamics.compute(position, np.zeros_like(position))
        offset = -robot.end_effector.radius * normal
        jacobian = np.vstack((contact_point_jacobian(dynamics.jacobian, offset), dynamics.jacobian[3:]))
        body = composite_rigid_body(robot.pinocchio_model, position)
        return cls(dynamics, jacobian, dynamics.position + offset, body)
