"""Flacco 2016, V-A and Fig. 7: what is left of the residual when the model of the links is not that of the arm."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from impact_control.identification.backlash import GapMeasurement
from impact_control.robots import RobotDescription, load_robot
from impact_control.studies.flacco.arm import HangingArm
from impact_control.studies.flacco.experiments import Drive, identify
from impact_control.studies.flacco.recording import Recording
from impact_control.studies.model_errors import erring_links
from impact_control.types import Vector

MASS_ERROR = 0.1
"""Mass and inertia of each link, relative; half-width of a uniform distribution. Our choice, as the next one."""

LEVER_ERROR = 0.005
"""[m] The same for each coordinate of its centre of mass."""


@dataclass(frozen=True, eq=False)
class Unexplained:
    """Parts (n,) of the residual's mean square that backlash and friction, identified from it, leave unexplained.

    By the model of the links, exact or nominal, and the motion: the one of Fig. 6 or another one as long.
    """

    exact: Vector
    exact_elsewhere: Vector
    nominal: Vector
    nominal_elsewhere: Vector


def unexplained(
    moved: Recording, elsewhere: Recording, gap: GapMeasurement, random: np.random.Generator
) -> Unexplained:
    """Identify from two motions, of which the first one may be the longer, with an exact and with a nominal model.

    gap: as corrected by an identification; a short motion need not bring every link to both sides of its own.
    """
    first = _beginning(moved, elsewhere.time.size)
    arm = HangingArm(nominal_robot(random))

    def left(recording: Recording) -> Vector:
        return 1.0 - identify(recording, gap, Drive.SPRING, refine=False)[0].explained

    return Unexplained(left(first), left(elsewhere), left(by_model(first, arm)), left(by_model(elsewhere, arm)))


def nominal_robot(random: np.random.Generator) -> RobotDescription:
    """Return the robot with links that differ from the simulated ones within the errors above."""
    robot = load_robot()
    return replace(robot, pinocchio_model=erring_links(robot.pinocchio_model, random, MASS_ERROR, LEVER_ERROR))


def _beginning(recording: Recording, count: int) -> Recording:
    """Return the first samples of a recording."""
    return Recording(**{field.name: getattr(recording, field.name)[:count] for field in fields(recording)})


def by_model(recording: Recording, arm: HangingArm) -> Recording:
    """Return a recording with the terms that the model of an arm gives at the measured states."""
    masses, transposed, weights = (
        np.zeros_like(values)
        for values in (recording.mass_matrix, recording.coriolis_transposed_velocity, recording.gravity)
    )
    for k in range(recording.time.size):
        arm.update(recording.position[k], recording.velocity[k])
        masses[k], transposed[k], weights[k] = arm.mass_matrix, arm.coriolis_transposed_velocity, arm.gravity
    return replace(recording, mass_matrix=masses, coriolis_transposed_velocity=transposed, gravity=weights)
