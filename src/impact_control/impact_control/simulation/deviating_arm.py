"""Simulated arm that differs from the model of its controller, as every real one does."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from impact_control.robots import RobotDescription, scaled_robot
from impact_control.scenario import ArmDeviation
from impact_control.util.types import Vector


def deviating_robot(known: RobotDescription, differs: ArmDeviation, number: int = 0) -> RobotDescription:
    """Draw an arm whose links, motors and joint friction differ from the known ones.

    Masses and inertias of each link, motor inertia and amplitude of the friction of each joint are those of `known`
    times exp(s z): z standard normal, s the standard deviation in its data file times the factor in `differs`. number:
    of the arm in its scene.
    """
    random, deviation = np.random.default_rng((differs.seed, number)), known.deviation
    links, motors, friction = random.standard_normal((3, len(known.joint_names)))
    return scaled_robot(
        known,
        np.exp(differs.inertia * deviation.link_inertia * links),
        np.exp(differs.inertia * deviation.reduced_motor_inertia * motors),
        np.exp(differs.friction * deviation.joint_friction * friction),
    )


class GravityError:
    """Torque by which an arm that carries itself by its known model misses its real gravity."""

    def __init__(self, known: RobotDescription, real: RobotDescription) -> None:
        self._models = known.pinocchio_model, real.pinocchio_model
        self._data = [model.createData() for model in self._models]

    def at(self, q: Vector) -> Vector:
        """Return g_known - g_real at q (n,) [rad]: (n,) [Nm], new."""
        known, real = (
            pin.computeGeneralizedGravity(model, data, q) for model, data in zip(self._models, self._data, strict=True)
        )
        error: Vector = known - real
        return error
